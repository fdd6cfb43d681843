// Filters over the items of something.
#include <algorithm>

#include "text/template/attribute_path.h"
#include "text/template/characters.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/tables.h"
#include "text/template/text_operations.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

Answer generator(Values items) {
  return make_sequence(Sequence::Flavor::kGenerator, std::move(items));
}

Result<AttributePath> path_of(const Call& call, size_t parameter) {
  if (call.at(parameter) == nullptr) return AttributePath();
  return AttributePath::parse(*call.at(parameter));
}

Value without_case(const Value& value) {
  if (!value.is_string()) return value;
  return Value(change_case(value.text(), Letters::kLower));
}

Answer length_filter(Call& call) {
  SMOE_TRY(const int64_t length, length_of(call.self()));
  return Value(length);
}

Answer list_filter(Call& call) {
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  SMOE_DO(call.run().spend_items(items->items.size()));
  return make_list(items->items);
}

Answer join_filter(Call& call) {
  MarkedText separator;
  if (call.at(0) != nullptr) {
    SMOE_TRY(separator, to_text(call.run(), *call.at(0)));
  }
  SMOE_TRY(const AttributePath path, path_of(call, 1));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  std::vector<MarkedText> parts;
  parts.reserve(items->items.size());
  for (const Value& item : items->items) {
    SMOE_TRY(const Value part, path.of(item));
    SMOE_TRY(MarkedText text, to_text(call.run(), part));
    parts.push_back(std::move(text));
  }
  SMOE_TRY(MarkedText joined, join(call.run(), separator, parts));
  return Value(std::move(joined));
}

Answer first_filter(Call& call) {
  if (call.self().is_sequence()) {
    Sequence& sequence = *call.self().sequence();
    if (sequence.taken >= sequence.items.size()) return Value(Undefined{});
    const bool is_generator = sequence.flavor == Sequence::Flavor::kGenerator;
    return sequence.items[is_generator ? sequence.taken++ : 0];
  }
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  return items->items.empty() ? Value(Undefined{}) : items->items.front();
}

bool is_generator(const Value& value) {
  return value.is_sequence() && value.sequence()->flavor == Sequence::Flavor::kGenerator;
}

Answer last_filter(Call& call) {
  if (is_generator(call.self())) return call.wrong("a generator cannot be reversed");
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  return items->items.empty() ? Value(Undefined{}) : items->items.back();
}

Answer reverse_filter(Call& call) {
  if (call.self().is_string())
    return get_slice(call.run(), call.self(), Value(None{}), Value(None{}), Value(int64_t{-1}));
  const bool becomes_list = is_generator(call.self());
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  SMOE_DO(call.run().spend_items(items->items.size()));
  Values reversed(items->items.rbegin(), items->items.rend());
  return becomes_list ? make_list(std::move(reversed)) : generator(std::move(reversed));
}

// The name of a filter or test and what is passed on to it.
struct Delegate {
  const Routine* routine = nullptr;  // none: the truth of the item itself
  Arguments arguments;
};

Result<Delegate> delegate_of(const Call& call, size_t skipped,
                             const Routine* (*find)(std::string_view), std::string_view kind) {
  Delegate delegate;
  const Arguments& given = call.arguments();
  if (given.positional.size() <= skipped) return delegate;
  const Value& name = given.positional[skipped];
  delegate.routine = name.is_string() ? find(name.bytes()) : nullptr;
  if (delegate.routine == nullptr)
    return call.wrong("no " + std::string(kind) + " is named " +
                      (name.is_string() ? "'" + std::string(name.bytes()) + "'" : "like this"));
  delegate.arguments.positional.assign(
      given.positional.begin() + static_cast<ptrdiff_t>(skipped) + 1, given.positional.end());
  delegate.arguments.keywords = given.keywords;
  return delegate;
}

Answer map_attribute(Call& call) {
  const Value* attribute = nullptr;
  const Value* otherwise = nullptr;
  for (const Keyword& keyword : call.arguments().keywords) {
    if (keyword.name == "attribute") {
      attribute = &keyword.value;
    } else if (keyword.name == "default") {
      otherwise = keyword.value.is_none() ? nullptr : &keyword.value;
    } else {
      return call.wrong("unexpected keyword argument '" + std::string(keyword.name) + "'");
    }
  }
  if (attribute == nullptr) return call.wrong("needs the name of a filter or attribute=");
  SMOE_TRY(const AttributePath path, AttributePath::parse(*attribute));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  Values mapped;
  for (const Value& item : items->items) {
    SMOE_DO(call.run().spend_items(1));
    SMOE_TRY(Value value, path.of(item, otherwise));
    mapped.push_back(std::move(value));
  }
  return generator(std::move(mapped));
}

Answer map_filter(Call& call) {
  if (!call.self().is_true()) return generator({});
  if (call.arguments().positional.empty()) return map_attribute(call);
  SMOE_TRY(const Delegate delegate, delegate_of(call, 0, find_filter, "filter"));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  Values mapped;
  for (const Value& item : items->items) {
    SMOE_DO(call.run().spend_items(1));
    SMOE_TRY(Value value, invoke(call.run(), *delegate.routine, item, delegate.arguments));
    mapped.push_back(std::move(value));
  }
  return generator(std::move(mapped));
}

template <bool kWanted, bool kByAttribute>
Answer select_filter(Call& call) {
  if (!call.self().is_true()) return generator({});
  AttributePath path;
  if (kByAttribute) {
    if (call.arguments().positional.empty()) return call.wrong("needs the name of an attribute");
    SMOE_TRY(path, AttributePath::parse(call.arguments().positional[0]));
  }
  SMOE_TRY(const Delegate delegate, delegate_of(call, kByAttribute ? 1 : 0, find_test, "test"));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  Values selected;
  for (const Value& item : items->items) {
    SMOE_DO(call.run().spend_items(1));
    SMOE_TRY(Value subject, path.of(item));
    if (delegate.routine != nullptr) {
      SMOE_TRY(subject, invoke(call.run(), *delegate.routine, subject, delegate.arguments));
    }
    if (subject.is_true() == kWanted) selected.push_back(item);
  }
  return generator(std::move(selected));
}

struct Keyed {
  Value key;
  Value item;
};

Result<Values> sorted(Run& run, std::vector<Keyed> keyed, bool reverse) {
  SMOE_DO(run.spend_items(keyed.size()));
  Status outcome;
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    if (!outcome) return false;
    const auto less = reverse ? is_less(run, b.key, a.key) : is_less(run, a.key, b.key);
    if (!less) outcome = less.error();
    return less && *less;
  });
  SMOE_DO(std::move(outcome));
  Values items;
  items.reserve(keyed.size());
  for (Keyed& each : keyed) items.push_back(std::move(each.item));
  return items;
}

// Several attributes with commas between them.
Result<std::vector<AttributePath>> paths_of(const Call& call, size_t parameter) {
  std::vector<AttributePath> paths;
  const Value* attribute = call.at(parameter);
  if (attribute == nullptr || !attribute->is_string()) {
    SMOE_TRY(AttributePath path, path_of(call, parameter));
    paths.push_back(std::move(path));
    return paths;
  }
  const MarkedText comma(",", Origin::kTemplate);
  SMOE_TRY(const Values names, split(call.run(), attribute->text(), &comma, -1));
  for (const Value& name : names) {
    SMOE_TRY(AttributePath path, AttributePath::parse(name));
    paths.push_back(std::move(path));
  }
  return paths;
}

Answer sort_filter(Call& call) {
  SMOE_TRY(const std::vector<AttributePath> paths, paths_of(call, 2));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  std::vector<Keyed> keyed;
  for (const Value& item : items->items) {
    SMOE_DO(call.run().spend_items(paths.size()));
    Values keys;
    for (const AttributePath& path : paths) {
      SMOE_TRY(Value key, path.of(item));
      keys.push_back(call.flag(1, false) ? std::move(key) : without_case(key));
    }
    SMOE_TRY(Value key, make_list(std::move(keys)));
    keyed.push_back({std::move(key), item});
  }
  SMOE_TRY(Values result, sorted(call.run(), std::move(keyed), call.flag(0, false)));
  return make_list(std::move(result));
}

Answer dictsort_filter(Call& call) {
  if (call.self().is_undefined()) return undefined_error(call.self());
  if (!call.self().is_dict()) return call.wrong("needs a mapping");
  bool by_value = false;
  if (call.at(1) != nullptr) {
    SMOE_TRY(const MarkedText* by, call.text(1));
    by_value = by->bytes() == "value";
    if (!by_value && by->bytes() != "key") return call.wrong("sorts by \"key\" or \"value\"");
  }
  std::vector<Keyed> keyed;
  for (const Dict::Entry& entry : call.self().dict().entries()) {
    SMOE_DO(call.run().spend_items(2));
    const Value& key = by_value ? entry.value : entry.key;
    SMOE_TRY(Value pair, make_tuple({entry.key, entry.value}));
    keyed.push_back({call.flag(0, false) ? key : without_case(key), std::move(pair)});
  }
  SMOE_TRY(Values result, sorted(call.run(), std::move(keyed), call.flag(2, false)));
  return make_list(std::move(result));
}

Answer items_filter(Call& call) {
  if (call.self().is_undefined()) return generator({});
  if (!call.self().is_dict()) return call.wrong("can only get item pairs from a mapping");
  SMOE_TRY(const Value view,
           invoke(call.run(), *find_method(call.self(), "items"), call.self(), Arguments()));
  return generator(view.sequence()->items);
}

Answer unique_filter(Call& call) {
  SMOE_TRY(const AttributePath path, path_of(call, 1));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  Dict seen;
  Values result;
  for (const Value& item : items->items) {
    SMOE_DO(call.run().spend_items(2));
    SMOE_TRY(const Value value, path.of(item));
    Value key = call.flag(0, false) ? value : without_case(value);
    if (seen.find(key) != nullptr) continue;
    SMOE_DO(seen.set(std::move(key), Value(None{})));
    result.push_back(item);
  }
  return generator(std::move(result));
}

template <bool kLargest>
Answer extreme_filter(Call& call) {
  SMOE_TRY(const AttributePath path, path_of(call, 1));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  if (items->items.empty()) return Value(Undefined{});
  Value best;
  Value best_key;
  for (size_t i = 0; i < items->items.size(); ++i) {
    SMOE_TRY(Value key, path.of(items->items[i]));
    if (!call.flag(0, false)) key = without_case(key);
    if (i > 0) {
      SMOE_TRY(const bool better,
               kLargest ? is_less(call.run(), best_key, key) : is_less(call.run(), key, best_key));
      if (!better) continue;
    }
    best = items->items[i];
    best_key = std::move(key);
  }
  return best;
}

Answer sum_filter(Call& call) {
  SMOE_TRY(const AttributePath path, path_of(call, 0));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  Value total = call.at(1) != nullptr ? *call.at(1) : Value(int64_t{0});
  if (total.is_string()) return call.wrong("can't sum strings");
  for (const Value& item : items->items) {
    SMOE_TRY(const Value value, path.of(item));
    SMOE_TRY(total, apply(call.run(), Arithmetic::kAdd, total, value));
  }
  return total;
}

Answer batch_filter(Call& call) {
  SMOE_TRY(const int64_t size, call.integer(0, 0));
  SMOE_TRY(const SequencePtr items, iterate(call.run(), call.self()));
  if (size <= 0 || size > 100'000) return call.wrong("the size must be between 1 and 100000");
  Values batches;
  for (size_t at = 0; at < items->items.size();) {
    const size_t end = std::min(at + static_cast<size_t>(size), items->items.size());
    Values batch(items->items.begin() + static_cast<ptrdiff_t>(at),
                 items->items.begin() + static_cast<ptrdiff_t>(end));
    const Value* fill = call.at(1);
    if (fill != nullptr && !fill->is_none()) batch.resize(static_cast<size_t>(size), *fill);
    SMOE_DO(call.run().spend_items(batch.size()));
    SMOE_TRY(Value list, make_list(std::move(batch)));
    batches.push_back(std::move(list));
    at = end;
  }
  return generator(std::move(batches));
}

constexpr Routine kSequenceFilters[] = {
    {"batch", "linecount,fill_with?", batch_filter},
    {"count", "", length_filter},
    {"dictsort", "case_sensitive?,by?,reverse?", dictsort_filter},
    {"first", "", first_filter},
    {"items", "", items_filter},
    {"join", "d?,attribute?", join_filter},
    {"last", "", last_filter},
    {"length", "", length_filter},
    {"list", "", list_filter},
    {"map", "*", map_filter},
    {"max", "case_sensitive?,attribute?", extreme_filter<true>},
    {"min", "case_sensitive?,attribute?", extreme_filter<false>},
    {"reject", "*", select_filter<false, false>},
    {"rejectattr", "*", select_filter<false, true>},
    {"reverse", "", reverse_filter},
    {"select", "*", select_filter<true, false>},
    {"selectattr", "*", select_filter<true, true>},
    {"sort", "reverse?,case_sensitive?,attribute?", sort_filter},
    {"sum", "attribute?,start?", sum_filter},
    {"unique", "case_sensitive?,attribute?", unique_filter},
};

}  // namespace

std::span<const Routine> sequence_filters() { return kSequenceFilters; }

}  // namespace smoe::jinja
