// Peak memory is a few records, neither a layer nor the model.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// All weights are holes of the file, so that it costs nothing to make: zeros are weights, too.
void write_hollow_checkpoint(const fs::path& folder, const test::TinyShape& shape) {
  test::TinyShape small = shape;
  small.width = 16;
  small.head_dim = 8;
  small.vocabulary = 16;
  small.expert_width = 16;
  test::TinyCheckpoint names = test::tiny_checkpoint(small);  // for the names and the config
  names.set("hidden_size", std::to_string(shape.width));
  names.set("vocab_size", std::to_string(shape.vocabulary));
  names.set("moe_intermediate_size", std::to_string(shape.expert_width));
  fs::create_directories(folder);
  test::write_file(folder / "config.json", names.config_json());
  nlohmann::json header;
  uint64_t offset = 0;
  for (const auto& tensor : names.tensors) {
    std::vector<uint64_t> sides;
    const bool expert = tensor.name.find(".experts.") != std::string::npos;
    const bool vocabulary =
        tensor.name == "lm_head.weight" || tensor.name == "model.embed_tokens.weight";
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const bool down = tensor.name.find("down_proj") != std::string::npos;
      const bool o_proj = tensor.name.find("o_proj") != std::string::npos;
      uint64_t side = tensor.shape[axis];
      const bool last = axis + 1 == tensor.shape.size();
      if (expert)
        side = (axis == 0) == down ? shape.width : shape.expert_width;
      else if (vocabulary)
        side = axis == 0 ? shape.vocabulary : shape.width;
      else if (o_proj)
        side = axis == 0 ? shape.width : side;
      else if (last && tensor.name.find("_norm.") == std::string::npos)
        side = shape.width;
      sides.push_back(side);
    }
    uint64_t bytes = 2;
    for (const uint64_t side : sides) bytes *= side;
    header[tensor.name] = {
        {"dtype", "BF16"}, {"shape", sides}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << text;
  file.close();
  fs::resize_file(folder / "model.safetensors", sizeof length + length + offset);
}

TEST(Memory, OfAShatterIsAFewRecords) {
  test::Workshop shop;
  fs::remove_all(shop.checkpoint);
  const test::TinyShape shape = {
      .layers = 2, .width = 512, .vocabulary = 16384, .experts = 40, .expert_width = 256};
  write_hollow_checkpoint(shop.checkpoint, shape);
  const uint64_t record_bytes = uint64_t{3} * 512 * 256 * 2;
  const uint64_t model_bytes = fs::file_size(shop.checkpoint / "model.safetensors");
  ASSERT_GT(model_bytes, 90 * kMiB);
  const test::Run run = run_shatter(shop, {});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  std::fprintf(stderr, "model %llu, record %llu: %s", static_cast<unsigned long long>(model_bytes),
               static_cast<unsigned long long>(record_bytes), run.out.c_str());
  // A few records, one piece of the scout, and the program itself.
  EXPECT_LT(report["anonymous_bytes"].get<uint64_t>(), 3 * record_bytes + 4 * kMiB + 6 * kMiB);
  EXPECT_EQ(test::problems_in(shop.model), std::vector<std::string>());
}

}  // namespace
}  // namespace smoe
