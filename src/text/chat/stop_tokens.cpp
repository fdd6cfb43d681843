#include "text/chat/stop_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "formats/companion.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 64 * kMiB;

// null for what is not there.
Result<Json> read_config(const fs::path& model, std::string_view name) {
  SMOE_TRY(const auto text, read_companion(model, name, kMaxConfigBytes));
  if (!text) return Json();
  // Other programs read these files leniently, and their other members are not ours to judge.
  auto json = Json::parse(*text, {.max_depth = 512, .unique_keys = false});
  const auto path = companion_path(model, name);
  if (!json) return std::move(json).error().in(path.string());
  if (!json->is_object())
    return Error{Code::kCorrupt, path.string() + ": is no JSON object with settings"};
  return json;
}

// A value of a config file as it stands there, if it is short.
std::string shown(const Json& value) {
  if (value.is_number()) return std::string(value.number_text());
  if (const auto text = value.as_string()) return json_quote(text->substr(0, 40));
  if (const auto flag = value.as_bool()) return *flag ? "true" : "false";
  return value.is_object() ? "{...}" : "null";
}

Status add_id(const Json& value, const fs::path& path, std::vector<TokenId>& tokens) {
  const auto id = value.is_number() ? value.as_uint() : std::nullopt;
  if (!id || *id > UINT32_MAX)
    return Error{Code::kCorrupt,
                 fmt::format("{}: eos_token_id {} is no token id, a whole number from 0 on",
                             path.string(), shown(value))};
  tokens.push_back(TokenId{static_cast<uint32_t>(*id)});
  return {};
}

// One id or a list of them.
Status add_ids(const Json& value, const fs::path& path, std::vector<TokenId>& tokens) {
  if (value.is_null()) return {};
  if (!value.is_array()) return add_id(value, path, tokens);
  for (const Json& item : value.items()) SMOE_DO(add_id(item, path, tokens));
  return {};
}

// Ids that no token has can never be drawn: they are said and left out.
void drop_unknown(const fs::path& path, const Tokenizer& tokenizer, std::vector<TokenId>& tokens) {
  std::erase_if(tokens, [&](TokenId token) {
    if (!tokenizer.spelling_of(token).empty()) return false;
    log::warn("{}: eos_token_id {} is no token of the tokenizer, whose ids end at {}",
              path.string(), index_of(token), tokenizer.size() - 1);
    return true;
  });
}

Status add_from_generation_config(const fs::path& model, const Tokenizer& tokenizer,
                                  std::vector<TokenId>& tokens) {
  constexpr std::string_view kName = "generation_config.json";
  SMOE_TRY(const Json config, read_config(model, kName));
  const fs::path path = companion_path(model, kName);
  const Json* value = config.find("eos_token_id");
  if (value == nullptr) return {};
  std::vector<TokenId> named;
  SMOE_DO(add_ids(*value, path, named));
  drop_unknown(path, tokenizer, named);
  tokens.insert(tokens.end(), named.begin(), named.end());
  return {};
}

// The token is written out: "eos_token": "<|im_end|>", or an object with its content.
Status add_from_tokenizer_config(const fs::path& model, const Tokenizer& tokenizer,
                                 std::vector<TokenId>& tokens) {
  constexpr std::string_view kName = "tokenizer_config.json";
  SMOE_TRY(const Json config, read_config(model, kName));
  const Json* value = config.find("eos_token");
  if (value != nullptr && value->is_object()) value = value->find("content");
  const auto text = value == nullptr ? std::nullopt : value->as_string();
  if (!text) return {};
  if (const auto id = tokenizer.find(*text)) {
    tokens.push_back(*id);
  } else {
    log::warn("{}: eos_token {} is no token of the tokenizer",
              companion_path(model, kName).string(), json_quote(*text));
  }
  return {};
}

}  // namespace

Result<std::vector<TokenId>> stop_tokens(const fs::path& model,
                                         std::span<const uint32_t> configured,
                                         const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens;
  for (const uint32_t id : configured) tokens.push_back(TokenId{id});
  drop_unknown(companion_path(model, "config.json"), tokenizer, tokens);
  SMOE_DO(add_from_generation_config(model, tokenizer, tokens));
  SMOE_DO(add_from_tokenizer_config(model, tokenizer, tokens));
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());

  std::string names;
  for (const TokenId token : tokens)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", index_of(token),
                         json_quote(tokenizer.spelling_of(token)));
  log::info("{}: a text ends at {}", model.string(),
            names.empty() ? std::string("no token") : names);
  return tokens;
}

}  // namespace smoe
