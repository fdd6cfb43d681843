#include "server/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace smoe::server {
namespace {

constexpr int kMaxBodyDepth = 128;

}  // namespace

Fields::Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) fail("", "is no object");
}

const Json* Fields::find(std::string_view name) const {
  const Json* value = object_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Fields::fail(std::string_view name, std::string_view message) {
  if (error_) return;
  std::string param = where_ + std::string(name);
  if (param.ends_with('.')) param.pop_back();
  error_ = ApiError{.message = fmt::format("{} {}", param.empty() ? "the body" : param, message),
                    .param = std::move(param)};
}

std::optional<double> Fields::real(std::string_view name, double least, double most) {
  const Json* value = usable(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->is_number() ? value->as_double() : std::nullopt;
  if (number && std::isfinite(*number) && *number >= least && *number <= most) return number;
  fail(name, fmt::format("is no number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<uint64_t> Fields::count(std::string_view name, uint64_t least, uint64_t most) {
  const Json* value = usable(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->is_number() ? value->as_uint() : std::nullopt;
  if (number && *number >= least && *number <= most) return number;
  fail(name, fmt::format("is no whole number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> Fields::flag(std::string_view name) {
  const Json* value = usable(name);
  if (value == nullptr) return std::nullopt;
  const auto flag = value->as_bool();
  if (!flag) fail(name, "is neither true nor false");
  return flag;
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* value = usable(name);
  if (value == nullptr) return std::nullopt;
  const auto text = value->as_string();
  if (text) return std::string(*text);
  fail(name, "is no string");
  return std::nullopt;
}

const Json* Fields::object(std::string_view name) {
  const Json* value = usable(name);
  if (value == nullptr || value->is_object()) return value;
  fail(name, "is no object");
  return nullptr;
}

const Json* Fields::array(std::string_view name) {
  const Json* value = usable(name);
  if (value == nullptr || value->is_array()) return value;
  fail(name, "is no array");
  return nullptr;
}

std::vector<std::string> Fields::texts(std::string_view name, size_t most, size_t most_bytes) {
  const Json* value = usable(name);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  if (const auto text = value->as_string()) texts.emplace_back(*text);
  for (const Json& item : value->items()) {
    const auto text = item.as_string();
    if (text) texts.emplace_back(*text);
  }
  bool good =
      (value->is_string() || (value->is_array() && texts.size() == value->items().size())) &&
      texts.size() <= most;
  for (const std::string& text : texts) good = good && !text.empty() && text.size() <= most_bytes;
  if (good) return texts;
  fail(name, fmt::format("is no string of 1 to {} bytes, nor an array of at most {} of them",
                         most_bytes, most));
  return {};
}

void Fields::refuse(std::string_view name, std::string_view harmless, std::string_view why) {
  const Json* value = usable(name);
  if (value == nullptr || json_text(*value) == harmless) return;
  fail(name, why);
}

ApiResult<Json> parse_body(std::string_view body) {
  if (body.empty()) return ApiError{.message = "the request has no body; it wants a JSON object"};
  auto json = Json::parse(body, {.max_depth = kMaxBodyDepth, .unique_keys = false});
  if (!json) return ApiError{.message = "the body is no JSON: " + json.error().message};
  if (!json->is_object()) return ApiError{.message = "the body is no JSON object"};
  return *std::move(json);
}

}  // namespace smoe::server
