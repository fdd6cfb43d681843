// Text that a command reads: a file, any pipe, or stdin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "cli/signals.h"
#include "text/tokenizer.h"

namespace smoe::cli {

struct Input {
  std::string text;
  std::string name;  // for messages: the file's, or "stdin"
};

// How much text a command takes at once: tokenising needs up to 25 bytes for each byte of it.
inline constexpr uint64_t kMaxInputBytes = 32 * kMiB;

// How long a text may be that shall go into a context: one that is longer is refused while it is
// read, before it costs memory.
struct ContextLimit {
  uint64_t bytes = 0;
  uint32_t context = 0;  // tokens
  size_t longest_token_bytes = 0;

  // Fails: kContextFull, naming `what`, both numbers and the option that changes them.
  Status check(std::string_view what, uint64_t text_bytes) const;
  Error exceeded(std::string_view what) const;
};
ContextLimit context_limit(const Tokenizer& tokenizer, uint32_t context);

// Everything in `file`, or in stdin without one. Ctrl-C ends the program while this waits.
// Fails: kNotFound, kIo; kUsage for more than kMaxInputBytes, before more than that is read.
Result<Input> read_input(const std::optional<std::string>& file, Signals& signals);
// The same for stdin. Fails: kIo, kContextFull.
Result<Input> read_input(const ContextLimit& limit, Signals& signals);

}  // namespace smoe::cli
