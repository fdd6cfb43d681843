// Small vaults whose bytes are known, and files that misbehave as a test tells them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/vault_file.h"
#include "stream/ring_streamer.h"
#include "stream/streamer.h"
#include "stream/vault_files.h"
#include "support/temp_dir.h"

namespace smoe::test {

inline ExpertKey key(uint32_t layer, uint32_t expert) {
  return {static_cast<LayerId>(layer), static_cast<ExpertId>(expert)};
}
inline uint32_t expert_of(const Lease& lease) { return static_cast<uint32_t>(lease.key().expert); }

// Experts [begin, end) of a layer.
std::vector<ExpertKey> experts(uint32_t layer, uint32_t begin, uint32_t end);

// Vault files in a folder of their own. `width` chooses the record's size: 32 gives one page of
// 16 KiB, 64 three.
class TestVault {
 public:
  TestVault& add_layer(uint32_t layer, uint32_t experts, uint32_t width = 32);
  std::span<const VaultFile> files() const { return files_; }
  // What a record holds, computed anew.
  std::vector<std::byte> record(ExpertKey key) const;
  bool holds(const Lease& lease) const;

 private:
  TempDir dir_;
  std::vector<VaultFile> files_;
};

// Answers a read; `real` are the vault's own files.
using Script = std::function<Result<size_t>(const ReadRequest& request, RecordFiles& real)>;

// A streamer whose reads go through `script`, in threads of their own whatever the engine. Aborts
// when it cannot be opened.
std::unique_ptr<RingStreamer> scripted(const TestVault& vault, const StreamerOptions& options,
                                       Script script);

// The real one. Aborts when it cannot be opened.
std::unique_ptr<Streamer> opened(const TestVault& vault, const StreamerOptions& options);

// Asks for keys and takes all of them, one lease at a time; the order in which they came. Aborts on
// an error or on wrong bytes.
std::vector<ExpertKey> take_all(Streamer& streamer, const TestVault& vault,
                                std::span<const ExpertKey> keys,
                                Streamer::Pick pick = Streamer::Pick::kAny);

// A gate that reads can be stopped at.
class Gate {
 public:
  void open();
  void pass();                    // waits until it is open
  void wait_for(uint32_t reads);  // until so many stand before it, or have passed

 private:
  std::atomic<bool> open_{false};
  std::atomic<uint32_t> arrived_{0};
};

// Polls for at most ten seconds.
bool becomes_true(const std::function<bool()>& claim);
// The same, with the calls of a step in between: an engine without threads sees ends only then.
bool becomes_true(Streamer& streamer, const std::function<bool()>& claim);

// The engines that work on this system.
std::vector<IoEngine> engines();
std::string engine_name(const testing::TestParamInfo<IoEngine>& instance);

// A test that holds for each read engine.
class EveryEngine : public testing::TestWithParam<IoEngine> {
 protected:
  static StreamerOptions with_slots(std::vector<uint32_t> slots) {
    StreamerOptions options;
    options.slots = std::move(slots);
    options.io = GetParam();
    return options;
  }
};

}  // namespace smoe::test

// A suite of such tests, in the file that has them.
#define SMOE_FOR_EVERY_ENGINE(Suite)         \
  class Suite : public test::EveryEngine {}; \
  INSTANTIATE_TEST_SUITE_P(Io, Suite, testing::ValuesIn(test::engines()), test::engine_name)
