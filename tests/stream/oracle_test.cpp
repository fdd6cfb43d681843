#include "stream/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/rng.h"
#include "base/units.h"
#include "stream/vault_fixture.h"

namespace smoe {
namespace {

using test::key;

void demand(Trace& trace, uint32_t layer, const std::vector<uint32_t>& experts) {
  std::vector<ExpertKey> keys;
  for (const uint32_t expert : experts) keys.push_back(key(layer, expert));
  trace.append({static_cast<LayerId>(layer), keys, {}});
}

double hits(const Trace& trace, double share, std::string_view policy, OracleOptions options = {}) {
  const OracleTable table = simulate(trace, std::span(&share, 1), options);
  return table.hit_rate(0, policy) * static_cast<double>(table.demands);
}

// One layer of four experts, two slots: a b c a b c.
// LRU:    a b | c for a | a for b | b for c | c for a: no hit.
// Belady: a b | c for b | a hits | b for a | c hits.
TEST(Oracle, GivesTheHitsOfAHandComputedCycle) {
  Trace trace({{LayerId{0}, 4, 16 * kKiB}});
  for (const uint32_t expert : {0U, 1U, 2U, 0U, 1U, 2U}) demand(trace, 0, {expert});
  EXPECT_EQ(hits(trace, 0.5, "lru"), 0);
  EXPECT_EQ(hits(trace, 0.5, "belady"), 2);
}

// a b a c a d a e: the record that is used every other time stays under every policy.
TEST(Oracle, GivesTheHitsOfAHandComputedFavourite) {
  Trace trace({{LayerId{0}, 6, 16 * kKiB}});
  for (const uint32_t expert : {0U, 1U, 0U, 2U, 0U, 3U, 0U, 4U}) demand(trace, 0, {expert});
  for (const char* policy : {"lru", "rates", "fitted", "belady"})
    EXPECT_EQ(hits(trace, 0.34, policy), 3) << policy;
}

// Three layers with one expert each, two slots: LRU always gives up what comes next. Giving up the
// layer that has just passed makes every other visit a hit, and no policy can do better.
TEST(Oracle, GivesLruNothingInARingBelowTheWorkingSetAndTheOthersAllThereIs) {
  Trace trace({{LayerId{0}, 2, 16 * kKiB}, {LayerId{1}, 2, 16 * kKiB}, {LayerId{2}, 2, 16 * kKiB}});
  for (int token = 0; token < 20; ++token)
    for (const uint32_t layer : {0U, 1U, 2U}) demand(trace, layer, {1});
  EXPECT_EQ(hits(trace, 0.34, "lru"), 0);
  EXPECT_EQ(hits(trace, 0.34, "belady"), 29);
  EXPECT_GE(hits(trace, 0.34, "rates"), 28);
  EXPECT_GE(hits(trace, 0.34, "fitted"), 28);
}

TEST(Oracle, HitsEverythingButTheFirstUseInARingThatHoldsAll) {
  Trace trace({{LayerId{0}, 4, 16 * kKiB}});
  for (int token = 0; token < 5; ++token) demand(trace, 0, {0, 1, 2, 3});
  for (const char* policy : {"lru", "rates", "fitted", "belady"})
    EXPECT_EQ(hits(trace, 1.0, policy), 16) << policy;
  OracleOptions warm;
  warm.skipped_visits = 1;
  EXPECT_EQ(hits(trace, 1.0, "lru", warm), 16);
  const double share = 1;
  EXPECT_EQ(simulate(trace, std::span(&share, 1), warm).demands, 16U);
}

// Five demands of a layer, four slots, three in flight. a b c d are resident; then e with a..d: the
// residents stay until three misses are placed, so e finds no slot until one of them is let go.
TEST(Oracle, HoldsResidentsThatAreDemandedUntilTheyMustGo) {
  Trace trace({{LayerId{0}, 8, 16 * kKiB}});
  demand(trace, 0, {0, 1, 2, 3});
  demand(trace, 0, {0, 1, 2, 3, 4});
  EXPECT_EQ(hits(trace, 0.5, "lru"), 4);
}

// Four slots; e is resident and wanted next, a b c d are wanted once. d needs a slot: a's, if fresh
// records go as soon as another is placed, but e's if all four are held while they are read.
TEST(Oracle, HoldsFreshRecordsWhileTheyAreInFlight) {
  Trace trace({{LayerId{0}, 8, 16 * kKiB}});
  demand(trace, 0, {4});
  demand(trace, 0, {0, 1, 2, 3});
  demand(trace, 0, {4});
  EXPECT_EQ(hits(trace, 0.5, "belady", {1, 0}), 1);
  EXPECT_EQ(hits(trace, 0.5, "belady", {4, 0}), 0);
}

// Eight demands through two slots.
TEST(Oracle, ServesAUnionLargerThanTheRing) {
  Trace trace({{LayerId{0}, 8, 16 * kKiB}});
  for (int token = 0; token < 3; ++token) demand(trace, 0, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const char* policy : {"lru", "rates", "fitted", "belady"})
    EXPECT_GE(hits(trace, 0.25, policy), 0) << policy;
}

TEST(Oracle, GivesEachRecordSizeItsShareAndTwoSlotsAtLeast) {
  const Trace trace({{LayerId{0}, 100, 16 * kKiB}, {LayerId{1}, 10, 48 * kKiB}});
  const std::vector<double> shares = {0.01, 0.5, 1.0};
  const OracleTable table = simulate(trace, shares, {});
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].slots, 4U);
  EXPECT_EQ(table.rows[1].slots, 55U);
  EXPECT_EQ(table.rows[1].ring_bytes, (50 * 16 + 5 * 48) * kKiB);
  EXPECT_EQ(table.rows[2].slots, 110U);
}

// A model whose routing drifts: popularity that lasts, favourites that change slowly, and noise, as
// measured models have them. Seeded, so the figures are the same everywhere.
Trace drifting_model(float popularity, float slow, uint32_t tokens) {
  constexpr uint32_t kLayers = 8;
  constexpr uint32_t kExperts = 64;
  constexpr uint32_t kActive = 4;
  std::vector<TraceLayer> layers;
  for (uint32_t layer = 0; layer < kLayers; ++layer)
    layers.push_back({static_cast<LayerId>(layer), kExperts, 16 * kKiB});
  Trace trace(std::move(layers));
  Rng rng(11);
  const auto normal = [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    return static_cast<float>(sum - 6);
  };
  std::vector<float> lasting(kLayers * kExperts), drift(kLayers * kExperts);
  for (float& one : lasting) one = normal();
  for (float& one : drift) one = normal();
  const float noise = std::sqrt(std::max(0.0F, 1 - popularity - slow));
  std::vector<float> logits(kExperts), probabilities(kExperts);
  std::vector<uint16_t> order(kExperts), ranks(kExperts);
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      float sum = 0;
      for (uint32_t i = 0; i < kExperts; ++i) {
        float& slowly = drift[layer * kExperts + i];
        slowly = 0.97F * slowly + 0.243F * normal();
        logits[i] = 2 * (std::sqrt(popularity) * lasting[layer * kExperts + i] +
                         std::sqrt(slow) * slowly + noise * normal());
        sum += std::exp(logits[i]);
      }
      for (uint32_t i = 0; i < kExperts; ++i) probabilities[i] = std::exp(logits[i]) / sum;
      std::iota(order.begin(), order.end(), uint16_t{0});
      std::ranges::sort(order, [&](uint16_t a, uint16_t b) { return logits[a] > logits[b]; });
      for (uint16_t rank = 0; rank < kExperts; ++rank) ranks[order[rank]] = rank;
      std::vector<ExpertKey> keys;
      for (uint32_t rank = 0; rank < kActive; ++rank) keys.push_back(key(layer, order[rank]));
      std::ranges::sort(keys);
      trace.append({static_cast<LayerId>(layer), keys, {probabilities, ranks, 1, kActive}});
    }
  }
  return trace;
}

// Fixed rates may lose a little where nothing lasts; the fit finds that out.
TEST(Policies, AreNotBelowLruAndNeverAboveTheOptimumOnModelsThatDrift) {
  struct Model {
    float popularity, slow;
  };
  const std::vector<double> shares = {0.03, 0.06, 0.13, 0.26, 0.5};
  OracleOptions options;
  options.skipped_visits = size_t{64} * 8;
  for (const Model& model :
       {Model{0.4F, 0.2F}, Model{0.1F, 0.5F}, Model{0.6F, 0}, Model{0, 0.1F}}) {
    const OracleTable table =
        simulate(drifting_model(model.popularity, model.slow, 400), shares, options);
    for (size_t row = 0; row < shares.size(); ++row) {
      const double lru = table.hit_rate(row, "lru");
      const double best = table.hit_rate(row, "belady");
      for (const char* policy : {"rates", "fitted"}) {
        const double allowed = std::string_view(policy) == "rates" ? 0.01 : 0;
        EXPECT_GE(table.hit_rate(row, policy), lru - allowed)
            << policy << " at " << shares[row] << ", popularity " << model.popularity;
        EXPECT_LE(table.hit_rate(row, policy), best) << policy << " at " << shares[row];
      }
    }
    // Half a working set: LRU has nothing.
    EXPECT_EQ(table.hit_rate(0, "lru"), 0);
    EXPECT_GT(table.hit_rate(0, "fitted"), 0.02);
  }
}

TEST(Policies, ComeNearTheOptimumWherePopularityLasts) {
  const std::vector<double> shares = {0.0625, 0.13, 0.26};
  OracleOptions options;
  options.skipped_visits = size_t{64} * 8;
  const OracleTable table = simulate(drifting_model(0.6F, 0, 600), shares, options);
  const std::vector<double> distances = {0.14, 0.10, 0.05};
  for (size_t row = 0; row < shares.size(); ++row)
    EXPECT_GE(table.hit_rate(row, "fitted"), table.hit_rate(row, "belady") - distances[row])
        << "at " << shares[row] << ", lru " << table.hit_rate(row, "lru");
}

}  // namespace
}  // namespace smoe
