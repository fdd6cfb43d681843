#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/units.h"
#include "text/utf8.h"

namespace smoe {
namespace {

constexpr size_t kMaxPatternBytes = 4 * kKiB;
// Steps for one text. A start is tried with few and then with more, because PCRE2 does not tell how
// many it took: it takes less than kLimitGrowth + 1 times what is counted, and kFirstLimit that are
// not. Going back over a long run costs a step a character.
constexpr uint64_t kSteps = 16'000'000;
constexpr uint64_t kStepsPerByte = 64;
constexpr uint64_t kFirstLimit = 1024;
constexpr uint64_t kLimitGrowth = 4;
constexpr uint32_t kHeapLimitKiB = 64 * 1024;
constexpr size_t kJitStackBytes = 32 * kKiB;
// Reserved, not used: a repeated group takes some bytes for each time around.
constexpr size_t kMaxJitStackBytes = 64 * kMiB;

std::string pcre2_message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return std::string(text.begin(), std::find(text.begin(), text.end(), '\0'));
}

bool is_over(int result) {
  return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT;
}

Error gave_up(std::string_view subject, size_t at, int result) {
  return {Code::kUnsupported,
          fmt::format("regular expression: gave up at byte {} of a piece of {} bytes: {}", at,
                      subject.size(), pcre2_message(result))};
}

template <auto kFree>
struct Freer {
  template <class T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freer<pcre2_jit_stack_free>>;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// Two characters that no range tells apart are the same to the pattern.
bool told_apart(const std::vector<CodePointRange>& ranges, char32_t a, char32_t b) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const CodePointRange& range) {
    return (a >= range.first && a <= range.last) != (b >= range.first && b <= range.last);
  });
}

}  // namespace

void Regex::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return Error{Code::kUnsupported,
                 fmt::format("regular expression: {} bytes long, at most {} are supported",
                             pattern.size(), kMaxPatternBytes)};
  SMOE_TRY(const TranslatedRegex translated, translate_regex(pattern));
  return compile_translated(translated);
}

Result<Regex> Regex::literal(std::string_view text) { return compile(quote_regex(text)); }

Result<Regex> Regex::compile_translated(const TranslatedRegex& translated) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  SMOE_CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Regex regex;
  regex.code_.reset(pcre2_compile(
      units(translated.pattern), translated.pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
      &error, &offset, context.get()));
  if (regex.code_ == nullptr)
    return Error{Code::kUnsupported, "regular expression: " + pcre2_message(error)};
  // Where executable memory is forbidden this fails, and the interpreter finds the same matches.
  pcre2_jit_compile(regex.code_.get(), PCRE2_JIT_COMPLETE);
  regex.choose_stand_ins(translated.mentioned);
  return regex;
}

void Regex::choose_stand_ins(const std::vector<CodePointRange>& mentioned) {
  constexpr size_t kBlocks = 0x110000 / 256;
  affected_blocks_.assign(kBlocks, false);
  for (const YoungRange& young : young_ranges()) {
    // Cut where the pattern mentions something, so that all of a piece are alike to it.
    std::vector<char32_t> cuts = {young.first};
    for (const CodePointRange& range : mentioned) {
      if (range.first > young.first && range.first <= young.last) cuts.push_back(range.first);
      if (range.last >= young.first && range.last < young.last) cuts.push_back(range.last + 1);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t piece = 0; piece < cuts.size(); ++piece) {
      const char32_t first = cuts[piece];
      const char32_t last = piece + 1 < cuts.size() ? cuts[piece + 1] - 1 : young.last;
      const auto all = stand_ins();
      const auto found = std::find_if(all.begin(), all.end(), [&](const StandIn& each) {
        return each.category == young.category &&
               utf8_length(each.code_point) == utf8_length(first) &&
               !told_apart(mentioned, first, each.code_point);
      });
      if (found == all.end()) continue;
      replacements_.push_back({first, last, found->code_point});
      for (char32_t block = first / 256; block <= last / 256; ++block)
        affected_blocks_[block] = true;
    }
  }
}

char32_t Regex::stand_in(char32_t code_point) const {
  const auto after =
      std::upper_bound(replacements_.begin(), replacements_.end(), code_point,
                       [](char32_t value, const Replacement& each) { return value < each.first; });
  if (after == replacements_.begin() || code_point > std::prev(after)->last) return code_point;
  return std::prev(after)->stand_in;
}

std::string_view Regex::known(std::string_view text, std::string& storage) const {
  storage.clear();
  size_t copied = 0;
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Step step = utf8_step(text, at);
    if (affected_blocks_[step.code_point / 256]) {
      const char32_t replacement = stand_in(step.code_point);
      if (replacement != step.code_point) {
        storage.append(text.substr(copied, at - copied));
        append_utf8(storage, replacement);
        copied = at + step.bytes;
      }
    }
    at += step.bytes;
  }
  if (copied == 0) return text;
  storage.append(text.substr(copied));
  return storage;
}

struct Regex::Finder::State {
  const pcre2_real_code_8* code;
  MatchSteps own;
  MatchSteps* steps;
  JitStack stack;
  MatchContext context;
  MatchData data;

  // PCRE2's answer, for matches that start at `at` or behind it, up to `last_start`.
  int match(std::string_view subject, size_t at, size_t last_start, uint64_t limit) const;
};

MatchSteps MatchSteps::for_text(size_t bytes) { return {kSteps + kStepsPerByte * bytes}; }

Regex::Finder::Finder(const Regex& regex, size_t text_bytes) : state_(std::make_unique<State>()) {
  state_->own = MatchSteps::for_text(text_bytes);
  prepare(regex, state_->own);
}

Regex::Finder::Finder(const Regex& regex, MatchSteps& shared) : state_(std::make_unique<State>()) {
  prepare(regex, shared);
}

void Regex::Finder::prepare(const Regex& regex, MatchSteps& steps) {
  state_->code = regex.code_.get();
  state_->steps = &steps;
  state_->stack.reset(pcre2_jit_stack_create(kJitStackBytes, kMaxJitStackBytes, nullptr));
  state_->context.reset(pcre2_match_context_create(nullptr));
  state_->data.reset(pcre2_match_data_create(1, nullptr));
  SMOE_CHECK(state_->context != nullptr && state_->data != nullptr);
  pcre2_set_heap_limit(state_->context.get(), kHeapLimitKiB);
  if (state_->stack != nullptr)
    pcre2_jit_stack_assign(state_->context.get(), nullptr, state_->stack.get());
}

Regex::Finder::~Finder() = default;

int Regex::Finder::State::match(std::string_view subject, size_t at, size_t last_start,
                                uint64_t limit) const {
  const auto allowed = static_cast<uint32_t>(std::min<uint64_t>(limit, UINT32_MAX));
  pcre2_set_match_limit(context.get(), allowed);
  pcre2_set_depth_limit(context.get(), allowed);
  pcre2_set_offset_limit(context.get(), last_start);
  return pcre2_match(code, units(subject), subject.size(), at, PCRE2_NO_UTF_CHECK, data.get(),
                     context.get());
}

// PCRE2 counts steps from each start anew. So a start that takes many is tried alone, or a text of
// many such starts would take the limit once for each.
Result<bool> Regex::Finder::find(std::string_view subject, size_t at) {
  int result = state_->match(subject, at, PCRE2_UNSET, kFirstLimit);
  while (is_over(result)) {
    // Which start it was is not told: those up to it are tried one by one.
    bool found_it = false;
    while (!found_it) {
      uint64_t limit = kFirstLimit;
      uint64_t& left = state_->steps->left;
      while (is_over(result = state_->match(subject, at, at, std::min(limit, left)))) {
        found_it = true;
        left -= std::min(left, limit);
        if (left == 0) return gave_up(subject, at, result);
        limit *= kLimitGrowth;
      }
      if (result != PCRE2_ERROR_NOMATCH) break;
      if (at >= subject.size()) return false;
      at += utf8_step(subject, at).bytes;
    }
    if (result == PCRE2_ERROR_NOMATCH)
      result = state_->match(subject, at, PCRE2_UNSET, kFirstLimit);
  }
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  return gave_up(subject, at, result);
}

Status Regex::Finder::find_all(std::string_view text, TextRange range,
                               std::vector<TextRange>& matches) {
  const std::string_view subject = text.substr(range.begin, range.end - range.begin);
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(state_->data.get());
  std::optional<size_t> last_end;
  for (size_t at = 0; at <= subject.size();) {
    SMOE_TRY(const bool any, find(subject, at));
    if (!any) return {};
    if (found[0] == found[1] && last_end == found[1]) {
      // An empty match right behind the last one would be found for ever.
      at = found[1] + (found[1] < subject.size() ? utf8_step(subject, found[1]).bytes : 1);
      continue;
    }
    at = found[1];
    last_end = at;
    matches.push_back({range.begin + found[0], range.begin + found[1]});
  }
  return {};
}

}  // namespace smoe
