#include "text/chat/stop_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 64 * kMiB;

// null for a file that is not there.
Result<Json> read_config(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Json();
  SMOE_TRY(const std::string text, read_text_file(path, kMaxConfigBytes));
  // Other programs read these files leniently, and their other members are not ours to judge.
  auto json = Json::parse(text, {.max_depth = 512, .unique_keys = false});
  if (!json) return std::move(json).error().in(path.string());
  return json;
}

// One id or a list of them.
Status add_ids(const Json& value, const fs::path& path, std::vector<TokenId>& tokens) {
  if (value.is_null()) return {};
  if (value.is_array()) {
    for (const Json& item : value.items()) SMOE_DO(add_ids(item, path, tokens));
    return {};
  }
  const auto id = value.is_number() ? value.as_uint() : std::nullopt;
  if (!id || *id > UINT32_MAX)
    return Error{Code::kCorrupt, path.string() + ": eos_token_id is no token id"};
  tokens.push_back(TokenId{static_cast<uint32_t>(*id)});
  return {};
}

Status add_from_generation_config(const fs::path& path, std::vector<TokenId>& tokens) {
  SMOE_TRY(const Json config, read_config(path));
  const Json* value = config.find("eos_token_id");
  return value == nullptr ? Status() : add_ids(*value, path, tokens);
}

// The token is written out: "eos_token": "<|im_end|>", or an object with its content.
Status add_from_tokenizer_config(const fs::path& path, const Tokenizer& tokenizer,
                                 std::vector<TokenId>& tokens) {
  SMOE_TRY(const Json config, read_config(path));
  const Json* value = config.find("eos_token");
  if (value != nullptr && value->is_object()) value = value->find("content");
  const auto text = value == nullptr ? std::nullopt : value->as_string();
  if (!text) return {};
  if (const auto id = tokenizer.find(*text)) {
    tokens.push_back(*id);
  } else {
    log::warn("{}: eos_token {} is no token of the tokenizer", path.string(), json_quote(*text));
  }
  return {};
}

}  // namespace

Result<std::vector<TokenId>> stop_tokens(const fs::path& model,
                                         std::span<const uint32_t> configured,
                                         const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens;
  for (const uint32_t id : configured) tokens.push_back(TokenId{id});
  SMOE_DO(add_from_generation_config(model / "generation_config.json", tokens));
  SMOE_DO(add_from_tokenizer_config(model / "tokenizer_config.json", tokenizer, tokens));
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());

  std::string names;
  for (const TokenId token : tokens)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", index_of(token),
                         tokenizer.bytes_of(token));
  log::info("{}: a text ends at {}", model.string(),
            names.empty() ? std::string("no token") : names);
  return tokens;
}

}  // namespace smoe
