// What --calibrate knows of a text: mean squares of the activations that each column met.
#include "engine/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "base/rng.h"
#include "devices/cpu/cpu_device.h"
#include "formats/tiles.h"
#include "shatter/unshattered.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}
void must(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

std::vector<TokenId> prompt_of(const char* model) {
  return Reference(golden_dir(model) / "golden.safetensors").tokens("input_ids");
}

std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

// The spec outlives the importance.
struct Gathered {
  ModelSpec spec;
  std::unique_ptr<Importance> importance;
  std::map<uint32_t, std::vector<float>> hidden;  // after each layer; the last one normed
};

class Shown final : public StepSink {
 public:
  explicit Shown(std::map<uint32_t, std::vector<float>>& hidden) : hidden_(hidden) {}
  bool wants_hidden() const override { return true; }
  void logits(uint32_t /*index*/, std::span<const float> /*values*/) override {}
  void hidden(uint32_t layer, std::span<const float> values) override {
    hidden_[layer].insert(hidden_[layer].end(), values.begin(), values.end());
  }

 private:
  std::map<uint32_t, std::vector<float>>& hidden_;
};

void gather(const std::filesystem::path& model, std::span<const TokenId> tokens,
            EngineSettings settings, Gathered& out) {
  out.spec = must(open_model_files(model)).spec;
  out.importance = std::make_unique<Importance>(out.spec);
  settings.options.importance = out.importance.get();
  OpenModel open(model, settings);
  Session session = open.session();
  Shown shown(out.hidden);
  ASSERT_TRUE(session.score(tokens, shown, [](size_t, size_t) {}));
  ASSERT_TRUE(out.importance->finish());
}

TEST(Importance, OfTheHeadIsTheMeanSquareOfWhatTheModelShows) {
  const auto prompt = prompt_of("qwen3_moe");
  Gathered gathered;
  gather(shattered(golden_dir("qwen3_moe")), prompt, {}, gathered);
  const uint32_t width = gathered.spec.width;
  const std::vector<float>& normed =
      gathered.hidden.at(static_cast<uint32_t>(gathered.spec.layers.size()));
  ASSERT_EQ(normed.size(), prompt.size() * width);
  const auto found = gathered.importance->of(Role::kHead, 0, 0);
  ASSERT_EQ(found.size(), width);
  for (uint32_t k = 0; k < width; ++k) {
    double sum = 0;
    for (size_t row = 0; row < prompt.size(); ++row)
      sum += std::pow(static_cast<double>(normed[row * width + k]), 2);
    EXPECT_FLOAT_EQ(found[k], static_cast<float>(sum / static_cast<double>(prompt.size()))) << k;
  }
}

// Every matrix that a conversion may round, in models with and without shared experts and dense
// layers; routers and norms keep their type.
TEST(Importance, KnowsEveryMatrixOfAModel) {
  for (const char* model : {"qwen3_moe", "qwen2_moe", "deepseek_moe_v1", "mixtral"}) {
    Gathered gathered;
    gather(shattered(golden_dir(model)), prompt_of(model), {}, gathered);
    for (size_t number = 0; number < kRoles; ++number) {
      const auto role = static_cast<Role>(number);
      if (role == Role::kEmbedding || is_vector(role)) continue;
      for (uint32_t layer = 0; layer < gathered.spec.layers.size(); ++layer) {
        if (!is_needed(gathered.spec, role, layer)) continue;
        const auto found = gathered.importance->of(role, layer, 1);
        const bool kept = role == Role::kRouter || role == Role::kSharedRouter;
        ASSERT_EQ(found.size(), kept ? 0 : need_of(gathered.spec, role, layer).cols)
            << model << " role " << number << " layer " << layer;
        if (kept) continue;
        EXPECT_GT(std::accumulate(found.begin(), found.end(), 0.0), 0) << model << ' ' << number;
      }
    }
    const auto embedding = gathered.importance->of(Role::kEmbedding, 0, 0);
    EXPECT_EQ(embedding.size(), gathered.spec.tied_head ? gathered.spec.width : 0) << model;
  }
}

TEST(Importance, IsTheSameForEveryChunkRingThreadCountAndDoesNotTouchTheResult) {
  const auto prompt = prompt_of("qwen2_moe");
  const auto model = shattered(golden_dir("qwen2_moe"));
  Gathered plain;
  gather(model, prompt, {}, plain);
  for (const uint32_t chunk : {1U, 7U, 64U}) {
    EngineSettings settings;
    settings.options.prompt_chunk = chunk;
    settings.options.ring_slots = chunk == 7 ? 2 : 12;
    settings.threads = chunk == 64 ? 1 : 3;
    Gathered other;
    gather(model, prompt, settings, other);
    EXPECT_EQ(other.importance->checksum(), plain.importance->checksum()) << "chunk " << chunk;
  }
  Gathered shorter;
  gather(model, std::span(prompt).first(40), {}, shorter);
  EXPECT_NE(shorter.importance->checksum(), plain.importance->checksum());

  OpenModel open(model, {});
  Session session = open.session();
  std::map<uint32_t, std::vector<float>> hidden;
  Shown shown(hidden);
  ASSERT_TRUE(session.score(prompt, shown, [](size_t, size_t) {}));
  EXPECT_EQ(hidden, plain.hidden);
}

// What calibration reads: a checkpoint's own files, nothing converted.
TEST(Importance, ComesFromACheckpointAsItLies) {
  for (const char* name : {"qwen3_moe", "qwen2_moe", "deepseek_moe_v1", "qwen3_moe_mixed"}) {
    const auto prompt = prompt_of(name);
    Gathered expected;
    gather(shattered(golden_dir(name)), prompt, {}, expected);
    ThreadPool pool(2);
    const auto device = must(make_cpu_device(pool, CpuKernels::kBest));
    ModelFiles files = must(open_unshattered(golden_dir(name)));
    const ModelSpec spec = files.spec;
    Importance importance(spec);
    EngineOptions options;
    options.importance = &importance;
    const auto engine = must(Engine::open(std::move(files), options, *device));
    Session session = must(Session::open(*engine));
    std::map<uint32_t, std::vector<float>> hidden;
    Shown shown(hidden);
    must(session.score(prompt, shown, [](size_t, size_t) {}));
    must(importance.finish());
    EXPECT_EQ(hidden, expected.hidden) << name;
    EXPECT_EQ(importance.checksum(), expected.importance->checksum()) << name;
  }
  const auto fp8 = open_unshattered(golden_dir("qwen3_moe_fp8"));
  ASSERT_FALSE(fp8);
  EXPECT_EQ(fp8.error().code, Code::kUnsupported);
}

// Sum over all experts of importance * (rounded - weight)^2.
double weighted_error(const std::filesystem::path& exact, const std::filesystem::path& rounded,
                      const Importance& importance) {
  struct Matrix {
    const char* name;
    Role role;
  };
  const auto rows_of = [](const VaultFile& file, uint32_t expert, const char* name) {
    const Segment& segment = *file.info().record.find(name);
    std::vector<std::byte> record(file.info().record.record_bytes);
    must(must(File::open(file.path())).read_at(file.info().offset_of(expert), record));
    std::vector<float> values(size_t{segment.rows} * segment.cols);
    for (uint32_t row = 0; row < segment.rows; ++row)
      unpack_row(segment.format,
                 std::span(record).subspan(segment.offset + row / kTileRows * segment.tile_stride,
                                           tile_bytes(segment.format, segment.cols)),
                 row % kTileRows,
                 std::span(values).subspan(size_t{row} * segment.cols, segment.cols));
    return values;
  };
  const ModelFiles wanted = must(ModelFiles::open(exact));
  const ModelFiles found = must(ModelFiles::open(rounded));
  double error = 0;
  for (size_t i = 0; i < wanted.vault.size(); ++i) {
    const VaultInfo& info = wanted.vault[i].info();
    for (uint32_t expert = 0; expert < info.experts; ++expert) {
      for (const Matrix matrix : {Matrix{"gate", Role::kExpertGate}, Matrix{"up", Role::kExpertUp},
                                  Matrix{"down", Role::kExpertDown}}) {
        const auto is = rows_of(found.vault[i], expert, matrix.name);
        const auto was = rows_of(wanted.vault[i], expert, matrix.name);
        const auto counts = importance.of(matrix.role, info.layer, expert);
        for (size_t at = 0; at < is.size(); ++at)
          error += double{counts[at % counts.size()]} * std::pow(double{is[at]} - was[at], 2);
      }
    }
  }
  return error;
}

TEST(Importance, MakesConversionsLoseLessOfWhatCounts) {
  const auto exact = shattered(tales_dir());
  const std::vector<TokenId> prompt =
      Reference(tales_dir() / "reference" / "golden.safetensors").tokens("input_ids");
  Gathered gathered;
  gather(exact, prompt, {}, gathered);
  const TempDir home;
  ShatterOptions options;
  options.experts = Format::kQ4_0;
  options.threads = 2;
  ASSERT_TRUE(shatter(tales_dir(), home / "plain", options));
  options.calibration.checksum = gathered.importance->checksum();
  options.calibration.importance = [&](Role role, uint32_t layer, uint32_t expert) {
    return gathered.importance->of(role, layer, expert);
  };
  ASSERT_TRUE(shatter(tales_dir(), home / "calibrated", options));
  const double plain = weighted_error(exact, home / "plain", *gathered.importance);
  const double calibrated = weighted_error(exact, home / "calibrated", *gathered.importance);
  EXPECT_GT(calibrated, 0);
  EXPECT_LT(calibrated, 0.95 * plain);
}

// One layer of two experts of 32 x 32, asked directly.
class ImportanceOfExperts : public testing::Test {
 protected:
  static constexpr uint32_t kWidth = 32;
  static constexpr uint32_t kRows = 40;

  void SetUp() override {
    spec_.width = kWidth;
    spec_.vocabulary = 16;
    LayerSpec& layer = spec_.layers.emplace_back();
    layer.attention.heads = 1;
    layer.attention.kv_heads = 1;
    layer.attention.head_dim = kWidth;
    layer.ffn.kind = FfnKind::kExperts;
    layer.ffn.experts = 2;
    layer.ffn.width = kWidth;
    device_ = must(make_cpu_device(pool_, CpuKernels::kBest));
    must(device_->reserve({kRows, kWidth, 64}));
    Rng rng(7);
    for (std::vector<float>* matrix : {&gate_, &up_}) {
      matrix->resize(size_t{kWidth} * kWidth);
      for (float& value : *matrix) value = static_cast<float>(rng.uniform() * 2 - 1);
    }
    in_.resize(size_t{kRows} * kWidth);
    for (float& value : in_) value = static_cast<float>(rng.uniform() * 2 - 1);
    gate_buffer_ = upload(gate_);
    up_buffer_ = upload(up_);
    in_buffer_ = must(device_->allocate(in_.size() * sizeof(float)));
    device_->write({&in_buffer_, 0}, std::as_bytes(std::span(in_)));
  }

  Buffer upload(const std::vector<float>& values) {
    const RowMajor source{.dtype = DType::kF32,
                          .rows = kWidth,
                          .cols = kWidth,
                          .data = std::as_bytes(std::span(values)),
                          .scales = {}};
    const uint64_t tile = tile_bytes(Format::kF32, kWidth);
    std::vector<std::byte> tiles(2 * tile);
    for (uint32_t i = 0; i < 2; ++i)
      must(pack_tile(source, Format::kF32, i, std::span(tiles).subspan(i * tile, tile)));
    Buffer buffer = must(device_->allocate(tiles.size()));
    device_->write({&buffer, 0}, tiles);
    return buffer;
  }

  Importance::Gated expert(uint32_t index) const {
    const auto matrix = [](const Buffer& buffer) {
      return Matrix{{&buffer, 0}, Format::kF32, kWidth, kWidth, tile_bytes(Format::kF32, kWidth)};
    };
    return {Role::kExpertDown, 0, index, matrix(gate_buffer_), matrix(up_buffer_)};
  }
  Rows in() const { return {{&in_buffer_, 0}, kRows, kWidth, kWidth}; }

  // Mean squares of the gated rows, from first to last.
  std::vector<double> gated(uint32_t first, uint32_t end) const {
    std::vector<double> means(kWidth);
    for (uint32_t row = first; row < end; ++row)
      for (uint32_t n = 0; n < kWidth; ++n) {
        double gate = 0;
        double up = 0;
        for (uint32_t k = 0; k < kWidth; ++k) {
          gate += double{gate_[n * kWidth + k]} * double{in_[row * kWidth + k]};
          up += double{up_[n * kWidth + k]} * double{in_[row * kWidth + k]};
        }
        means[n] += std::pow(gate / (1 + std::exp(-gate)) * up, 2) / (end - first);
      }
    return means;
  }

  ThreadPool pool_{1};
  std::unique_ptr<Device> device_;
  ModelSpec spec_;
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> in_;
  Buffer gate_buffer_;
  Buffer up_buffer_;
  Buffer in_buffer_;
};

TEST_F(ImportanceOfExperts, CountsWhatTheGateMakesOfTheRowsOfEach) {
  Importance importance(spec_);
  must(importance.attach(*device_, kRows));
  std::vector<uint32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0U);
  importance.add(expert(0), in(), std::span(rows).first(8));
  importance.add(expert(1), in(), std::span(rows).subspan(8));
  ASSERT_TRUE(importance.finish());
  // 16 rows of the mean of all join each expert's own.
  const std::vector<double> all = gated(0, kRows);
  const std::vector<double> few = gated(0, 8);
  const std::vector<double> many = gated(8, kRows);
  const auto first = importance.of(Role::kExpertDown, 0, 0);
  const auto second = importance.of(Role::kExpertDown, 0, 1);
  for (uint32_t n = 0; n < kWidth; ++n) {
    EXPECT_NEAR(first[n], (8 * few[n] + 16 * all[n]) / 24, 1e-5 * first[n]) << n;
    EXPECT_NEAR(second[n], (32 * many[n] + 16 * all[n]) / 48, 1e-5 * second[n]) << n;
  }
  EXPECT_TRUE(importance.of(Role::kQuery, 0, 0).empty());
}

TEST_F(ImportanceOfExperts, TakesAllExpertsForOneThatNoTokenChose) {
  Importance importance(spec_);
  must(importance.attach(*device_, kRows));
  importance.add(expert(0), in(), {});
  ASSERT_TRUE(importance.finish());
  EXPECT_EQ(copy_of(importance.of(Role::kExpertUp, 0, 1)).size(), kWidth);
  for (uint32_t k = 0; k < kWidth; ++k)
    EXPECT_FLOAT_EQ(importance.of(Role::kExpertUp, 0, 1)[k],
                    importance.of(Role::kExpertUp, 0, 0)[k]);
}

TEST_F(ImportanceOfExperts, RefusesActivationsThatAreNotFinite) {
  in_[5] = 1e30F;
  in_[6] = std::numeric_limits<float>::infinity();
  device_->write({&in_buffer_, 0}, std::as_bytes(std::span(in_)));
  Importance importance(spec_);
  must(importance.attach(*device_, kRows));
  importance.add(Role::kQuery, 0, in());
  const Status status = importance.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNumeric);
}

}  // namespace
}  // namespace smoe::test
