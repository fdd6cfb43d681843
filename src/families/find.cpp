#include "families/find.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "families/families.h"
#include "model/config.h"
#include "model/probe.h"

namespace smoe {
namespace {

constexpr std::array kFamilies = {&kDeepseek, &kMixtral, &kOlmoe, &kQwen2Moe, &kQwen3Moe};

Result<const Family*> family_of(const Json& config) {
  if (!config.is_object()) return Error{Code::kCorrupt, "config.json: must be an object"};
  const Json* model_type = config.find("model_type");
  const auto name = model_type != nullptr ? model_type->as_string() : std::nullopt;
  if (!name) return Error{Code::kCorrupt, "config.json: has no model_type"};
  if (const Family* family = find_family(*name)) return family;
  std::string known;
  for (const Family* family : kFamilies)
    known += (known.empty() ? "" : ", ") + std::string(family->model_type);
  return Error{Code::kUnsupported,
               fmt::format("config.json: model_type \"{}\" is not supported, this build knows {}",
                           name->substr(0, 60), known)};
}

Result<SourceModel> read(const TensorSource& source) {
  SourceModel model;
  SMOE_TRY(model.family, family_of(source.config()));
  SMOE_TRY(ConfigFacts facts, read_config(*model.family, source.config()));
  SMOE_TRY(const std::optional<std::string> generation, source.companion("generation_config.json"));
  if (generation) SMOE_DO(add_generation_tokens(facts, *generation));
  SMOE_DO(fill_from_shapes(*model.family, source, facts.model));
  SMOE_TRY(model.spec, spec_of(*model.family, facts));
  SMOE_DO(check_tensors(model, facts, source));
  return model;
}

}  // namespace

std::span<const Family* const> known_families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  for (const Family* family : kFamilies)
    if (family->model_type == model_type) return family;
  return nullptr;
}

Result<SourceModel> read_source_model(const TensorSource& source) {
  Result<SourceModel> model = read(source);
  if (!model) return std::move(model).error().in(source.name());
  return model;
}

}  // namespace smoe
