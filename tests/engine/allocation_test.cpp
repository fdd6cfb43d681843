// The invariant: after start-up a step allocates nothing.
#include <gtest/gtest.h>

#include "base/guard.h"
#include "devices/cpu/cpu_device.h"
#include "support/allocation_counter.h"
#include "support/gguf_checkpoint.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

class Counting : public StepSink {
 public:
  void logits(uint32_t /*index*/, std::span<const float> values) override { sum_ += values[0]; }

 private:
  float sum_ = 0;
};

TEST(Allocation, IsCountedByThisProgramsHook) {
  start_counting_allocations();
  ::operator delete(::operator new(1));  // unlike `new int`, never optimised away
  EXPECT_EQ(stop_counting_allocations(), 1U);
}

class StepAllocation : public testing::TestWithParam<const char*> {};

TEST_P(StepAllocation, IsZeroForPromptsDecodingAndSharedBatches) {
  const auto prompt = Reference(golden_dir(GetParam()) / "golden.safetensors").tokens("input_ids");
  for (const uint32_t slots : {2U, 8U}) {
    for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
      const bool bets = kv != KvType::kF16;
      EngineSettings settings;
      settings.options.ring_slots = slots;
      settings.options.prompt_chunk = 32;
      settings.options.sequences = 2;
      settings.options.bets = bets;
      settings.options.kv = kv;
      OpenModel model(shattered(golden_dir(GetParam())), settings);
      Session session = model.session();
      const auto quiet = [](size_t, size_t) {};
      ASSERT_TRUE(session.append(TokenId{3}));  // the scout is there after the first step

      start_counting_allocations();
      const Status prompt_status = session.append(prompt, quiet);
      const uint64_t prompt_allocations = stop_counting_allocations();
      ASSERT_TRUE(prompt_status);
      EXPECT_EQ(prompt_allocations, 0U) << "prompt, ring " << slots << ", bets " << bets;

      start_counting_allocations();
      bool decoded = true;
      for (uint32_t i = 0; i < 20; ++i) decoded = decoded && session.append(TokenId{i}).has_value();
      const uint64_t decode_allocations = stop_counting_allocations();
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decode_allocations, 0U) << "decode, ring " << slots << ", bets " << bets;

      Counting sink;
      session.rewind(1);
      start_counting_allocations();
      const Status scored = session.score(prompt, sink, quiet);
      const uint64_t score_allocations = stop_counting_allocations();
      ASSERT_TRUE(scored);
      EXPECT_EQ(score_allocations, 0U) << "scoring, ring " << slots << ", bets " << bets;
    }
  }
}

// Rows become tiles in the readers' threads, or in the step's where the engine has none.
TEST(StepAllocation, IsZeroWhereRecordsAreMadeOfAGgufFilesRows) {
  const TempDir dir;
  const auto path = dir / "m.gguf";
  gguf_of(golden_dir("qwen3_moe")).write(path);
  const auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  for (const IoEngine io : {IoEngine::kPread, IoEngine::kAuto}) {
    EngineSettings settings;
    settings.options.ring_slots = 2;
    settings.options.io = io;
    OpenModel model(path, settings);
    Session session = model.session();
    ASSERT_TRUE(session.append(TokenId{3}));
    start_counting_allocations();
    const Status status = session.append(prompt, [](size_t, size_t) {});
    EXPECT_EQ(stop_counting_allocations(), 0U);
    ASSERT_TRUE(status);
  }
}

// K7: the k-th allocation of opening a model and one request fails, for every k: an error, never a
// crash.
TEST(Allocation, ThatFailsAnywhereIsAnErrorAndNoCrash) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  const auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  ThreadPool pool(2);
  const auto device = make_cpu_device(pool, CpuKernels::kBest);
  ASSERT_TRUE(device);
  const auto attempt = [&]() -> Status {
    SMOE_TRY(const auto engine, Engine::open(folder, {}, **device));
    return guarded([&]() -> Status {
      SMOE_TRY(Session session, Session::open(*engine));
      return session.append(prompt, [](size_t, size_t) {});
    });
  };
  ASSERT_TRUE(attempt());
  for (uint64_t k = 1;; ++k) {
    fail_allocation(k);
    const Status status = attempt();
    const bool reached = !allocation_will_fail();
    fail_allocation(0);
    if (!reached) {
      EXPECT_TRUE(status);
      EXPECT_GT(k, 50U);  // it did fail before
      break;
    }
    if (!status) {
      EXPECT_EQ(status.error().code, Code::kNoMemory)
          << "allocation " << k << ": " << status.error().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StepAllocation,
                         testing::Values("qwen3_moe", "qwen3_moe_mixed", "qwen3_moe_fp8",
                                         "qwen2_moe", "deepseek_moe_v1", "olmoe", "mixtral"));

}  // namespace
}  // namespace smoe::test
