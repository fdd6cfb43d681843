// Products and experts on a GPU, for every format, against exact sums and against the CPU.
#include "devices/vulkan/gpu_rig.h"

namespace smoe::test {
namespace {

std::vector<float> gpu_product(const TestMatrix& matrix, std::span<const float> in,
                               std::span<const float> bias = {}) {
  Device& device = gpu();
  const DeviceMatrix weight = upload(device, matrix, 256);
  const auto count = static_cast<uint32_t>(in.size() / matrix.cols);
  const DeviceRows from = make_rows(device, count, matrix.cols, in);
  const DeviceRows out = make_rows(device, count, matrix.rows);
  std::unique_ptr<Buffer> bias_buffer;
  const Vector added = bias.empty() ? Vector{} : make_vector(device, bias_buffer, bias);
  device.project({weight.matrix, added, from.rows, out.rows});
  return values_of(device, out.rows);
}

void expect_exact(const TestMatrix& matrix, std::span<const float> in, std::span<const float> out) {
  const size_t count = in.size() / matrix.cols;
  for (size_t token = 0; token < count; ++token) {
    for (size_t row = 0; row < matrix.rows; ++row) {
      double sum = 0;
      double magnitude = 1e-9;
      for (size_t k = 0; k < matrix.cols; ++k) {
        const double term = matrix.weight(row, k) * double{in[token * matrix.cols + k]};
        sum += term;
        magnitude += std::abs(term);
      }
      // f32 weights of a block with a minimum are rounded once more than the decoded ones.
      ASSERT_NEAR(out[token * matrix.rows + row], sum, magnitude * 2e-6)
          << info(matrix.format).name << " [" << matrix.rows << ", " << matrix.cols << "] token "
          << token << " row " << row;
    }
  }
}

TEST(GpuProject, IsWithinRoundingOfTheExactProductInEveryFormatAndOddShape) {
  Rng rng(400);
  for (const Format format : kAllFormats) {
    // A software Vulkan compiles each kind of product for a second: blocks take one, floats
    // several.
    std::vector<std::array<uint32_t, 3>> shapes = {{17, 2080, 1}};
    if (!is_block(format)) shapes = {{1, 1, 1}, {17, 72, 1}, {40, 2080, 3}};
    for (const auto& [rows, cols, tokens] : shapes) {
      const TestMatrix matrix = random_matrix(rng, format, rows, whole_blocks(format, cols));
      const auto in = random_values(rng, size_t{tokens} * matrix.cols);
      expect_exact(matrix, in, gpu_product(matrix, in));
    }
  }
}

TEST(GpuProject, AgreesWithTheCpuWithinItsQuantisedActivations) {
  Rng rng(401);
  Rig portable(CpuKernels::kPortable);
  for (const Format format : {Format::kBF16, Format::kQ8_0, Format::kQ4_K}) {
    const TestMatrix matrix = random_matrix(rng, format, 33, whole_blocks(format, 512));
    const auto in = random_values(rng, size_t{2} * matrix.cols);
    const DeviceMatrix weight = upload(*portable.device, matrix);
    const DeviceRows from = make_rows(*portable.device, 2, matrix.cols, in);
    const DeviceRows out = make_rows(*portable.device, 2, 33);
    portable.device->project({weight.matrix, {}, from.rows, out.rows});
    const auto expected = values_of(*portable.device, out.rows);
    const auto found = gpu_product(matrix, in);
    for (size_t i = 0; i < found.size(); ++i) {
      double squares = 1e-9;
      for (size_t k = 0; k < matrix.cols; ++k) {
        const double term = matrix.weight(i % 33, k) * double{in[i / 33 * matrix.cols + k]};
        squares += term * term;
      }
      const double tolerance = is_block(format) ? 5e-2 : 1e-5;
      ASSERT_NEAR(found[i], expected[i], tolerance * std::sqrt(squares)) << info(format).name;
    }
  }
}

TEST(GpuProject, GivesTheSameBitsWhateverElseIsInTheBatch) {
  Rng rng(402);
  for (const Format format : {Format::kF32, Format::kBF16, Format::kQ8_0}) {
    const TestMatrix matrix = random_matrix(rng, format, 40, whole_blocks(format, 100));
    const auto in = random_values(rng, size_t{19} * matrix.cols);
    const auto together = gpu_product(matrix, in);
    for (uint32_t token = 0; token < 19; ++token) {
      const auto one = std::span(in).subspan(size_t{token} * matrix.cols, matrix.cols);
      ASSERT_TRUE(
          same_bits(gpu_product(matrix, one), std::span(together).subspan(size_t{token} * 40, 40)))
          << info(format).name << " token " << token;
    }
    for (const uint32_t count : {2U, 5U, 8U, 13U}) {
      const auto some = gpu_product(matrix, std::span(in).first(size_t{count} * matrix.cols));
      ASSERT_TRUE(same_bits(some, std::span(together).first(some.size()))) << count << " tokens";
    }
  }
}

TEST(GpuProject, AddsTheBiasLast) {
  Rng rng(403);
  const TestMatrix matrix = random_matrix(rng, Format::kF32, 20, 64);
  const auto in = random_values(rng, 64);
  const auto bias = random_values(rng, 20);
  const auto plain = gpu_product(matrix, in);
  const auto biased = gpu_product(matrix, in, bias);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(biased[i], plain[i] + bias[i]);
}

TEST(GpuProject, PassesNanOnToTheRowThatHasIt) {
  Rng rng(404);
  const TestMatrix matrix = random_matrix(rng, Format::kQ8_0, 16, 64);
  auto in = random_values(rng, 2 * 64);
  in[70] = kNan;
  const auto out = gpu_product(matrix, in);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(std::isfinite(out[i]));
    EXPECT_TRUE(std::isnan(out[16 + i]));
  }
}

struct GpuExpert {
  DeviceMatrix gate, up, down;
};

TEST(GpuRunExpert, AgreesWithTheCpuAndGivesTheSameBitsForEveryChoiceOfRows) {
  Rng rng(405);
  Device& device = gpu();
  Rig portable(CpuKernels::kPortable);
  for (const Format format : {Format::kBF16, Format::kQ8_0}) {
    const uint32_t width = whole_blocks(format, 72);
    const uint32_t hidden = whole_blocks(format, 40);
    const TestMatrix gate = random_matrix(rng, format, hidden, width);
    const TestMatrix up = random_matrix(rng, format, hidden, width);
    const TestMatrix down = random_matrix(rng, format, width, hidden);
    const auto in = random_values(rng, size_t{11} * width, 0.5);
    const auto run = [&](Device& on, std::span<const uint32_t> rows) {
      const DeviceMatrix g = upload(on, gate, 1024);
      const DeviceMatrix u = upload(on, up, 256);
      const DeviceMatrix d = upload(on, down);
      const DeviceRows from = make_rows(on, 11, width, in);
      const uint32_t count = rows.empty() ? 11 : static_cast<uint32_t>(rows.size());
      const DeviceRows out = make_rows(on, count, width);
      on.run_expert({g.matrix, u.matrix, d.matrix, from.rows, rows, out.rows});
      return values_of(on, out.rows);
    };
    const auto all = run(device, {});
    const auto expected = run(*portable.device, {});
    double squares = 0;
    double errors = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      squares += double{expected[i]} * double{expected[i]};
      errors += std::pow(double{all[i]} - double{expected[i]}, 2);
    }
    EXPECT_LE(std::sqrt(errors / squares), is_block(format) ? 2e-2 : 1e-5) << info(format).name;
    const std::vector<uint32_t> chosen = {7, 2, 10};
    const auto some = run(device, chosen);
    for (size_t i = 0; i < chosen.size(); ++i)
      EXPECT_TRUE(same_bits(std::span(some).subspan(i * width, width),
                            std::span(all).subspan(chosen[i] * width, width)))
          << info(format).name;
  }
}

TEST(GpuRunExpert, KeepsManyExpertsApartWhoseHalvesStandSideBySide) {
  Rng rng(406);
  Device& device = gpu();
  const TestMatrix weights = random_matrix(rng, Format::kF32, 64, 64);
  const DeviceMatrix matrix = upload(device, weights);
  const auto in = random_values(rng, size_t{100} * 64, 0.2);
  const DeviceRows from = make_rows(device, 100, 64, in);
  const DeviceRows together = make_rows(device, 100, 64);
  const DeviceRows alone = make_rows(device, 100, 64);
  for (uint32_t row = 0; row < 100; ++row)
    device.run_expert({matrix.matrix,
                       matrix.matrix,
                       matrix.matrix,
                       from.rows.row(row),
                       {},
                       together.rows.row(row)});
  for (uint32_t row = 0; row < 100; ++row) {
    device.run_expert(
        {matrix.matrix, matrix.matrix, matrix.matrix, from.rows.row(row), {}, alone.rows.row(row)});
    ASSERT_TRUE(device.wait(device.submit()));
  }
  EXPECT_TRUE(same_bits(values_of(device, together.rows), values_of(device, alone.rows)));
}

}  // namespace
}  // namespace smoe::test
