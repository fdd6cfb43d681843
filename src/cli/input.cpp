#include "cli/input.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"

namespace smoe::cli {
namespace {

// Normalising may shorten a text: three marks become one letter, four bytes of a mathematical
// alphabet one of ASCII.
constexpr uint64_t kShortened = 4;

}  // namespace

Error ContextLimit::exceeded(std::string_view what) const {
  return {Code::kContextFull,
          fmt::format("{}: more than {} bytes do not fit into a context of {} tokens, of which the "
                      "longest has {} bytes; --ctx makes it longer",
                      what, bytes, context, longest_token_bytes)};
}

Status ContextLimit::check(std::string_view what, uint64_t text_bytes) const {
  if (text_bytes > bytes) return exceeded(what);
  return {};
}

ContextLimit context_limit(const Tokenizer& tokenizer, uint32_t context) {
  const size_t longest = tokenizer.longest_token_bytes();
  return {uint64_t{context} * longest * kShortened, context, longest};
}

// The reading functions say kCorrupt of what is too long, and of nothing else.
Result<Input> read_input(const std::optional<std::string>& file, Signals& signals) {
  const Signals::AtOnce at_once(signals);
  Input input{"", file.value_or("stdin")};
  auto text = file ? read_any_file(*file, kMaxInputBytes)
                   : read_stream(STDIN_FILENO, input.name, kMaxInputBytes);
  if (!text && text.error().code == Code::kCorrupt)
    return Error{Code::kUsage,
                 fmt::format("{}: more than {} at once; cut it into pieces, for instance with "
                             "split --line-bytes=16M",
                             input.name, format_bytes(kMaxInputBytes))};
  if (!text) return std::move(text).error();
  input.text = *std::move(text);
  return input;
}

Result<Input> read_input(const ContextLimit& limit, Signals& signals) {
  const Signals::AtOnce at_once(signals);
  Input input{"", "stdin"};
  auto text = read_stream(STDIN_FILENO, input.name, limit.bytes);
  if (!text && text.error().code == Code::kCorrupt) return limit.exceeded(input.name);
  if (!text) return std::move(text).error();
  input.text = *std::move(text);
  return input;
}

}  // namespace smoe::cli
