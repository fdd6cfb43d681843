#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace smoe {
namespace {

Error wrong(std::string_view fact) {
  return {Code::kCorrupt, fmt::format("config.json: {}", fact)};
}

Error unsupported(std::string_view fact) {
  return {Code::kUnsupported, fmt::format("config.json: {}", fact)};
}

// A value for messages; long ones are cut.
std::string shown(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return "null";
    case Json::Kind::kBool:
      return *json.as_bool() ? "true" : "false";
    case Json::Kind::kNumber:
      return std::string(json.number_text().substr(0, 40));
    case Json::Kind::kString:
      return json_quote(json.as_string()->substr(0, 60));
    case Json::Kind::kArray:
      return fmt::format("an array of {}", json.items().size());
    case Json::Kind::kObject:
      return "an object";
  }
  return "?";
}

const Json* stated(const Json& object, std::string_view key) {
  const Json* json = key.empty() ? nullptr : object.find(key);
  return json == nullptr || json->is_null() ? nullptr : json;
}

Result<uint32_t> whole_number(std::string_view key, const Json& json, uint32_t least) {
  const auto number = json.as_uint();
  if (!number || *number > UINT32_MAX || *number < least)
    return wrong(fmt::format("{} is {}, must be a whole number from {} to {}", key, shown(json),
                             least, UINT32_MAX));
  return static_cast<uint32_t>(*number);
}

Result<double> real_number(std::string_view key, const Json& json) {
  const auto number = json.as_double();
  if (!number || !std::isfinite(*number))
    return wrong(fmt::format("{} is {}, must be a finite number", key, shown(json)));
  return *number;
}

// Reads one stated value into the fact that the rule names.
class FactReader {
 public:
  FactReader(ModelFacts& facts, const FieldRule& rule, std::string_view key, const Json& json)
      : facts_(facts), rule_(rule), key_(key), json_(json) {}

  Status operator()(uint32_t ModelFacts::*fact) const {
    SMOE_TRY(facts_.*fact, whole_number(key_, json_, rule_.least));
    return {};
  }
  Status operator()(bool ModelFacts::*fact) const {
    const auto flag = json_.as_bool();
    if (!flag) return wrong(fmt::format("{} is {}, must be true or false", key_, shown(json_)));
    facts_.*fact = *flag;
    return {};
  }
  Status operator()(double ModelFacts::*fact) const {
    SMOE_TRY(facts_.*fact, real_number(key_, json_));
    return {};
  }
  Status operator()(std::vector<uint32_t> ModelFacts::*fact) const {
    if (!json_.is_array())
      return wrong(fmt::format("{} is {}, must be an array of layers", key_, shown(json_)));
    (facts_.*fact).clear();
    for (const Json& item : json_.items()) {
      SMOE_TRY(const uint32_t layer, whole_number(key_, item, 0));
      (facts_.*fact).push_back(layer);
    }
    return {};
  }

 private:
  ModelFacts& facts_;
  const FieldRule& rule_;
  std::string_view key_;
  const Json& json_;
};

bool same_fact(const ModelFacts& a, const ModelFacts& b, Fact fact) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, fact);
}

Status read_field(const FieldRule& rule, const Json& config, ModelFacts& facts) {
  std::string_view found;
  ModelFacts first;
  for (const std::string_view key : rule.keys) {
    const Json* json = stated(config, key);
    if (json == nullptr) continue;
    SMOE_DO(std::visit(FactReader(facts, rule, key, *json), rule.fact));
    if (found.empty()) {
      found = key;
      first = facts;
    } else if (!same_fact(first, facts, rule.fact)) {
      return wrong(fmt::format("{} and {} disagree", found, key));
    }
  }
  if (!found.empty()) return {};
  if (rule.absent == Absent::kError)
    return wrong(fmt::format("{} is missing, and the tensors cannot tell it", rule.keys[0]));
  if (rule.absent == Absent::kDefault)
    if (const auto* fact = std::get_if<double ModelFacts::*>(&rule.fact))
      facts.** fact = rule.fallback;
  return {};
}

bool equals(const Json& json, std::string_view allowed) {
  const auto wanted = Json::parse(allowed);
  if (!wanted || wanted->kind() != json.kind()) return false;
  return json.as_bool() == wanted->as_bool() && json.as_double() == wanted->as_double() &&
         json.as_string() == wanted->as_string() && json.items().empty() &&
         (json.is_null() || !json.is_object());
}

Status check_value(const ValueRule& rule, std::string_view key, const Json& json) {
  if (json.is_array() && !json.items().empty()) {
    for (const Json& item : json.items()) {
      if (item.is_array()) return unsupported(fmt::format("{} is nested", key));
      SMOE_DO(check_value(rule, key, item));
    }
    return {};
  }
  std::string list;
  for (const std::string_view allowed : rule.allowed) {
    if (allowed.empty()) continue;
    if (equals(json, allowed)) return {};
    list += (list.empty() ? "" : ", ") + std::string(allowed);
  }
  return unsupported(fmt::format("{} is {}, this build knows {}", key, shown(json), list));
}

// Keys that may stand in rope_parameters and rope_scaling, and what they may say.
constexpr ValueRule kRopeValues[] = {
    {"rope_type", {"\"default\""}},
    {"type", {"\"default\""}},
    {"partial_rotary_factor", {"1"}},
};

Status check_rope_value(std::string_view name, std::string_view key, const Json& value) {
  for (const ValueRule& rule : kRopeValues)
    if (rule.key == name) return check_value(rule, key, value);
  return unsupported(fmt::format("{} is {}, this build knows plain RoPE only", key, shown(value)));
}

// Trap: one reader looks for rope_theta where the other spelling keeps it, and goes on with 10000.
Status read_rope(const Json& config, ConfigFacts& facts) {
  std::optional<double> theta;
  std::string theta_key;
  const auto take_theta = [&](const std::string& key, const Json* json) -> Status {
    if (json == nullptr) return {};
    SMOE_TRY(const double value, real_number(key, *json));
    if (theta && *theta != value)
      return wrong(fmt::format("{} {} and {} {} disagree", theta_key, *theta, key, value));
    theta = value;
    theta_key = key;
    return {};
  };
  SMOE_DO(take_theta("rope_theta", stated(config, "rope_theta")));
  for (const std::string_view outer : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = stated(config, outer);
    if (rope == nullptr) continue;
    if (!rope->is_object()) return wrong(fmt::format("{} is {}", outer, shown(*rope)));
    for (const auto& [name, value] : rope->members()) {
      const std::string key = fmt::format("{}.{}", outer, name);
      if (name == "rope_theta") {
        SMOE_DO(take_theta(key, value.is_null() ? nullptr : &value));
      } else {
        SMOE_DO(check_rope_value(name, key, value));
      }
    }
  }
  if (!theta)
    return wrong(
        "neither rope_theta nor rope_parameters.rope_theta is there, and the tensors "
        "cannot tell it");
  facts.rope_theta = *theta;
  return {};
}

Result<bool> read_quantization(const Json& config) {
  constexpr std::string_view kKey = "quantization_config";
  const Json* quantization = stated(config, kKey);
  if (quantization == nullptr) return false;
  if (!quantization->is_object()) return wrong(fmt::format("{} is {}", kKey, shown(*quantization)));
  constexpr ValueRule kValues[] = {
      {"quant_method", {"\"fp8\""}},
      {"fmt", {"\"e4m3\""}},
      {"activation_scheme", {"\"dynamic\""}},
      {"weight_block_size", {"128"}},  // both sides
  };
  for (const ValueRule& rule : kValues) {
    const std::string key = fmt::format("{}.{}", kKey, rule.key);
    const Json* json = quantization->find(rule.key);
    if (json != nullptr) SMOE_DO(check_value(rule, key, *json));
  }
  const Json* method = quantization->find("quant_method");
  if (method == nullptr) return unsupported("quantization_config has no quant_method");
  const Json* block = quantization->find("weight_block_size");
  if (block == nullptr || block->items().size() != 2)
    return unsupported(
        "quantization_config.weight_block_size is not [128, 128]; FP8 with one "
        "scale a tensor or a row is not supported");
  return true;
}

Status read_tokens(std::string_view key, const Json* json, std::vector<uint32_t>& ids) {
  if (json == nullptr || json->is_null()) return {};
  if (json->is_array()) {
    for (const Json& item : json->items()) {
      if (!item.is_number()) return wrong(fmt::format("{} holds {}", key, shown(item)));
      SMOE_DO(read_tokens(key, &item, ids));
    }
    return {};
  }
  SMOE_TRY(const uint32_t id, whole_number(key, *json, 0));
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  return {};
}

Status read_token_ids(const Json& config, ConfigFacts& facts) {
  SMOE_DO(read_tokens("bos_token_id", config.find("bos_token_id"), facts.bos));
  return read_tokens("eos_token_id", config.find("eos_token_id"), facts.eos);
}

// A double beyond the range of float has no defined conversion; ModelSpec::check refuses infinity.
float to_float(double value) {
  return std::abs(value) <= 3.4e38 ? static_cast<float>(value) : HUGE_VALF;
}

FfnSpec ffn_of(const Family& family, const ModelFacts& facts, uint32_t layer) {
  FfnSpec ffn;
  ffn.width = facts.dense_width;
  if (!has_experts(facts, layer)) return ffn;
  ffn.kind = FfnKind::kExperts;
  ffn.width = facts.expert_width;
  ffn.experts = facts.experts;
  ffn.router = {.score = family.score,
                .active_experts = facts.active_experts,
                .renormalize = family.renormalize || facts.renormalize,
                .scale = to_float(facts.router_scale)};
  ffn.shared_width = facts.shared_width;
  ffn.shared_gated = family.shared_gated && facts.shared_width > 0;
  return ffn;
}

LayerSpec layer_of(const Family& family, const ConfigFacts& facts, uint32_t layer) {
  const ModelFacts& model = facts.model;
  const auto head_dim = static_cast<double>(model.head_dim);
  return {.attention = {.heads = model.heads,
                        .kv_heads = model.kv_heads,
                        .head_dim = model.head_dim,
                        .qkv_bias = model.attention_bias || model.qkv_bias,
                        .output_bias = model.attention_bias,
                        .qk_norm = family.qk_norm,
                        .scale = to_float(1.0 / std::sqrt(head_dim))},
          .rope = {.theta = facts.rope_theta, .dims = model.head_dim},
          .ffn = ffn_of(family, model, layer)};
}

}  // namespace

bool has_experts(const ModelFacts& facts, uint32_t layer) {
  const auto& dense = facts.dense_layers;
  return layer >= facts.leading_dense_layers && layer % facts.expert_layer_step == 0 &&
         (layer + 1) % facts.sparse_step == 0 &&
         std::find(dense.begin(), dense.end(), layer) == dense.end();
}

Result<ConfigFacts> read_config(const Family& family, const Json& config) {
  ConfigFacts facts;
  facts.model.qkv_bias = family.qkv_bias;
  for (const auto rules : {family.common_values, family.values})
    for (const ValueRule& rule : rules)
      if (const Json* json = config.find(rule.key)) SMOE_DO(check_value(rule, rule.key, *json));
  for (const auto rules : {family.common_fields, family.fields})
    for (const FieldRule& rule : rules) SMOE_DO(read_field(rule, config, facts.model));
  SMOE_DO(read_rope(config, facts));
  SMOE_TRY(facts.block_fp8, read_quantization(config));
  SMOE_DO(read_token_ids(config, facts));
  return facts;
}

Status add_generation_tokens(ConfigFacts& facts, std::string_view generation_config) {
  const auto in = [](Error error) { return std::move(error).in("generation_config.json"); };
  const auto json = Json::parse(generation_config);
  if (!json) return in(json.error());
  if (!json->is_object()) return in({Code::kCorrupt, "must be an object"});
  if (Status status = read_token_ids(*json, facts); !status) return in(std::move(status).error());
  return {};
}

Result<ModelSpec> spec_of(const Family& family, const ConfigFacts& facts) {
  const ModelFacts& model = facts.model;
  ModelSpec spec;
  spec.family = family.model_type;
  spec.width = model.width;
  spec.vocabulary = model.vocabulary;
  spec.context = model.context;
  spec.norm_epsilon = to_float(model.norm_epsilon);
  spec.tied_head = model.tied_head;
  spec.bos = facts.bos;
  spec.eos = facts.eos;
  constexpr uint32_t kMostLayers = 4096;  // as ModelSpec::check, before any is made
  if (model.layers > kMostLayers)
    return wrong(fmt::format("{} layers, at most {}", model.layers, kMostLayers));
  for (uint32_t layer = 0; layer < model.layers; ++layer)
    spec.layers.push_back(layer_of(family, facts, layer));
  if (Status status = spec.check(); !status) return std::move(status).error().in("config.json");
  return spec;
}

}  // namespace smoe
