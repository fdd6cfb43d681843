#include "cli/storage_choice.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace smoe::cli {
namespace {

Result<std::optional<Format>> format_of(const std::optional<std::string>& name,
                                        std::string_view flag) {
  if (!name) return std::optional<Format>();
  auto format = storable_format(*name);
  if (!format) return std::move(format).error().in(std::string(flag));
  return std::optional<Format>(*format);
}

}  // namespace

Result<ShatterOptions> storage_options(const Settings& settings) {
  ShatterOptions options;
  options.quant = settings.quant;
  SMOE_TRY(options.experts, format_of(settings.experts_format, "--experts"));
  SMOE_TRY(options.scout, format_of(settings.scout_format, "--scout"));
  return options;
}

}  // namespace smoe::cli
