#include "base/json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace smoe {
namespace {

namespace ondemand = simdjson::ondemand;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_from(std::string_view text, size_t at) {
  const size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at - begin;
}

// The grammar of RFC 8259: simdjson checks numbers only when they are converted, and we keep text.
bool is_number_text(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = digits_from(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits_from(text, ++at);
    if (fraction == 0) return false;
    at += fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = digits_from(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

std::string_view without_trailing_space(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

Error bad(std::string message) { return {Code::kCorrupt, std::move(message)}; }

Error bad(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) return {Code::kNoMemory, "out of memory"};
  return bad(std::string("not valid JSON: ") + simdjson::error_message(error));
}

template <class T>
std::optional<T> parsed_as(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// Builds the tree while simdjson walks the text, which is never in memory as its own tree.
class JsonReader {
 public:
  explicit JsonReader(Json::Limits limits) : limits_(limits) {}

  // The text is put between brackets: then a scalar document needs no path of its own, and what
  // follows the value is a second element or ends the array early.
  Result<Json> read_document(std::string_view text) {
    std::string wrapped;
    wrapped.reserve(text.size() + 2 + simdjson::SIMDJSON_PADDING);
    wrapped.append("[").append(text).append("]");
    unescaped_.resize(wrapped.size() + simdjson::SIMDJSON_PADDING);
    ondemand::document document;
    if (const auto error = parser_.iterate(wrapped).get(document)) return bad(error);
    ondemand::value root;
    if (const auto error = document.get_value().get(root)) return bad(error);
    Json wrapper;
    SMOE_DO(read_array(root, 0, wrapper));
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS || wrapper.items_.size() > 1)
      return bad("not valid JSON: text after the end of the value");
    if (wrapper.items_.empty()) return bad("not valid JSON: empty text");
    return std::move(wrapper.items_.front());
  }

 private:
  Status read(ondemand::value& value, ondemand::json_type type, int depth, Json& to) {
    if (type != ondemand::json_type::array && type != ondemand::json_type::object)
      return read_scalar(value, type, to);
    if (depth > limits_.max_depth)
      return bad("JSON nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    return type == ondemand::json_type::array ? read_array(value, depth, to)
                                              : read_object(value, depth, to);
  }

  Status read_array(ondemand::value& value, int depth, Json& to) {
    to.kind_ = Json::Kind::kArray;
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) return bad(error);
    for (auto element : array) {
      ondemand::json_type type{};
      if (const auto error = element.error()) return bad(error);
      ondemand::value item = element.value_unsafe();
      if (const auto error = item.type().get(type)) return bad(error);
      SMOE_DO(read(item, type, depth + 1, to.items_.emplace_back()));
    }
    return {};
  }

  Status read_object(ondemand::value& value, int depth, Json& to) {
    to.kind_ = Json::Kind::kObject;
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) return bad(error);
    for (auto element : object) {
      std::string_view key;
      ondemand::json_type type{};
      if (const auto error = element.error()) return bad(error);
      ondemand::field field = element.value_unsafe();
      if (const auto error = unescape(field.key(), key)) return bad(error);
      if (const auto error = field.value().type().get(type)) return bad(error);
      Json::Member& member = to.members_.emplace_back(std::string(key), Json());
      SMOE_DO(read(field.value(), type, depth + 1, member.second));
    }
    return settle_duplicates(to.members_);
  }

  // Into a buffer of our own: the parser's does not say when its allocation failed
  // (simdjson 3.0.1). The text is valid until the next call.
  simdjson::error_code unescape(ondemand::raw_json_string raw, std::string_view& text) {
    uint8_t* to = unescaped_.data();
    return parser_.unescape(raw, to).get(text);
  }

  Status read_scalar(ondemand::value& value, ondemand::json_type type, Json& to) {
    if (type == ondemand::json_type::string) {
      ondemand::raw_json_string raw;
      std::string_view text;
      if (const auto error = value.get_raw_json_string().get(raw)) return bad(error);
      if (const auto error = unescape(raw, text)) return bad(error);
      to.kind_ = Json::Kind::kString;
      to.text_ = text;
      return {};
    }
    const std::string_view token = without_trailing_space(value.raw_json_token());
    if (token == "null") {
      to.kind_ = Json::Kind::kNull;
    } else if (token == "true" || token == "false") {
      to.kind_ = Json::Kind::kBool;
      to.bool_ = token == "true";
    } else if (is_number_text(token)) {
      to.kind_ = Json::Kind::kNumber;
      to.text_ = token;
    } else {
      return bad("not valid JSON: " + json_quote(token.substr(0, 24)) + " is no value");
    }
    return {};
  }

  // Sorted, not hashed: a file cannot be made that turns this quadratic.
  Status settle_duplicates(std::vector<Json::Member>& members) const {
    std::vector<uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&](uint32_t index) -> const std::string& { return members[index].first; };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    std::vector<bool> superseded;
    for (size_t i = 1; i < order.size(); ++i) {
      if (key(order[i - 1]) != key(order[i])) continue;
      if (limits_.unique_keys) return bad("duplicate key " + json_quote(key(order[i])));
      superseded.resize(members.size());
      superseded[order[i - 1]] = true;
    }
    if (superseded.empty()) return {};
    size_t kept = 0;
    for (size_t i = 0; i < members.size(); ++i)
      if (!superseded[i]) {
        if (kept != i) members[kept] = std::move(members[i]);
        ++kept;
      }
    members.resize(kept);
    return {};
  }

  Json::Limits limits_;
  ondemand::parser parser_;
  std::vector<uint8_t> unescaped_;
};

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

Result<Json> Json::parse(std::string_view text, Limits limits) {
  return JsonReader(limits).read_document(text);
}

const std::vector<Json::Member>& Json::members() const { return members_; }

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members_)
    if (member.first == key) return &member.second;
  return nullptr;
}

std::optional<bool> Json::as_bool() const {
  if (kind_ != Kind::kBool) return std::nullopt;
  return bool_;
}

std::optional<double> Json::as_double() const {
  if (!is_number()) return std::nullopt;
  return parsed_as<double>(text_);
}

std::optional<uint64_t> Json::as_uint() const {
  if (!is_number()) return std::nullopt;
  if (const auto value = parsed_as<uint64_t>(text_)) return value;
  // "2048.0" and "1e4" are whole numbers too; above 2^53 a double would guess.
  const auto real = parsed_as<double>(text_);
  if (!real || *real < 0 || *real > 0x1p53 || *real != std::floor(*real)) return std::nullopt;
  return static_cast<uint64_t>(*real);
}

std::optional<int64_t> Json::as_int() const {
  if (!is_number()) return std::nullopt;
  if (const auto value = parsed_as<int64_t>(text_)) return value;
  const auto real = parsed_as<double>(text_);
  if (!real || std::abs(*real) > 0x1p53 || *real != std::floor(*real)) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<std::string_view> Json::as_string() const {
  if (kind_ != Kind::kString) return std::nullopt;
  return text_;
}

}  // namespace smoe
