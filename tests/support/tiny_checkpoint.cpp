#include "support/tiny_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numbers>

#include "base/floats.h"
#include "base/rng.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

double normal(Rng& rng) {  // Box-Muller
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.uniform());
}

template <class T>
void append(std::vector<std::byte>& data, T value) {
  const size_t at = data.size();
  data.resize(at + sizeof value);
  std::memcpy(data.data() + at, &value, sizeof value);
}

void append_as(std::vector<std::byte>& data, DType dtype, float value, Rng& rng) {
  switch (dtype) {
    case DType::kF32:
      return append(data, value);
    case DType::kF16:
      return append(data, float_to_f16(value));
    case DType::kBF16:
      return append(data, float_to_bf16(value));
    case DType::kF8E8M0:  // a power of two near the value
      return append(data, static_cast<uint8_t>(127 + std::lround(std::log2(std::abs(value)))));
    case DType::kF8E4M3: {  // any byte but the two NaNs, so about +-448 at most
      const auto byte = static_cast<uint8_t>(rng.below(256));
      return append(data, (byte & 0x7fU) == 0x7fU ? uint8_t{0x40} : byte);
    }
    default:
      std::abort();
  }
}

TinyTensor random_tensor(std::string name, DType dtype, std::vector<uint64_t> shape, double mean,
                         double deviation, uint64_t seed) {
  TinyTensor tensor{std::move(name), dtype, std::move(shape), {}};
  uint64_t hash = seed;
  for (const char c : tensor.name) hash = hash * 1099511628211U + static_cast<unsigned char>(c);
  Rng rng(hash);
  uint64_t count = 1;
  for (const uint64_t side : tensor.shape) count *= side;
  tensor.data.reserve(count * bytes_of(dtype));
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(mean + deviation * normal(rng));
    append_as(tensor.data, dtype, value, rng);
  }
  return tensor;
}

class Builder {
 public:
  explicit Builder(const TinyShape& shape) : shape_(shape), type_(shape.model_type) {}

  TinyCheckpoint build() {
    write_config();
    matrix("model.embed_tokens.weight", shape_.vocabulary, shape_.width, false);
    vector("model.norm.weight", shape_.width);
    if (!shape_.tied_head) matrix("lm_head.weight", shape_.vocabulary, shape_.width, false);
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      attention(fmt::format("model.layers.{}.", layer));
      feed_forward(fmt::format("model.layers.{}.", layer), layer);
    }
    return std::move(out_);
  }

 private:
  uint32_t head_dim() const {
    const bool stated = type_ == "qwen3_moe" || type_ == "mixtral";
    return stated ? shape_.head_dim : shape_.width / shape_.heads;
  }
  bool dense(uint32_t layer) const {
    if (type_ == "deepseek") return layer < shape_.dense_layers.size();
    for (const uint32_t one : shape_.dense_layers)
      if (one == layer) return true;
    return false;
  }

  void number(std::string_view key, uint32_t value) { out_.set(key, std::to_string(value)); }
  void flag(std::string_view key, bool value) { out_.set(key, value ? "true" : "false"); }

  void write_config() {
    out_.set("model_type", fmt::format("\"{}\"", type_));
    number("hidden_size", shape_.width);
    number("vocab_size", shape_.vocabulary);
    number("num_hidden_layers", shape_.layers);
    number("max_position_embeddings", shape_.context);
    number("num_attention_heads", shape_.heads);
    number("num_key_value_heads", shape_.kv_heads);
    number("num_experts_per_tok", shape_.active_experts);
    flag("tie_word_embeddings", shape_.tied_head);
    out_.set("rms_norm_eps", "1e-06");
    out_.set("hidden_act", "\"silu\"");
    out_.set("bos_token_id", "0");
    out_.set("eos_token_id", "1");
    if (shape_.newer_spelling) {
      out_.set("rope_parameters", R"({"rope_theta": 10000.0, "rope_type": "default"})");
      out_.set("dtype", "\"bfloat16\"");
    } else {
      out_.set("rope_theta", "10000.0");
      out_.set("rope_scaling", "null");
      out_.set("torch_dtype", "\"bfloat16\"");
    }
    write_family_config();
    if (shape_.weights == DType::kF8E4M3)
      out_.set("quantization_config",
               R"({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",)"
               R"( "weight_block_size": [128, 128]})");
  }

  void write_family_config() {
    const bool wide_expert_key = type_ == "olmoe" || type_ == "mixtral";
    number("intermediate_size", wide_expert_key ? shape_.expert_width : shape_.dense_width);
    if (!wide_expert_key) number("moe_intermediate_size", shape_.expert_width);
    const std::string_view experts = type_ == "deepseek" ? "n_routed_experts"
                                     : type_ == "mixtral" || shape_.newer_spelling
                                         ? "num_local_experts"
                                         : "num_experts";
    number(experts, shape_.experts);
    if (type_ == "qwen3_moe" || type_ == "mixtral") number("head_dim", shape_.head_dim);
    if (type_ != "mixtral") flag("norm_topk_prob", shape_.renormalize);
    if (type_ == "qwen3_moe" || type_ == "qwen2_moe") {
      out_.set("mlp_only_layers", fmt::format("[{}]", fmt::join(shape_.dense_layers, ", ")));
      number("decoder_sparse_step", 1);
      flag("use_sliding_window", false);
    }
    if (type_ == "qwen2_moe") number("shared_expert_intermediate_size", shape_.shared_width);
    if (type_ == "deepseek") {
      number("first_k_dense_replace", static_cast<uint32_t>(shape_.dense_layers.size()));
      number("moe_layer_freq", 1);
      number("n_shared_experts", 2);
      out_.set("scoring_func", "\"softmax\"");
    }
    if (type_ == "mixtral") out_.set("sliding_window", "null");
    if (type_ == "olmoe") out_.set("clip_qkv", "null");
    if (shape_.attention_bias) flag("attention_bias", true);
  }

  void vector(const std::string& name, uint32_t length, double mean = 1) {
    const DType dtype = shape_.weights == DType::kF8E4M3 ? DType::kBF16 : shape_.weights;
    out_.tensors.push_back(random_tensor(name, dtype, {length}, mean, 0.1, shape_.seed));
  }

  void matrix(const std::string& name, uint32_t rows, uint32_t cols, bool quantized = true) {
    DType dtype = shape_.weights;
    if (dtype == DType::kF8E4M3 && !quantized) dtype = DType::kBF16;
    const double deviation = 1.0 / std::sqrt(static_cast<double>(cols));
    out_.tensors.push_back(random_tensor(name, dtype, {rows, cols}, 0, deviation, shape_.seed));
    if (dtype != DType::kF8E4M3) return;
    // Random bytes reach 448 and have a deviation near 110.
    out_.tensors.push_back(random_tensor(name + "_scale_inv", shape_.scales,
                                         {(rows + 127) / 128, (cols + 127) / 128}, deviation / 110,
                                         deviation / 1000, shape_.seed));
  }

  void attention(const std::string& layer) {
    const std::string at = layer + "self_attn.";
    const uint32_t query = shape_.heads * head_dim();
    const uint32_t key = shape_.kv_heads * head_dim();
    vector(layer + "input_layernorm.weight", shape_.width);
    matrix(at + "q_proj.weight", query, shape_.width);
    matrix(at + "k_proj.weight", key, shape_.width);
    matrix(at + "v_proj.weight", key, shape_.width);
    matrix(at + "o_proj.weight", shape_.width, query);
    if (shape_.attention_bias || type_ == "qwen2_moe") {
      vector(at + "q_proj.bias", query, 0);
      vector(at + "k_proj.bias", key, 0);
      vector(at + "v_proj.bias", key, 0);
    }
    if (shape_.attention_bias) vector(at + "o_proj.bias", shape_.width, 0);
    if (type_ == "qwen3_moe" || type_ == "olmoe") {
      vector(at + "q_norm.weight", type_ == "olmoe" ? query : head_dim());
      vector(at + "k_norm.weight", type_ == "olmoe" ? key : head_dim());
    }
    vector(layer + "post_attention_layernorm.weight", shape_.width);
  }

  void gated(const std::string& at, uint32_t width, std::string_view gate, std::string_view up,
             std::string_view down) {
    matrix(fmt::format("{}{}.weight", at, gate), width, shape_.width);
    matrix(fmt::format("{}{}.weight", at, up), width, shape_.width);
    matrix(fmt::format("{}{}.weight", at, down), shape_.width, width);
  }

  void feed_forward(const std::string& layer, uint32_t index) {
    const bool mixtral = type_ == "mixtral";
    const std::string at = layer + (mixtral ? "block_sparse_moe." : "mlp.");
    if (dense(index)) return gated(at, shape_.dense_width, "gate_proj", "up_proj", "down_proj");
    matrix(at + "gate.weight", shape_.experts, shape_.width, false);
    for (uint32_t expert = 0; expert < shape_.experts; ++expert) {
      const std::string in = fmt::format("{}experts.{}.", at, expert);
      if (mixtral) {
        gated(in, shape_.expert_width, "w1", "w3", "w2");
      } else {
        gated(in, shape_.expert_width, "gate_proj", "up_proj", "down_proj");
      }
    }
    if (type_ == "deepseek")
      gated(at + "shared_experts.", 2 * shape_.expert_width, "gate_proj", "up_proj", "down_proj");
    if (type_ == "qwen2_moe") {
      gated(at + "shared_expert.", shape_.shared_width, "gate_proj", "up_proj", "down_proj");
      matrix(at + "shared_expert_gate.weight", 1, shape_.width, false);
    }
  }

  const TinyShape& shape_;
  std::string type_;
  TinyCheckpoint out_;
};

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

std::string TinyCheckpoint::config_json() const {
  std::string text = "{";
  for (const auto& [key, json] : config)
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", key, json);
  return text + "\n}\n";
}

void TinyCheckpoint::set(std::string_view key, std::string_view json) {
  for (auto& [name, value] : config) {
    if (name != key) continue;
    value = json;
    return;
  }
  config.emplace_back(key, json);
}

void TinyCheckpoint::unset(std::string_view key) {
  std::erase_if(config, [&](const auto& member) { return member.first == key; });
}

TinyTensor* TinyCheckpoint::find(std::string_view name) {
  for (TinyTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

void TinyCheckpoint::remove(std::string_view name) {
  std::erase_if(tensors, [&](const TinyTensor& tensor) { return tensor.name == name; });
}

void TinyCheckpoint::put(std::string_view name, DType dtype, std::vector<uint64_t> shape,
                         uint64_t seed) {
  remove(name);
  tensors.push_back(random_tensor(std::string(name), dtype, std::move(shape), 0, 0.1, seed));
}

void write_safetensors(const fs::path& path, const std::vector<TinyTensor>& tensors) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  uint64_t offset = 0;
  for (const TinyTensor& tensor : tensors) {
    header += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          tensor.name, name_of(tensor.dtype), fmt::join(tensor.shape, ","), offset,
                          offset + tensor.data.size());
    offset += tensor.data.size();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream file(path, std::ios::binary);
  const uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  for (const TinyTensor& tensor : tensors)
    file.write(reinterpret_cast<const char*>(tensor.data.data()),
               static_cast<std::streamsize>(tensor.data.size()));
}

void TinyCheckpoint::write(const fs::path& folder, unsigned shards) const {
  fs::create_directories(folder);
  write_text(folder / "config.json", config_json());
  for (const auto& [name, text] : files) write_text(folder / name, text);
  if (shards <= 1) return write_safetensors(folder / "model.safetensors", tensors);
  std::string index = "{\"metadata\": {}, \"weight_map\": {";
  std::vector<std::vector<TinyTensor>> parts(shards);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t shard = i % shards;
    parts[shard].push_back(tensors[i]);
    index += fmt::format("{}\n\"{}\": \"model-{:05}-of-{:05}.safetensors\"", i == 0 ? "" : ",",
                         tensors[i].name, shard + 1, shards);
  }
  write_text(folder / "model.safetensors.index.json", index + "}}\n");
  for (size_t shard = 0; shard < shards; ++shard)
    write_safetensors(folder / fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards),
                      parts[shard]);
}

TinyCheckpoint tiny_checkpoint(const TinyShape& shape) { return Builder(shape).build(); }

}  // namespace smoe::test
