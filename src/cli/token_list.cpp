#include "cli/token_list.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

#include "base/json.h"

namespace smoe::cli {
namespace {

constexpr uint64_t kMaxId = std::numeric_limits<uint32_t>::max();
constexpr std::string_view kSeparators = " \t\r\n,";

Error no_id(std::string_view text) {
  constexpr size_t kShown = 40;
  return {Code::kCorrupt, fmt::format("{} is no token id (a whole number from 0 to {})",
                                      json_quote(text.substr(0, kShown)), kMaxId)};
}

Result<std::vector<TokenId>> parse_json_ids(std::string_view text) {
  SMOE_TRY(const Json json, Json::parse(text));
  const Json* list = json.is_object() ? json.find("ids") : &json;
  if (list == nullptr || !list->is_array())
    return Error{Code::kCorrupt,
                 "JSON without an array of ids: {\"ids\":[...]} or [...] is wanted"};
  std::vector<TokenId> ids;
  for (const Json& item : list->items()) {
    const std::optional<uint64_t> id = item.as_uint();
    if (!id || *id > kMaxId) return no_id(item.is_number() ? item.number_text() : "an item");
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace

Result<std::vector<TokenId>> parse_token_list(std::string_view text) {
  size_t begin = text.find_first_not_of(kSeparators);
  if (begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '['))
    return parse_json_ids(text);

  std::vector<TokenId> ids;
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    uint32_t id = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc{} || rest != word.data() + word.size()) return no_id(word);
    ids.push_back(static_cast<TokenId>(id));
    begin = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

std::string token_list_json(std::span<const TokenId> ids) {
  JsonWriter json;
  json.begin_object().key("ids").begin_array();
  for (const TokenId id : ids) json.value(static_cast<uint32_t>(id));
  json.end_array().end_object();
  return json.take();
}

}  // namespace smoe::cli
