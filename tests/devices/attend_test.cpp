#include <algorithm>
#include <numeric>

#include "devices/rig.h"
#include "support/effort.h"

namespace smoe::test {
namespace {

struct Heads {
  uint32_t heads;
  uint32_t kv_heads;
  uint32_t head_dim;
};

// One sequence's queries, keys and values, [tokens][...].
struct Sequence {
  uint32_t tokens;
  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> value;
};

Sequence random_sequence(Rng& rng, const Heads& heads, uint32_t tokens) {
  return {tokens, random_values(rng, size_t{tokens} * heads.heads * heads.head_dim, 2.0),
          random_values(rng, size_t{tokens} * heads.kv_heads * heads.head_dim, 2.0),
          random_values(rng, size_t{tokens} * heads.kv_heads * heads.head_dim)};
}

float scale_of(const Heads& heads) { return 1 / std::sqrt(static_cast<float>(heads.head_dim)); }

// A KV cache on a device: NaN wherever nothing was stored.
class Cache {
 public:
  Cache(Rig& rig, const Heads& heads, std::vector<uint32_t> page_table, KvType type = KvType::kF32)
      : rig_(rig), heads_(heads), page_table_(std::move(page_table)) {
    pages_.type = type;
    pages_.kv_heads = heads.kv_heads;
    pages_.head_dim = heads.head_dim;
    const uint32_t pages = *std::max_element(page_table_.begin(), page_table_.end()) + 1;
    // All ones are NaN as F32, F16 and as the scale of Q8_0.
    const std::vector<std::byte> unset(pages * pages_.page_bytes(), std::byte{0xff});
    buffer_ = *rig.device->allocate(unset.size());
    pages_.view = {&buffer_, 0};
    rig.device->write(pages_.view, unset);
  }

  // Tokens [begin, end) of a sequence whose pages start at page_begin of the table.
  std::vector<float> step(const Sequence& sequence, uint32_t begin, uint32_t end,
                          uint32_t page_begin) {
    std::vector<TokenPlace> places;
    for (uint32_t i = begin; i < end; ++i) places.push_back({i, page_begin});
    const auto part = [&](const std::vector<float>& all) {
      const size_t width = all.size() / sequence.tokens;
      return std::span(all).subspan(begin * width, (end - begin) * width);
    };
    return step(part(sequence.query), part(sequence.key), part(sequence.value), places);
  }

  std::vector<float> step(std::span<const float> query, std::span<const float> key,
                          std::span<const float> value, std::span<const TokenPlace> places) {
    Device& device = *rig_.device;
    const auto count = static_cast<uint32_t>(places.size());
    const uint32_t kv_width = heads_.kv_heads * heads_.head_dim;
    const DeviceRows keys = make_rows(device, count, kv_width, key);
    const DeviceRows values = make_rows(device, count, kv_width, value);
    device.store_kv({keys.rows, values.rows, pages_, places, page_table_});
    return attend(query, places);
  }

  std::vector<float> attend(std::span<const float> query, std::span<const TokenPlace> places) {
    Device& device = *rig_.device;
    const auto count = static_cast<uint32_t>(places.size());
    const DeviceRows queries = make_rows(device, count, heads_.heads * heads_.head_dim, query);
    const DeviceRows out = make_rows(device, count, heads_.heads * heads_.head_dim);
    device.attend(
        {queries.rows, pages_, heads_.heads, scale_of(heads_), places, page_table_, out.rows});
    return values_of(device, out.rows);
  }

 private:
  Rig& rig_;
  Heads heads_;
  std::vector<uint32_t> page_table_;
  Buffer buffer_;
  KvPages pages_;
};

std::vector<uint32_t> plain_table(uint32_t tokens) {
  std::vector<uint32_t> table(ceil_div(tokens, kPagePositions));
  std::iota(table.begin(), table.end(), 0U);
  return table;
}

std::vector<float> in_chunks(Rig& rig, const Heads& heads, const Sequence& sequence, uint32_t chunk,
                             std::vector<uint32_t> table, KvType type = KvType::kF32) {
  Cache cache(rig, heads, std::move(table), type);
  std::vector<float> out;
  for (uint32_t begin = 0; begin < sequence.tokens; begin += chunk) {
    const auto part = cache.step(sequence, begin, std::min(begin + chunk, sequence.tokens), 0);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

std::vector<double> exact_attention(const Heads& heads, const Sequence& sequence) {
  const uint32_t dim = heads.head_dim;
  const uint32_t group = heads.heads / heads.kv_heads;
  std::vector<double> out;
  for (uint32_t t = 0; t < sequence.tokens; ++t) {
    for (uint32_t head = 0; head < heads.heads; ++head) {
      const float* query = &sequence.query[(size_t{t} * heads.heads + head) * dim];
      const auto kv = [&](const std::vector<float>& all, uint32_t at) {
        return &all[(size_t{at} * heads.kv_heads + head / group) * dim];
      };
      std::vector<double> sums(dim);
      double total = 0;
      for (uint32_t at = 0; at <= t; ++at) {
        double score = 0;
        for (uint32_t d = 0; d < dim; ++d) score += double{query[d]} * kv(sequence.key, at)[d];
        const double weight = std::exp(score * scale_of(heads));
        total += weight;
        for (uint32_t d = 0; d < dim; ++d) sums[d] += weight * kv(sequence.value, at)[d];
      }
      for (const double sum : sums) out.push_back(sum / total);
    }
  }
  return out;
}

// What is left of keys or values in a type, written down once more.
std::vector<float> rounded(std::vector<float> all, uint32_t dim, KvType type) {
  if (type == KvType::kF32) return all;
  for (size_t head = 0; head < all.size(); head += dim) {
    for (size_t begin = 0; begin < dim; begin += kKvBlock) {
      const auto block = std::span(all).subspan(head + begin, std::min<size_t>(32, dim - begin));
      float largest = 0;
      for (const float value : block) largest = std::max(largest, std::abs(value));
      const double scale = f16_to_float(float_to_f16(largest / 127));
      for (float& value : block)
        value = type == KvType::kF16 ? f16_to_float(float_to_f16(value))
                                     : static_cast<float>(std::nearbyint(value / scale) * scale);
    }
  }
  return all;
}

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kQ8_0};
constexpr Heads kHeads[] = {{4, 2, 16}, {8, 1, 24}, {3, 3, 5}, {30, 1, 8}, {8, 2, 128}, {2, 1, 40}};

TEST(Attend, IsWithinRoundingOfTheExactSoftmax) {
  Rng rng(40);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Heads& heads : kHeads) {
      const Sequence sequence = random_sequence(rng, heads, 70);
      for (const KvType type : kTypes) {
        const auto out = in_chunks(rig, heads, sequence, 70, plain_table(70), type);
        Sequence kept = sequence;
        kept.key = rounded(kept.key, heads.head_dim, type);
        kept.value = rounded(kept.value, heads.head_dim, type);
        const auto expected = exact_attention(heads, kept);
        for (size_t i = 0; i < out.size(); ++i)
          ASSERT_NEAR(out[i], expected[i], 3e-6) << name_of(kernels) << ' ' << name_of(type)
                                                 << " head_dim " << heads.head_dim << " at " << i;
      }
    }
  }
}

// Keys up to 2, values up to 1: half a unit of F16 is at most 2^-11 of a number, of Q8_0 a 254th of
// its block's largest (and what fp16 takes from the scale).
TEST(Attend, StaysNearF32WithKeysAndValuesOfFewerBits) {
  Rng rng(48);
  Rig rig(CpuKernels::kBest);
  for (const Heads& heads : kHeads) {
    const Sequence sequence = random_sequence(rng, heads, 90);
    const auto expected = in_chunks(rig, heads, sequence, 90, plain_table(90));
    for (const auto& [type, most] :
         {std::pair{KvType::kF16, 2e-3}, std::pair{KvType::kQ8_0, 2e-2}}) {
      const auto out = in_chunks(rig, heads, sequence, 90, plain_table(90), type);
      double largest = 0;
      for (size_t i = 0; i < out.size(); ++i)
        largest = std::max(largest, std::abs(double{out[i]} - expected[i]));
      EXPECT_LE(largest, most) << name_of(type) << " head_dim " << heads.head_dim;
      EXPECT_GE(largest, 1e-6) << name_of(type) << " is not f32";
    }
  }
}

TEST(Attend, GivesTheSameBitsWithKeysAndValuesOfFewerBits) {
  Rng rng(49);
  Rig portable(CpuKernels::kPortable);
  for (const KvType type : {KvType::kF16, KvType::kQ8_0}) {
    for (const Heads& heads : kHeads) {
      Sequence sequence = random_sequence(rng, heads, 100);
      for (size_t i = 0; i < sequence.key.size(); i += 3) sequence.key[i] *= 1e-6F;  // subnormals
      std::fill_n(sequence.value.begin(), heads.head_dim * heads.kv_heads, 0.0F);
      const auto expected = in_chunks(portable, heads, sequence, 1, plain_table(100), type);
      for (const CpuKernels kernels : usable_kernels()) {
        for (const unsigned threads : {1U, 3U}) {
          if (kSanitized && threads == 1) continue;
          Rig rig(kernels, threads);
          for (const uint32_t chunk : ends_of({7U, 1U, 100U}))
            EXPECT_TRUE(
                same_bits(in_chunks(rig, heads, sequence, chunk, plain_table(100), type), expected))
                << name_of(kernels) << ' ' << name_of(type) << " head_dim " << heads.head_dim
                << " chunk " << chunk << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(Attend, GivesTheSameBitsWithEveryKernelSetChunkAndThreadCount) {
  Rng rng(41);
  Rig portable(CpuKernels::kPortable);
  for (const Heads& heads : kHeads) {
    const Sequence sequence = random_sequence(rng, heads, 100);
    const auto expected = in_chunks(portable, heads, sequence, 1, plain_table(100));
    for (const CpuKernels kernels : usable_kernels()) {
      for (const unsigned threads : ends_of({1U, 2U, 3U})) {
        Rig rig(kernels, threads);
        for (const uint32_t chunk : ends_of({1U, 7U, 64U, 100U}))
          EXPECT_TRUE(same_bits(in_chunks(rig, heads, sequence, chunk, plain_table(100)), expected))
              << name_of(kernels) << " head_dim " << heads.head_dim << " chunk " << chunk << ", "
              << threads << " threads";
      }
    }
  }
}

TEST(Attend, GivesTheSameBitsWhereverThePagesLie) {
  Rng rng(42);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels, 2);
    const Heads heads{4, 2, 24};
    const Sequence sequence = random_sequence(rng, heads, 120);
    EXPECT_TRUE(same_bits(in_chunks(rig, heads, sequence, 50, plain_table(120)),
                          in_chunks(rig, heads, sequence, 50, {6, 1, 9, 0})));
  }
}

TEST(Attend, KeepsTheSequencesOfABatchApart) {
  Rng rng(43);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels, 2);
    const Heads heads{6, 2, 24};
    const Sequence a = random_sequence(rng, heads, 40);
    const Sequence b = random_sequence(rng, heads, 34);
    const auto alone_a = in_chunks(rig, heads, a, 40, plain_table(40));
    const auto alone_b = in_chunks(rig, heads, b, 34, plain_table(34));

    Cache cache(rig, heads, {3, 1, 0, 2});  // a: pages 3, 1; b: pages 0, 2
    cache.step(a, 0, 39, 0);
    cache.step(b, 0, 31, 2);
    const auto tail = [](const std::vector<float>& all, uint32_t tokens, uint32_t from) {
      const size_t width = all.size() / tokens;
      return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(from * width), all.end());
    };
    const auto joined = [](std::vector<float> first, const std::vector<float>& second) {
      first.insert(first.end(), second.begin(), second.end());
      return first;
    };
    const std::vector<TokenPlace> places = {{39, 0}, {31, 2}, {32, 2}, {33, 2}};
    const auto out = cache.step(joined(tail(a.query, 40, 39), tail(b.query, 34, 31)),
                                joined(tail(a.key, 40, 39), tail(b.key, 34, 31)),
                                joined(tail(a.value, 40, 39), tail(b.value, 34, 31)), places);
    EXPECT_TRUE(same_bits(out, joined(tail(alone_a, 40, 39), tail(alone_b, 34, 31))));
  }
}

// Positions after a token's own do not exist for it, whatever their bytes are; here later tokens of
// the same batch, and of the same page, are NaN and infinite.
TEST(Attend, DoesNotSeeLaterTokensOfItsOwnBatch) {
  Rng rng(44);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    const Heads heads{4, 2, 24};
    Sequence sequence = random_sequence(rng, heads, 40);
    const auto expected = in_chunks(rig, heads, sequence, 40, plain_table(40));
    const size_t kv_width = size_t{heads.kv_heads} * heads.head_dim;
    for (size_t i = 20 * kv_width; i < sequence.key.size(); ++i) {
      sequence.key[i] = kNan;
      sequence.value[i] = i % 2 == 0 ? kNan : kInf;
    }
    const auto out = in_chunks(rig, heads, sequence, 40, plain_table(40));
    const size_t width = size_t{heads.heads} * heads.head_dim;
    EXPECT_TRUE(same_bits(std::span(out).first(20 * width), std::span(expected).first(20 * width)));
    for (size_t i = 20 * width; i < out.size(); ++i) ASSERT_TRUE(std::isnan(out[i])) << i;
  }
}

// RELIABILITY N3.
TEST(Attend, PassesNanOnToEveryTokenThatSeesIt) {
  Rng rng(45);
  const Heads heads{2, 2, 16};
  const size_t width = size_t{heads.heads} * heads.head_dim;
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const auto member : {&Sequence::key, &Sequence::value, &Sequence::query}) {
      for (const size_t bad : {size_t{0}, size_t{33}}) {
        Sequence sequence = random_sequence(rng, heads, 50);
        (sequence.*member)[bad * width + 3] = kNan;  // head 0, d 3
        const auto out = in_chunks(rig, heads, sequence, 50, plain_table(50));
        for (size_t i = 0; i < out.size(); ++i) {
          const size_t token = i / width;
          const bool sees = member == &Sequence::query ? token == bad : token >= bad;
          const bool touched =
              member == &Sequence::value ? i % width == 3 : i % width < heads.head_dim;
          ASSERT_EQ(std::isnan(out[i]), sees && touched)
              << name_of(kernels) << " token " << token << " element " << i % width;
        }
      }
    }
  }
}

// What is not finite must not pass for a number: F16, which ends at 65504, keeps it as F32 does,
// and a block of Q8_0 that holds a NaN or an infinity is NaN.
TEST(Attend, KeepsWhatIsNotFiniteInEveryType) {
  Rng rng(50);
  const Heads heads{2, 2, 40};
  const size_t width = size_t{heads.heads} * heads.head_dim;
  constexpr float kBad[] = {kNan, kInf, -kInf};
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const auto member : {&Sequence::key, &Sequence::value}) {
      for (const float bad : kBad) {
        Sequence sequence = random_sequence(rng, heads, 50);
        (sequence.*member)[33 * width + 3] = bad;  // head 0, d 3
        const auto plain = in_chunks(rig, heads, sequence, 50, plain_table(50));
        const auto f16 = in_chunks(rig, heads, sequence, 50, plain_table(50), KvType::kF16);
        const auto q8_0 = in_chunks(rig, heads, sequence, 50, plain_table(50), KvType::kQ8_0);
        for (size_t i = 0; i < plain.size(); ++i) {
          ASSERT_EQ(std::isfinite(f16[i]), std::isfinite(plain[i])) << name_of(kernels) << ' ' << i;
          const bool touched =
              i / width >= 33 &&
              (member == &Sequence::key ? i % width < heads.head_dim : i % width < kKvBlock);
          ASSERT_EQ(std::isnan(q8_0[i]), touched) << name_of(kernels) << ' ' << i;
        }
      }
    }
    Sequence sequence = random_sequence(rng, heads, 3);
    sequence.value[3] = 1e6F;
    EXPECT_TRUE(std::isfinite(in_chunks(rig, heads, sequence, 3, plain_table(3))[3]));
    EXPECT_TRUE(std::isinf(in_chunks(rig, heads, sequence, 3, plain_table(3), KvType::kF16)[3]));
  }
}

TEST(Attend, OfHeadsThatAreTooWideForAType) {
  Rig rig(CpuKernels::kBest);
  for (const KvType type : kTypes) {
    EXPECT_TRUE(rig.device->keeps(type, 512));
    EXPECT_EQ(rig.device->keeps(type, 513), type == KvType::kF32);
  }
  Rng rng(51);
  const Heads heads{2, 1, 512};
  Rig wide(CpuKernels::kBest, 1, {8, 1024, 64});
  const Sequence sequence = random_sequence(rng, heads, 5);
  const auto expected = in_chunks(wide, heads, sequence, 5, plain_table(5));
  const auto out = in_chunks(wide, heads, sequence, 5, plain_table(5), KvType::kF16);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 4e-3) << i;
}

TEST(Attend, StaysFiniteWithScoresThatWouldOverflowAPlainSoftmax) {
  Rng rng(46);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    const Heads heads{2, 1, 16};
    Sequence sequence = random_sequence(rng, heads, 80);
    for (float& value : sequence.query) value *= 300;
    const auto out = in_chunks(rig, heads, sequence, 80, plain_table(80));
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_TRUE(std::isfinite(out[i])) << i;
      ASSERT_LE(std::abs(out[i]), 1.0001F) << i;
    }
  }
}

TEST(Attend, OfNoTokensDoesNothing) {
  Rig rig(CpuKernels::kPortable);
  Cache cache(rig, {2, 1, 16}, {0});
  const std::span<const float> nothing;
  EXPECT_TRUE(cache.step(nothing, nothing, nothing, {}).empty());
}

TEST(AttendDeathTest, RefusesPagesThatDoNotExist) {
  Rig rig(CpuKernels::kPortable);
  Rng rng(47);
  const Heads heads{2, 1, 16};
  const Sequence sequence = random_sequence(rng, heads, 40);
  Cache cache(rig, heads, {0});
  EXPECT_DEATH(cache.step(sequence, 0, 40, 0), "page_table");
}

}  // namespace
}  // namespace smoe::test
