#include "text/grammar/json_numbers.h"

#include <algorithm>
#include <string>

namespace smoe {
namespace {

constexpr size_t kMostDigits = 16;
constexpr uint32_t kMostFractionDigits = 6;
constexpr int64_t kNoMost = INT64_MAX;  // as many digits as there may be

Expression digit_from(char first, char last) {
  return any_of({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}

Expression digits(size_t count) {
  const auto times = static_cast<uint32_t>(count);
  return repeated(digit_from('0', '9'), times, times);
}

// The texts of as many digits from `first` to `last`.
Expression between_texts(std::string_view first, std::string_view last) {
  if (first.empty()) return all_of({});
  if (first == std::string(first.size(), '0') && last == std::string(last.size(), '9'))
    return digits(first.size());
  const auto rest = first.size() - 1;
  std::vector<Expression> choices;
  const auto add = [&](Expression digit, Expression behind) {
    std::vector<Expression> parts;
    parts.push_back(std::move(digit));
    parts.push_back(std::move(behind));
    choices.push_back(all_of(std::move(parts)));
  };
  if (first[0] == last[0]) {
    add(text_of(first.substr(0, 1)), between_texts(first.substr(1), last.substr(1)));
    return one_of(std::move(choices));
  }
  add(text_of(first.substr(0, 1)), between_texts(first.substr(1), std::string(rest, '9')));
  if (last[0] - first[0] > 1)
    add(digit_from(static_cast<char>(first[0] + 1), static_cast<char>(last[0] - 1)), digits(rest));
  add(text_of(last.substr(0, 1)), between_texts(std::string(rest, '0'), last.substr(1)));
  return one_of(std::move(choices));
}

// Needs 0 <= least.
std::optional<Expression> natural_between(int64_t least, int64_t most) {
  if (most < least) return std::nullopt;
  const std::string first = std::to_string(least);
  const std::string last = most != kNoMost ? std::to_string(most)
                                           : std::string(std::max(kMostDigits, first.size()), '9');
  std::vector<Expression> choices;
  for (size_t length = first.size(); length <= last.size(); ++length) {
    const std::string lowest = length == 1 ? "0" : "1" + std::string(length - 1, '0');
    choices.push_back(between_texts(length == first.size() ? first : lowest,
                                    length == last.size() ? last : std::string(length, '9')));
  }
  return one_of(std::move(choices));
}

Expression behind_minus(Expression number) {
  std::vector<Expression> parts;
  parts.push_back(text_of("-"));
  parts.push_back(std::move(number));
  return all_of(std::move(parts));
}

Expression with_fraction(Expression whole) {
  std::vector<Expression> fraction;
  fraction.push_back(text_of("."));
  fraction.push_back(repeated(digit_from('0', '9'), 1, kMostFractionDigits));
  std::vector<Expression> parts;
  parts.push_back(std::move(whole));
  parts.push_back(repeated(all_of(std::move(fraction)), 0, 1));
  return all_of(std::move(parts));
}

// More than `whole`, less than the next whole number.
Expression just_above(int64_t whole) {
  std::vector<Expression> parts;
  parts.push_back(text_of(std::to_string(whole) + "."));
  parts.push_back(repeated(digit_from('0', '9'), 0, kMostFractionDigits - 1));
  parts.push_back(digit_from('1', '9'));
  return all_of(std::move(parts));
}

// Needs bounds.least >= 0.
std::optional<Expression> magnitudes(const NumberBounds& bounds) {
  const int64_t least = *bounds.least;
  const auto most = bounds.most;
  if (most && (*most < least || (*most == least && (bounds.above_least || bounds.below_most))))
    return std::nullopt;
  std::vector<Expression> choices;
  if (bounds.above_least) choices.push_back(just_above(least));
  const int64_t last_whole = most ? *most - 1 : kNoMost;
  if (auto whole = natural_between(least + (bounds.above_least ? 1 : 0), last_whole))
    choices.push_back(with_fraction(*std::move(whole)));
  if (most && !bounds.below_most) choices.push_back(text_of(std::to_string(*most)));
  return one_of(std::move(choices));
}

Expression any_number() {
  std::vector<Expression> exponent;
  exponent.push_back(any_of({{'e', 'e'}, {'E', 'E'}}));
  exponent.push_back(repeated(any_of({{'+', '+'}, {'-', '-'}}), 0, 1));
  exponent.push_back(repeated(digit_from('0', '9'), 1, 2));
  std::vector<Expression> fraction;
  fraction.push_back(text_of("."));
  fraction.push_back(repeated(digit_from('0', '9'), 1, kMostDigits));
  std::vector<Expression> parts;
  parts.push_back(*integers({}));
  parts.push_back(repeated(all_of(std::move(fraction)), 0, 1));
  parts.push_back(repeated(all_of(std::move(exponent)), 0, 1));
  return all_of(std::move(parts));
}

Expression any_integer() {
  std::vector<Expression> large;
  large.push_back(digit_from('1', '9'));
  large.push_back(repeated(digit_from('0', '9'), 0, kMostDigits - 1));
  std::vector<Expression> choices;
  choices.push_back(text_of("0"));
  choices.push_back(all_of(std::move(large)));
  std::vector<Expression> parts;
  parts.push_back(repeated(text_of("-"), 0, 1));
  parts.push_back(one_of(std::move(choices)));
  return all_of(std::move(parts));
}

std::optional<Expression> chosen(std::vector<Expression> choices) {
  if (choices.empty()) return std::nullopt;
  return one_of(std::move(choices));
}

}  // namespace

std::optional<Expression> integers(NumberBounds bounds) {
  if (!bounds.least && !bounds.most) return any_integer();
  if (bounds.least && bounds.above_least) ++*bounds.least;
  if (bounds.most && bounds.below_most) --*bounds.most;
  std::vector<Expression> choices;
  if (!bounds.most || *bounds.most >= 0)
    if (auto number = natural_between(std::max<int64_t>(bounds.least.value_or(0), 0),
                                      bounds.most.value_or(kNoMost)))
      choices.push_back(*std::move(number));
  if (!bounds.least || *bounds.least < 0) {
    const int64_t nearest = bounds.most && *bounds.most < 0 ? -*bounds.most : 1;
    const int64_t furthest = bounds.least ? -*bounds.least : kNoMost;
    if (auto number = natural_between(nearest, furthest))
      choices.push_back(behind_minus(*std::move(number)));
  }
  return chosen(std::move(choices));
}

std::optional<Expression> numbers(const NumberBounds& bounds) {
  if (!bounds.least && !bounds.most) return any_number();
  std::vector<Expression> choices;
  if (!bounds.most || *bounds.most >= 0) {
    NumberBounds positive = bounds;
    if (!bounds.least || *bounds.least < 0) positive.above_least = false;
    positive.least = std::max<int64_t>(bounds.least.value_or(0), 0);
    if (auto number = magnitudes(positive)) choices.push_back(*std::move(number));
  }
  if (!bounds.least || *bounds.least < 0) {
    const bool up_to_zero = !bounds.most || *bounds.most > 0;
    NumberBounds mirrored{.least = up_to_zero ? 0 : -*bounds.most,
                          .most = bounds.least ? std::optional(-*bounds.least) : std::nullopt,
                          .above_least = !up_to_zero && bounds.below_most,
                          .below_most = bounds.above_least};
    if (auto number = magnitudes(mirrored)) choices.push_back(behind_minus(*std::move(number)));
  }
  return chosen(std::move(choices));
}

}  // namespace smoe
