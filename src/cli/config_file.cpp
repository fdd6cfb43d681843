#include "cli/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <utility>

#include "base/file.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

std::optional<std::string> setting_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

Result<ConfigEntry> entry_of(const std::filesystem::path& path, std::string_view key,
                             const toml::node& node) {
  ConfigEntry entry;
  entry.key = key;
  entry.where = fmt::format("{}:{}: {}", path.string(), node.source().begin.line, key);
  const Error unfit{Code::kUsage,
                    entry.where + " is no text, number, true, false or array of those"};
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) {
      auto text = setting_text(item);
      if (!text) return unfit;
      entry.values.push_back(*std::move(text));
    }
    return entry;
  }
  auto text = setting_text(node);
  if (!text) return unfit;
  entry.values.push_back(*std::move(text));
  return entry;
}

// The XDG specification wants relative paths ignored.
std::optional<std::filesystem::path> xdg_folder(const Environment& environment,
                                                const std::string& variable,
                                                std::string_view below_home) {
  if (const auto base = environment(variable); base && base->starts_with('/'))
    return std::filesystem::path(*base) / "smoe";
  if (const auto home = environment("HOME"); home && home->starts_with('/'))
    return std::filesystem::path(*home) / below_home / "smoe";
  return std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> config_path(const Environment& environment) {
  auto base = xdg_folder(environment, "XDG_CONFIG_HOME", ".config");
  if (base) *base /= "config.toml";
  return base;
}

std::optional<std::filesystem::path> state_path(const Environment& environment) {
  return xdg_folder(environment, "XDG_STATE_HOME", ".local/state");
}

std::optional<std::filesystem::path> cache_path(const Environment& environment) {
  return xdg_folder(environment, "XDG_CACHE_HOME", ".cache");
}

Result<std::vector<ConfigEntry>> read_config(const std::filesystem::path& path) {
  auto text = read_text_file(path, kMiB);
  if (!text && text.error().code == Code::kNotFound) return std::vector<ConfigEntry>{};
  if (!text) return text.error();

  toml::table table;
  try {
    table = toml::parse(*text);
  } catch (const toml::parse_error& error) {
    return Error{Code::kUsage, fmt::format("{}:{}: {}", path.string(), error.source().begin.line,
                                           error.description())};
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) {
    SMOE_TRY(entries.emplace_back(), entry_of(path, key.str(), node));
  }
  return entries;
}

}  // namespace smoe::cli
