#include "text/grammar/rules.h"

#include <algorithm>

namespace smoe {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;
constexpr char32_t kFirstSurrogate = 0xd800;
constexpr char32_t kLastSurrogate = 0xdfff;

}  // namespace

Expression text_of(std::string_view bytes) {
  return {.kind = Expression::Kind::kText, .text = std::string(bytes)};
}

Expression any_of(CharacterSet characters) {
  return {.kind = Expression::Kind::kCharacter, .characters = normalized(std::move(characters))};
}

Expression all_of(std::vector<Expression> parts) {
  return {.kind = Expression::Kind::kSequence, .parts = std::move(parts)};
}

Expression one_of(std::vector<Expression> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return {.kind = Expression::Kind::kChoice, .parts = std::move(parts)};
}

Expression repeated(Expression part, uint32_t least, uint32_t most) {
  Expression result{.kind = Expression::Kind::kRepeat, .least = least, .most = most};
  result.parts.push_back(std::move(part));
  return result;
}

Expression rule_of(uint32_t rule) { return {.kind = Expression::Kind::kRule, .rule = rule}; }

Expression until(std::string_view mark) {
  return {.kind = Expression::Kind::kUntil, .text = std::string(mark)};
}

Expression without(std::string_view mark) {
  return {.kind = Expression::Kind::kWithout, .text = std::string(mark)};
}

CharacterSet normalized(CharacterSet characters) {
  std::sort(characters.begin(), characters.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  CharacterSet result;
  for (const CodePointRange& range : characters) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

CharacterSet complement(const CharacterSet& characters) {
  CharacterSet excluded = characters;
  excluded.push_back({kFirstSurrogate, kLastSurrogate});
  CharacterSet result;
  char32_t next = 0;
  for (const CodePointRange& range : normalized(std::move(excluded))) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) result.push_back({next, kLastCodePoint});
  return result;
}

}  // namespace smoe
