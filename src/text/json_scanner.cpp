#include "text/json_scanner.h"

#include <algorithm>
#include <charconv>

#include "text/utf8.h"

namespace smoe {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Calls use(key, value) for each member of the object that begins here, until it returns false.
template <class Use>
bool for_each_member(JsonScanner& scanner, const Use& use) {
  if (!scanner.take('{')) return false;
  if (scanner.take('}')) return true;
  std::string scratch;
  do {
    const auto key = scanner.string(scratch);
    if (!key || !scanner.take(':')) return false;
    const auto value = scanner.value();
    if (!value) return false;
    use(*key, *value);
  } while (scanner.take(','));
  return scanner.take('}');
}

}  // namespace

void JsonScanner::skip_space() {
  while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
}

bool JsonScanner::take(char punctuation) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != punctuation) return false;
  ++at_;
  return true;
}

bool JsonScanner::at_end() {
  skip_space();
  return at_ >= text_.size();
}

std::optional<std::string_view> JsonScanner::string(std::string& scratch) {
  if (!take('"')) return std::nullopt;
  const size_t begin = at_;
  const auto ordinary_end = [&] {
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20)
      ++at_;
    return at_;
  };
  size_t end = ordinary_end();
  if (end < text_.size() && text_[end] == '"') {
    ++at_;
    return text_.substr(begin, end - begin);
  }
  scratch.assign(text_.substr(begin, end - begin));
  while (at_ < text_.size() && text_[at_] == '\\') {
    if (!append_escape(scratch)) return std::nullopt;
    const size_t ordinary = at_;
    end = ordinary_end();
    scratch.append(text_.substr(ordinary, end - ordinary));
  }
  if (at_ >= text_.size() || text_[at_] != '"') return std::nullopt;
  ++at_;
  return std::string_view(scratch);
}

bool JsonScanner::append_escape(std::string& to) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_ + 1 >= text_.size()) return false;
  const char letter = text_[at_ + 1];
  at_ += 2;
  const size_t simple = kEscapes.find(letter);
  if (simple != std::string_view::npos) {
    to.push_back(kMeanings[simple]);
    return true;
  }
  if (letter != 'u') return false;
  const auto first = four_hex_digits();
  if (!first || (*first >= 0xdc00 && *first <= 0xdfff)) return false;
  if (*first < 0xd800 || *first > 0xdfff) {
    append_utf8(to, *first);
    return true;
  }
  if (!text_.substr(at_).starts_with("\\u")) return false;
  at_ += 2;
  const auto second = four_hex_digits();
  if (!second || *second < 0xdc00 || *second > 0xdfff) return false;
  append_utf8(to, 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00));
  return true;
}

std::optional<uint32_t> JsonScanner::four_hex_digits() {
  if (at_ + 4 > text_.size()) return std::nullopt;
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  uint32_t value = 0;
  for (const char c : text_.substr(at_, 4)) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<uint32_t>(digit < 16 ? digit : digit - 6);
  }
  at_ += 4;
  return value;
}

std::optional<uint64_t> JsonScanner::whole_number() {
  skip_space();
  constexpr size_t kMostDigits = 18;  // fits 64 bits
  size_t end = at_;
  uint64_t value = 0;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9' && end - at_ <= kMostDigits)
    value = value * 10 + static_cast<uint64_t>(text_[end++] - '0');
  const size_t digits = end - at_;
  if (digits == 0 || digits > kMostDigits || (digits > 1 && text_[at_] == '0')) return std::nullopt;
  at_ = end;
  return value;
}

std::optional<double> JsonScanner::number() {
  skip_space();
  constexpr std::string_view kCharacters = "+-.0123456789Ee";
  const size_t end = std::min(text_.find_first_not_of(kCharacters, at_), text_.size());
  const std::string_view text = text_.substr(at_, end - at_);
  const bool begins_well = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  double value = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!begins_well || error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  at_ = end;
  return value;
}

bool JsonScanner::skip_string() {
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      return true;
    }
    if (text_[at_] == '\\') ++at_;
  }
  return false;
}

std::optional<std::string_view> JsonScanner::value() {
  skip_space();
  const size_t begin = at_;
  size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      if (!skip_string()) return std::nullopt;
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at_;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
      ++at_;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_json_space(c))) {
      break;
    } else {
      ++at_;
      continue;
    }
    if (depth == 0) break;
  }
  if (depth > 0 || at_ > text_.size() || at_ == begin) return std::nullopt;
  return text_.substr(begin, at_ - begin);
}

std::optional<TokenizerTables> cut_out_tables(std::string_view json) {
  TokenizerTables tables;
  std::string_view model;
  JsonScanner file(json);
  const bool whole = for_each_member(file, [&](std::string_view key, std::string_view value) {
    if (key == "model") model = value;
  });
  if (!whole || !file.at_end()) return std::nullopt;
  JsonScanner members(model);
  const bool is_object =
      for_each_member(members, [&](std::string_view key, std::string_view value) {
        if (key == "vocab") tables.vocab = value;
        if (key == "merges") tables.merges = value;
      });
  if (!is_object) tables.vocab = tables.merges = {};
  size_t copied = 0;
  std::string_view cuts[] = {tables.vocab, tables.merges};
  std::sort(std::begin(cuts), std::end(cuts),
            [](std::string_view a, std::string_view b) { return a.data() < b.data(); });
  for (const std::string_view cut : cuts) {
    if (cut.empty()) continue;
    const auto begin = static_cast<size_t>(cut.data() - json.data());
    tables.rest.append(json.substr(copied, begin - copied)).append("null");
    copied = begin + cut.size();
  }
  tables.rest.append(json.substr(copied));
  return tables;
}

}  // namespace smoe
