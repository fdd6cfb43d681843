#include "text/end_tokens.h"

#include <string>

#include "base/json.h"

namespace smoe {
namespace {

// A token is named by its text, or by an object with its "content".
Result<std::optional<TokenId>> read_token(const Json& config, std::string_view field,
                                          const Tokenizer& tokenizer) {
  const Json* value = config.find(field);
  if (value != nullptr && value->is_object()) value = value->find("content");
  if (value == nullptr || value->is_null()) return std::optional<TokenId>();
  if (!value->is_string())
    return Error{Code::kCorrupt, "\"" + std::string(field) + "\" should be a token"};
  const auto id = tokenizer.find(*value->as_string());
  if (!id)
    return Error{Code::kCorrupt, "\"" + std::string(field) + "\" is " +
                                     json_quote(*value->as_string()) +
                                     ", which the tokenizer does not have"};
  return id;
}

std::optional<bool> read_flag(const Json& config, std::string_view field) {
  const Json* value = config.find(field);
  return value == nullptr ? std::nullopt : value->as_bool();
}

}  // namespace

void EndTokens::complete(std::vector<TokenId>& tokens) const {
  if (add_bos && bos && (tokens.empty() || tokens.front() != *bos))
    tokens.insert(tokens.begin(), *bos);
  if (add_eos && eos && (tokens.empty() || tokens.back() != *eos)) tokens.push_back(*eos);
}

Result<EndTokens> read_end_tokens(std::string_view tokenizer_config_json,
                                  const Tokenizer& tokenizer) {
  Json config;
  if (!tokenizer_config_json.empty()) {
    SMOE_TRY(config, Json::parse(tokenizer_config_json, {.max_depth = 64, .unique_keys = false}));
  }
  const Tokenizer::Affixes& affixes = tokenizer.affixes();
  EndTokens tokens;
  SMOE_TRY(tokens.bos, read_token(config, "bos_token", tokenizer));
  SMOE_TRY(tokens.eos, read_token(config, "eos_token", tokenizer));
  if (!tokens.bos && !affixes.before.empty()) tokens.bos = affixes.before.front();
  if (!tokens.eos && !affixes.after.empty()) tokens.eos = affixes.after.back();
  const bool begins = !affixes.before.empty() && tokens.bos == affixes.before.front();
  const bool ends = !affixes.after.empty() && tokens.eos == affixes.after.back();
  tokens.add_bos = read_flag(config, "add_bos_token").value_or(begins);
  tokens.add_eos = read_flag(config, "add_eos_token").value_or(ends);
  return tokens;
}

}  // namespace smoe
