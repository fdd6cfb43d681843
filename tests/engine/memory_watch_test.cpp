// The ring gives way when memory is short, at once, and comes back slowly; the bits stay. M1.
#include "engine/memory_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <fstream>

#include "base/rng.h"
#include "base/units.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

constexpr RingBounds kBounds{100 * kMiB, 4 * kGiB};

// A machine of 16 GiB: a twentieth of it, 819 MiB, stays for others.
MemorySight machine_with(uint64_t available, uint64_t touched) {
  return {{16 * kGiB, available, {}}, {}, touched};
}

TEST(RingLimit, StaysAsPlannedWhileThereIsRoom) {
  EXPECT_EQ(next_ring_limit(kBounds, 4 * kGiB, machine_with(8 * kGiB, 0)), 4 * kGiB);
  EXPECT_EQ(next_ring_limit(kBounds, 4 * kGiB, machine_with(kGiB, 4 * kGiB)), 4 * kGiB);
}

TEST(RingLimit, FallsAtOnceByWhatIsMissing) {
  const uint64_t limit = next_ring_limit(kBounds, 4 * kGiB, machine_with(0, 4 * kGiB));
  EXPECT_EQ(limit, 4 * kGiB - 16 * kGiB / 20);
  EXPECT_EQ(next_ring_limit(kBounds, 4 * kGiB, machine_with(0, kGiB / 2)), kBounds.least_bytes);
}

TEST(RingLimit, CountsTheGroupsLimitNotTheMachines) {
  MemorySight sight = machine_with(60 * kMiB, 4 * kGiB);
  sight.memory.cgroup_bytes = kGiB;  // of which 51 MiB stay for others
  EXPECT_EQ(next_ring_limit(kBounds, 4 * kGiB, sight), 4 * kGiB) << "there is room enough";
  sight.memory.available_bytes = 10 * kMiB;
  EXPECT_LT(next_ring_limit(kBounds, 4 * kGiB, sight), 4 * kGiB);
}

TEST(RingLimit, GrowsBackSlowlyAndNotUnderPressure) {
  const MemorySight plenty = machine_with(10 * kGiB, kGiB);
  uint64_t limit = kGiB;
  int looks = 0;
  for (; limit < 4 * kGiB && looks < 1000; ++looks) {
    const uint64_t next = next_ring_limit(kBounds, limit, plenty);
    EXPECT_LE(next - limit, 4 * kGiB / 64);
    limit = next;
  }
  EXPECT_EQ(limit, 4 * kGiB);
  EXPECT_GT(looks, 50);
  MemorySight pressed = plenty;
  pressed.pressure = 0.5;
  EXPECT_EQ(next_ring_limit(kBounds, kGiB, pressed), kGiB);
}

TEST(MemoryWatch, TellsTheRingWhatItsGroupSays) {
  TempDir root;
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  put("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  put("proc/self/cgroup", "0::/box\n");
  put("sys/fs/cgroup/box/memory.max", "1073741824\n");
  put("sys/fs/cgroup/box/memory.current", "1073741824\n");
  std::atomic<uint64_t> limit{0};
  const MemoryWatch watch({{kMiB, kGiB}, [] { return kGiB / 2; }, [&](uint64_t l) { limit = l; }},
                          root.path());
  for (int i = 0; i < 500 && limit == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(limit, kGiB / 2 - kGiB / 20);
}

std::vector<uint32_t> bits_of_logits(std::span<const float> logits) {
  std::vector<uint32_t> bits;
  for (const float value : logits) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

class ShrinkingRing : public testing::TestWithParam<IoEngine> {};

// Slots whose pages went back to the system must never be computed with, nor may the kernel go on
// reading into the pages that they had before.
TEST_P(ShrinkingRing, KeepsTheBitsWhileItShrinksAndGrows) {
  for (const char* name : {"qwen3_moe", "qwen3_moe_mixed"}) {
    const auto prompt = Reference(golden_dir(name) / "golden.safetensors").tokens("input_ids");
    OpenModel plain(shattered(golden_dir(name)), {});
    EngineSettings settings;
    settings.options.io = GetParam();
    settings.options.bets = true;
    settings.options.prompt_chunk = 4;
    OpenModel model(shattered(golden_dir(name)), settings);
    Session expected = plain.session();
    Session session = model.session();
    const uint64_t full = model.engine().plan().ring_bytes;
    Rng rng(7);
    for (int round = 0; round < 3; ++round) {
      expected.rewind(0);
      session.rewind(0);
      for (const TokenId token : prompt) {
        model.engine().limit_ring(rng.below(3) == 0 ? full : rng.below(full));
        ASSERT_TRUE(expected.append(token));
        ASSERT_TRUE(session.append(token));
        ASSERT_EQ(bits_of_logits(session.logits()), bits_of_logits(expected.logits()));
      }
    }
    const StreamStats stats = model.engine().stream_stats();
    EXPECT_GT(stats.slots_retired, 20U);
    model.engine().limit_ring(0);
    EXPECT_LE(model.engine().stream_stats().ring_slots, 4U) << "two slots of each size stay";
    model.engine().limit_ring(full);
    EXPECT_EQ(model.engine().stream_stats().ring_slots, model.engine().plan().ring_slots());
  }
}

// From another thread, in the middle of steps.
TEST_P(ShrinkingRing, MayBeToldSoAtAnyTime) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  const auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  OpenModel plain(folder, {});
  EngineSettings settings;
  settings.options.io = GetParam();
  OpenModel model(folder, settings);
  const auto expected = greedy(plain.engine(), prompt, 48);
  std::atomic<bool> done{false};
  std::thread other([&] {
    Rng rng(3);
    while (!done) {
      model.engine().limit_ring(rng.below(model.engine().plan().ring_bytes));
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  EXPECT_EQ(greedy(model.engine(), prompt, 48), expected);
  done = true;
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Io, ShrinkingRing, testing::Values(IoEngine::kAuto, IoEngine::kPread),
                         [](const auto& instance) {
                           return instance.param == IoEngine::kAuto ? "best" : "pread";
                         });

}  // namespace
}  // namespace smoe::test
