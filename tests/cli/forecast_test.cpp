// Predictions from given measurements, and the memory of what came of them.
#include "cli/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/forecast_log.h"
#include "cli/smoe.h"
#include "support/temp_dir.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

ModelSpec two_layers() {
  ModelSpec spec;
  spec.layers.resize(2);
  for (LayerSpec& layer : spec.layers) {
    layer.ffn.kind = FfnKind::kExperts;
    layer.ffn.experts = 100;
    layer.ffn.router.active_experts = 10;
  }
  return spec;
}

struct Case {
  ModelSpec spec = two_layers();
  ModelSizes sizes{.scout_bytes = 1'000'000, .records = {{1'000'000, 200}}};
  MemoryPlan plan;
  Measurements measured;
  Case() {
    plan.slots = {100};
    plan.prompt_chunk = 64;
    measured.disk = {true, 2e9, 1e9, 1'000'000, kMiB};
    measured.rehearsal = {5'000'000, 64, 64'000'000};
  }
  Forecast forecast(uint32_t prompt = 64) const {
    return forecast_of(spec, sizes, plan, measured, prompt);
  }
};

TEST(Forecast, IsLimitedByTheDiskWhereMissesTakeLonger) {
  Case half;
  half.measured.hit_rate = 0.5;  // ten records of a megabyte a token: 10 ms
  const Forecast forecast = half.forecast();
  EXPECT_NEAR(forecast.disk_seconds, 0.010, 1e-9);
  EXPECT_NEAR(forecast.compute_seconds, 0.005, 1e-9);
  EXPECT_EQ(forecast.limit, Limit::kDisk);
  EXPECT_GT(forecast.token_seconds, 0.010);
  EXPECT_LT(forecast.token_seconds, 0.015);
}

TEST(Forecast, IsLimitedByComputeWhereEverythingIsResident) {
  Case all;
  all.plan.slots = {200};
  const Forecast forecast = all.forecast();
  EXPECT_EQ(forecast.hit_rate, 1);
  EXPECT_EQ(forecast.token_bytes, 0);
  EXPECT_EQ(forecast.limit, Limit::kCompute);
  EXPECT_NEAR(forecast.tokens_per_second(), 200, 1e-6);
}

TEST(Forecast, OfAPromptSweepsAgainForEveryChunkThatTheRingCannotKeep) {
  Case one;
  const double whole = one.forecast(64).prompt_bytes;
  EXPECT_NEAR(whole, 200e6, 1e6) << "64 tokens want nearly all of the experts";
  EXPECT_GT(one.forecast(256).prompt_bytes, 2 * whole);
  one.plan.prompt_chunk = 256;
  EXPECT_NEAR(one.forecast(256).prompt_bytes, 200e6, 1e6);
}

TEST(TypicalHitRate, GrowsFromNothingToAll) {
  EXPECT_EQ(typical_hit_rate(0), 0);
  EXPECT_EQ(typical_hit_rate(1), 1);
  for (double share = 0.01; share <= 1; share += 0.01)
    EXPECT_GT(typical_hit_rate(share), typical_hit_rate(share - 0.01));
}

class ForecastLogTest : public testing::Test {
 protected:
  static ForecastEntry entry(uint64_t fingerprint) {
    return {{fingerprint, 100, 2}, 512, 7.5, 1.5, {}};
  }
  test::TempDir dir_;
};

TEST_F(ForecastLogTest, RemembersThePredictionAndTheLatestRuns) {
  ForecastLog log(dir_.path() / "state");
  log.predict(entry(UINT64_MAX));
  for (uint64_t run = 1; run <= 10; ++run)
    log.measure(entry(UINT64_MAX).key, {512, run, 7.0, 1.0, 0.5});
  log.measure(entry(1).key, {512, 3, 7.0, 1.0, 0.5});
  ASSERT_TRUE(log.save());

  const ForecastLog again(dir_.path() / "state");
  const ForecastEntry* found = again.find(entry(UINT64_MAX).key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->tokens_per_second, 7.5);
  ASSERT_EQ(found->runs.size(), ForecastLog::kMostRuns);
  EXPECT_EQ(found->runs.back().tokens, 10U);
  EXPECT_EQ(found->runs.front().tokens, 3U);
  EXPECT_EQ(again.find(entry(1).key), nullptr) << "nothing was predicted for it";
}

TEST_F(ForecastLogTest, KeepsRunsWhenAPredictionIsReplacedAndIsBounded) {
  ForecastLog log(dir_.path());
  for (uint64_t model = 0; model < 2 * ForecastLog::kMostEntries; ++model)
    log.predict(entry(model));
  EXPECT_EQ(log.find(entry(0).key), nullptr);
  const ForecastKey last = entry(2 * ForecastLog::kMostEntries - 1).key;
  log.measure(last, {512, 99, 7.0, 1.0, 0.5});
  log.predict(entry(last.fingerprint));
  ASSERT_EQ(log.find(last)->runs.size(), 1U);
}

TEST_F(ForecastLogTest, TakesADamagedFileForAnEmptyOneAndReplacesIt) {
  for (const char* text : {"", "[{\"runs\":", "{}", "[1,null,{\"runs\":7}]", "\xff\xfe"}) {
    std::ofstream(dir_ / "forecasts.json") << text;
    ForecastLog log(dir_.path());
    EXPECT_EQ(log.find(entry(5).key), nullptr);
    log.predict(entry(5));
    ASSERT_TRUE(log.save());
    EXPECT_NE(ForecastLog(dir_.path()).find(entry(5).key), nullptr) << text;
  }
}

TEST_F(ForecastLogTest, KeepsNothingWithoutAFolder) {
  ForecastLog log("");
  log.predict(entry(5));
  EXPECT_TRUE(log.save());
}

TEST(Plan, PredictsACheckpointThatNobodyHasShatteredAndHearsOfTheRun) {
  test::TempDir dir;
  test::ProcessOptions options;
  options.environment = {{"XDG_STATE_HOME", (dir / "state").string()}};
  const Words plan{
      "plan",  golden("qwen3_moe"), "--ring-slots", "12", "--threads", "1", "--ctx", "128",
      "--json"};
  const auto result = smoe(plan, options);
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["kind"], "checkpoint");
  EXPECT_EQ(report["plan"]["ring_slots"], 12);
  EXPECT_GT(report["plan"]["tokens_per_second"], 0.0);
  EXPECT_GT(report["plan"]["first_token_seconds"], 0.0);
  EXPECT_TRUE(report["earlier"]["measured_per_second"].empty());

  expect_one_error(smoe({"plan", golden("qwen3_moe"), "--memory", "1M"}, options), 1);
}

}  // namespace
}  // namespace smoe::cli
