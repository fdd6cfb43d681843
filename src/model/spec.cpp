#include "model/spec.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "model/inventory.h"

namespace smoe {
namespace {

// Far beyond any model, and small enough that products of three stay inside 64 bits.
constexpr uint32_t kMaxLayers = 4096;
constexpr uint32_t kMaxExperts = 65535;
constexpr uint32_t kMaxWidth = 1U << 20;
constexpr uint32_t kMaxVocabulary = 1U << 24;
constexpr uint32_t kMaxContext = 1U << 30;
constexpr uint64_t kMaxParameters = uint64_t{1} << 48;

Error wrong(std::string_view where, std::string_view fact) {
  return {Code::kCorrupt, fmt::format("{}: {}", where, fact)};
}

Status check_count(std::string_view where, std::string_view field, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return {};
  return wrong(where, fmt::format("{} is {}, must be 1 to {}", field, value, most));
}

Status check_positive(std::string_view where, std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return wrong(where, fmt::format("{} is {}, must be a positive number", field, value));
}

Status check_attention(std::string_view where, const AttentionSpec& attention) {
  SMOE_DO(check_count(where, "attention.heads", attention.heads, kMaxWidth));
  SMOE_DO(check_count(where, "attention.kv_heads", attention.kv_heads, attention.heads));
  SMOE_DO(check_count(where, "attention.head_dim", attention.head_dim, kMaxWidth));
  if (attention.heads % attention.kv_heads != 0)
    return wrong(where, fmt::format("attention.heads {} is no multiple of attention.kv_heads {}",
                                    attention.heads, attention.kv_heads));
  SMOE_DO(check_count(where, "attention.heads x head_dim",
                      uint64_t{attention.heads} * attention.head_dim, kMaxWidth));
  return check_positive(where, "attention.scale", double{attention.scale});
}

Status check_rope(std::string_view where, const RopeSpec& rope, uint32_t head_dim) {
  SMOE_DO(check_positive(where, "rope.theta", rope.theta));
  if (rope.dims >= 2 && rope.dims % 2 == 0 && rope.dims <= head_dim) return {};
  return wrong(where, fmt::format("rope.dims is {}, must be even and 2 to head_dim {}", rope.dims,
                                  head_dim));
}

Status check_ffn(std::string_view where, const FfnSpec& ffn) {
  SMOE_DO(check_count(where, "ffn.width", ffn.width, kMaxWidth));
  if (ffn.kind == FfnKind::kDense) {
    FfnSpec plain;
    plain.activation = ffn.activation;
    plain.width = ffn.width;
    if (ffn == plain) return {};
    return wrong(where, "a dense layer has neither experts nor a router nor a shared expert");
  }
  SMOE_DO(check_count(where, "ffn.experts", ffn.experts, kMaxExperts));
  SMOE_DO(check_count(where, "router.active_experts", ffn.router.active_experts, ffn.experts));
  SMOE_DO(check_positive(where, "router.scale", double{ffn.router.scale}));
  if (ffn.shared_width > kMaxWidth)
    return check_count(where, "ffn.shared_width", ffn.shared_width, kMaxWidth);
  if (ffn.shared_gated && ffn.shared_width == 0)
    return wrong(where, "ffn.shared_gated without a shared expert");
  return {};
}

Status check_tokens(std::string_view field, const std::vector<uint32_t>& ids, uint32_t vocabulary) {
  if (ids.size() > 1024)
    return wrong("model", fmt::format("{} lists {} tokens, at most 1024", field, ids.size()));
  for (const uint32_t id : ids)
    if (id >= vocabulary)
      return wrong("model", fmt::format("{} token {} lies outside the vocabulary of {}", field, id,
                                        vocabulary));
  return {};
}

// `experts` counts how many of a layer's experts are taken.
uint64_t layer_parameters(const ModelSpec& spec, uint32_t layer, uint64_t experts) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kRoles; ++i) {
    const auto role = static_cast<Role>(i);
    if (!is_per_layer(role) || !is_needed(spec, role, layer)) continue;
    const TensorNeed need = need_of(spec, role, layer);
    sum += uint64_t{need.rows} * need.cols * (is_expert(role) ? experts : 1);
  }
  return sum;
}

uint64_t outer_parameters(const ModelSpec& spec) {
  const uint64_t matrix = uint64_t{spec.vocabulary} * spec.width;
  return matrix * (spec.tied_head ? 1 : 2) + spec.width;
}

}  // namespace

Status ModelSpec::check() const {
  SMOE_DO(check_count("model", "width", width, kMaxWidth));
  SMOE_DO(check_count("model", "vocabulary", vocabulary, kMaxVocabulary));
  SMOE_DO(check_count("model", "context", context, kMaxContext));
  SMOE_DO(check_count("model", "layers", layers.size(), kMaxLayers));
  SMOE_DO(check_positive("model", "norm_epsilon", double{norm_epsilon}));
  SMOE_DO(check_tokens("bos", bos, vocabulary));
  SMOE_DO(check_tokens("eos", eos, vocabulary));
  uint64_t total = outer_parameters(*this);
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const LayerSpec& in = layers[layer];
    const std::string where = fmt::format("layer {}", layer);
    SMOE_DO(check_attention(where, in.attention));
    SMOE_DO(check_rope(where, in.rope, in.attention.head_dim));
    SMOE_DO(check_ffn(where, in.ffn));
    // Below 2^60 for one layer (2^42 an expert, 2^16 experts), so the sum cannot wrap.
    total += layer_parameters(*this, layer, in.ffn.experts);
    if (total > kMaxParameters)
      return wrong(where, fmt::format("the model has more than {} parameters", kMaxParameters));
  }
  return {};
}

uint32_t ModelSpec::expert_layers() const {
  uint32_t count = 0;
  for (const LayerSpec& layer : layers) count += layer.ffn.kind == FfnKind::kExperts ? 1 : 0;
  return count;
}

uint64_t ModelSpec::parameters() const {
  uint64_t sum = outer_parameters(*this);
  for (uint32_t layer = 0; layer < layers.size(); ++layer)
    sum += layer_parameters(*this, layer, layers[layer].ffn.experts);
  return sum;
}

uint64_t ModelSpec::active_parameters() const {
  // One row of the embedding is looked up; the head is multiplied as a whole.
  uint64_t sum = uint64_t{vocabulary} * width + 2 * uint64_t{width};
  for (uint32_t layer = 0; layer < layers.size(); ++layer)
    sum += layer_parameters(*this, layer, layers[layer].ffn.router.active_experts);
  return sum;
}

}  // namespace smoe
