// The methods of dict, list, tuple, numbers and `loop` that templates may call.
#include <cmath>

#include "text/template/operators.h"
#include "text/template/tables.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

Answer dict_get(Call& call) {
  const Value& key = *call.at(0);
  if (!hash_of(key)) return call.wrong("unhashable type: " + std::string(key.type_name()));
  if (const Value* value = call.self().dict().find(key)) return *value;
  return call.at(1) != nullptr ? *call.at(1) : Value(None{});
}

template <Sequence::Flavor kFlavor>
Answer dict_view(Call& call) {
  const Dict& dict = call.self().dict();
  SMOE_DO(call.run().spend_items(dict.size()));
  Values items;
  items.reserve(dict.size());
  for (const Dict::Entry& entry : dict.entries()) {
    if (kFlavor == Sequence::Flavor::kItems) {
      SMOE_TRY(Value pair, make_tuple({entry.key, entry.value}));
      items.push_back(std::move(pair));
    } else {
      items.push_back(kFlavor == Sequence::Flavor::kKeys ? entry.key : entry.value);
    }
  }
  return make_sequence(kFlavor, std::move(items));
}

Answer copy_of_self(Call& call) { return call.self(); }

Answer sequence_count(Call& call) {
  int64_t count = 0;
  for (const Value& item : call.self().sequence()->items) {
    SMOE_TRY(const bool equal, is_equal(call.run(), item, *call.at(0)));
    if (equal) ++count;
  }
  return Value(count);
}

Answer sequence_index(Call& call) {
  const Values& items = call.self().sequence()->items;
  const auto count = static_cast<int64_t>(items.size());
  SMOE_TRY(int64_t begin, call.integer(1, 0));
  SMOE_TRY(int64_t end, call.integer(2, count));
  if (begin < 0) begin = std::max<int64_t>(begin + count, 0);
  if (end < 0) end += count;
  for (int64_t i = begin; i < std::min(end, count); ++i) {
    SMOE_TRY(const bool equal, is_equal(call.run(), items[static_cast<size_t>(i)], *call.at(0)));
    if (equal) return Value(i);
  }
  return call.wrong("the value is not in the list");
}

Answer is_whole(Call& call) {
  const double number = call.self().is_float() ? call.self().floating() : 0;
  return Value(std::isfinite(number) && number == std::floor(number));
}

Answer loop_cycle(Call& call) {
  const Values& choices = call.arguments().positional;
  if (choices.empty() || !call.arguments().keywords.empty())
    return call.wrong("no items for cycling given");
  return choices[call.self().loop()->position % choices.size()];
}

Answer loop_changed(Call& call) {
  Loop& loop = *call.self().loop();
  const Values& now = call.arguments().positional;
  bool same = loop.last_changed && loop.last_changed->size() == now.size();
  for (size_t i = 0; same && i < now.size(); ++i) {
    SMOE_TRY(same, is_equal(call.run(), now[i], (*loop.last_changed)[i]));
  }
  loop.last_changed = now;
  return Value(!same);
}

constexpr Routine kDictMethods[] = {
    {"copy", "", copy_of_self},
    {"get", "key,default?,/", dict_get},
    {"items", "", dict_view<Sequence::Flavor::kItems>},
    {"keys", "", dict_view<Sequence::Flavor::kKeys>},
    {"values", "", dict_view<Sequence::Flavor::kValues>},
};

constexpr Routine kSequenceMethods[] = {
    {"copy", "", copy_of_self},
    {"count", "value,/", sequence_count},
    {"index", "value,start?,stop?,/", sequence_index},
};

constexpr Routine kNumberMethods[] = {
    {"is_integer", "", is_whole},
};

constexpr Routine kLoopMethods[] = {
    {"changed", "*", loop_changed},
    {"cycle", "*", loop_cycle},
};

}  // namespace

std::span<const Routine> dict_methods() { return kDictMethods; }
std::span<const Routine> sequence_methods() { return kSequenceMethods; }
std::span<const Routine> number_methods() { return kNumberMethods; }
std::span<const Routine> loop_methods() { return kLoopMethods; }

}  // namespace smoe::jinja
