// Small random checkpoints of any family, as Hugging Face folders hold them. Written with code of
// its own, so that a mistake in our reader and our writer cannot cancel out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/dtype.h"

namespace smoe::test {

struct TinyTensor {
  std::string name;
  DType dtype = DType::kBF16;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;
};

// The numbers of a tiny model; families take from it what they have.
struct TinyShape {
  std::string model_type = "qwen3_moe";  // qwen3_moe qwen2_moe deepseek olmoe mixtral
  uint32_t layers = 2;
  uint32_t width = 32;
  uint32_t vocabulary = 48;
  uint32_t context = 256;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t head_dim = 16;  // stated by qwen3_moe and mixtral; the others have width / heads
  uint32_t experts = 8;
  uint32_t active_experts = 2;
  uint32_t expert_width = 32;
  uint32_t dense_width = 64;
  uint32_t shared_width = 32;               // qwen2_moe; deepseek has two of expert_width
  std::vector<uint32_t> dense_layers = {};  // qwen3_moe, qwen2_moe; deepseek counts leading ones
  bool renormalize = true;
  bool tied_head = false;
  bool attention_bias = false;  // qwen3_moe, deepseek, olmoe: on q, k, v and the output
  bool newer_spelling = false;  // rope_parameters, num_local_experts, dtype
  // Of the matrices. kF8E4M3 comes with scales of 128x128 blocks; embedding, head, router and norms
  // are then BF16.
  DType weights = DType::kBF16;
  DType scales = DType::kF32;  // of kF8E4M3: kF32, kBF16, kF8E8M0
  uint64_t seed = 1;
};

struct TinyCheckpoint {
  std::vector<std::pair<std::string, std::string>> config;  // key, JSON text
  std::vector<TinyTensor> tensors;
  std::map<std::string, std::string> files;  // further files, verbatim

  std::string config_json() const;
  void set(std::string_view key, std::string_view json);  // changes or adds
  void unset(std::string_view key);
  TinyTensor* find(std::string_view name);
  void remove(std::string_view name);
  // Replaces or adds a random tensor.
  void put(std::string_view name, DType dtype, std::vector<uint64_t> shape, uint64_t seed = 7);

  // Writes config.json, the files, and model.safetensors, or with more than one shard
  // model-0000I-of-0000N.safetensors and the index, tensors dealt out in turn.
  void write(const std::filesystem::path& folder, unsigned shards = 1) const;
};

TinyCheckpoint tiny_checkpoint(const TinyShape& shape = {});

// Writes one safetensors file.
void write_safetensors(const std::filesystem::path& path, const std::vector<TinyTensor>& tensors);

}  // namespace smoe::test
