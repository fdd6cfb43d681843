// F6: any config.json and generation_config.json, divided by a byte 0, over the tensors of a small
// model of the family that the config names. What is accepted has consistent dimensions, agrees
// with every tensor, and survives the scout's JSON.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "families/find.h"
#include "fuzz/field_mutator.h"
#include "model/config.h"
#include "model/naming.h"
#include "model/probe.h"

namespace smoe {
namespace {

// One small shape for all families; a key that a family lacks is ignored.
constexpr std::string_view kShape = R"({"hidden_size": 32, "vocab_size": 48, "num_hidden_layers": 2,
  "max_position_embeddings": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
  "num_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
  "moe_intermediate_size": 16, "intermediate_size": 16, "shared_expert_intermediate_size": 24,
  "n_shared_experts": 2, "mlp_only_layers": [1], "first_k_dense_replace": 1})";

class Source : public TensorSource {
 public:
  explicit Source(const Family& family) {
    auto facts = read_config(family, *Json::parse(kShape));
    SMOE_CHECK(facts && fill_from_shapes(family, *this, facts->model));
    SourceModel model;
    model.family = &family;
    auto spec = spec_of(family, *facts);
    SMOE_CHECK(spec.has_value());
    model.spec = std::move(*spec);
    for (const TensorNeed& need : scout_needs(model.spec)) add(model, need, 0);
    for (uint32_t layer = 0; layer < model.spec.layers.size(); ++layer)
      for (uint32_t expert = 0; expert < model.spec.layers[layer].ffn.experts; ++expert)
        for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown})
          add(model, need_of(model.spec, role, layer), expert);
    std::sort(tensors_.begin(), tensors_.end(),
              [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    SMOE_CHECK(read_source_model_of(kShape, "{}", family.model_type).has_value());
  }

  Result<SourceModel> read_source_model_of(std::string_view config, std::string_view generation,
                                           std::string_view model_type = {}) {
    config_text_ = config;
    if (!model_type.empty())
      config_text_.insert(1, "\"model_type\": " + json_quote(model_type) + ", ");
    generation_ = generation;
    auto json = Json::parse(config_text_);
    if (!json) return std::move(json).error();
    config_ = std::move(*json);
    return read_source_model(*this);
  }

  const std::vector<Tensor>& tensors() const override { return tensors_; }
  Status deliver(const std::function<bool(const Tensor&)>&, const Receiver&) override { return {}; }
  Result<std::vector<std::byte>> read(std::string_view) override {
    return Error{Code::kNotFound, "no data"};
  }
  std::string identity() const override { return ""; }
  const Json& config() const override { return config_; }
  std::string_view config_text() const override { return config_text_; }
  std::string name() const override { return "source"; }
  Result<std::optional<std::string>> companion(std::string_view name) const override {
    if (name == "generation_config.json") return std::optional(generation_);
    return std::optional<std::string>();
  }

 private:
  void add(const SourceModel& model, const TensorNeed& need, uint32_t expert) {
    std::vector<uint64_t> shape;
    if (!need.vector) shape.push_back(need.rows);
    shape.push_back(need.cols);
    tensors_.push_back({model.source_name(need.role, need.layer, expert), DType::kBF16, shape,
                        uint64_t{2} * need.rows * need.cols});
  }

  std::vector<Tensor> tensors_;
  Json config_;
  std::string config_text_;
  std::string generation_;
};

void check_spec(const ModelSpec& spec) {
  SMOE_CHECK(spec.check().has_value());
  if (spec.layers.size() > 32) return;  // thousands of equal layers take time and show nothing new
  const auto again = ModelSpec::from_json(spec.to_json());
  SMOE_CHECK(again && *again == spec);
  uint64_t parameters = 0;
  for (const TensorNeed& need : scout_needs(spec)) parameters += uint64_t{need.rows} * need.cols;
  SMOE_CHECK(spec.parameters() >= parameters);
  SMOE_CHECK(spec.active_parameters() <= spec.parameters() + spec.width);
}

void check_agreement(const SourceModel& model, const TensorSource& source) {
  for (const TensorNeed& need : scout_needs(model.spec)) {
    const auto* tensor = source.find(model.source_name(need.role, need.layer));
    SMOE_CHECK(tensor != nullptr);
    SMOE_CHECK(tensor->bytes == uint64_t{2} * need.rows * need.cols);
  }
}

// The spec alone, whatever the tensors are: shapes of zero are refused by then.
void try_spec(const Family& family, const TensorSource& source, const Json& config) {
  auto facts = read_config(family, config);
  if (!facts || !fill_from_shapes(family, source, facts->model)) return;
  if (const auto spec = spec_of(family, *facts)) check_spec(*spec);
}

void try_configs(std::string_view config, std::string_view generation) {
  const auto json = Json::parse(config);
  if (!json) return;
  static std::map<const Family*, Source> sources = [] {
    std::map<const Family*, Source> made;
    for (const Family* family : known_families()) made.emplace(family, *family);
    return made;
  }();
  // The family that the config names, or any: its facts are worth reading under each table.
  const Json* model_type = json->find("model_type");
  const auto named = model_type != nullptr ? model_type->as_string() : std::nullopt;
  const Family* family = named ? find_family(*named) : nullptr;
  if (family == nullptr) family = known_families()[config.size() % known_families().size()];
  Source& source = sources.at(family);
  try_spec(*family, source, *json);
  const auto model = source.read_source_model_of(config, generation);
  if (!model) return;
  check_spec(model->spec);
  check_agreement(*model, source);
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(text.find('\0'), text.size());
  smoe::try_configs(text.substr(0, middle), middle < size ? text.substr(middle + 1) : "{}");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::string_view> words = {
      "\"qwen3_moe\"",
      "\"qwen2_moe\"",
      "\"deepseek\"",
      "\"olmoe\"",
      "\"mixtral\"",
      "\"model_type\": ",
      "\"head_dim\": null,",
      "\"num_local_experts\": 4,",
      "\"n_routed_experts\": 4,",
      "\"rope_parameters\": {\"rope_theta\": 1e4},",
      "\"rope_scaling\": {\"type\": \"yarn\"},",
      "\"rope_type\": \"default\"",
      "\"attention_bias\": true,",
      "\"norm_topk_prob\": true,",
      "\"tie_word_embeddings\": true,",
      "\"mlp_only_layers\": [0],",
      "\"decoder_sparse_step\": 2,",
      "\"moe_layer_freq\": 2,",
      "\"eos_token_id\": [1, 2],",
      "\"quantization_config\": {\"quant_method\": \"fp8\", "
      "\"weight_block_size\": [128, 128]},",
      "null",
      "true",
      "false",
      "1e308",
      "-0.0",
      "[",
      "{",
      "}"};
  return smoe::fuzz::mutate(data, size, max_size, seed, 0, words);
}
