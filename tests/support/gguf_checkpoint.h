// A Hugging Face folder as the GGUF file that a converter makes of it.
#pragma once

#include <filesystem>
#include <optional>

#include "formats/dtype.h"
#include "support/gguf_writer.h"

namespace smoe::test {

struct GgufStyle {
  std::optional<DType> weights = {};  // F32, F16 or a block type; nothing: as in the folder
  bool small_as_f32 = true;           // norms, biases and routers, as converters do
  bool fused_experts = true;          // in one tensor of three axes
};

// The families of src/families: qwen3_moe qwen2_moe deepseek olmoe mixtral. Without a tokenizer
// unless the folder has a tokenizer.json of a byte-level BPE, which is then said to be `pre`.
GgufWriter gguf_of(const std::filesystem::path& folder, const GgufStyle& style = {},
                   std::string_view pre = "qwen2");

// The keys of a tokenizer.json.
void set_tokenizer(GgufWriter& file, std::string_view tokenizer_json, std::string_view pre);

// The file in `parts` pieces NAME-0000I-of-0000N.gguf; returns the first one's path.
std::filesystem::path write_parts(const GgufWriter& file, const std::filesystem::path& stem,
                                  uint32_t parts);

}  // namespace smoe::test
