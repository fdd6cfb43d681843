#include "cli/line_editor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/units.h"
#include "cli/text_editor.h"

namespace smoe::cli {
namespace {

constexpr int kHistoryEntries = 1000;
constexpr uint64_t kMaxHistoryBytes = 16 * kMiB;

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  Signals* signals = nullptr;
  std::string prompt;
  std::string text_editor;
  std::optional<std::string> edited;  // what Ctrl-G brought back
  bool interrupted = false;

  ~Impl() {
    if (editor != nullptr) el_end(editor);
    if (history != nullptr) history_end(history);
  }

  static Impl& of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<Impl*>(data);
  }
  static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }
  static int next_character(EditLine* editor, wchar_t* out) { return of(editor).next(out); }
  static unsigned char open_editor(EditLine* editor, int /*key*/) {
    return of(editor).edit_elsewhere();
  }

  // Whether a Ctrl-C came, also one from before the prompt.
  bool take_signals();
  // libedit's way of reading: 1 for a character, 0 for the end.
  int next(wchar_t* out);
  unsigned char edit_elsewhere();
  void redraw() const;
};

void LineEditor::Impl::redraw() const {
  el_set(editor, EL_PREP_TERM, 1);
  el_resize(editor);
  el_set(editor, EL_REFRESH);
}

bool LineEditor::Impl::take_signals() {
  eventfd_t ignored = 0;
  static_cast<void>(eventfd_read(signals->descriptor(), &ignored));
  interrupted = signals->cancelled().load();
  return interrupted;
}

int LineEditor::Impl::next(wchar_t* out) {
  std::mbstate_t state{};
  while (true) {
    std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {signals->descriptor(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return 0;
    if (watched[1].revents != 0) {
      if (take_signals()) return 0;
      redraw();
    }
    if (watched[0].revents == 0) continue;
    char byte = 0;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return 0;
    const size_t used = std::mbrtowc(out, &byte, 1, &state);
    if (used <= 1) return 1;
    if (used == static_cast<size_t>(-1)) state = {};  // no UTF-8: left out
  }
}

unsigned char LineEditor::Impl::edit_elsewhere() {
  const LineInfo* line = el_line(editor);
  const std::string typed(line->buffer, line->lastchar);
  el_set(editor, EL_PREP_TERM, 0);
  auto text = edit_text(text_editor, typed);
  el_set(editor, EL_PREP_TERM, 1);
  if (signals->received() == SIGINT) signals->forget();  // it was meant for the editor
  if (!text) {
    std::fprintf(stderr, "\nsmoe: %s\n", text.error().message.c_str());
    return CC_REDISPLAY;
  }
  edited = *std::move(text);
  return CC_NEWLINE;
}

LineEditor::LineEditor(LineEditorOptions options, Signals& signals)
    : options_(std::move(options)), impl_(std::make_unique<Impl>()) {
  impl_->signals = &signals;
  impl_->text_editor = options_.editor;
}

LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::open(LineEditorOptions options, Signals& signals) {
  // libedit reads characters as the locale has them; the rest of the program knows UTF-8 only.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  std::unique_ptr<LineEditor> self(new LineEditor(std::move(options), signals));
  Impl& impl = *self->impl_;
  impl.editor = el_init("smoe", stdin, stderr, stderr);
  impl.history = history_init();
  if (impl.editor == nullptr || impl.history == nullptr)
    return Error{Code::kIo, "the terminal cannot be used for editing lines; pipe the lines in"};

  HistEvent event{};
  history(impl.history, &event, H_SETSIZE, kHistoryEntries);
  el_set(impl.editor, EL_CLIENTDATA, &impl);
  el_set(impl.editor, EL_PROMPT, &Impl::show_prompt);
  el_set(impl.editor, EL_EDITOR, "emacs");
  el_set(impl.editor, EL_SIGNAL, 0);
  el_set(impl.editor, EL_HIST, ::history, impl.history);
  el_set(impl.editor, EL_ADDFN, "smoe-text-editor", "edit the line in $EDITOR", &Impl::open_editor);
  el_set(impl.editor, EL_BIND, "^G", "smoe-text-editor", nullptr);
  el_set(impl.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(impl.editor, EL_BIND, "\033[1~", "ed-move-to-beg", nullptr);
  el_set(impl.editor, EL_BIND, "\033[4~", "ed-move-to-end", nullptr);
  el_set(impl.editor, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
  el_set(impl.editor, EL_GETCFN, &Impl::next_character);
  self->load_history();
  return self;
}

LineEditor::Line LineEditor::read(std::string_view prompt) {
  Impl& impl = *impl_;
  impl.prompt = prompt;
  impl.edited.reset();
  const Signals::Polled polled(*impl.signals);
  if (impl.take_signals()) return {Event::kInterrupt, ""};
  el_resize(impl.editor);
  int count = 0;
  const char* line = el_gets(impl.editor, &count);
  if (impl.interrupted) {
    el_reset(impl.editor);
    std::fputs("^C\n", stderr);
    return {Event::kInterrupt, ""};
  }
  if (impl.edited) return {Event::kLine, *std::move(impl.edited)};
  if (line == nullptr || count <= 0) return {Event::kEnd, ""};
  std::string text(line, static_cast<size_t>(count));
  if (text.ends_with('\n')) text.pop_back();
  return {Event::kLine, std::move(text)};
}

void LineEditor::load_history() {
  std::error_code ignored;
  if (options_.history_file.empty() || !std::filesystem::exists(options_.history_file, ignored))
    return;
  auto text = read_text_file(options_.history_file, kMaxHistoryBytes);
  if (!text) {
    history_error_ = std::move(text).error();
    return;
  }
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    HistEvent event{};
    const std::string entry = unescape_history(std::string_view(*text).substr(at, end - at));
    if (!entry.empty()) history(impl_->history, &event, H_ENTER, entry.c_str());
    at = end + 1;
  }
}

void LineEditor::remember(std::string_view text) {
  HistEvent event{};
  const std::string entry(text);
  history(impl_->history, &event, H_ENTER, entry.c_str());
  if (options_.history_file.empty() || history_error_) return;

  // Appended line by line, so that two conversations at once keep both their lines. For the owner's
  // eyes only: it is what they said.
  std::error_code made;
  std::filesystem::create_directories(options_.history_file.parent_path(), made);
  const int file =
      ::open(options_.history_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = escape_history(text) + "\n";
  if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    history_error_ =
        Error{Code::kIo, fmt::format("{}: cannot write: {}", options_.history_file.string(),
                                     std::generic_category().message(errno))};
  if (file >= 0) ::close(file);
}

std::string escape_history(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

std::string unescape_history(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (!escaped) {
      text += line[i];
      continue;
    }
    ++i;
    text += line[i] == 'n' ? '\n' : line[i];
  }
  return text;
}

}  // namespace smoe::cli
