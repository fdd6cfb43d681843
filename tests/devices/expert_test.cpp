#include "devices/rig.h"
#include "support/effort.h"

namespace smoe::test {
namespace {

struct TestExpert {
  TestMatrix gate;
  TestMatrix up;
  TestMatrix down;
};

TestExpert random_expert(Rng& rng, Format format, Format down, uint32_t width, uint32_t hidden) {
  TestExpert expert{random_matrix(rng, format, hidden, width),
                    random_matrix(rng, format, hidden, width),
                    random_matrix(rng, down, width, hidden)};
  return expert;
}

std::vector<float> run(Rig& rig, const TestExpert& expert, std::span<const float> in,
                       std::span<const uint32_t> rows) {
  Device& device = *rig.device;
  const uint32_t width = expert.gate.cols;
  const auto in_count = static_cast<uint32_t>(in.size() / width);
  const auto out_count = rows.empty() ? in_count : static_cast<uint32_t>(rows.size());
  const DeviceMatrix gate = upload(device, expert.gate, 1024);
  const DeviceMatrix up = upload(device, expert.up, 256);
  const DeviceMatrix down = upload(device, expert.down);
  const DeviceRows from = make_rows(device, in_count, width, in);
  const DeviceRows out = make_rows(device, out_count, width);
  device.run_expert({gate.matrix, up.matrix, down.matrix, from.rows, rows, out.rows});
  return values_of(device, out.rows);
}

TEST(RunExpert, IsWithinRoundingOfTheExactBlock) {
  Rng rng(30);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : {Format::kF32, Format::kF16, Format::kBF16, Format::kF8E4M3}) {
      const TestExpert expert = random_expert(rng, format, format, 72, 40);
      const auto in = random_values(rng, 3 * 72);
      const auto out = run(rig, expert, in, {});
      for (uint32_t t = 0; t < 3; ++t) {
        std::vector<double> hidden(40);
        for (uint32_t h = 0; h < 40; ++h) {
          double gate = 0;
          double up = 0;
          for (uint32_t k = 0; k < 72; ++k) {
            gate += expert.gate.weight(h, k) * in[t * 72 + k];
            up += expert.up.weight(h, k) * in[t * 72 + k];
          }
          hidden[h] = gate / (1 + std::exp(-gate)) * up;
        }
        for (uint32_t row = 0; row < 72; ++row) {
          double sum = 0;
          double magnitude = 1e-3;
          for (uint32_t h = 0; h < 40; ++h) {
            sum += expert.down.weight(row, h) * hidden[h];
            magnitude += std::abs(expert.down.weight(row, h) * hidden[h]);
          }
          ASSERT_NEAR(out[t * 72 + row], sum, magnitude * 5e-6)
              << name_of(kernels) << " " << info(format).name << " token " << t << " row " << row;
        }
      }
    }
  }
}

TEST(RunExpert, GivesTheSameBitsWithEveryKernelSetBatchAndThreadCount) {
  Rng rng(31);
  Rig portable(CpuKernels::kPortable);
  for (const Format format : kAllFormats) {
    for (const Format down : {format, Format::kBF16}) {
      const uint32_t width = whole_blocks(format, 96);
      const TestExpert expert = random_expert(rng, format, down, width, whole_blocks(format, 160));
      const auto in = random_values(rng, size_t{19} * width);
      std::vector<float> alone;
      for (uint32_t t = 0; t < 19; ++t) {
        const auto one = run(portable, expert, std::span(in).subspan(size_t{t} * width, width), {});
        alone.insert(alone.end(), one.begin(), one.end());
      }
      for (const CpuKernels kernels : usable_kernels()) {
        for (const unsigned threads : ends_of({1U, 2U, 3U})) {
          Rig rig(kernels, threads);
          for (const uint32_t count : ends_of({1U, 2U, 5U, 8U, 13U, 19U})) {
            const auto out = run(rig, expert, std::span(in).first(size_t{count} * width), {});
            EXPECT_TRUE(same_bits(out, std::span(alone).first(out.size())))
                << name_of(kernels) << " " << info(format).name << " " << threads << " threads, "
                << count << " tokens";
          }
        }
      }
    }
  }
}

TEST(RunExpert, TakesTheRowsThatItIsGiven) {
  Rng rng(32);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    const TestExpert expert = random_expert(rng, Format::kBF16, Format::kQ8_0, 64, 32);
    const auto in = random_values(rng, size_t{300} * 64);
    const auto all = run(rig, expert, in, {});
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < 250; ++i) rows.push_back(i * 13 % 300);
    const auto some = run(rig, expert, in, rows);
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_TRUE(same_bits(std::span(some).subspan(i * 64, 64),
                            std::span(all).subspan(size_t{rows[i]} * 64, 64)))
          << i;
  }
}

// Gate and up may differ in precision; each gets its activations in its own form.
TEST(RunExpert, TakesGateAndUpInDifferentFormats) {
  Rng rng(33);
  Rig portable(CpuKernels::kPortable);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels, 2);
    TestExpert expert = random_expert(rng, Format::kQ8_0, Format::kF32, 64, 48);
    expert.up = random_matrix(rng, Format::kF16, 48, 64);
    const auto in = random_values(rng, size_t{9} * 64);
    EXPECT_TRUE(same_bits(run(rig, expert, in, {}), run(portable, expert, in, {})));
  }
}

// RELIABILITY N3: from the input through silu, int8 rounding and the second matrix.
TEST(RunExpert, PassesNanOnToItsTokenAlone) {
  Rng rng(34);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      const uint32_t width = whole_blocks(format, 64);
      const TestExpert expert = random_expert(rng, format, format, width, whole_blocks(format, 32));
      auto in = random_values(rng, size_t{3} * width);
      in[width + 5] = kNan;
      const auto out = run(rig, expert, in, {});
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(std::isnan(out[i]), i / width == 1) << name_of(kernels) << " " << i;
    }
  }
}

TEST(RunExpert, SiluFollowsTheExactFunctionOverItsWholeRange) {
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    TestExpert expert;
    Rng rng(35);
    expert.gate = random_matrix(rng, Format::kF32, 1, 1);
    expert.up = expert.gate;
    expert.down = expert.gate;
    const float one = 1;
    for (TestMatrix* matrix : {&expert.gate, &expert.down})
      std::memcpy(matrix->tiles.data(), &one, sizeof one);
    const float up = 0.5F;
    std::memcpy(expert.up.tiles.data(), &up, sizeof up);
    std::vector<float> in;
    for (int i = -1200; i <= 1200; ++i) in.push_back(static_cast<float>(i) * 0.1F + 0.013F);
    for (size_t first = 0; first < in.size(); first += 600) {
      const auto part = std::span(in).subspan(first, std::min<size_t>(600, in.size() - first));
      const auto out = run(rig, expert, part, {});
      for (size_t i = 0; i < part.size(); ++i) {
        const double x = part[i];
        const double expected = x / (1 + std::exp(-x)) * (x * 0.5);
        EXPECT_NEAR(out[i], expected, 1e-6 * std::abs(expected) + 1e-34) << x;
      }
    }
  }
}

}  // namespace
}  // namespace smoe::test
