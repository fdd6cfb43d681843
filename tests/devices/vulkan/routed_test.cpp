// Operations that do a whole part of a layer: the same bits as the operations that they are made
// of, and the choice of experts that the host would make.
#include <algorithm>

#include "devices/vulkan/gpu_rig.h"
#include "engine/router.h"

namespace smoe::test {
namespace {

struct HeadsShape {
  uint32_t heads, kv_heads, dim, dims;
  bool normed;
};

// Queries, then all pages.
std::vector<float> prepared(Device& device, const HeadsShape& shape, bool at_once) {
  Rng rng(430);
  const uint32_t width = shape.heads * shape.dim;
  const uint32_t kv_width = shape.kv_heads * shape.dim;
  const uint32_t angle_width = shape.dims;
  KvPages pages{{}, shape.kv_heads, shape.dim};
  const auto floats = static_cast<uint32_t>(3 * pages.page_bytes() / sizeof(float));
  const Buffer buffer = *device.allocate(floats * sizeof(float));
  pages.view = {&buffer, 0};
  const std::vector<uint32_t> table = {2, 0};
  const std::vector<TokenPlace> places = {{3, 0}, {31, 0}, {32, 0}};
  const DeviceRows query = make_rows(device, 3, width, random_values(rng, 3 * width));
  const DeviceRows key = make_rows(device, 3, kv_width, random_values(rng, 3 * kv_width));
  const DeviceRows value = make_rows(device, 3, kv_width, random_values(rng, 3 * kv_width));
  const DeviceRows angles = make_rows(device, 3, angle_width, random_values(rng, 3 * angle_width));
  std::unique_ptr<Buffer> query_buffer;
  std::unique_ptr<Buffer> key_buffer;
  const Vector query_norm = make_vector(device, query_buffer, random_values(rng, shape.dim));
  const Vector key_norm = make_vector(device, key_buffer, random_values(rng, shape.dim));
  const HeadsCall call{query.rows,
                       key.rows,
                       value.rows,
                       shape.heads,
                       shape.normed ? query_norm : Vector{},
                       shape.normed ? key_norm : Vector{},
                       1e-6F,
                       shape.dims,
                       angles.rows,
                       pages,
                       places,
                       table};
  if (at_once) {
    device.prepare_heads(call);
  } else {
    device.Device::prepare_heads(call);
  }
  std::vector<float> all = values_of(device, query.rows);
  const auto stored = values_of(device, {{&buffer, 0}, 1, floats, floats});
  all.insert(all.end(), stored.begin(), stored.end());
  return all;
}

TEST(GpuHeads, HaveTheBitsOfTheOperationsThatTheyAreMadeOf) {
  Rig portable(CpuKernels::kPortable);
  for (const HeadsShape& shape : {HeadsShape{4, 2, 16, 16, true}, HeadsShape{6, 1, 24, 16, false},
                                  HeadsShape{2, 2, 300, 128, true}, HeadsShape{1, 1, 8, 2, true}}) {
    const auto found = prepared(gpu(), shape, true);
    EXPECT_TRUE(same_bits(found, prepared(gpu(), shape, false)))
        << shape.heads << " heads of " << shape.dim;
    EXPECT_TRUE(near(found, prepared(*portable.device, shape, true), 1e-6F));
  }
}

TEST(GpuProject, OntoIsOneAdditionMore) {
  Rng rng(431);
  const TestMatrix matrix = random_matrix(rng, Format::kBF16, 40, 72);
  const auto in = random_values(rng, size_t{11} * 72);
  const auto before = random_values(rng, size_t{11} * 40);
  const auto run = [&](Device& device, bool at_once) {
    const DeviceMatrix weight = upload(device, matrix);
    const DeviceRows from = make_rows(device, 11, 72, in);
    const DeviceRows out = make_rows(device, 11, 40);
    const DeviceRows onto = make_rows(device, 11, 40, before);
    device.project({weight.matrix, {}, from.rows, out.rows, false, at_once ? onto.rows : Rows{}});
    if (!at_once) device.accumulate({out.rows, {}, {}, onto.rows});
    return values_of(device, onto.rows);
  };
  EXPECT_TRUE(same_bits(run(gpu(), true), run(gpu(), false)));
  Rig portable(CpuKernels::kPortable);
  EXPECT_TRUE(same_bits(run(*portable.device, true), run(*portable.device, false)));
}

// The norm that waits for its projections, and the norm itself.
TEST(GpuProject, HasTheSameBitsWhenItNormsItsInputItself) {
  Rng rng(435);
  for (const uint32_t width : {72U, 600U}) {
    const TestMatrix matrix = random_matrix(rng, Format::kBF16, 40, width);
    const auto weights = random_values(rng, width);
    for (const uint32_t tokens : {1U, 3U, 8U}) {
      const auto in = random_values(rng, size_t{tokens} * width);
      const auto run = [&](bool at_once) {
        Device& device = gpu();
        const DeviceMatrix weight = upload(device, matrix);
        std::unique_ptr<Buffer> norm_buffer;
        const Vector norm = make_vector(device, norm_buffer, weights);
        const DeviceRows from = make_rows(device, tokens, width, in);
        const DeviceRows normed = make_rows(device, tokens, width);
        const DeviceRows first = make_rows(device, tokens, 40);
        const DeviceRows second = make_rows(device, tokens, 40);
        device.normalize({from.rows, norm, width, 1e-6F, normed.rows});
        if (!at_once) {
          EXPECT_TRUE(device.wait(device.submit()));
        }
        device.project({weight.matrix, {}, normed.rows, first.rows});
        device.project({weight.matrix, {}, normed.rows, second.rows});
        std::vector<float> all = values_of(device, first.rows);
        for (const Rows& rows : {second.rows, normed.rows}) {
          const auto more = values_of(device, rows);
          all.insert(all.end(), more.begin(), more.end());
        }
        return all;
      };
      EXPECT_TRUE(same_bits(run(true), run(false))) << width << " wide, " << tokens << " tokens";
    }
  }
}

FfnSpec ffn_of(uint32_t experts, uint32_t active, Score score, bool renormalize, float scale) {
  FfnSpec ffn;
  ffn.experts = experts;
  ffn.router = {score, active, renormalize, scale};
  return ffn;
}

std::vector<float> routed(const FfnSpec& ffn, std::span<const float> logits) {
  Device& device = gpu();
  const auto tokens = static_cast<uint32_t>(logits.size() / ffn.experts);
  const uint32_t active = ffn.router.active_experts;
  const DeviceRows from = make_rows(device, tokens, ffn.experts, logits);
  const DeviceRows out = make_rows(device, tokens, 3 * active);
  device.route({from.rows, active, ffn.router.score == Score::kTopKThenSoftmax,
                ffn.router.renormalize, ffn.router.scale, out.rows});
  return values_of(device, out.rows);
}

TEST(GpuRoute, ChoosesWhatTheHostChooses) {
  Rng rng(432);
  for (const FfnSpec& ffn : {ffn_of(4, 2, Score::kTopKThenSoftmax, false, 1),
                             ffn_of(60, 4, Score::kSoftmaxThenTopK, false, 1),
                             ffn_of(128, 8, Score::kSoftmaxThenTopK, true, 1),
                             ffn_of(512, 10, Score::kSoftmaxThenTopK, true, 2.5F),
                             ffn_of(7, 7, Score::kTopKThenSoftmax, true, 1)}) {
    std::vector<float> logits = random_values(rng, size_t{5} * ffn.experts, 8);
    // Ties go to the lower index.
    for (size_t i = 0; i < ffn.experts; i += 3) logits[i] = 4.0F;
    const std::vector<float> found = routed(ffn, logits);
    Routing expected;
    Routing taken;
    RouterWork work;
    ASSERT_TRUE(route(ffn, logits, expected, work));
    ASSERT_TRUE(take_routing(ffn, found, {}, taken, work));
    EXPECT_EQ(taken.experts, expected.experts);
    EXPECT_TRUE(near(taken.weights, expected.weights, 1e-6F));
    EXPECT_EQ(taken.member_rows, expected.member_rows);
    const uint32_t active = ffn.router.active_experts;
    for (size_t token = 0; token < 5; ++token) {
      const auto row = std::span(found).subspan(token * 3 * active, size_t{3} * active);
      std::vector<float> in_order;
      for (uint32_t i = 0; i < active; ++i)
        in_order.push_back(row[static_cast<size_t>(row[2 * active + i])]);
      EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
    }
  }
}

TEST(GpuRoute, ALogitThatIsNotFiniteLeavesNoFiniteWeight) {
  const FfnSpec ffn = ffn_of(8, 2, Score::kSoftmaxThenTopK, true, 1);
  for (const float bad : {kNan, kInf, -kInf}) {
    std::vector<float> logits(16, 0.5F);
    logits[11] = bad;
    const std::vector<float> found = routed(ffn, logits);
    EXPECT_TRUE(std::isfinite(found[2]));
    EXPECT_FALSE(std::isfinite(found[6 + 2]));
    EXPECT_FALSE(std::isfinite(found[6 + 3]));
    Routing routing;
    RouterWork work;
    const Status taken = take_routing(ffn, found, {}, routing, work);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::kNumeric);
    EXPECT_NE(taken.error().message.find("row 1"), std::string::npos);
  }
}

// Five records, each gate, up and down behind one another, in descending order of expert; two
// tokens of three experts.
class RoutedRig {
 public:
  static constexpr uint32_t kExperts = 5;
  static constexpr uint32_t kActive = 3;
  static constexpr uint32_t kTokens = 2;

  explicit RoutedRig(Format format)
      : width_(whole_blocks(format, 64)), inner_(whole_blocks(format, 96)), format_(format) {
    up_begin_ = matrix_bytes(format, inner_, width_);
    down_begin_ = 2 * up_begin_;
    record_ = align_up(down_begin_ + matrix_bytes(format, width_, inner_), uint64_t{4096});
    cache_ = *device_.allocate(kExperts * record_);
    table_ = *device_.allocate(kExperts * sizeof(uint64_t));
    Rng rng(433);
    for (uint32_t expert = 0; expert < kExperts; ++expert) {
      const uint64_t begin = begin_of(expert);
      device_.write({&cache_, begin}, random_matrix(rng, format, inner_, width_).tiles);
      device_.write({&cache_, begin + up_begin_}, random_matrix(rng, format, inner_, width_).tiles);
      device_.write({&cache_, begin + down_begin_},
                    random_matrix(rng, format, width_, inner_).tiles);
      device_.place_record({&table_, 0}, expert, {&cache_, begin});
    }
    in_ = some_rows(rng, width_);
    shared_ = some_rows(rng, width_);
    logits_ = some_rows(rng, kExperts);
    routing_ = make_rows(device_, kTokens, 3 * kActive);
    device_.route({logits_.rows, kActive, false, true, 1.0F, routing_.rows});
    EXPECT_TRUE(device_.wait(device_.submit()));
  }

  // `at_once`: the choice is made on the way.
  std::vector<float> by_index(bool shared, bool at_once) {
    const DeviceRows routing = make_rows(device_, kTokens, 3 * kActive);
    const DeviceRows hidden = make_rows(device_, kTokens * kActive, inner_);
    const DeviceRows outputs = make_rows(device_, kTokens * kActive, width_);
    const DeviceRows onto = residual();
    device_.route({logits_.rows, kActive, false, true, 1.0F, routing.rows});
    if (!at_once) {
      EXPECT_TRUE(device_.wait(device_.submit()));
    }
    device_.run_routed({{&table_, 0},
                        matrix(0, inner_, width_),
                        matrix(up_begin_, inner_, width_),
                        matrix(down_begin_, width_, inner_),
                        in_.rows,
                        routing.rows,
                        kActive,
                        shared ? shared_.rows : Rows{},
                        hidden.rows,
                        outputs.rows,
                        onto.rows});
    EXPECT_TRUE(same_bits(values_of(device_, routing.rows), values_of(device_, routing_.rows)));
    return values_of(device_, onto.rows);
  }

  std::vector<float> one_by_one(bool shared) {
    Routing chosen;
    RouterWork work;
    EXPECT_TRUE(take_routing(ffn_of(kExperts, kActive, Score::kSoftmaxThenTopK, true, 1),
                             values_of(device_, routing_.rows), {}, chosen, work));
    const DeviceRows sum = make_rows(device_, kTokens, width_);
    const DeviceRows onto = residual();
    device_.zero(sum.rows);
    for (const Routing::Member& member : chosen.members) {
      const uint64_t begin = begin_of(member.expert);
      const DeviceRows out = make_rows(device_, member.count, width_);
      device_.run_expert({matrix(begin, inner_, width_), matrix(begin + up_begin_, inner_, width_),
                          matrix(begin + down_begin_, width_, inner_), in_.rows,
                          chosen.rows_of(member), out.rows});
      device_.accumulate({out.rows, chosen.rows_of(member), chosen.weights_of(member), sum.rows});
    }
    if (shared) device_.accumulate({shared_.rows, {}, {}, sum.rows});
    device_.accumulate({sum.rows, {}, {}, onto.rows});
    return values_of(device_, onto.rows);
  }

 private:
  uint64_t begin_of(uint32_t expert) const { return (kExperts - 1 - expert) * record_; }
  Matrix matrix(uint64_t begin, uint32_t rows, uint32_t cols) const {
    return {{&cache_, begin}, format_, rows, cols, tile_bytes(format_, cols)};
  }
  DeviceRows some_rows(Rng& rng, uint32_t width) {
    return make_rows(device_, kTokens, width, random_values(rng, size_t{kTokens} * width, 2));
  }
  DeviceRows residual() {
    Rng rng(434);
    return some_rows(rng, width_);
  }

  Device& device_ = gpu();
  uint32_t width_;
  uint32_t inner_;
  Format format_;
  uint64_t up_begin_ = 0;
  uint64_t down_begin_ = 0;
  uint64_t record_ = 0;
  Buffer cache_;
  Buffer table_;
  DeviceRows in_;
  DeviceRows shared_;
  DeviceRows logits_;
  DeviceRows routing_;
};

TEST(GpuRunRouted, HasTheBitsOfExpertsThatTheHostChose) {
  for (const Format format : {Format::kBF16, Format::kQ8_0, Format::kQ4_K}) {
    RoutedRig rig(format);
    for (const bool shared : {false, true}) {
      const auto expected = rig.one_by_one(shared);
      EXPECT_TRUE(same_bits(rig.by_index(shared, false), expected)) << info(format).name;
      EXPECT_TRUE(same_bits(rig.by_index(shared, true), expected)) << info(format).name;
    }
  }
}

}  // namespace
}  // namespace smoe::test
