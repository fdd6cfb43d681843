// A GGUF file used as it is: the bits of the shattered model, in every family and every block
// format, whatever the ring, the read engine and the chunk; and errors that name what they found.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <string>

#include "devices/cpu/cpu_device.h"
#include "shatter/unshattered.h"
#include "support/gguf_checkpoint.h"
#include "support/model_fixture.h"
#include "support/tiny_checkpoint.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

std::vector<uint32_t> logit_bits(const fs::path& model, std::span<const TokenId> tokens,
                                 const EngineSettings& settings = {}) {
  OpenModel open(model, settings);
  std::vector<uint32_t> all;
  for (const auto& row : all_logits(open.engine(), tokens))
    for (const float value : row) all.push_back(std::bit_cast<uint32_t>(value));
  return all;
}

std::vector<TokenId> some_tokens(uint32_t count, uint32_t vocabulary) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.push_back(TokenId{i * 7 % vocabulary});
  return tokens;
}

fs::path shattered_gguf(const fs::path& gguf, const fs::path& folder) {
  const auto report = shatter(gguf, folder, {});
  EXPECT_TRUE(report) << report.error().message;
  return folder;
}

class GgufAsItIs : public testing::TestWithParam<const char*> {
 protected:
  TempDir dir_;
  fs::path checkpoint_ = golden_dir(GetParam());
  std::vector<TokenId> tokens_ = some_tokens(40, 48);
};

TEST_P(GgufAsItIs, GivesTheBitsOfTheShatteredModel) {
  for (const bool fused : {true, false}) {
    const fs::path path = dir_ / (fused ? "fused.gguf" : "apart.gguf");
    gguf_of(checkpoint_, {.fused_experts = fused}).write(path);
    const auto wanted = logit_bits(shattered_gguf(path, dir_ / (fused ? "f" : "a")), tokens_);
    EXPECT_EQ(logit_bits(path, tokens_), wanted);
  }
}

TEST_P(GgufAsItIs, GivesThemFromSeveralPartsAndInBlocks) {
  const fs::path path = dir_ / "whole.gguf";
  const GgufWriter whole = gguf_of(checkpoint_, {.weights = DType::kQ8_0});
  whole.write(path);
  const fs::path part = write_parts(whole, dir_ / "m", 3);
  const auto wanted = logit_bits(shattered_gguf(path, dir_ / "model"), tokens_);
  EXPECT_EQ(logit_bits(path, tokens_), wanted);
  EXPECT_EQ(logit_bits(part, tokens_), wanted);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufAsItIs,
                         testing::Values("qwen3_moe", "qwen2_moe", "deepseek_moe_v1", "olmoe",
                                         "mixtral"),
                         [](const auto& instance) { return std::string(instance.param); });

struct BlockType {
  DType dtype;
  uint32_t id;  // of the format
};
constexpr BlockType kBlockTypes[] = {{DType::kQ4_0, 2},  {DType::kQ4_1, 3},    {DType::kQ5_0, 6},
                                     {DType::kQ5_1, 7},  {DType::kQ8_0, 8},    {DType::kQ2_K, 10},
                                     {DType::kQ3_K, 11}, {DType::kQ4_K, 12},   {DType::kQ5_K, 13},
                                     {DType::kQ6_K, 14}, {DType::kIQ4_NL, 20}, {DType::kIQ4_XS, 23},
                                     {DType::kMXFP4, 39}};

// Any bytes make blocks; these make small scales, whichever of them are scales.
void fill_with_blocks(GgufWriter::Tensor& tensor, const BlockType& type) {
  uint64_t rows = 1;
  for (size_t i = 1; i < tensor.dims.size(); ++i) rows *= tensor.dims[i];
  tensor.type = type.id;
  tensor.data.resize(rows * *row_bytes(type.dtype, tensor.dims.front()));
  uint32_t state = type.id;
  for (char& byte : tensor.data) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>((state >> 24U) % 0x24);
  }
}

TEST(GgufBlocks, OfEveryFormatGiveTheBitsOfTheShatteredModel) {
  const TempDir dir;
  tiny_checkpoint({.layers = 2, .width = 256, .experts = 4, .expert_width = 256})
      .write(dir / "checkpoint");
  const std::vector<TokenId> tokens = some_tokens(9, 48);
  for (const BlockType& type : kBlockTypes) {
    GgufWriter file = gguf_of(dir / "checkpoint");
    for (GgufWriter::Tensor& tensor : file.tensors)
      if (tensor.name.find("_exps") != std::string::npos ||
          tensor.name.find("attn_q.") != std::string::npos || tensor.name == "output.weight")
        fill_with_blocks(tensor, type);
    const std::string name(name_of(type.dtype));
    file.write(dir / (name + ".gguf"));
    const auto wanted = logit_bits(shattered_gguf(dir / (name + ".gguf"), dir / name), tokens, {});
    EXPECT_EQ(logit_bits(dir / (name + ".gguf"), tokens), wanted) << name;
  }
}

// Rows of 4096 bytes and more: a matrix is several pieces, each read on its own.
TEST(GgufTales, GivesTheSameBitsForEveryRingReadEngineAndChunk) {
  const TempDir dir;
  const fs::path path = dir / "tales.gguf";
  gguf_of(tales_dir()).write(path);
  const std::vector<TokenId> tokens = some_tokens(70, 1000);
  const auto wanted = logit_bits(shattered(tales_dir()), tokens);
  for (const IoEngine io : {IoEngine::kAuto, IoEngine::kBuffered, IoEngine::kPread}) {
    for (const uint32_t slots : {2U, 64U}) {
      EngineSettings settings;
      settings.options.io = io;
      settings.options.ring_slots = slots;
      settings.options.prompt_chunk = slots == 2 ? 16 : 64;
      settings.options.bets = slots == 64;
      EXPECT_EQ(logit_bits(path, tokens, settings), wanted) << "ring of " << slots;
    }
  }
}

TEST(GgufTales, IsReadByTheKernelsQueueWhereThatIsAskedFor) {
  const TempDir dir;
  const fs::path path = dir / "tales.gguf";
  gguf_of(tales_dir(), {.weights = DType::kQ8_0}).write(path);
  EngineSettings settings;
  settings.options.ring_slots = 8;
  settings.options.io = IoEngine::kUring;
  ThreadPool pool(1);
  const auto device = make_cpu_device(pool, CpuKernels::kBest);
  auto files = open_model_files(path);
  ASSERT_TRUE(files) << files.error().message;
  const auto engine = Engine::open(*std::move(files), settings.options, **device);
  if (!engine) {  // a sandbox may have no io_uring
    EXPECT_EQ(engine.error().code, Code::kUnsupported) << engine.error().message;
    return;
  }
  const std::vector<TokenId> tokens = some_tokens(30, 1000);
  const auto wanted = logit_bits(shattered_gguf(path, dir / "model"), tokens);
  EXPECT_EQ(logit_bits(path, tokens, settings), wanted);
}

TEST(GgufTales, PlansTheBuffersInWhichRowsArriveAndCountsWhatIsRetiled) {
  const TempDir dir;
  const fs::path path = dir / "tales.gguf";
  gguf_of(tales_dir(), {.small_as_f32 = false}).write(path);
  auto files = open_model_files(path);
  ASSERT_TRUE(files);
  EXPECT_GT(sizes_of(*files, 4).arrival_bytes, 0U);
  EXPECT_EQ(files->notes.front(),
            "a GGUF file carries no checksums: what is in it is taken as it is");
  const auto folder = ModelFiles::open(shattered(tales_dir()));
  ASSERT_TRUE(folder);
  EXPECT_EQ(sizes_of(*folder, 4).arrival_bytes, 0U);
  EXPECT_EQ(sizes_of(*folder, 4).scout_bytes, sizes_of(*files, 4).scout_bytes);

  EngineSettings settings;
  settings.options.ring_slots = 2;
  OpenModel model(path, settings);
  EXPECT_FALSE(greedy(model.engine(), some_tokens(3, 1000), 2).empty());
  const StreamStats stats = model.engine().stream_stats();
  EXPECT_GT(stats.reads, 0U);
  const uint64_t record = 3 * 32 * 256 * sizeof(uint16_t);  // BF16
  EXPECT_EQ(stats.retiled_bytes, stats.reads * record);
  EXPECT_GE(stats.bytes_read, stats.retiled_bytes);
}

// Traps 35.
TEST(GgufFault, ARowThatIsNoNumberNamesFileLayerAndExpert) {
  const TempDir dir;
  GgufWriter file = gguf_of(golden_dir("qwen3_moe"), {.weights = DType::kF32});
  GgufWriter::Tensor* experts = file.find("blk.1.ffn_up_exps.weight");
  for (uint64_t expert = 0; expert < experts->dims[2]; ++expert)
    experts->data.replace(expert * (experts->data.size() / experts->dims[2]), 4, le32(0x7fc00000));
  file.write(dir / "nan.gguf");
  OpenModel model(dir / "nan.gguf", {});
  Session session = model.session();
  const Status status = session.append(TokenId{3});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNumeric);
  EXPECT_NE(status.error().message.find("nan.gguf: layer 1, expert "), std::string::npos)
      << status.error().message;
  EXPECT_NE(status.error().message.find("row 0, column 0: the weight is NaN"), std::string::npos);
}

// The file ends early, after it was opened.
TEST(GgufFault, AFileThatWasCutOffNamesFileLayerAndExpertAndTheScoutItsTensor) {
  const TempDir dir;
  const fs::path path = dir / "m.gguf";
  gguf_of(golden_dir("qwen3_moe")).write(path);
  EngineSettings settings;
  settings.options.ring_slots = 2;
  OpenModel model(path, settings);
  Session session = model.session();
  ASSERT_TRUE(session.append(TokenId{3}));
  auto late = open_model_files(path);
  fs::resize_file(path, 20'000);
  Status status;
  for (uint32_t i = 0; status && i < 40; ++i) status = session.append(TokenId{i});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_NE(status.error().message.find("m.gguf: layer "), std::string::npos)
      << status.error().message;
  EXPECT_NE(status.error().message.find("the file ends"), std::string::npos);

  ASSERT_TRUE(late);
  ThreadPool pool(1);
  const auto device = make_cpu_device(pool, CpuKernels::kBest);
  const auto engine = Engine::open(*std::move(late), {}, **device);
  ASSERT_TRUE(engine);
  const Status scout = (*engine)->scout().wait_for_all();
  ASSERT_FALSE(scout);
  EXPECT_NE(scout.error().message.find("m.gguf: "), std::string::npos) << scout.error().message;
  EXPECT_NE(scout.error().message.find(".weight"), std::string::npos) << scout.error().message;
}

}  // namespace
}  // namespace smoe::test
