#include "families/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "families/families.h"

namespace smoe {
namespace {

// What llama.cpp computes for each, and how its converter stored the rows of q and k.
constexpr GgufArchitecture kArchitectures[] = {
    {.name = "qwen3moe", .family = &kQwen3Moe, .renormalize = true},
    {.name = "qwen2moe", .family = &kQwen2Moe, .renormalize = false},
    {.name = "deepseek", .family = &kDeepseek, .paired_rope = true, .renormalize = false},
    {.name = "olmoe", .family = &kOlmoe, .renormalize = false, .only_experts = true},
    {.name = "llama", .family = &kMixtral, .paired_rope = true, .only_experts = true},
};

constexpr TensorRule kTensors[] = {
    {Role::kEmbedding, "token_embd.weight"},
    {Role::kFinalNorm, "output_norm.weight"},
    {Role::kHead, "output.weight"},
    {Role::kAttentionNorm, "blk.{layer}.attn_norm.weight"},
    {Role::kQuery, "blk.{layer}.attn_q.weight"},
    {Role::kKey, "blk.{layer}.attn_k.weight"},
    {Role::kValue, "blk.{layer}.attn_v.weight"},
    {Role::kQueryBias, "blk.{layer}.attn_q.bias"},
    {Role::kKeyBias, "blk.{layer}.attn_k.bias"},
    {Role::kValueBias, "blk.{layer}.attn_v.bias"},
    {Role::kQueryNorm, "blk.{layer}.attn_q_norm.weight"},
    {Role::kKeyNorm, "blk.{layer}.attn_k_norm.weight"},
    {Role::kOutput, "blk.{layer}.attn_output.weight"},
    {Role::kOutputBias, "blk.{layer}.attn_output.bias"},
    {Role::kFfnNorm, "blk.{layer}.ffn_norm.weight"},
    {Role::kDenseGate, "blk.{layer}.ffn_gate.weight"},
    {Role::kDenseUp, "blk.{layer}.ffn_up.weight"},
    {Role::kDenseDown, "blk.{layer}.ffn_down.weight"},
    {Role::kRouter, "blk.{layer}.ffn_gate_inp.weight"},
    {Role::kSharedGate, "blk.{layer}.ffn_gate_shexp.weight"},
    {Role::kSharedUp, "blk.{layer}.ffn_up_shexp.weight"},
    {Role::kSharedDown, "blk.{layer}.ffn_down_shexp.weight"},
    {Role::kSharedRouter, "blk.{layer}.ffn_gate_inp_shexp.weight"},
    {Role::kExpertGate, "blk.{layer}.ffn_gate_exps.weight"},
    {Role::kExpertUp, "blk.{layer}.ffn_up_exps.weight"},
    {Role::kExpertDown, "blk.{layer}.ffn_down_exps.weight"},
    {Role::kExpertGate, "blk.{layer}.ffn_gate.{expert}.weight"},
    {Role::kExpertUp, "blk.{layer}.ffn_up.{expert}.weight"},
    {Role::kExpertDown, "blk.{layer}.ffn_down.{expert}.weight"},
};

struct FactKey {
  std::string_view key;  // after "ARCHITECTURE."
  Fact fact;
  bool required = false;
};

constexpr FactKey kFacts[] = {
    {"embedding_length", &ModelFacts::width},
    {"vocab_size", &ModelFacts::vocabulary},
    {"block_count", &ModelFacts::layers, true},
    {"context_length", &ModelFacts::context, true},
    {"attention.head_count", &ModelFacts::heads, true},
    {"attention.head_count_kv", &ModelFacts::kv_heads},
    {"attention.key_length", &ModelFacts::head_dim},
    {"attention.layer_norm_rms_epsilon", &ModelFacts::norm_epsilon, true},
    {"expert_count", &ModelFacts::experts, true},
    {"expert_used_count", &ModelFacts::active_experts, true},
    {"expert_feed_forward_length", &ModelFacts::expert_width},
    {"expert_shared_feed_forward_length", &ModelFacts::shared_width},
    {"expert_shared_count", &ModelFacts::shared_experts},
    {"leading_dense_block_count", &ModelFacts::leading_dense_layers},
    {"expert_weights_scale", &ModelFacts::router_scale},
    {"expert_weights_norm", &ModelFacts::renormalize},
};
constexpr std::string_view kFeedForwardKey = "feed_forward_length";
constexpr std::string_view kThetaKey = "rope.freq_base";
constexpr double kDefaultTheta = 10000;  // of the format

// Keys that, where present, must have one of these values, as JSON text. A fact's key may stand for
// a value: what it states must then be equal.
struct KnownKey {
  std::string_view key;
  std::string_view allowed;  // empty: anything, it changes no number
  std::string_view same_as = {};
};

constexpr KnownKey kKnown[] = {
    {"attention.value_length", "", "attention.key_length"},
    {"rope.dimension_count", "", "attention.key_length"},
    {"rope.scaling.type", "\"none\""},
    {"rope.scaling.factor", "0"},
    {"rope.scaling.attn_factor", "1"},
    {"attention.clamp_kqv", "0"},
    {"attention.sliding_window", "0"},
    {"attention.causal", "true"},
    {"expert_gating_func", "1"},  // softmax
    {"expert_group_count", "1"},
    {"expert_group_used_count", "1"},
    {"moe_every_n_layers", "1"},
    {"nextn_predict_layers", "0"},
    {"use_parallel_residual", "false"},
    {"tensor_data_layout", ""},
    {"rope.scaling.original_context_length", ""},
    {"rope.scaling.finetuned", ""},
};

Error corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }

// A scalar as JSON text; nothing for an array whose elements differ.
std::optional<std::string> json_of(const GgufValue& value) {
  JsonWriter json;
  if (value.is_array()) {
    const auto numbers = value.as_ints();
    if (!numbers || numbers->empty() ||
        std::adjacent_find(numbers->begin(), numbers->end(), std::not_equal_to<>()) !=
            numbers->end())
      return std::nullopt;
    return json.value(numbers->front()).take();
  }
  if (const auto flag = value.as_bool()) return json.value(*flag).take();
  if (const auto number = value.as_uint()) return json.value(*number).take();
  // As it was stored: the shortest text of a double would show the float's own error.
  if (const auto number = value.as_double()) return json.value(static_cast<float>(*number)).take();
  if (const auto text = value.as_string()) return json.value(text->substr(0, 60)).take();
  return std::nullopt;
}

// Collects the members of a config.json.
class ConfigWriter {
 public:
  ConfigWriter(const GgufArchitecture& architecture, const GgufHeader& header,
               std::vector<std::string>& notes)
      : architecture_(architecture), header_(header), notes_(notes) {}

  Status write_facts() {
    for (const FactKey& rule : kFacts) SMOE_DO(write_fact(rule.key, rule.fact, rule.required));
    // The width of a dense layer, or of an expert where there are no dense layers.
    if (architecture_.only_experts)
      return write_fact(kFeedForwardKey, &ModelFacts::expert_width, false);
    return write_fact(kFeedForwardKey, &ModelFacts::dense_width, false);
  }

  Status write_rope() {
    known_.insert(kThetaKey);
    const GgufValue* theta = find(kThetaKey);
    if (theta == nullptr) {
      notes_.push_back(fmt::format("{} is not stated: {}, the format's default", full(kThetaKey),
                                   kDefaultTheta));
      return put("rope_theta", JsonWriter().value(kDefaultTheta).take(), full(kThetaKey));
    }
    const auto number = theta->as_double();
    if (!number) return corrupt(full(kThetaKey) + " must be a floating-point number");
    return put("rope_theta", *json_of(*theta), full(kThetaKey));
  }

  // Facts that only the presence of tensors tells.
  Status write_presence(std::span<const TensorPlace> tensors) {
    const auto has = [&](Role role) {
      return std::any_of(tensors.begin(), tensors.end(),
                         [&](const TensorPlace& place) { return place.role == role; });
    };
    const auto flag = [](bool value) { return JsonWriter().value(value).take(); };
    SMOE_DO(put_fact(&ModelFacts::tied_head, flag(!has(Role::kHead))));
    SMOE_DO(put_fact(&ModelFacts::attention_bias, flag(has(Role::kOutputBias))));
    SMOE_DO(put_fact(&ModelFacts::qkv_bias, flag(has(Role::kQueryBias))));
    std::set<uint32_t> dense;
    for (const TensorPlace& place : tensors)
      if (place.role == Role::kDenseGate) dense.insert(place.layer);
    JsonWriter list;
    list.begin_array();
    for (const uint32_t layer : dense) list.value(layer);
    return put_fact(&ModelFacts::dense_layers, list.end_array().take());
  }

  Status write_routing() {
    const std::string_view key = config_key(*architecture_.family, &ModelFacts::renormalize);
    if (architecture_.renormalize && !members_.contains(key))
      return put_fact(&ModelFacts::renormalize,
                      JsonWriter().value(*architecture_.renormalize).take());
    return {};
  }

  Status write_tokens() {
    SMOE_DO(write_token_ids("bos_token_id", {"bos"}));
    // A turn ends with a token of its own in some models.
    return write_token_ids("eos_token_id", {"eos", "eot", "eom"});
  }

  // Trap: a key that is dropped changes the numbers without a word.
  Status check_rest() const {
    const std::string prefix = std::string(architecture_.name) + ".";
    for (const auto& [key, value] : header_.metadata) {
      if (!key.starts_with(prefix)) continue;
      const std::string_view name = std::string_view(key).substr(prefix.size());
      if (known_.contains(name)) continue;
      const auto* const rule = std::find_if(std::begin(kKnown), std::end(kKnown),
                                            [&](const KnownKey& one) { return one.key == name; });
      if (rule == std::end(kKnown))
        return Error{Code::kUnsupported,
                     key + " is not known to this build; leaving it out could change the numbers"};
      SMOE_DO(check_value(*rule, key, value));
    }
    return {};
  }

  std::string take() const {
    JsonWriter json(2);
    json.begin_object().member("model_type", architecture_.family->model_type);
    for (const auto& [key, text] : members_) json.key(key).raw(text);
    json.end_object();
    return json.text() + "\n";
  }

 private:
  std::string full(std::string_view key) const {
    return std::string(architecture_.name) + "." + std::string(key);
  }
  const GgufValue* find(std::string_view key) const { return header_.find(full(key)); }

  Status write_fact(std::string_view key, Fact fact, bool required) {
    known_.insert(key);
    const GgufValue* value = find(key);
    if (value == nullptr) return required ? Status(corrupt(full(key) + " is missing")) : Status();
    const auto text = json_of(*value);
    if (!text || (value->is_array() && !std::holds_alternative<uint32_t ModelFacts::*>(fact)))
      return Error{Code::kUnsupported, full(key) + " differs between layers or is of another kind"};
    // 0 stands for "has none", which the config says by having no such key.
    if (*text == "0" && std::holds_alternative<uint32_t ModelFacts::*>(fact)) return {};
    const std::string_view name = config_key(*architecture_.family, fact);
    if (name != kNoKey) return put(name, *text, full(key));
    // A family without such a key has a fixed value for it.
    if (*text == "1" || *text == "true") return {};
    return Error{Code::kUnsupported,
                 fmt::format("{} is {}, which a {} model cannot have", full(key), *text,
                             architecture_.family->model_type)};
  }

  Status put_fact(Fact fact, std::string text) {
    const std::string_view name = config_key(*architecture_.family, fact);
    return name == kNoKey ? Status() : put(name, std::move(text), name);
  }

  Status put(std::string_view name, std::string text, std::string_view key) {
    const auto [member, first] = members_.emplace(name, text);
    if (first || member->second == text) return {};
    return corrupt(fmt::format("{} is {}, but another key says {}", key, text, member->second));
  }

  Status write_token_ids(std::string_view name, std::initializer_list<std::string_view> kinds) {
    std::vector<uint64_t> ids;
    for (const std::string_view kind : kinds) {
      const std::string key = fmt::format("tokenizer.ggml.{}_token_id", kind);
      const GgufValue* value = header_.find(key);
      if (value == nullptr) continue;
      const auto id = value->as_uint();
      if (!id) return corrupt(key + " must be a whole number");
      if (std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
    }
    if (ids.empty()) return {};
    JsonWriter json;
    if (ids.size() == 1) return put(name, json.value(ids.front()).take(), name);
    json.begin_array();
    for (const uint64_t id : ids) json.value(id);
    return put(name, json.end_array().take(), name);
  }

  Status check_value(const KnownKey& rule, const std::string& key, const GgufValue& value) const {
    std::string allowed(rule.allowed);
    if (!rule.same_as.empty()) {
      const GgufValue* other = find(rule.same_as);
      allowed = other != nullptr ? json_of(*other).value_or("") : head_dim();
    }
    if (allowed.empty()) return {};
    const std::string text = json_of(value).value_or("a list");
    if (text == allowed) return {};
    return Error{Code::kUnsupported,
                 fmt::format("{} is {}, this build knows {}", key, text, allowed)};
  }

  // The head size that is meant where no key states it.
  std::string head_dim() const {
    const GgufValue* width = find("embedding_length");
    const GgufValue* heads = find("attention.head_count");
    const auto whole = width != nullptr ? width->as_uint() : std::nullopt;
    const auto count = heads != nullptr ? heads->as_uint() : std::nullopt;
    return whole && count.value_or(0) != 0 ? std::to_string(*whole / *count) : "";
  }

  const GgufArchitecture& architecture_;
  const GgufHeader& header_;
  std::vector<std::string>& notes_;
  std::map<std::string, std::string, std::less<>> members_;
  std::set<std::string_view> known_;
};

}  // namespace

Result<const GgufArchitecture*> gguf_architecture_of(const GgufHeader& header) {
  const GgufValue* value = header.find("general.architecture");
  const auto name = value != nullptr ? value->as_string() : std::nullopt;
  if (!name) return corrupt("general.architecture is missing");
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures) {
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
    if (architecture.name != *name) continue;
    const GgufValue* experts = header.find(std::string(*name) + ".expert_count");
    if (experts != nullptr && experts->as_uint().value_or(1) != 0) return &architecture;
    return Error{Code::kUnsupported,
                 fmt::format("architecture {} without experts ({}.expert_count): this build runs "
                             "Mixture-of-Experts models",
                             *name, *name)};
  }
  return Error{Code::kUnsupported, fmt::format("architecture {} is not supported, this build knows "
                                               "{}",
                                               json_quote(name->substr(0, 60)), known)};
}

std::optional<TensorPlace> gguf_place_of(std::string_view name) { return place_of(kTensors, name); }

Result<std::string> gguf_config(const GgufArchitecture& architecture, const GgufHeader& header,
                                std::span<const TensorPlace> tensors,
                                std::vector<std::string>& notes) {
  ConfigWriter writer(architecture, header, notes);
  SMOE_DO(writer.write_facts());
  SMOE_DO(writer.write_rope());
  SMOE_DO(writer.write_presence(tensors));
  SMOE_DO(writer.write_routing());
  SMOE_DO(writer.write_tokens());
  SMOE_DO(writer.check_rest());
  return writer.take();
}

}  // namespace smoe
