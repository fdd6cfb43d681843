#include "support/gguf_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/floats.h"
#include "base/json.h"
#include "formats/dequantize.h"
#include "formats/quantize.h"
#include "formats/safetensors.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "test set-up failed: %s\n", result.error().message.c_str());
  std::abort();
}

// What one tensor is called on either side; {l} and {e} are layer and expert.
struct Renaming {
  const char* from;
  const char* to;
};

constexpr Renaming kOuter[] = {{"model.embed_tokens.weight", "token_embd.weight"},
                               {"model.norm.weight", "output_norm.weight"},
                               {"lm_head.weight", "output.weight"}};
constexpr Renaming kInLayer[] = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"post_attention_layernorm.weight", "ffn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.o_proj.bias", "attn_output.bias"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"mlp.gate.weight", "ffn_gate_inp.weight"},
    {"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    {"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
    {"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
    {"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
    {"mlp.shared_experts.gate_proj.weight", "ffn_gate_shexp.weight"},
    {"mlp.shared_experts.up_proj.weight", "ffn_up_shexp.weight"},
    {"mlp.shared_experts.down_proj.weight", "ffn_down_shexp.weight"},
    {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"},
};
constexpr Renaming kOfExpert[] = {{"gate_proj.weight", "gate"}, {"up_proj.weight", "up"},
                                  {"down_proj.weight", "down"}, {"w1.weight", "gate"},
                                  {"w3.weight", "up"},          {"w2.weight", "down"}};

struct KeyRenaming {
  const char* from;
  const char* to;
};
constexpr KeyRenaming kNumbers[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_experts", "expert_count"},
    {"num_local_experts", "expert_count"},
    {"n_routed_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"n_shared_experts", "expert_shared_count"},
    {"first_k_dense_replace", "leading_dense_block_count"},
    {"vocab_size", "vocab_size"},
};

const std::map<std::string_view, std::string> kArchitectures = {{"qwen3_moe", "qwen3moe"},
                                                                {"qwen2_moe", "qwen2moe"},
                                                                {"deepseek", "deepseek"},
                                                                {"olmoe", "olmoe"},
                                                                {"mixtral", "llama"}};

uint32_t type_id(DType dtype) {
  static const std::map<DType, uint32_t> ids = {
      {DType::kF32, 0},   {DType::kF16, 1},     {DType::kBF16, 30}, {DType::kQ4_0, 2},
      {DType::kQ8_0, 8},  {DType::kQ3_K, 11},   {DType::kQ4_K, 12}, {DType::kQ5_K, 13},
      {DType::kQ6_K, 14}, {DType::kIQ4_NL, 20}, {DType::kMXFP4, 39}};
  return ids.at(dtype);
}

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Rows of one type as rows of another.
std::string converted(std::span<const std::byte> data, DType from, DType to, uint64_t cols) {
  if (from == to) return as_text(data);
  const uint64_t stride = *row_bytes(from, cols);
  std::string result;
  std::vector<float> row(cols);
  for (uint64_t at = 0; at < data.size(); at += stride) {
    dequantize_row(from, data.subspan(at, stride), row);
    std::vector<std::byte> out(*row_bytes(to, cols));
    if (to == DType::kF32) {
      std::memcpy(out.data(), row.data(), out.size());
    } else if (to == DType::kF16) {
      for (size_t k = 0; k < row.size(); ++k) {
        const uint16_t half = float_to_f16(row[k]);
        std::memcpy(out.data() + 2 * k, &half, 2);
      }
    } else if (!quantize_row(to, row, {}, out)) {
      std::abort();
    }
    result += as_text(out);
  }
  return result;
}

// Rows j and j + half of a head side by side, as llama.cpp's converter stores q and k.
std::string in_pairs(const std::string& rows, uint64_t count, uint64_t heads) {
  const size_t stride = rows.size() / count;
  const uint64_t head = count / heads;
  std::string result;
  for (uint64_t row = 0; row < count; ++row) {
    const uint64_t inside = row % head;
    const uint64_t from = row - inside + inside / 2 + (inside % 2) * (head / 2);
    result += rows.substr(from * stride, stride);
  }
  return result;
}

class Converter {
 public:
  Converter(const fs::path& folder, const GgufStyle& style)
      : style_(style),
        config_(must(Json::parse(must(read_text_file(folder / "config.json", 1 << 20))))),
        source_(must(SafetensorsFile::open(folder / "model.safetensors"))) {
    architecture_ = kArchitectures.at(*config_.find("model_type")->as_string());
  }

  GgufWriter run() {
    write_keys();
    for (const TensorInfo& tensor : source_.header().tensors) write_tensor(tensor);
    for (auto& [name, fused] : fused_) {
      GgufWriter::Tensor tensor{name, fused.dims, fused.type, {}};
      tensor.dims.push_back(fused.experts.size());
      for (const auto& [expert, data] : fused.experts) tensor.data += data;
      file_.tensors.push_back(std::move(tensor));
    }
    return std::move(file_);
  }

 private:
  struct Fused {
    std::vector<uint64_t> dims;
    uint32_t type = 0;
    std::map<uint64_t, std::string> experts;
  };

  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  uint64_t number(std::string_view name, uint64_t otherwise = 0) const {
    const Json* json = config_.find(name);
    return json != nullptr ? json->as_uint().value_or(otherwise) : otherwise;
  }

  void write_keys() {
    file_.set_string("general.architecture", architecture_);
    file_.set_string("general.name", "test");
    for (const auto& [from, to] : kNumbers)
      if (const Json* json = config_.find(from); json != nullptr && json->as_uint())
        file_.set_u32(key(to), *json->as_uint());
    const Json* rope = config_.find("rope_parameters");
    const Json* theta = (rope != nullptr ? *rope : config_).find("rope_theta");
    file_.set_f32(key("rope.freq_base"), static_cast<float>(*theta->as_double()));
    file_.set_f32(key("attention.layer_norm_rms_epsilon"),
                  static_cast<float>(*config_.find("rms_norm_eps")->as_double()));
    for (const char* token : {"bos", "eos"})
      if (const Json* id = config_.find(std::string(token) + "_token_id");
          id != nullptr && id->as_uint())
        file_.set_u32(fmt::format("tokenizer.ggml.{}_token_id", token), *id->as_uint());
  }

  void write_tensor(const TensorInfo& tensor) {
    for (const auto& [from, to] : kOuter)
      if (tensor.name == from) return put(to, tensor);
    std::string_view rest = std::string_view(tensor.name).substr(std::strlen("model.layers."));
    const std::string layer(rest.substr(0, rest.find('.')));
    rest.remove_prefix(layer.size() + 1);
    for (const auto& [from, to] : kInLayer)
      if (rest == from) return put(fmt::format("blk.{}.{}", layer, to), tensor);
    const size_t experts = rest.find(".experts.");
    rest.remove_prefix(experts + std::strlen(".experts."));
    const std::string expert(rest.substr(0, rest.find('.')));
    rest.remove_prefix(expert.size() + 1);
    for (const auto& [from, to] : kOfExpert)
      if (rest == from) return put_expert(layer, std::stoull(expert), to, tensor);
    std::abort();
  }

  DType type_of(const TensorInfo& tensor, std::string_view name) const {
    const bool small = tensor.shape.size() == 1 || name.find("ffn_gate_inp") != std::string::npos;
    if (small) return style_.small_as_f32 ? DType::kF32 : tensor.dtype;
    const DType wanted = style_.weights.value_or(tensor.dtype);
    return row_bytes(wanted, tensor.shape.back()) ? wanted : tensor.dtype;
  }

  GgufWriter::Tensor make(const std::string& name, const TensorInfo& tensor) const {
    const DType dtype = type_of(tensor, name);
    GgufWriter::Tensor result{name, tensor.shape, type_id(dtype), {}};
    std::reverse(result.dims.begin(), result.dims.end());
    if (name.find("inp_shexp") != std::string::npos) result.dims.pop_back();  // [1, n] becomes [n]
    result.data = converted(source_.data(tensor), tensor.dtype, dtype, tensor.shape.back());
    return result;
  }

  void put(const std::string& name, const TensorInfo& tensor) {
    GgufWriter::Tensor made = make(name, tensor);
    const bool paired = architecture_ == "llama" || architecture_ == "deepseek";
    if (paired && name.find("attn_q.") != std::string::npos)
      made.data = in_pairs(made.data, tensor.shape[0], number("num_attention_heads"));
    if (paired && name.find("attn_k.") != std::string::npos)
      made.data = in_pairs(made.data, tensor.shape[0], number("num_key_value_heads"));
    file_.tensors.push_back(std::move(made));
  }

  void put_expert(const std::string& layer, uint64_t expert, const std::string& role,
                  const TensorInfo& tensor) {
    if (!style_.fused_experts)
      return put(fmt::format("blk.{}.ffn_{}.{}.weight", layer, role, expert), tensor);
    const std::string name = fmt::format("blk.{}.ffn_{}_exps.weight", layer, role);
    GgufWriter::Tensor made = make(name, tensor);
    Fused& fused = fused_[name];
    fused.dims = made.dims;
    fused.type = made.type;
    fused.experts[expert] = std::move(made.data);
  }

  GgufStyle style_;
  Json config_;
  SafetensorsFile source_;
  std::string architecture_;
  GgufWriter file_;
  std::map<std::string, Fused> fused_;
};

}  // namespace

void set_tokenizer(GgufWriter& file, std::string_view tokenizer_json, std::string_view pre) {
  const Json json = must(Json::parse(tokenizer_json));
  const Json& model = *json.find("model");
  std::map<uint64_t, std::string> texts;
  std::map<uint64_t, int32_t> types;
  for (const auto& [text, id] : model.find("vocab")->members()) texts[*id.as_uint()] = text;
  for (const Json& token : json.find("added_tokens")->items()) {
    const uint64_t id = *token.find("id")->as_uint();
    texts[id] = *token.find("content")->as_string();
    types[id] = *token.find("special")->as_bool() ? 3 : 4;
  }
  const uint64_t count = texts.rbegin()->first + 1;
  std::vector<std::string> tokens;
  std::vector<int32_t> token_types;
  for (uint64_t id = 0; id < count; ++id) {
    const bool there = texts.contains(id);
    tokens.push_back(there ? texts[id] : fmt::format("[PAD{}]", id));
    token_types.push_back(!there ? 5 : types.contains(id) ? types[id] : 1);
  }
  std::vector<std::string> merges;
  for (const Json& merge : model.find("merges")->items())
    merges.push_back(merge.is_string() ? std::string(*merge.as_string())
                                       : fmt::format("{} {}", *merge.items()[0].as_string(),
                                                     *merge.items()[1].as_string()));
  file.set_string("tokenizer.ggml.model", "gpt2");
  file.set_string("tokenizer.ggml.pre", pre);
  file.set_strings("tokenizer.ggml.tokens", tokens);
  file.set_ints("tokenizer.ggml.token_type", token_types);
  file.set_strings("tokenizer.ggml.merges", merges);
}

GgufWriter gguf_of(const fs::path& folder, const GgufStyle& style, std::string_view pre) {
  GgufWriter file = Converter(folder, style).run();
  // Some tests' checkpoints have a tokenizer.json that only looks like one.
  const auto text = read_text_file(folder / "tokenizer.json", 64 << 20);
  const auto json = Json::parse(text.value_or("{}"));
  if (json && json->find("added_tokens") != nullptr) set_tokenizer(file, *text, pre);
  return file;
}

fs::path write_parts(const GgufWriter& file, const fs::path& stem, uint32_t parts) {
  for (uint32_t part = 0; part < parts; ++part) {
    GgufWriter piece;
    if (part == 0) piece.keys = file.keys;
    piece.set_u32("split.no", part);
    piece.set_u32("split.count", parts);
    piece.set_u32("split.tensors.count", file.tensors.size());
    for (size_t i = part; i < file.tensors.size(); i += parts)
      piece.tensors.push_back(file.tensors[i]);
    piece.write(fmt::format("{}-{:05}-of-{:05}.gguf", stem.string(), part + 1, parts));
  }
  return fmt::format("{}-00001-of-{:05}.gguf", stem.string(), parts);
}

}  // namespace smoe::test
