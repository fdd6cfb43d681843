#include "devices/rig.h"

namespace smoe::test {
namespace {

TEST(Embed, ReadsTheRowsOfTheTable) {
  Rng rng(20);
  for (const CpuKernels kernels : usable_kernels()) {
    for (const unsigned threads : {1U, 3U}) {
      Rig rig(kernels, threads);
      for (const Format format : kAllFormats) {
        const TestMatrix table = random_matrix(rng, format, 50, whole_blocks(format, 96));
        const uint32_t width = table.cols;
        const DeviceMatrix weight = upload(*rig.device, table);
        std::vector<TokenId> tokens;
        for (uint32_t i = 0; i < 300; ++i) tokens.push_back(TokenId{i * 7 % 50});
        const DeviceRows out = make_rows(*rig.device, 300, width);
        rig.device->embed({weight.matrix, tokens, out.rows});
        const auto values = values_of(*rig.device, out.rows);
        for (size_t i = 0; i < 300; ++i)
          EXPECT_TRUE(same_bits(std::span(values).subspan(i * width, width),
                                std::span(table.weights).subspan(i * 7 % 50 * width, width)))
              << info(format).name << " row " << i;
      }
    }
  }
}

std::vector<float> normalize(Rig& rig, std::span<const float> in, uint32_t count, uint32_t width,
                             std::span<const float> weight, bool in_place) {
  std::unique_ptr<Buffer> buffer;
  const Vector vector = make_vector(*rig.device, buffer, weight);
  const DeviceRows rows = make_rows(*rig.device, count, width, in);
  const DeviceRows other = make_rows(*rig.device, count, width);
  const Rows& out = in_place ? rows.rows : other.rows;
  rig.device->normalize({rows.rows, vector, vector.width, 1e-6F, out});
  return values_of(*rig.device, out);
}

TEST(Normalize, IsWithinRoundingOfTheExactNorm) {
  Rng rng(21);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const uint32_t group : {1U, 7U, 24U, 64U, 100U, 2048U}) {
      const uint32_t width = group == 64 ? 192 : group;
      const auto in = random_values(rng, size_t{3} * width, 10.0);
      const auto weight = random_values(rng, group);
      const auto out = normalize(rig, in, 3, width, weight, false);
      for (size_t begin = 0; begin < in.size(); begin += group) {
        double squares = 0;
        for (size_t i = 0; i < group; ++i) squares += double{in[begin + i]} * in[begin + i];
        const double inverse = 1 / std::sqrt(squares / group + 1e-6);
        for (size_t i = 0; i < group; ++i) {
          const double expected = in[begin + i] * inverse * weight[i];
          EXPECT_NEAR(out[begin + i], expected, 1e-6 * std::abs(expected)) << group << " " << i;
        }
      }
      EXPECT_TRUE(same_bits(out, normalize(rig, in, 3, width, weight, true))) << "in place";
    }
  }
}

TEST(Normalize, GivesTheSameBitsWithEveryKernelSetAndThreadCount) {
  Rng rng(22);
  Rig portable(CpuKernels::kPortable);
  for (const CpuKernels kernels : usable_kernels()) {
    for (const unsigned threads : {1U, 3U}) {
      Rig rig(kernels, threads);
      for (const uint32_t width : {1U, 15U, 17U, 31U, 96U, 100U, 777U}) {
        const auto in = random_values(rng, size_t{90} * width, 5.0);
        const auto weight = random_values(rng, width);
        EXPECT_TRUE(same_bits(normalize(portable, in, 90, width, weight, false),
                              normalize(rig, in, 90, width, weight, false)))
            << name_of(kernels) << " " << width;
      }
    }
  }
}

TEST(Normalize, PassesNanOn) {
  Rng rng(23);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    auto in = random_values(rng, 2 * 40);
    in[41] = kNan;
    const auto out = normalize(rig, in, 2, 40, random_values(rng, 40), false);
    for (size_t i = 0; i < 80; ++i) EXPECT_EQ(std::isnan(out[i]), i >= 40);
  }
}

std::vector<float> rotate(Rig& rig, std::span<const float> in, std::span<const float> angles,
                          uint32_t count, uint32_t heads, uint32_t head_dim, uint32_t dims) {
  const DeviceRows rows = make_rows(*rig.device, count, heads * head_dim, in);
  const DeviceRows turns = make_rows(*rig.device, count, dims, angles);
  rig.device->rotate({rows.rows, heads, head_dim, dims, turns.rows});
  return values_of(*rig.device, rows.rows);
}

TEST(Rotate, TurnsPairsAndLeavesTheRest) {
  Rng rng(24);
  Rig portable(CpuKernels::kPortable);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const uint32_t dims : {24U, 16U, 2U, 18U}) {
      const auto in = random_values(rng, 5 * 3 * 24);
      std::vector<float> angles(size_t{5} * dims);
      for (uint32_t row = 0; row < 5; ++row) {
        for (uint32_t i = 0; i < dims / 2; ++i) {
          const double angle = rng.uniform() * 6;
          angles[row * dims + i] = static_cast<float>(std::cos(angle));
          angles[row * dims + dims / 2 + i] = static_cast<float>(std::sin(angle));
        }
      }
      const auto out = rotate(rig, in, angles, 5, 3, 24, dims);
      EXPECT_TRUE(same_bits(out, rotate(portable, in, angles, 5, 3, 24, dims)));
      for (uint32_t row = 0; row < 5; ++row) {
        for (uint32_t at = 0; at < 72; ++at) {
          const uint32_t i = at % 24;
          const uint32_t half = dims / 2;
          const float* head = in.data() + row * 72 + at / 24 * 24;
          double expected = head[i];
          if (i < dims) {
            const double cosine = angles[row * dims + i % half];
            const double sine = angles[row * dims + half + i % half];
            expected = i < half ? head[i] * cosine - head[i + half] * sine
                                : head[i] * cosine + head[i - half] * sine;
          }
          EXPECT_NEAR(out[row * 72 + at], expected, 3e-7) << dims << " " << row << " " << at;
        }
      }
    }
  }
}

TEST(Accumulate, AddsWeightedRowsWhereTheyBelong) {
  Rng rng(25);
  for (const CpuKernels kernels : usable_kernels()) {
    for (const unsigned threads : {1U, 3U}) {
      Rig rig(kernels, threads);
      for (const uint32_t width : {1U, 40U, 1000U}) {
        const auto from = random_values(rng, size_t{100} * width);
        const auto base = random_values(rng, size_t{128} * width);
        const auto weights = random_values(rng, 100);
        std::vector<uint32_t> rows;
        for (uint32_t i = 0; i < 100; ++i) rows.push_back(127 - i);
        const DeviceRows in = make_rows(*rig.device, 100, width, from);
        const DeviceRows out = make_rows(*rig.device, 128, width, base);
        rig.device->accumulate({in.rows, rows, weights, out.rows});
        rig.device->accumulate({in.rows, {}, {}, out.rows});
        auto expected = base;
        for (size_t i = 0; i < 100; ++i) {
          for (size_t k = 0; k < width; ++k) {
            const float product = weights[i] * from[i * width + k];
            expected[rows[i] * width + k] += product;
          }
        }
        for (size_t i = 0; i < from.size(); ++i) expected[i] += from[i];
        EXPECT_TRUE(same_bits(values_of(*rig.device, out.rows), expected)) << width;
      }
    }
  }
}

TEST(Gather, CopiesRows) {
  Rng rng(26);
  Rig rig(CpuKernels::kPortable);
  const auto values = random_values(rng, 10 * 24);
  const DeviceRows in = make_rows(*rig.device, 10, 24, values);
  const std::vector<uint32_t> rows = {9, 0, 9, 4};
  const DeviceRows out = make_rows(*rig.device, 4, 24);
  rig.device->gather({in.rows, rows, out.rows});
  const auto got = values_of(*rig.device, out.rows);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(same_bits(std::span(got).subspan(i * 24, 24),
                          std::span(values).subspan(size_t{rows[i]} * 24, 24)));
}

TEST(Zero, ClearsItsRowsAlone) {
  Rng rng(27);
  Rig rig(CpuKernels::kPortable);
  auto values = random_values(rng, 4 * 20);
  const DeviceRows rows = make_rows(*rig.device, 4, 20, values);
  rig.device->zero(rows.rows.slice(1, 2));
  std::fill(values.begin() + 20, values.begin() + 60, 0.0F);
  EXPECT_TRUE(same_bits(values_of(*rig.device, rows.rows), values));
}

TEST(Buffers, AreZeroedAlignedAndReused) {
  Rig rig(CpuKernels::kPortable);
  uint64_t handle = 0;
  {
    const auto buffer = rig.device->allocate(100000);
    ASSERT_TRUE(buffer);
    handle = buffer->handle();
    EXPECT_GE(buffer->bytes(), 100000U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->host().data()) % kPageBytes, 0U);
    for (const std::byte byte : buffer->host()) ASSERT_EQ(byte, std::byte{0});
  }
  const auto again = rig.device->allocate(10);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->handle(), handle);
}

TEST(Buffers, AdoptHostMemoryInPlace) {
  Rig rig(CpuKernels::kPortable);
  std::vector<std::byte> memory(256);
  const auto buffer = rig.device->adopt(memory);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->host().data(), memory.data());
  const float value = 5;
  rig.device->write({&*buffer, 64}, std::as_bytes(std::span(&value, 1)));
  float seen = 0;
  std::memcpy(&seen, memory.data() + 64, 4);
  EXPECT_EQ(seen, 5.0F);
}

TEST(Buffers, RefuseMoreThanTheMachineHas) {
  Rig rig(CpuKernels::kPortable);
  const auto buffer = rig.device->allocate(size_t{1} << 60);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Code::kNoMemory);
}

TEST(RowsDeathTest, RefuseViewsBeyondTheirBuffer) {
  Rig rig(CpuKernels::kPortable);
  const DeviceRows rows = make_rows(*rig.device, 1, 16);
  EXPECT_DEATH(rig.device->zero(rows.rows.slice(100000, 1)), "does not hold");
}

}  // namespace
}  // namespace smoe::test
