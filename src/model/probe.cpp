#include "model/probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/units.h"
#include "formats/block_format.h"
#include "formats/tiles.h"
#include "model/naming.h"

namespace smoe {
namespace {

using Tensor = TensorSource::Tensor;

struct ShapeRule {
  uint32_t ModelFacts::*fact;
  Role role;
  size_t axis;
};

constexpr ShapeRule kShapes[] = {
    {&ModelFacts::vocabulary, Role::kEmbedding, 0},
    {&ModelFacts::width, Role::kEmbedding, 1},
    {&ModelFacts::experts, Role::kRouter, 0},
    {&ModelFacts::expert_width, Role::kExpertGate, 0},
    {&ModelFacts::dense_width, Role::kDenseGate, 0},
    {&ModelFacts::shared_width, Role::kSharedGate, 0},
};

// One side of the first tensor of that role; 0 when there is none.
uint32_t shape_of(const Family& family, const TensorSource& source, Role role, size_t axis) {
  for (const Tensor& tensor : source.tensors()) {
    const auto place = place_of(family, tensor.name);
    if (!place || place->role != role || tensor.shape.size() <= axis) continue;
    const uint64_t length = tensor.shape[axis];
    return length <= UINT32_MAX ? static_cast<uint32_t>(length) : 0;
  }
  return 0;
}

Error contradiction(const Tensor& tensor, std::string_view fact) {
  return {Code::kCorrupt, fmt::format("{}: {}", tensor.name, fact)};
}

// "num_attention_heads 4 x head_dim 24": an axis in the words of the config.
std::string axis_text(const Family& family, const ModelFacts& facts, Axis axis) {
  const auto text = [&](uint32_t ModelFacts::*fact) {
    return fmt::format("{} {}", config_key(family, fact), facts.*fact);
  };
  switch (axis) {
    case Axis::kOne:
      return "";
    case Axis::kVocabulary:
      return text(&ModelFacts::vocabulary);
    case Axis::kWidth:
      return text(&ModelFacts::width);
    case Axis::kQueryWidth:
      return text(&ModelFacts::heads) + " x " + text(&ModelFacts::head_dim);
    case Axis::kKvWidth:
      return text(&ModelFacts::kv_heads) + " x " + text(&ModelFacts::head_dim);
    case Axis::kHeadDim:
      return text(&ModelFacts::head_dim);
    case Axis::kDenseWidth:
      return text(&ModelFacts::dense_width);
    case Axis::kExperts:
      return text(&ModelFacts::experts);
    case Axis::kSharedWidth:
      return fmt::format("the shared expert's width {}", facts.shared_width);
    case Axis::kExpertWidth:
      return text(&ModelFacts::expert_width);
  }
  return "";
}

// Why the config has no such tensor.
std::string reason_text(const Family& family, const ModelFacts& facts, const TensorPlace& place) {
  const auto key = [&](Fact fact) { return std::string(config_key(family, fact)); };
  if (place.role == Role::kHead) return key(&ModelFacts::tied_head) + " is true";
  if (place.layer >= facts.layers)
    return fmt::format("{} is {}", key(&ModelFacts::layers), facts.layers);
  switch (place.role) {
    case Role::kQueryBias:
    case Role::kKeyBias:
    case Role::kValueBias:
    case Role::kOutputBias:
      return "gives the attention no such bias";
    case Role::kSharedGate:
    case Role::kSharedUp:
    case Role::kSharedDown:
    case Role::kSharedRouter:
    case Role::kRouter:
    case Role::kExpertGate:
    case Role::kExpertUp:
    case Role::kExpertDown:
      if (!has_experts(facts, place.layer))
        return fmt::format("makes layer {} a dense one", place.layer);
      if (is_expert(place.role))
        return fmt::format("{} is {}", key(&ModelFacts::experts), facts.experts);
      return "gives no shared expert";
    default:
      return fmt::format("makes layer {} one of experts", place.layer);
  }
}

class Checker {
 public:
  Checker(const SourceModel& model, const ConfigFacts& facts, const TensorSource& source)
      : model_(model), facts_(facts), source_(source) {}

  Status check_present(const Tensor& tensor) const {
    const auto place = place_of(*model_.family, tensor.name);
    if (!place) return check_unknown(tensor);
    const bool expert = is_expert(place->role);
    if (!is_needed(model_.spec, place->role, place->layer) ||
        (expert && place->expert >= model_.spec.layers[place->layer].ffn.experts))
      return contradiction(tensor, fmt::format("is there, but config.json: {}",
                                               reason_text(*model_.family, facts_.model, *place)));
    const TensorNeed need = need_of(model_.spec, place->role, place->layer);
    SMOE_DO(check_shape(tensor, need));
    return check_type(tensor, need);
  }

  Status check_complete() const {
    for (const TensorNeed& need : scout_needs(model_.spec))
      SMOE_DO(check_there(need.role, need.layer, 0));
    for (uint32_t layer = 0; layer < model_.spec.layers.size(); ++layer) {
      const FfnSpec& ffn = model_.spec.layers[layer].ffn;
      for (uint32_t expert = 0; expert < ffn.experts; ++expert)
        for (const Role role : {Role::kExpertGate, Role::kExpertUp, Role::kExpertDown})
          SMOE_DO(check_there(role, layer, expert));
    }
    return {};
  }

 private:
  Status check_unknown(const Tensor& tensor) const {
    // Tables of RoPE angles that older exporters stored; they follow from the config.
    if (tensor.name.ends_with(".rotary_emb.inv_freq")) return {};
    std::string_view weight = tensor.name;
    if (weight.ends_with(kScaleSuffix)) {
      weight.remove_suffix(kScaleSuffix.size());
      const Tensor* scaled = source_.find(weight);
      if (scaled != nullptr && scaled->dtype == DType::kF8E4M3) return {};  // check_scales
      return contradiction(tensor, fmt::format("scales {}, which is no F8_E4M3 tensor", weight));
    }
    return Error{Code::kUnsupported,
                 fmt::format("{}: a {} model has no such tensor; leaving it out would change the "
                             "numbers",
                             tensor.name, model_.family->model_type)};
  }

  Status check_shape(const Tensor& tensor, const TensorNeed& need) const {
    std::vector<uint64_t> wanted;
    if (!need.vector) wanted.push_back(need.rows);
    wanted.push_back(need.cols);
    if (tensor.shape == wanted) return {};
    const RoleAxes axes = axes_of(model_.family->qk_norm, need.role);
    std::string why = axis_text(*model_.family, facts_.model, axes.rows);
    if (!why.empty()) why += ", ";
    why += axis_text(*model_.family, facts_.model, axes.cols);
    return contradiction(tensor,
                         fmt::format("is [{}], but config.json asks for [{}] ({})",
                                     fmt::join(tensor.shape, ", "), fmt::join(wanted, ", "), why));
  }

  Status check_type(const Tensor& tensor, const TensorNeed& need) const {
    const auto format = exact_format(tensor.dtype);
    const bool is_float =
        tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16;
    if (is_float) return {};
    if (!need.vector && tensor.dtype == DType::kF8E4M3) return check_scales(tensor);
    if (!need.vector && format && info(*format).computed) return {};
    return Error{
        Code::kUnsupported,
        fmt::format("{}: is {}, this build computes with {}", tensor.name, name_of(tensor.dtype),
                    need.vector ? "f32, f16, bf16" : computed_formats())};
  }

  // Trap: without its scales an FP8 weight is hundreds of times too large. The block's size is the
  // config's: deriving it from the shapes is wrong where the last block is partial.
  Status check_scales(const Tensor& tensor) const {
    if (!facts_.block_fp8)
      return contradiction(tensor, "is F8_E4M3, but config.json has no quantization_config");
    const std::string name = tensor.name + std::string(kScaleSuffix);
    const Tensor* scale = source_.find(name);
    if (scale == nullptr)
      return Error{Code::kNotFound,
                   fmt::format("{}: is F8_E4M3, but its scales {} are missing", tensor.name, name)};
    if (scale->dtype != DType::kF32 && scale->dtype != DType::kBF16 &&
        scale->dtype != DType::kF8E8M0)
      return Error{Code::kUnsupported, fmt::format("{}: is {}, this build reads F32, BF16 and "
                                                   "F8_E8M0 scales",
                                                   name, name_of(scale->dtype))};
    const std::vector<uint64_t> wanted = {ceil_div(tensor.shape[0], kScaleBlock),
                                          ceil_div(tensor.shape[1], kScaleBlock)};
    if (scale->shape == wanted) return {};
    return contradiction(*scale,
                         fmt::format("is [{}], but blocks of {}x{} of a [{}] weight need [{}]",
                                     fmt::join(scale->shape, ", "), kScaleBlock, kScaleBlock,
                                     fmt::join(tensor.shape, ", "), fmt::join(wanted, ", ")));
  }

  Status check_there(Role role, uint32_t layer, uint32_t expert) const {
    if (pattern_of(*model_.family, role).empty())
      return Error{Code::kUnsupported,
                   fmt::format("config.json: asks for a tensor that a {} model does not have ({})",
                               model_.family->model_type, scout_name(role, layer))};
    const std::string name = model_.source_name(role, layer, expert);
    if (source_.find(name) != nullptr) return {};
    std::string why;
    if (role == Role::kHead)
      why = fmt::format(", but config.json: {} is not true",
                        config_key(*model_.family, &ModelFacts::tied_head));
    return Error{Code::kNotFound, fmt::format("{}: this tensor is missing{}", name, why)};
  }

  const SourceModel& model_;
  const ConfigFacts& facts_;
  const TensorSource& source_;
};

}  // namespace

Status fill_from_shapes(const Family& family, const TensorSource& source, ModelFacts& facts) {
  // Several shared experts of the width of a routed one are stored as one wide expert.
  const bool counted = facts.shared_experts > 0;
  for (const ShapeRule& rule : kShapes) {
    const bool stated =
        facts.*rule.fact != 0 || (counted && rule.fact == &ModelFacts::shared_width);
    if (!stated) facts.*rule.fact = shape_of(family, source, rule.role, rule.axis);
  }
  if (counted) {
    const auto width = checked_mul(facts.shared_experts, facts.expert_width);
    if (!width || *width > UINT32_MAX)
      return Error{Code::kCorrupt, fmt::format("config.json: {} is {}",
                                               config_key(family, &ModelFacts::shared_experts),
                                               facts.shared_experts)};
    facts.shared_width = static_cast<uint32_t>(*width);
  }
  if (facts.head_dim == 0) {
    if (facts.heads == 0 || facts.width % facts.heads != 0)
      return Error{Code::kCorrupt,
                   fmt::format("config.json: {} {} is no multiple of {} {}, and head_dim is not "
                               "stated",
                               config_key(family, &ModelFacts::width), facts.width,
                               config_key(family, &ModelFacts::heads), facts.heads)};
    facts.head_dim = facts.width / facts.heads;
  }
  if (facts.kv_heads == 0 && facts.head_dim > 0)
    facts.kv_heads = shape_of(family, source, Role::kKey, 0) / facts.head_dim;
  return {};
}

Status check_tensors(const SourceModel& model, const ConfigFacts& facts,
                     const TensorSource& source) {
  const Checker checker(model, facts, source);
  for (const Tensor& tensor : source.tensors()) SMOE_DO(checker.check_present(tensor));
  return checker.check_complete();
}

}  // namespace smoe
