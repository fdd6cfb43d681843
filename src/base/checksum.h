// XXH3-64, the checksum of records, scout tensors, headers and plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smoe {

uint64_t xxh3_64(std::span<const std::byte> data);
uint64_t xxh3_64(std::string_view text);

// 16 lower-case hexadecimal digits, as it stands in files.
std::string checksum_text(uint64_t checksum);
std::optional<uint64_t> parse_checksum(std::string_view text);

// The same checksum over data that arrives in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::span<const std::byte> data);
  void add(std::string_view text);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smoe
