// The functions that a template finds without having set them.
#include <array>
#include <ctime>

#include "text/template/characters.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/tables.h"

namespace smoe::jinja {
namespace {

using Answer = Result<Value>;

// As in Jinja's sandbox.
constexpr int64_t kMaxRange = 100'000;

Answer range_function(Call& call) {
  const bool has_end = call.at(1) != nullptr;
  SMOE_TRY(const int64_t first, call.integer(0, 0));
  SMOE_TRY(const int64_t second, call.integer(1, 0));
  SMOE_TRY(const int64_t step, call.integer(2, 1));
  const int64_t begin = has_end ? first : 0;
  const int64_t end = has_end ? second : first;
  if (step == 0) return call.wrong("the step must not be zero");
  auto range = std::make_shared<Sequence>();
  range->flavor = Sequence::Flavor::kRange;
  range->range = {begin, end, step};
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<int64_t>(range->items.size()) >= kMaxRange)
      return call.wrong("ranges are limited to " + std::to_string(kMaxRange) + " items");
    SMOE_DO(call.run().spend_items(1));
    range->items.push_back(Value(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value(std::move(range));
}

// What dict(...) takes: a mapping or pairs, then names.
Result<Dict> dict_of_arguments(Call& call) {
  const Arguments& arguments = call.arguments();
  if (arguments.positional.size() > 1) return call.wrong("takes at most one argument by position");
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_undefined()) return undefined_error(source);
    if (source.is_dict()) {
      SMOE_DO(call.run().spend_items(source.dict().size()));
      dict = source.dict();
    } else {
      SMOE_TRY(const SequencePtr pairs, iterate(call.run(), source));
      for (const Value& pair : pairs->items) {
        SMOE_DO(call.run().spend_items(2));
        SMOE_TRY(const SequencePtr both, iterate(call.run(), pair));
        if (both->items.size() != 2) return call.wrong("needs pairs of a key and a value");
        SMOE_DO(dict.set(both->items[0], both->items[1]));
      }
    }
  }
  for (const Keyword& keyword : arguments.keywords)
    SMOE_DO(dict.set(Value::of_template(keyword.name), keyword.value));
  return dict;
}

Answer dict_function(Call& call) {
  SMOE_TRY(Dict dict, dict_of_arguments(call));
  return make_dict(std::move(dict));
}

Answer namespace_function(Call& call) {
  SMOE_TRY(const Dict dict, dict_of_arguments(call));
  SMOE_DO(call.run().spend_items(dict.size()));
  Namespace* space = call.run().make_namespace();
  for (const Dict::Entry& entry : dict.entries())
    if (entry.key.is_string()) space->set(entry.key.bytes(), entry.value);
  return Value(space);
}

Answer raise_exception_function(Call& call) {
  SMOE_TRY(const MarkedText message, to_text(call.run(), *call.at(0)));
  return Error{Code::kUsage, "the template refuses this: " + std::string(message.bytes())};
}

// Only what strftime of the C locale defines; each directive on its own, so that a format cannot
// make the system's function write more than it should.
Answer strftime_now_function(Call& call) {
  SMOE_TRY(const MarkedText* format, call.text(0));
  constexpr std::string_view kKnown = "aAbBcdDeFgGhHIjmMnprRStTuUVwWxXyYZ";
  const std::string_view bytes = format->bytes();
  SMOE_DO(call.run().spend_items(bytes.size()));
  MarkedText result;
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] != '%' || at + 1 == bytes.size()) {
      result.append(*format, at, at + 1);
      ++at;
      continue;
    }
    // glibc's "%-d" leaves out leading zeros.
    const size_t letter = bytes[at + 1] == '-' && at + 2 < bytes.size() ? at + 2 : at + 1;
    if (bytes[letter] == '%') {
      result.append("%", format->origin_at(at));
    } else if (kKnown.find(bytes[letter]) == std::string_view::npos) {
      return call.wrong("the directive %" + std::string(1, bytes[letter]) + " is not supported");
    } else {
      const std::string directive(bytes.substr(at, letter + 1 - at));
      std::array<char, 128> buffer{};
      const size_t size =
          std::strftime(buffer.data(), buffer.size(), directive.c_str(), &call.run().now());
      result.append({buffer.data(), size}, Origin::kTemplate);
    }
    at = letter + 1;
  }
  return Value(std::move(result));
}

constexpr Routine kFunctions[] = {
    {"dict", "*", dict_function},
    {"namespace", "*", namespace_function},
    {"raise_exception", "message", raise_exception_function},
    {"range", "start,stop?,step?,/", range_function},
    {"strftime_now", "format", strftime_now_function},
};

}  // namespace

std::span<const Routine> functions() { return kFunctions; }

}  // namespace smoe::jinja
