// A record held for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "stream/expert_key.h"

namespace smoe {

class Streamer;

// The record's bytes stay as they are until the lease ends. Lifetime: ends before the Streamer.
class [[nodiscard]] Lease {
 public:
  Lease() = default;
  Lease(Streamer* streamer, uint32_t slot, ExpertKey key, std::span<const std::byte> record)
      : streamer_(streamer), slot_(slot), key_(key), record_(record) {}
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept {
    std::swap(streamer_, other.streamer_);
    std::swap(slot_, other.slot_);
    std::swap(key_, other.key_);
    std::swap(record_, other.record_);
    return *this;
  }
  ~Lease();

  ExpertKey key() const { return key_; }
  uint32_t slot() const { return slot_; }
  std::span<const std::byte> record() const { return record_; }

 private:
  Streamer* streamer_ = nullptr;
  uint32_t slot_ = 0;
  ExpertKey key_;
  std::span<const std::byte> record_;
};

}  // namespace smoe
