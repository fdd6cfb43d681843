#include "cli/line_source.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

// $XDG_STATE_HOME/smoe/history; nowhere without a home.
fs::path history_file(const Settings& settings) {
  if (!settings.history || settings.state_folder.empty()) return {};
  return fs::path(settings.state_folder) / "history";
}

class TerminalLines : public LineSource {
 public:
  TerminalLines(std::unique_ptr<LineEditor> editor, const Terminal& terminal)
      : editor_(std::move(editor)), terminal_(terminal) {
    tell_history_error();
  }

  Line read(std::string_view prompt) override { return editor_->read(prompt); }
  void remember(std::string_view text) override {
    editor_->remember(text);
    tell_history_error();
  }
  bool interactive() const override { return true; }

 private:
  // Once: a history that is not kept is no reason to end a conversation.
  void tell_history_error() {
    if (told_ || !editor_->history_error()) return;
    told_ = true;
    terminal_.print_warning(editor_->history_error()->message + "; lines are not remembered");
  }

  std::unique_ptr<LineEditor> editor_;
  const Terminal& terminal_;
  bool told_ = false;
};

class PipedLines : public LineSource {
 public:
  PipedLines(Signals& signals, uint64_t most_bytes) : signals_(signals), most_bytes_(most_bytes) {}

  Line read(std::string_view /*prompt*/) override {
    const Signals::AtOnce at_once(signals_);  // waiting for a pipe leaves nothing half-done
    size_t end = 0;
    while ((end = held_.find('\n', searched_)) == std::string::npos) {
      searched_ = held_.size();
      if (held_.size() > most_bytes_) return {Event::kTooLong, ""};
      if (!fill()) {
        if (held_.empty()) return {Event::kEnd, ""};
        searched_ = 0;
        return {Event::kLine, std::exchange(held_, "")};
      }
    }
    Line line{Event::kLine, held_.substr(0, end)};
    held_.erase(0, end + 1);
    searched_ = 0;
    if (line.text.ends_with('\r')) line.text.pop_back();
    return line;
  }
  void remember(std::string_view /*text*/) override {}
  bool interactive() const override { return false; }

 private:
  bool fill() {
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = ::read(STDIN_FILENO, buffer.data(), buffer.size())) < 0 && errno == EINTR) {
    }
    if (got <= 0) return false;
    held_.append(buffer.data(), static_cast<size_t>(got));
    return true;
  }

  Signals& signals_;
  uint64_t most_bytes_;
  std::string held_;
  size_t searched_ = 0;
};

}  // namespace

Result<std::unique_ptr<LineSource>> LineSource::open(Context& context, uint64_t most_bytes) {
  if (!context.terminal.stdin_is_terminal())
    return std::unique_ptr<LineSource>(std::make_unique<PipedLines>(context.signals, most_bytes));
  SMOE_TRY(auto editor, LineEditor::open({history_file(context.settings), context.settings.editor},
                                         context.signals));
  return std::unique_ptr<LineSource>(
      std::make_unique<TerminalLines>(std::move(editor), context.terminal));
}

}  // namespace smoe::cli
