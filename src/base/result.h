// Errors as values. A function that can fail because of the world (file, disk, request) returns
// Result<T>; a broken promise of our own is SMOE_CHECK (base/check.h).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace smoe {

// Maps once to an exit status (cli) and once to an HTTP status (server).
enum class Code {
  kUsage,        // the caller asked for something that makes no sense: exit 2
  kNotFound,     // a file, tensor or name that should be there is not
  kIo,           // the operating system reported an error
  kCorrupt,      // bytes that contradict their checksum, header or other bytes
  kUnsupported,  // valid, but nothing that this build knows
  kNoSpace,      // the disk is full
  kNoMemory,     // the memory budget is too small
  kNumeric,      // NaN or infinity where a number is needed
  kContextFull,  // more tokens than the context holds
  kCancelled,    // the user or a deadline ended it
  kBusy,         // as many others as there is room for: later it may work
};

std::string_view name_of(Code code);

struct Error {
  Code code;
  std::string message;  // names the thing, what was found and what was wanted; one line

  // Puts "where: " in front, for a caller that knows more than the callee.
  Error in(std::string_view where) &&;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result() requires std::is_void_v<T> : Base() {}
  // NOLINTNEXTLINE(google-explicit-constructor): an error is returned as it stands
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}
};

using Status = Result<void>;

}  // namespace smoe

#define SMOE_CONCAT_INNER(a, b) a##b
#define SMOE_CONCAT(a, b) SMOE_CONCAT_INNER(a, b)

// SMOE_TRY(const File file, File::open(path)) declares `file`, or returns the error.
#define SMOE_TRY(declaration, ...)                                             \
  auto SMOE_CONCAT(smoe_try_, __LINE__) = (__VA_ARGS__);                       \
  if (!SMOE_CONCAT(smoe_try_, __LINE__))                                       \
    return ::smoe::Error(std::move(SMOE_CONCAT(smoe_try_, __LINE__)).error()); \
  declaration = std::move(*SMOE_CONCAT(smoe_try_, __LINE__))

// SMOE_DO(file.sync()) returns the error if there is one.
#define SMOE_DO(...)                                        \
  do {                                                      \
    if (auto smoe_status = (__VA_ARGS__); !smoe_status)     \
      return ::smoe::Error(std::move(smoe_status).error()); \
  } while (false)
