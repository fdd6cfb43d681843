// The invariant: the same logit bits for every ring size, thread count, prompt chunk, bet setting,
// read engine, eviction policy, batch composition, and for reused or recomputed prefixes. N4.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>

#include "base/rng.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

constexpr size_t kTokens = 75;

struct Model {
  const char* name;
  Quant quant;
  uint32_t records;  // of the vault
};
constexpr Model kModels[] = {
    {"qwen3_moe", Quant::kExact, 48},       {"qwen3_moe_mixed", Quant::kExact, 16},
    {"qwen3_moe_fp8", Quant::kExact, 8},    {"qwen2_moe", Quant::kExact, 36},
    {"deepseek_moe_v1", Quant::kExact, 32}, {"qwen3_moe", Quant::kQuality, 48},
};

std::vector<uint32_t> bits_of(const std::vector<std::vector<float>>& logits) {
  std::vector<uint32_t> bits;
  for (const auto& row : logits)
    for (const float value : row) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Turns a bit of each record; the header stays as it is.
void damage_every_record(const std::filesystem::path& path) {
  const auto vault = VaultFile::open(path);
  ASSERT_TRUE(vault);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (uint32_t expert = 0; expert < vault->info().experts; ++expert) {
    const auto at = static_cast<std::streamoff>(vault->info().offset_of(expert) + 500);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 8));
  }
  ASSERT_TRUE(file.good());
}

class BitIdentity : public testing::TestWithParam<Model> {
 protected:
  std::filesystem::path folder_ = shattered(golden_dir(GetParam().name), GetParam().quant);
  std::vector<TokenId> prompt_ =
      Reference(golden_dir(GetParam().name) / "golden.safetensors").tokens("input_ids");

  std::vector<uint32_t> bits(const EngineSettings& settings) {
    OpenModel model(folder_, settings);
    return bits_of(all_logits(model.engine(), prompt_));
  }
};

TEST_P(BitIdentity, HoldsForEveryRingThreadsChunkAndBets) {
  ASSERT_EQ(prompt_.size(), kTokens);
  EngineSettings plain;
  plain.threads = 1;
  const std::vector<uint32_t> expected = bits(plain);
  for (const uint32_t slots : {2U, GetParam().records / 2, GetParam().records}) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      for (const uint32_t chunk : {1U, 7U, 64U, 512U}) {
        for (const bool bets : {false, true}) {
          EngineSettings settings;
          settings.options.ring_slots = slots;
          settings.options.prompt_chunk = chunk;
          settings.options.bets = bets;
          settings.threads = threads;
          ASSERT_EQ(bits(settings), expected) << "ring " << slots << ", threads " << threads
                                              << ", chunk " << chunk << ", bets " << bets;
        }
      }
    }
  }
}

TEST_P(BitIdentity, HoldsForEveryChunkAndThreadCountWithKeysAndValuesOfFewerBits) {
  const std::vector<uint32_t> f32 = bits({});
  for (const KvType type : {KvType::kF16, KvType::kQ8_0}) {
    EngineSettings plain;
    plain.options.kv = type;
    plain.threads = 1;
    const std::vector<uint32_t> expected = bits(plain);
    EXPECT_NE(expected, f32) << name_of(type);
    for (const uint32_t chunk : {1U, 7U, 64U, 512U}) {
      EngineSettings settings;
      settings.options.kv = type;
      settings.options.prompt_chunk = chunk;
      settings.options.ring_slots = chunk == 7 ? 2U : GetParam().records;
      settings.threads = chunk == 1 ? 3 : 2;
      ASSERT_EQ(bits(settings), expected) << name_of(type) << " chunk " << chunk;
    }
  }
}

TEST_P(BitIdentity, HoldsForEveryReadEngineAndEvictionPolicy) {
  const std::vector<uint32_t> expected = bits({});
  for (const IoEngine io : {IoEngine::kAuto, IoEngine::kPread, IoEngine::kBuffered}) {
    for (const EvictionPolicy policy :
         {EvictionPolicy::kLru, EvictionPolicy::kRates, EvictionPolicy::kFitted}) {
      for (const uint32_t slots : {2U, GetParam().records / 2}) {
        EngineSettings settings;
        settings.options.ring_slots = slots;
        settings.options.prompt_chunk = slots == 2 ? 7 : 1;
        settings.options.io = io;
        settings.options.eviction = policy;
        settings.options.bets = slots > 2;
        ASSERT_EQ(bits(settings), expected)
            << "ring " << slots << ", engine " << static_cast<int>(io) << ", " << name_of(policy);
      }
    }
  }
}

TEST_P(BitIdentity, HoldsForARingThatIsWarmWithWhatAnEarlierRunWanted) {
  const std::vector<uint32_t> expected = bits({});
  const TempDir copy;
  copy_model(folder_, copy / "model");
  for (const uint32_t slots : {2U, GetParam().records / 2, GetParam().records}) {
    for (const IoEngine io : {IoEngine::kAuto, IoEngine::kPread}) {
      EngineSettings settings;
      settings.options.ring_slots = slots;
      settings.options.io = io;
      settings.options.bets = true;
      settings.options.warm = true;
      settings.options.remember_claims = true;
      OpenModel model(copy / "model", settings);
      ASSERT_EQ(bits_of(all_logits(model.engine(), prompt_)), expected) << "ring " << slots;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(claims_path(copy / "model")));
}

// Everything that may change when a byte arrives, together: token by token, so that the ring
// shrinks and grows between steps. All combinations with SMOE_TEST_LONG, else each value with some
// others.
TEST(BitIdentityOfStreaming, HoldsForEnginesPoliciesBetsWarmRingsShrinkingRingsAndMirrors) {
  const auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  const auto intact = shattered(golden_dir("qwen3_moe"));
  const TempDir home;
  const auto damaged = home / "damaged";
  copy_model(intact, damaged);
  for (const uint32_t layer : {0U, 2U})
    damage_every_record(damaged / "vault" / vault_file_name(layer));
  OpenModel plain(intact, {});
  const std::vector<uint32_t> expected = bits_of(all_logits(plain.engine(), prompt));
  const size_t vocabulary = plain.engine().spec().vocabulary;
  const bool all = std::getenv("SMOE_TEST_LONG") != nullptr;
  constexpr IoEngine kEngines[] = {IoEngine::kAuto, IoEngine::kPread, IoEngine::kBuffered};
  constexpr EvictionPolicy kPolicies[] = {EvictionPolicy::kFitted, EvictionPolicy::kLru,
                                          EvictionPolicy::kRates};
  for (uint32_t i = 0; i < 3 * 3 * 16; ++i) {
    if (!all && i % 13 != 0) continue;
    EngineSettings settings;
    settings.options.io = kEngines[i % 3];
    settings.options.eviction = kPolicies[i / 3 % 3];
    settings.options.bets = (i / 9 & 1U) != 0;
    settings.options.warm = settings.options.remember_claims = (i / 9 & 2U) != 0;
    const bool shrinks = (i / 9 & 4U) != 0;
    const bool mirror = (i / 9 & 8U) != 0;
    settings.options.ring_slots = 20;
    if (mirror) settings.options.mirror = intact;
    OpenModel model(mirror ? damaged : intact, settings);
    Session session = model.session();
    Rng rng(i);
    for (size_t position = 0; position < prompt.size(); ++position) {
      if (shrinks) model.engine().limit_ring(rng.below(model.engine().plan().ring_bytes + 1));
      ASSERT_TRUE(session.append(prompt[position]));
      for (size_t k = 0; k < vocabulary; ++k)
        ASSERT_EQ(std::bit_cast<uint32_t>(session.logits()[k]), expected[position * vocabulary + k])
            << "combination " << i << ", position " << position;
    }
    EXPECT_EQ(model.engine().stream_stats().rescues > 0, mirror);
  }
}

TEST_P(BitIdentity, HoldsForDecodingAndForARewoundSession) {
  OpenModel model(folder_, {});
  const std::vector<uint32_t> expected = bits_of(all_logits(model.engine(), prompt_));
  const size_t vocabulary = model.engine().spec().vocabulary;
  Session session = model.session();
  const auto check = [&](size_t position) {
    for (size_t i = 0; i < vocabulary; ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(session.logits()[i]), expected[position * vocabulary + i])
          << "position " << position;
  };
  for (size_t position = 0; position < kTokens; ++position) {
    ASSERT_TRUE(session.append(prompt_[position]));
    check(position);
  }
  // Another continuation in between must leave nothing behind.
  session.rewind(40);
  ASSERT_TRUE(session.append(TokenId{7}));
  session.rewind(40);
  ASSERT_TRUE(session.append(std::span(prompt_).subspan(40), [](size_t, size_t) {}));
  check(kTokens - 1);
}

TEST_P(BitIdentity, HoldsWhenSequencesShareABatch) {
  EngineSettings settings;
  settings.options.sequences = 3;
  OpenModel model(folder_, settings);
  Engine& engine = model.engine();
  const std::vector<uint32_t> expected = bits_of(all_logits(engine, prompt_));
  const size_t vocabulary = engine.spec().vocabulary;

  // Three sequences of the same prompt, each at another position, one token of each in every step.
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 3; ++i) {
    const auto sequence = engine.kv().open_sequence();
    ASSERT_TRUE(sequence);
    ASSERT_TRUE(engine.kv().extend(*sequence, kTokens));
    sequences.push_back(*sequence);
  }
  for (uint32_t step = 0; step < kTokens + 2 * 5; ++step) {
    std::vector<BatchToken> batch;
    std::vector<uint32_t> positions;
    for (uint32_t i = 0; i < 3; ++i) {
      if (step < i * 5 || step - i * 5 >= kTokens) continue;
      positions.push_back(step - i * 5);
      batch.push_back({prompt_[positions.back()], sequences[i], positions.back(), true});
    }
    Collector collector;
    ASSERT_TRUE(engine.step(batch, collector));
    for (size_t row = 0; row < batch.size(); ++row)
      for (size_t i = 0; i < vocabulary; ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(collector.logits_of[row][i]),
                  expected[positions[row] * vocabulary + i])
            << "step " << step << ", row " << row;
  }
}

TEST_P(BitIdentity, HoldsForTheGreedyText) {
  OpenModel all(folder_, {});
  EngineSettings small;
  small.options.ring_slots = 2;
  small.options.prompt_chunk = 7;
  small.options.bets = true;
  small.threads = 3;
  OpenModel tight(folder_, small);
  EXPECT_EQ(greedy(all.engine(), prompt_, 48), greedy(tight.engine(), prompt_, 48));
}

INSTANTIATE_TEST_SUITE_P(Models, BitIdentity, testing::ValuesIn(kModels), [](const auto& instance) {
  return std::string(instance.param.name) + (instance.param.quant == Quant::kExact ? "" : "_q8_0");
});

TEST(BitIdentityOfTales, HoldsForALongerTextWithARingOfTwoSlots) {
  const auto prompt = Reference(tales_dir() / "reference/golden.safetensors").tokens("input_ids");
  const auto folder = shattered(tales_dir());
  OpenModel all(folder, {});
  EngineSettings small;
  small.options.ring_slots = 2;
  small.options.prompt_chunk = 64;
  OpenModel tight(folder, small);
  EXPECT_EQ(bits_of(all_logits(all.engine(), prompt)), bits_of(all_logits(tight.engine(), prompt)));
}

}  // namespace
}  // namespace smoe::test
