// Whole models on a GPU: the reference's logits and tokens, and the same bits for every ring,
// chunk, bet and batch. N1, N4.
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <thread>

#include "devices/vulkan/gpu_rig.h"
#include "formats/quantize.h"
#include "formats/tiles.h"
#include "shatter/shatter.h"
#include "support/model_fixture.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace smoe::test {
namespace {

constexpr float kTolerance = 2e-3F;

float largest_gap(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float gap = std::fabs(a[i] - b[i]);
    if (!(gap <= largest)) largest = gap;  // NaN counts
  }
  return largest;
}

std::vector<float> logits_on(Device& device, const std::filesystem::path& folder,
                             std::span<const TokenId> prompt, EngineSettings settings = {}) {
  settings.device = &device;
  OpenModel model(folder, settings);
  std::vector<float> all;
  for (const auto& row : all_logits(model.engine(), prompt))
    all.insert(all.end(), row.begin(), row.end());
  return all;
}

class GpuGolden : public testing::TestWithParam<const char*> {
 protected:
  Reference reference_{golden_dir(GetParam()) / "golden.safetensors"};
  std::vector<TokenId> prompt_ = reference_.tokens("input_ids");
  std::filesystem::path folder_ = shattered(golden_dir(GetParam()));
};

TEST_P(GpuGolden, LogitsAndGreedyTokensEqualTheReference) {
  const float gap = largest_gap(logits_on(gpu(), folder_, prompt_), reference_.floats("logits"));
  EXPECT_LE(gap, kTolerance);
  std::printf("  %s: largest logit difference %.2e\n", GetParam(), static_cast<double>(gap));
  EngineSettings settings;
  settings.device = &gpu();
  OpenModel model(folder_, settings);
  const std::vector<TokenId> expected = reference_.tokens("greedy");
  EXPECT_EQ(greedy(model.engine(), prompt_, expected.size()), expected);
}

TEST_P(GpuGolden, BitsAreThoseOfEveryRingChunkAndBet) {
  const std::vector<float> expected = logits_on(gpu(), folder_, prompt_);
  for (const auto& [slots, chunk, bets] :
       {std::tuple{2U, 7U, false}, std::tuple{2U, 64U, true}, std::tuple{6U, 64U, false}}) {
    EngineSettings settings;
    settings.options.ring_slots = slots;
    settings.options.prompt_chunk = chunk;
    settings.options.bets = bets;
    EXPECT_TRUE(same_bits(logits_on(gpu(), folder_, prompt_, settings), expected))
        << "ring " << slots << ", chunk " << chunk << ", bets " << bets;
    EXPECT_TRUE(same_bits(logits_on(separate_gpu(), folder_, prompt_, settings), expected))
        << "with memory of its own, ring " << slots << ", chunk " << chunk;
  }
}

// Ten positions at once, then one after the other: few enough for the device to choose experts.
std::vector<float> logits_one_by_one(Engine& engine, std::span<const TokenId> prompt) {
  auto session = Session::open(engine);
  EXPECT_TRUE(session);
  std::vector<float> all;
  for (size_t done = 0; done < prompt.size();) {
    const size_t count = done == 0 ? std::min<size_t>(10, prompt.size()) : 1;
    Collector collector;
    const auto nothing = [](const auto&...) {};
    EXPECT_TRUE(session->score(prompt.subspan(done, count), collector, nothing));
    for (const auto& row : collector.logits_of) all.insert(all.end(), row.begin(), row.end());
    done += count;
  }
  return all;
}

// Memory of its own for every record, so that the device chooses the experts itself, or for a few
// records that push one another out.
TEST_P(GpuGolden, BitsAreThoseOfEveryCacheOnTheDevice) {
  const std::vector<float> expected = logits_on(gpu(), folder_, prompt_);
  EngineSettings settings;
  settings.device = &separate_gpu();
  settings.options.ring_slots = 4;
  uint64_t besides = 0;
  uint64_t record = 0;
  std::array<uint64_t, 2> fewer{};
  {
    OpenModel model(folder_, settings);
    Engine& engine = model.engine();
    while (!engine.device_has_all()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const uint64_t reads = engine.stream_stats().reads;
    EXPECT_TRUE(same_bits(logits_one_by_one(engine, prompt_), expected)) << "all on the device";
    EXPECT_EQ(engine.stream_stats().reads, reads) << "nothing is read any more";
    besides = device_bytes_besides_records(engine.plan());
    record = engine.plan().ring_bytes / engine.plan().ring_slots();
    // The fewest that there is room for at all, and half of them.
    fewer = {3 * engine.plan().slots.size(), engine.plan().records / 2 + 1};
  }
  for (const uint64_t records : fewer) {
    settings.options.device_memory_bytes = besides + records * record;
    OpenModel model(folder_, settings);
    EXPECT_TRUE(same_bits(logits_one_by_one(model.engine(), prompt_), expected))
        << records << " on the device";
    EXPECT_FALSE(model.engine().device_has_all());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuGolden,
                         testing::Values("qwen3_moe", "qwen3_moe_mixed", "qwen3_moe_fp8",
                                         "qwen2_moe", "deepseek_moe_v1", "olmoe", "mixtral"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(GpuModel, SequencesThatShareABatchGetTheirOwnBits) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  prompt.resize(12);
  const std::vector<float> expected = logits_on(gpu(), folder, prompt);
  EngineSettings settings;
  settings.device = &gpu();
  settings.options.sequences = 2;
  OpenModel model(folder, settings);
  Engine& engine = model.engine();
  const size_t vocabulary = engine.spec().vocabulary;
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 2; ++i) {
    sequences.push_back(*engine.kv().open_sequence());
    ASSERT_TRUE(engine.kv().extend(sequences.back(), 12));
  }
  // The second one starts three steps later.
  for (uint32_t step = 0; step < 15; ++step) {
    std::vector<BatchToken> batch;
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t position = step - i * 3;
      if (step >= i * 3 && position < 12)
        batch.push_back({prompt[position], sequences[i], position, true});
    }
    Collector collector;
    ASSERT_TRUE(engine.step(batch, collector));
    for (size_t row = 0; row < batch.size(); ++row)
      ASSERT_TRUE(
          same_bits(collector.logits_of[row],
                    std::span(expected).subspan(batch[row].position * vocabulary, vocabulary)))
          << "step " << step << ", row " << row;
  }
}

// The weights of a matrix after they were put into blocks, as floats: rows that do not fill the
// blocks take the type that stands in, as in shatter.
std::vector<std::byte> decoded(const RowMajor& source, Format wanted) {
  const BlockChoice choice = block_type_for(info(wanted).source, source.cols);
  const Format format = exact_format(choice.dtype.value()).value();
  std::vector<std::byte> tile(tile_bytes(format, source.cols));
  std::vector<float> weights(size_t{source.rows} * source.cols);
  for (uint32_t row = 0; row < source.rows; ++row) {
    if (row % kTileRows == 0) {
      EXPECT_TRUE(pack_tile(source, format, row / kTileRows, tile));
    }
    unpack_row(format, tile, row % kTileRows,
               std::span(weights).subspan(size_t{row} * source.cols, source.cols));
  }
  const auto bytes = std::as_bytes(std::span(weights));
  return {bytes.begin(), bytes.end()};
}

// The demo checkpoint with the weights that its model in blocks has, as F32: what computes on these
// without quantising activations must come to the same logits.
void write_decoded_demo(Format format, const std::filesystem::path& folder) {
  const auto file = SafetensorsFile::open(tales_dir() / "model.safetensors").value();
  std::vector<TinyTensor> tensors;
  for (const TensorInfo& tensor : file.header().tensors) {
    const auto data = file.data(tensor);
    TinyTensor made{tensor.name, tensor.dtype, tensor.shape, {data.begin(), data.end()}};
    if (tensor.shape.size() == 2 && !tensor.name.ends_with("mlp.gate.weight")) {
      const auto rows = static_cast<uint32_t>(tensor.shape[0]);
      const auto cols = static_cast<uint32_t>(tensor.shape[1]);
      made.data = decoded({tensor.dtype, rows, cols, data, {}}, format);
      made.dtype = DType::kF32;
    }
    tensors.push_back(std::move(made));
  }
  write_safetensors(folder / "model.safetensors", tensors);
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json"})
    std::filesystem::copy(tales_dir() / name, folder / name);
}

TEST(GpuModel, InBlocksHasTheLogitsOfItsWeightsAsFloats) {
  auto prompt = Reference(tales_dir() / "reference/golden.safetensors").tokens("input_ids");
  prompt.resize(20);
  for (const Format format : {Format::kQ4_K, Format::kQ8_0}) {
    const TempDir checkpoint;
    write_decoded_demo(format, checkpoint.path());
    const TempDir exact;
    ASSERT_TRUE(shatter(checkpoint.path(), exact / "model", {}));
    OpenModel cpu(exact / "model", {});
    std::vector<float> expected;
    for (const auto& row : all_logits(cpu.engine(), prompt))
      expected.insert(expected.end(), row.begin(), row.end());
    const float gap =
        largest_gap(logits_on(gpu(), shattered(tales_dir(), format), prompt), expected);
    EXPECT_LE(gap, kTolerance) << info(format).name;
    std::printf("  %s: largest logit difference %.2e\n", std::string(info(format).name).c_str(),
                static_cast<double>(gap));
  }
}

// Run by itself under the validation layer: one pass with every kind of operation.
TEST(GpuValidation, APromptAndAFewTokensOnBothKindsOfMemory) {
  const auto folder = shattered(golden_dir("qwen3_moe"));
  auto prompt = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  prompt.resize(10);
  for (Device* device : {&gpu(), &separate_gpu()}) {
    EngineSettings settings;
    settings.device = device;
    settings.options.ring_slots = 4;
    settings.options.bets = true;
    OpenModel model(folder, settings);
    EXPECT_EQ(greedy(model.engine(), prompt, 3).size(), 3U);
  }
}

}  // namespace
}  // namespace smoe::test
