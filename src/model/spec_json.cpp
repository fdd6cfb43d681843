// ModelSpec as JSON. One list of fields serves both directions: a Writer and a Reader visit it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "model/spec.h"

namespace smoe {
namespace {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

constexpr Named<Score> kScores[] = {{Score::kSoftmaxThenTopK, "softmax_then_top_k"},
                                    {Score::kTopKThenSoftmax, "top_k_then_softmax"}};
constexpr Named<QkNorm> kQkNorms[] = {
    {QkNorm::kNone, "none"}, {QkNorm::kPerHead, "per_head"}, {QkNorm::kFullWidth, "full_width"}};
constexpr Named<Activation> kActivations[] = {{Activation::kSilu, "silu"}};
constexpr Named<RopeKind> kRopeKinds[] = {{RopeKind::kDefault, "default"}};
constexpr Named<AttentionKind> kAttentionKinds[] = {{AttentionKind::kGrouped, "grouped"}};
constexpr Named<FfnKind> kFfnKinds[] = {{FfnKind::kDense, "dense"}, {FfnKind::kExperts, "experts"}};

const auto& names(Score) { return kScores; }
const auto& names(QkNorm) { return kQkNorms; }
const auto& names(Activation) { return kActivations; }
const auto& names(RopeKind) { return kRopeKinds; }
const auto& names(AttentionKind) { return kAttentionKinds; }
const auto& names(FfnKind) { return kFfnKinds; }

class Writer {
 public:
  explicit Writer(JsonWriter& json) : json_(json) {}

  void field(std::string_view name, const std::string& value) { json_.member(name, value); }
  void field(std::string_view name, uint32_t value) { json_.member(name, value); }
  void field(std::string_view name, bool value) { json_.member(name, value); }
  void field(std::string_view name, float value) { json_.member(name, value); }
  void field(std::string_view name, double value) { json_.member(name, value); }
  void field(std::string_view name, const std::vector<uint32_t>& values) {
    json_.key(name).begin_array();
    for (const uint32_t value : values) json_.value(value);
    json_.end_array();
  }
  template <class E>
  requires std::is_enum_v<E>
  void field(std::string_view name, E value) {
    for (const auto& known : names(value))
      if (known.value == value) json_.member(name, known.name);
  }
  template <class Object>
  requires std::is_class_v<Object>
  void field(std::string_view name, const Object& object) {
    json_.key(name);
    whole(object);
  }
  template <class Object>
  void field(std::string_view name, const std::vector<Object>& objects) {
    json_.key(name).begin_array();
    for (const Object& object : objects) whole(object);
    json_.end_array();
  }
  template <class Object>
  void whole(const Object& object) {
    json_.begin_object();
    visit(*this, object);
    json_.end_object();
  }

 private:
  JsonWriter& json_;
};

// Every field must be there and have its type, and nothing else may be: a key that this build does
// not know would change the model. Keeps the first error.
class Reader {
 public:
  Reader(const Json& json, std::string path, Status& status)
      : json_(json), path_(std::move(path)), status_(status) {}

  void field(std::string_view name, std::string& value) {
    const Json* json = take(name);
    if (const auto text = json ? json->as_string() : std::nullopt) {
      value = *text;
    } else {
      wrong(name, "a string");
    }
  }
  void field(std::string_view name, uint32_t& value) {
    if (!read(take(name), value)) wrong(name, "a whole number below 2^32");
  }
  void field(std::string_view name, bool& value) {
    const Json* json = take(name);
    if (const auto flag = json ? json->as_bool() : std::nullopt) {
      value = *flag;
    } else {
      wrong(name, "true or false");
    }
  }
  void field(std::string_view name, double& value) {
    const Json* json = take(name);
    if (const auto number = json ? json->as_double() : std::nullopt) {
      value = *number;
    } else {
      wrong(name, "a number");
    }
  }
  void field(std::string_view name, float& value) {
    double wide = 0;
    field(name, wide);
    // A double beyond the range of float has no defined conversion.
    value = std::abs(wide) <= 3.4e38 ? static_cast<float>(wide) : HUGE_VALF;
  }
  void field(std::string_view name, std::vector<uint32_t>& values) {
    const Json* json = take(name);
    if (json == nullptr || !json->is_array()) return wrong(name, "an array of whole numbers");
    for (const Json& item : json->items())
      if (!read(&item, values.emplace_back())) return wrong(name, "an array of whole numbers");
  }
  template <class E>
  requires std::is_enum_v<E>
  void field(std::string_view name, E& value) {
    const Json* json = take(name);
    const auto text = json ? json->as_string() : std::nullopt;
    if (!text) return wrong(name, "a string");
    for (const auto& known : names(value)) {
      if (known.name != *text) continue;
      value = known.value;
      return;
    }
    fail(Code::kUnsupported,
         fmt::format("{}{}: this build does not know \"{}\"", path_, name, *text));
  }
  template <class Object>
  requires std::is_class_v<Object>
  void field(std::string_view name, Object& object) {
    const Json* json = take(name);
    if (json == nullptr || !json->is_object()) return wrong(name, "an object");
    Reader(*json, fmt::format("{}{}.", path_, name), status_).whole(object);
  }
  template <class Object>
  void field(std::string_view name, std::vector<Object>& objects) {
    const Json* json = take(name);
    if (json == nullptr || !json->is_array()) return wrong(name, "an array");
    for (size_t i = 0; i < json->items().size(); ++i) {
      const Json& item = json->items()[i];
      const std::string path = fmt::format("{}{}[{}]", path_, name, i);
      if (!item.is_object()) return fail(Code::kCorrupt, path + ": must be an object");
      Reader(item, path + ".", status_).whole(objects.emplace_back());
      if (!status_) return;
    }
  }
  template <class Object>
  void whole(Object& object) {
    visit(*this, object);
    if (taken_ != json_.members().size())
      fail(Code::kUnsupported,
           fmt::format("{}{}: this build does not know that key", path_, unknown_key()));
  }

 private:
  const Json* take(std::string_view name) {
    fields_.push_back(name);
    const Json* json = json_.find(name);
    if (json != nullptr) ++taken_;
    return json;
  }
  std::string_view unknown_key() const {
    for (const auto& [key, value] : json_.members())
      if (std::find(fields_.begin(), fields_.end(), key) == fields_.end()) return key;
    return "?";
  }
  static bool read(const Json* json, uint32_t& value) {
    const auto number = json ? json->as_uint() : std::nullopt;
    if (!number || *number > UINT32_MAX) return false;
    value = static_cast<uint32_t>(*number);
    return true;
  }
  void wrong(std::string_view name, std::string_view wanted) {
    fail(Code::kCorrupt, fmt::format("{}{}: must be {}", path_, name, wanted));
  }
  void fail(Code code, std::string message) {
    if (status_) status_ = Error{code, std::move(message)};
  }

  const Json& json_;
  std::string path_;
  Status& status_;
  std::vector<std::string_view> fields_;
  size_t taken_ = 0;
};

// Each visit serves both directions: `Object` is const for the Writer.
template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, AttentionSpec>
void visit(Visitor& visitor, Object& attention) {
  visitor.field("kind", attention.kind);
  visitor.field("heads", attention.heads);
  visitor.field("kv_heads", attention.kv_heads);
  visitor.field("head_dim", attention.head_dim);
  visitor.field("qkv_bias", attention.qkv_bias);
  visitor.field("output_bias", attention.output_bias);
  visitor.field("qk_norm", attention.qk_norm);
  visitor.field("scale", attention.scale);
}

template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, RopeSpec>
void visit(Visitor& visitor, Object& rope) {
  visitor.field("kind", rope.kind);
  visitor.field("theta", rope.theta);
  visitor.field("dims", rope.dims);
}

template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, RouterSpec>
void visit(Visitor& visitor, Object& router) {
  visitor.field("score", router.score);
  visitor.field("active_experts", router.active_experts);
  visitor.field("renormalize", router.renormalize);
  visitor.field("scale", router.scale);
}

template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, FfnSpec>
void visit(Visitor& visitor, Object& ffn) {
  visitor.field("kind", ffn.kind);
  visitor.field("activation", ffn.activation);
  visitor.field("width", ffn.width);
  visitor.field("experts", ffn.experts);
  visitor.field("router", ffn.router);
  visitor.field("shared_width", ffn.shared_width);
  visitor.field("shared_gated", ffn.shared_gated);
}

template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, LayerSpec>
void visit(Visitor& visitor, Object& layer) {
  visitor.field("attention", layer.attention);
  visitor.field("rope", layer.rope);
  visitor.field("ffn", layer.ffn);
}

template <class Visitor, class Object>
requires std::is_same_v<std::remove_const_t<Object>, ModelSpec>
void visit(Visitor& visitor, Object& spec) {
  visitor.field("family", spec.family);
  visitor.field("width", spec.width);
  visitor.field("vocabulary", spec.vocabulary);
  visitor.field("context", spec.context);
  visitor.field("norm_epsilon", spec.norm_epsilon);
  visitor.field("tied_head", spec.tied_head);
  visitor.field("bos", spec.bos);
  visitor.field("eos", spec.eos);
  visitor.field("layers", spec.layers);
}

}  // namespace

std::string ModelSpec::to_json() const {
  JsonWriter json;
  Writer(json).whole(*this);
  return json.take();
}

Result<ModelSpec> ModelSpec::from_json(std::string_view text) {
  const auto in = [](Error error) { return std::move(error).in("model spec"); };
  auto json = Json::parse(text);
  if (!json) return in(std::move(json).error());
  if (!json->is_object()) return in({Code::kCorrupt, "must be an object"});
  ModelSpec spec;
  Status status;
  Reader(*json, "", status).whole(spec);
  if (status) status = spec.check();
  if (!status) return in(std::move(status).error());
  return spec;
}

}  // namespace smoe
