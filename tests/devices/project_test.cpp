#include <algorithm>

#include "devices/rig.h"
#include "formats/block_tiles.h"
#include "support/effort.h"

namespace smoe::test {
namespace {

struct Shape {
  uint32_t rows;
  uint32_t cols;
};

std::vector<Shape> shapes_of(Format format) {
  if (info(format).block_k == 256) return {{40, 256}, {48, 768}, {1, 512}, {17, 1280}, {130, 256}};
  std::vector<Shape> shapes = {{40, 96}, {48, 160}, {1, 96}, {17, 1056}, {24, 608}, {130, 32}};
  if (!is_block(format)) {
    for (const Shape odd : {Shape{40, 33}, Shape{17, 1}, Shape{48, 129}, Shape{5, 515}})
      shapes.push_back(odd);
  }
  return shapes;
}

std::vector<float> project(Rig& rig, const TestMatrix& matrix, std::span<const float> in,
                           uint32_t count, std::span<const float> bias = {}, bool exact = false) {
  Device& device = *rig.device;
  const DeviceMatrix weight = upload(device, matrix);
  const DeviceRows rows = make_rows(device, count, matrix.cols, in);
  const DeviceRows out = make_rows(device, count, matrix.rows);
  std::unique_ptr<Buffer> bias_buffer;
  ProjectCall call{weight.matrix, {}, rows.rows, out.rows};
  call.exact = exact;
  if (!bias.empty()) call.bias = make_vector(device, bias_buffer, bias);
  device.project(call);
  return values_of(device, out.rows);
}

// What the int8 kernels compute with: amax / 127 a block, rounded half to even.
std::vector<double> quantized(std::span<const float> in) {
  std::vector<double> values;
  for (size_t block = 0; block < in.size(); block += 32) {
    float largest = 0;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(in[block + i]));
    const float scale = largest / 127.0F;
    const float inverse = largest < 1e-30F ? 0 : 127.0F / largest;
    for (size_t i = 0; i < 32; ++i)
      values.push_back(std::nearbyint(in[block + i] * inverse) * double{scale});
  }
  return values;
}

// Rounding of a chain of n terms: at most n * 2^-24 of the summed magnitudes, in practice far less.
TEST(Project, IsWithinRoundingOfTheExactProduct) {
  Rng rng(1);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      for (const Shape shape : shapes_of(format)) {
        const TestMatrix matrix = random_matrix(rng, format, shape.rows, shape.cols);
        const auto in = random_values(rng, size_t{3} * shape.cols);
        const auto bias = random_values(rng, shape.rows);
        const auto out = project(rig, matrix, in, 3, bias);
        const std::vector<double> used =
            is_block(format) ? quantized(in) : std::vector<double>(in.begin(), in.end());
        for (uint32_t t = 0; t < 3; ++t) {
          for (uint32_t row = 0; row < shape.rows; ++row) {
            double sum = bias[row];
            double magnitude = 1e-6 + std::abs(sum);
            for (uint32_t k = 0; k < shape.cols; ++k) {
              const double term = matrix.weight(row, k) * used[size_t{t} * shape.cols + k];
              sum += term;
              magnitude += std::abs(term);
            }
            ASSERT_NEAR(out[size_t{t} * shape.rows + row], sum, magnitude * 2e-6)
                << name_of(kernels) << " " << info(format).name << " " << shape.rows << "x"
                << shape.cols << " token " << t << " row " << row;
          }
        }
      }
    }
  }
}

TEST(Project, QuantisedActivationsStayNearTheExactProduct) {
  Rng rng(2);
  Rig rig(CpuKernels::kPortable);
  for (const Format format : kAllFormats) {
    const TestMatrix matrix = random_matrix(rng, format, 64, 512);
    const auto in = random_values(rng, 512);
    const auto out = project(rig, matrix, in, 1);
    for (uint32_t row = 0; row < 64; ++row) {
      double sum = 0;
      double squares = 0;
      for (uint32_t k = 0; k < 512; ++k) {
        const double term = matrix.weight(row, k) * in[k];
        sum += term;
        squares += term * term;
      }
      EXPECT_NEAR(out[row], sum, 5e-2 * std::sqrt(squares)) << info(format).name << " row " << row;
    }
  }
}

// Told to round activations, a device does so for BF16 weights, and for nothing else.
TEST(Project, RoundsActivationsForBf16WeightsWhereItIsTold) {
  Rng rng(4);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig plain(kernels);
    Rig rounding(kernels, 2, {600, 2048, 4096}, Activations::kBF16);
    for (const Format format : kAllFormats) {
      for (const Shape shape : shapes_of(format)) {
        const TestMatrix matrix = random_matrix(rng, format, shape.rows, shape.cols);
        for (const uint32_t count : ends_of({1U, 200U, 9U})) {
          const auto in = random_values(rng, size_t{count} * shape.cols);
          std::vector<float> rounded = in;
          for (float& value : rounded) value = bf16_to_float(float_to_bf16(value));
          const auto expected =
              project(plain, matrix, format == Format::kBF16 ? rounded : in, count);
          EXPECT_TRUE(same_bits(project(rounding, matrix, in, count), expected))
              << name_of(kernels) << ' ' << info(format).name << ' ' << count << " rows";
          EXPECT_TRUE(same_bits(project(rounding, matrix, in, count, {}, true),
                                project(plain, matrix, in, count)))
              << name_of(kernels) << ' ' << info(format).name << " exact";
        }
      }
    }
  }
}

TEST(Project, GivesTheSameBitsWithEveryKernelSet) {
  Rng rng(3);
  Rig portable(CpuKernels::kPortable);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      for (const Shape shape : shapes_of(format)) {
        const TestMatrix matrix = random_matrix(rng, format, shape.rows, shape.cols);
        for (const uint32_t count : ends_of({1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 19U})) {
          const auto in = random_values(rng, size_t{count} * shape.cols, 3.0);
          EXPECT_TRUE(
              same_bits(project(portable, matrix, in, count), project(rig, matrix, in, count)))
              << name_of(kernels) << " " << info(format).name << " " << shape.rows << "x"
              << shape.cols << ", " << count << " tokens";
        }
      }
    }
  }
}

TEST(Project, GivesATokenTheSameBitsWhateverTheBatch) {
  Rng rng(4);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      const TestMatrix matrix = random_matrix(rng, format, 72, whole_blocks(format, 1088));
      const auto in = random_values(rng, size_t{19} * matrix.cols);
      std::vector<float> alone;
      for (uint32_t t = 0; t < 19; ++t) {
        const auto one =
            project(rig, matrix, std::span(in).subspan(size_t{t} * matrix.cols, matrix.cols), 1);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      for (uint32_t count = 2; count <= 19; count += kSanitized ? 17 : 1) {
        const auto out = project(rig, matrix, in, count);
        EXPECT_TRUE(same_bits(out, std::span(alone).first(out.size())))
            << name_of(kernels) << " " << info(format).name << ", " << count << " tokens";
      }
    }
  }
}

TEST(Project, GivesTheSameBitsAcrossTheSweepLimitAndThreads) {
  Rng rng(5);
  const CpuKernels kernels = usable_kernels().back();
  Rig one(kernels);
  for (const Format format : kAllFormats) {
    const TestMatrix matrix = random_matrix(rng, format, 200, whole_blocks(format, 96));
    const auto in = random_values(rng, size_t{410} * matrix.cols);
    const auto expected = project(one, matrix, in, 410);
    for (const unsigned threads : {2U, 3U}) {
      Rig rig(kernels, threads);
      EXPECT_TRUE(same_bits(project(rig, matrix, in, 410), expected)) << threads << " threads";
      for (const uint32_t row : {0U, 191U, 192U, 409U}) {
        const auto alone =
            project(rig, matrix, std::span(in).subspan(size_t{row} * matrix.cols, matrix.cols), 1);
        EXPECT_TRUE(same_bits(alone, std::span(expected).subspan(size_t{row} * 200, 200)))
            << info(format).name << " row " << row;
      }
    }
  }
}

TEST(Project, WritesNothingBesideItsColumns) {
  Rng rng(6);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      const TestMatrix matrix = random_matrix(rng, format, 40, whole_blocks(format, 64));
      const DeviceMatrix weight = upload(*rig.device, matrix, 4096);
      for (const uint32_t count : {1U, 9U}) {
        const DeviceRows in = make_rows(*rig.device, count, matrix.cols,
                                        random_values(rng, size_t{count} * matrix.cols));
        const DeviceRows out = make_rows(*rig.device, count, 40);
        rig.device->project({weight.matrix, {}, in.rows, out.rows});
        Rows all = out.rows;
        all.width = all.stride;
        const auto values = values_of(*rig.device, all);
        for (size_t i = 0; i < values.size(); ++i)
          EXPECT_EQ(std::isnan(values[i]), i % all.stride >= 40) << info(format).name << " " << i;
      }
    }
  }
}

// RELIABILITY N3, trap 35: a NaN must arrive, or the engine cannot refuse it.
TEST(Project, PassesNanAndInfinityOnToTheirRowAlone) {
  Rng rng(7);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      const TestMatrix matrix = random_matrix(rng, format, 40, whole_blocks(format, 160));
      for (const float bad : {kNan, -kNan, kInf, -kInf}) {
        auto in = random_values(rng, size_t{3} * matrix.cols);
        const auto expected = project(rig, matrix, in, 3);
        in[matrix.cols + 77] = bad;
        const auto out = project(rig, matrix, in, 3);
        const auto row = [&](const std::vector<float>& all, size_t index) {
          return std::span(all).subspan(index * 40, 40);
        };
        EXPECT_TRUE(same_bits(row(out, 0), row(expected, 0))) << info(format).name;
        EXPECT_TRUE(same_bits(row(out, 2), row(expected, 2))) << info(format).name;
        for (const float value : row(out, 1))
          EXPECT_FALSE(std::isfinite(value)) << name_of(kernels) << " " << info(format).name;
      }
    }
  }
}

// A damaged weight that got past the checksums: its row is NaN for every token, no other row is.
TEST(Project, PassesNanWeightsOn) {
  Rng rng(8);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    TestMatrix matrix = random_matrix(rng, Format::kF8E4M3, 20, 256);
    const size_t unit = 2112 + 64 + 5 * 64 + 3 * 4 + 2;  // k = 128 + 22, row 3
    for (const uint8_t bad : {uint8_t{0x7f}, uint8_t{0xff}}) {
      matrix.tiles[unit] = std::byte{bad};
      for (const uint32_t count : {1U, 5U, 13U}) {
        const auto in = random_values(rng, size_t{count} * 256);
        const auto out = project(rig, matrix, in, count);
        for (size_t i = 0; i < out.size(); ++i)
          EXPECT_EQ(std::isnan(out[i]), i % 20 == 3) << name_of(kernels) << " " << i;
      }
    }
  }
}

// Changes the blocks of row `row` of the first tile: change(index, block).
template <class Change>
void change_blocks(TestMatrix& matrix, uint32_t row, const Change& change) {
  const Block block = block_of(info(matrix.format).source);
  const auto tile = std::span(matrix.tiles).first(tile_bytes(matrix.format, matrix.cols));
  std::vector<std::byte> blocks(size_t{matrix.cols} / block.weights * block.bytes);
  for (size_t index = 0; index * block.bytes < blocks.size(); ++index) {
    const auto bytes = std::span(blocks).subspan(index * block.bytes, block.bytes);
    unpack_block(matrix.format, tile, row, index, bytes);
    change(index, bytes);
  }
  pack_block_row(matrix.format, blocks, row, tile);
  unpack_row(matrix.format, tile, row,
             std::span(matrix.weights).subspan(size_t{row} * matrix.cols, matrix.cols));
}

// Likewise each scale of a block, in the row's last one: fp16 NaN and infinity.
TEST(Project, PassesScalesThatAreNoNumbersOn) {
  Rng rng(13);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const BlockScales& scales : kBlockScales) {
      for (size_t i = 0; i < scales.count; ++i) {
        for (const uint16_t bad : {uint16_t{0x7e00}, uint16_t{0xfc00}}) {
          const uint32_t cols = 3 * info(scales.format).block_k;
          TestMatrix matrix = random_matrix(rng, scales.format, 20, cols);
          change_blocks(matrix, 3, [&](size_t index, std::span<std::byte> block) {
            if (index == 2) std::memcpy(&block[scales.offset + i * 2], &bad, sizeof bad);
          });
          const auto out = project(rig, matrix, random_values(rng, size_t{5} * cols), 5);
          for (size_t at = 0; at < out.size(); ++at)
            EXPECT_EQ(!std::isfinite(out[at]), at % 20 == 3)
                << name_of(kernels) << " " << info(scales.format).name << " " << at;
        }
      }
    }
  }
}

TEST(Project, TreatsVanishingActivationsAsZero) {
  Rng rng(9);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const Format format : kAllFormats) {
      if (!is_block(format)) continue;
      const TestMatrix matrix = random_matrix(rng, format, 16, whole_blocks(format, 64));
      const std::vector<float> in(matrix.cols, 1e-31F);
      for (const float value : project(rig, matrix, in, 1))
        EXPECT_EQ(value, 0.0F) << info(format).name;
    }
  }
}

// Inside, sums are of 16 bits: they must hold the largest codes times the largest activations.
TEST(Project, HoldsTheLargestSumsOfEveryFormat) {
  Rng rng(14);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const BlockScales& scales : kBlockScales) {
      for (const uint8_t code : {uint8_t{0x00}, uint8_t{0xff}, uint8_t{0x7f}, uint8_t{0x80}}) {
        TestMatrix matrix = random_matrix(rng, scales.format, 16, 256);
        change_blocks(matrix, 5, [&](size_t, std::span<std::byte> block) {
          for (size_t at = 0; at < block.size(); ++at)
            if (at < scales.offset || at >= scales.offset + scales.count * 2)
              block[at] = std::byte{code};
        });
        for (const float sign : {1.0F, -1.0F}) {
          const auto out = project(rig, matrix, std::vector<float>(256, sign), 1);
          double sum = 0;
          double magnitude = 1e-6;
          for (uint32_t k = 0; k < 256; ++k) {
            sum += matrix.weight(5, k) * double{sign};
            magnitude += std::abs(matrix.weight(5, k));
          }
          EXPECT_NEAR(out[5], sum, 4e-6 * magnitude)
              << name_of(kernels) << " " << info(scales.format).name << " " << int{code};
        }
      }
    }
  }
}

// The two smallest scales are subnormal; 252 is the largest that shatter takes with any codes.
TEST(Project, TakesTheScalesOfMxfp4FromEndToEnd) {
  Rng rng(15);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    for (const uint8_t exponent : {uint8_t{0}, uint8_t{1}, uint8_t{2}, uint8_t{252}}) {
      TestMatrix matrix = random_matrix(rng, Format::kMXFP4, 16, 128);
      for (uint32_t row = 0; row < 16; ++row)
        change_blocks(matrix, row,
                      [&](size_t, std::span<std::byte> block) { block[0] = std::byte{exponent}; });
      const std::vector<float> in(128, exponent < 128 ? 1e20F : 1e-20F);
      const auto out = project(rig, matrix, in, 1);
      for (uint32_t row = 0; row < 16; ++row) {
        double sum = 0;
        double magnitude = 0;
        for (uint32_t k = 0; k < 128; ++k) {
          sum += matrix.weight(row, k) * double{in[k]};
          magnitude += std::abs(matrix.weight(row, k) * double{in[k]});
        }
        EXPECT_NEAR(out[row], sum, 2e-6 * magnitude) << name_of(kernels) << " " << int{exponent};
      }
    }
  }
}

// -128 is legal in Q8_0 and must not be mistaken for anything else.
TEST(Project, ReadsTheLowestInt8Weight) {
  Rng rng(10);
  for (const CpuKernels kernels : usable_kernels()) {
    Rig rig(kernels);
    TestMatrix matrix = random_matrix(rng, Format::kQ8_0, 16, 32);
    std::fill(matrix.tiles.begin() + 64, matrix.tiles.begin() + 64 + 512, std::byte{0x80});
    const std::vector<float> in(32, 1.0F);
    const auto out = project(rig, matrix, in, 1);
    for (size_t row = 0; row < 16; ++row) {
      uint16_t scale = 0;
      std::memcpy(&scale, matrix.tiles.data() + row * 2, 2);
      const double expected = -128.0 * 32 * f16_to_float(scale);
      EXPECT_NEAR(out[row], expected, 1e-5 * std::abs(expected));
    }
  }
}

TEST(Project, OfNoRowsDoesNothing) {
  Rng rng(11);
  Rig rig(CpuKernels::kPortable);
  const TestMatrix matrix = random_matrix(rng, Format::kF32, 16, 16);
  EXPECT_TRUE(project(rig, matrix, {}, 0).empty());
}

TEST(ProjectDeathTest, RefusesShapesThatDoNotFit) {
  Rng rng(12);
  Rig rig(CpuKernels::kPortable);
  const DeviceMatrix weight = upload(*rig.device, random_matrix(rng, Format::kF32, 16, 16));
  const DeviceRows in = make_rows(*rig.device, 1, 15, random_values(rng, 15));
  const DeviceRows out = make_rows(*rig.device, 1, 16);
  EXPECT_DEATH(rig.device->project({weight.matrix, {}, in.rows, out.rows}), "in.width");
  Matrix beyond = weight.matrix;
  beyond.rows = 20000;
  EXPECT_DEATH(rig.device->project({beyond, {}, out.rows, out.rows}), "host.size");
}

}  // namespace
}  // namespace smoe::test
