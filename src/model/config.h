// config.json and generation_config.json into facts, and facts into a ModelSpec.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/family.h"

namespace smoe {

struct ConfigFacts {
  ModelFacts model;
  double rope_theta = 0;
  std::vector<uint32_t> bos;
  std::vector<uint32_t> eos;
  bool block_fp8 = false;  // quantization_config describes FP8 with 128x128 block scales
};

// Fails: kUnsupported for a value whose meaning this build does not know, kCorrupt for a missing
// key, a wrong type or two spellings that disagree; naming the key.
Result<ConfigFacts> read_config(const Family& family, const Json& config);

// Adds the bos and eos tokens of a generation_config.json.
Status add_generation_tokens(ConfigFacts& facts, std::string_view generation_config);

// Spreads the facts over the layers. Everything must be stated by now. Fails as ModelSpec::check.
Result<ModelSpec> spec_of(const Family& family, const ConfigFacts& facts);

// Whether the layer has experts.
bool has_experts(const ModelFacts& facts, uint32_t layer);

}  // namespace smoe
