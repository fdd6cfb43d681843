#include "text/template/chat_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "formats/companion.h"
#include "text/template/syntax.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;
constexpr std::string_view kDefaultName = "default";

// Source and the name that errors give it, by the template's name.
struct Source {
  std::string text;
  std::string where;
};
using Sources = std::map<std::string, Source, std::less<>>;

constexpr std::string_view kConfigName = "tokenizer_config.json";
constexpr std::string_view kTemplateName = "chat_template.jinja";

Result<std::optional<Json>> read_config(const fs::path& model, const fs::path& path) {
  SMOE_TRY(const auto text, read_companion(model, kConfigName, kMaxConfigBytes));
  if (!text) return std::optional<Json>();
  auto json = Json::parse(*text, {.max_depth = 64, .unique_keys = false});
  if (!json) return std::move(json).error().in(path.string());
  return std::optional<Json>(std::move(*json));
}

Error bad_entry(const fs::path& path) {
  return {Code::kCorrupt, path.string() +
                              ": chat_template must be a string or a list of objects with the "
                              "strings \"name\" and \"template\""};
}

Status add_entry(const Json& entry, const fs::path& path, Sources& sources) {
  const std::string where = path.string() + " chat_template";
  if (const auto text = entry.as_string()) {
    sources[std::string(kDefaultName)] = {std::string(*text), where};
    return {};
  }
  if (entry.is_null()) return {};
  if (!entry.is_array()) return bad_entry(path);
  for (const Json& each : entry.items()) {
    const Json* name = each.find("name");
    const Json* text = each.find("template");
    if (name == nullptr || text == nullptr || !name->is_string() || !text->is_string())
      return bad_entry(path);
    const std::string key(*name->as_string());
    sources[key] = {std::string(*text->as_string()), fmt::format("{} \"{}\"", where, key)};
  }
  return {};
}

Status add_file(const fs::path& path, const std::string& name, Sources& sources) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  SMOE_TRY(std::string text, read_text_file(path, jinja::kMaxSourceBytes));
  sources[name] = {std::move(text), path.string()};
  return {};
}

Status add_folder(const fs::path& folder, Sources& sources) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".jinja")
      SMOE_DO(add_file(entry.path(), entry.path().stem().string(), sources));
  return {};
}

// A token is written as its text, or as an object with its content.
std::optional<std::string_view> token_text(const Json& token) {
  if (token.is_string()) return token.as_string();
  const Json* content = token.find("content");
  return content == nullptr ? std::nullopt : content->as_string();
}

void add_special_tokens(const Json& config, TemplateVariables& to) {
  for (const auto& [name, value] : config.members()) {
    if (!name.ends_with("_token")) continue;
    if (const auto text = token_text(value)) to.set_text(name, *text, Origin::kTemplate);
  }
  if (const Json* more = config.find("additional_special_tokens"))
    to.set("additional_special_tokens", *more, Origin::kTemplate);
}

}  // namespace

const ChatTemplate* ChatConfig::find_named(std::string_view name) const {
  for (const auto& [key, each] : templates)
    if (key == name) return &each;
  return nullptr;
}

const ChatTemplate* ChatConfig::find(bool with_tools) const {
  if (with_tools)
    if (const ChatTemplate* found = find_named("tool_use")) return found;
  if (const ChatTemplate* found = find_named(kDefaultName)) return found;
  return templates.size() == 1 ? &templates.front().second : nullptr;
}

Result<ChatConfig> read_chat_config(const fs::path& folder) {
  ChatConfig config;
  Sources sources;
  const fs::path config_path = companion_path(folder, kConfigName);
  SMOE_TRY(const std::optional<Json> json, read_config(folder, config_path));
  if (json) {
    add_special_tokens(*json, config.special_tokens);
    if (const Json* entry = json->find("chat_template"))
      SMOE_DO(add_entry(*entry, config_path, sources));
  }
  SMOE_TRY(auto text, read_companion(folder, kTemplateName, jinja::kMaxSourceBytes));
  if (text)
    sources[std::string(kDefaultName)] = {*std::move(text),
                                          companion_path(folder, kTemplateName).string()};
  SMOE_DO(add_folder(folder / "additional_chat_templates", sources));
  for (const auto& [name, source] : sources) {
    SMOE_TRY(ChatTemplate parsed, ChatTemplate::parse(source.text, source.where));
    config.templates.emplace_back(name, std::move(parsed));
  }
  return config;
}

}  // namespace smoe
