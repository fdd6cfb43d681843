// Operations on rows on a GPU, against the portable kernels.
#include "devices/vulkan/gpu_rig.h"

namespace smoe::test {
namespace {

TEST(GpuRows, EmbedsTheTokensRowsExactlyInEveryFormat) {
  Rng rng(410);
  Device& device = gpu();
  for (const Format format : kAllFormats) {
    const TestMatrix table = random_matrix(rng, format, 35, whole_blocks(format, 72));
    const DeviceMatrix on_device = upload(device, table);
    const std::vector<TokenId> tokens = {TokenId{0}, TokenId{34}, TokenId{17}};
    const DeviceRows out = make_rows(device, 3, table.cols);
    device.embed({on_device.matrix, tokens, out.rows});
    const auto found = values_of(device, out.rows);
    for (size_t i = 0; i < tokens.size(); ++i)
      EXPECT_TRUE(near(
          std::span(found).subspan(i * table.cols, table.cols),
          std::span(table.weights).subspan(index_of(tokens[i]) * table.cols, table.cols), 1e-6F))
          << info(format).name;
  }
}

// Runs `operate` on both devices, on the same rows, and compares what it leaves in them.
template <class Operate>
void expect_near(uint32_t count, uint32_t width, float tolerance, Operate operate) {
  Rng rng(411);
  const auto in = random_values(rng, size_t{count} * width);
  Rig portable(CpuKernels::kPortable);
  const auto run = [&](Device& device) {
    const DeviceRows rows = make_rows(device, count, width, in);
    operate(device, rows.rows);
    return values_of(device, rows.rows);
  };
  EXPECT_TRUE(near(run(gpu()), run(*portable.device), tolerance));
}

TEST(GpuRows, NormalizesWholeRowsAndHeads) {
  for (const auto& [width, group] :
       {std::pair{72U, 72U}, std::pair{2000U, 2000U}, std::pair{96U, 24U}}) {
    Rng rng(412);
    const auto weights = random_values(rng, group);
    const uint32_t each = group;
    expect_near(3, width, 1e-6F, [&](Device& device, const Rows& rows) {
      std::unique_ptr<Buffer> buffer;
      const Vector weight = make_vector(device, buffer, weights);
      device.normalize({rows, weight, each, 1e-6F, rows});
      ASSERT_TRUE(device.wait(device.submit()));
    });
  }
}

TEST(GpuRows, RotatesTheFirstDimensionsOfEachHead) {
  Rng rng(413);
  const auto angles = random_values(rng, 3 * 16);
  expect_near(3, 5 * 24, 1e-6F, [&](Device& device, const Rows& rows) {
    const DeviceRows turned = make_rows(device, 3, 16, angles);
    device.rotate({rows, 5, 24, 16, turned.rows});
    ASSERT_TRUE(device.wait(device.submit()));
  });
}

TEST(GpuRows, AccumulateAndGatherAreExact) {
  Rng rng(414);
  const auto values = random_values(rng, 2 * 40);
  const std::vector<uint32_t> chosen = {4, 1};
  const std::vector<float> weights = {0.3F, -1.7F};
  expect_near(5, 40, 0.0F, [&](Device& device, const Rows& rows) {
    const DeviceRows from = make_rows(device, 2, 40, values);
    device.accumulate({from.rows, chosen, weights, rows});
    device.accumulate({from.rows, {}, {}, rows});
    device.gather({from.rows, std::vector<uint32_t>{1, 0}, rows.slice(2, 2)});
    ASSERT_TRUE(device.wait(device.submit()));
  });
}

TEST(GpuRows, ZeroAndWriteTakeEffectInOrder) {
  Device& device = gpu();
  const std::vector<float> ones(2 * 16, 1.0F);
  const std::vector<float> fives(16, 5.0F);
  const DeviceRows rows = make_rows(device, 2, 16, ones);
  const DeviceRows copy = make_rows(device, 2, 16);
  device.gather({rows.rows, std::vector<uint32_t>{0, 1}, copy.rows});
  device.zero(rows.rows);
  device.accumulate({copy.rows, {}, {}, rows.rows});
  device.write(copy.rows.view, std::as_bytes(std::span(fives)));
  EXPECT_EQ(values_of(device, rows.rows), ones);
  EXPECT_EQ(values_of(device, copy.rows)[0], 5.0F);
  EXPECT_EQ(values_of(device, copy.rows)[16], 1.0F);
}

TEST(GpuRows, NothingHappensWithoutRows) {
  Device& device = gpu();
  Rng rng(415);
  const DeviceMatrix matrix = upload(device, random_matrix(rng, Format::kF32, 16, 16));
  const DeviceRows rows = make_rows(device, 1, 16, random_values(rng, 16));
  const auto before = values_of(device, rows.rows);
  const Rows none = rows.rows.first(0);
  std::unique_ptr<Buffer> buffer;
  device.embed({matrix.matrix, {}, none});
  device.normalize({none, make_vector(device, buffer, std::vector<float>(16)), 16, 1e-6F, none});
  device.project({matrix.matrix, {}, none, none});
  device.accumulate({none, {}, {}, rows.rows});
  device.gather({rows.rows, {}, none});
  device.zero(none);
  EXPECT_TRUE(same_bits(values_of(device, rows.rows), before));
}

}  // namespace
}  // namespace smoe::test
