// What the ring's policies are worth on a real model's routing, and that the oracle foretells it.
#include <gtest/gtest.h>

#include "formats/vault_file.h"
#include "stream/oracle.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

constexpr double kShares[] = {0.06, 0.13, 0.26, 0.5};

std::vector<TokenId> story() {
  return Reference(tales_dir() / "reference/golden.safetensors").tokens("input_ids");
}

// Token by token, as in decoding. The hits' share of the demands.
double hit_rate(EngineOptions options, double share) {
  const auto folder = shattered(tales_dir());
  const auto files = ModelFiles::open(folder);
  EXPECT_TRUE(files);
  uint64_t records = 0;
  for (const RecordSize& size : sizes_of(*files, options.readers).records) records += size.records;
  EngineSettings settings;
  settings.options = options;
  settings.options.prompt_chunk = 1;
  settings.options.ring_slots = static_cast<uint32_t>(share * static_cast<double>(records) + 0.5);
  OpenModel model(folder, settings);
  all_logits(model.engine(), story());
  const StreamStats stats = model.engine().stream_stats();
  return static_cast<double>(stats.hits) / static_cast<double>(stats.demands);
}

EngineOptions with_policy(EvictionPolicy policy) {
  EngineOptions options;
  options.eviction = policy;
  return options;
}

// The text is short, so the fixed rates have no time to show what lasts.
TEST(PolicyOnTales, IsNotBelowLruAndHitsInHalfAWorkingSet) {
  for (const double share : kShares) {
    const double lru = hit_rate(with_policy(EvictionPolicy::kLru), share);
    const double rates = hit_rate(with_policy(EvictionPolicy::kRates), share);
    const double fitted = hit_rate(with_policy(EvictionPolicy::kFitted), share);
    RecordProperty(
        "hits at " + std::to_string(share),
        std::to_string(lru) + " " + std::to_string(rates) + " " + std::to_string(fitted));
    EXPECT_GE(rates, lru - 0.005) << "at " << share;
    EXPECT_GE(fitted, lru) << "at " << share;
    if (share < 0.1) {
      EXPECT_LT(lru, 0.01);
      EXPECT_GT(fitted, 0.08);
    }
  }
}

TEST(OracleOnTales, ForetellsTheEnginesHitsAndKnowsTheOptimum) {
  const auto files = ModelFiles::open(shattered(tales_dir()));
  ASSERT_TRUE(files);
  TraceRecorder recorder(files->vault);
  EngineOptions options = with_policy(EvictionPolicy::kFitted);
  options.observer = &recorder;
  const double measured = hit_rate(options, 0.26);
  const OracleTable table = simulate(recorder.trace(), kShares, {});
  for (size_t row = 0; row < table.rows.size(); ++row) {
    EXPECT_GE(table.hit_rate(row, "fitted"), table.hit_rate(row, "lru"));
    EXPECT_GT(table.hit_rate(row, "belady"), table.hit_rate(row, "fitted"));
  }
  EXPECT_NEAR(table.hit_rate(2, "fitted"), measured, 0.02);
}

}  // namespace
}  // namespace smoe::test
