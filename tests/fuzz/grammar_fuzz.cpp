// Any bytes as a grammar or a schema: it is refused, or allows texts within its limits, and what a
// schema allows is JSON.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "text/grammar/automaton.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"

namespace smoe {
namespace {

constexpr size_t kMostTextBytes = 256;

// The next byte that the grammar takes, from `choice` on; nothing where it takes none.
int next_byte(Automaton& automaton, StackSet at, uint8_t choice) {
  for (unsigned i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(choice + i);
    automaton.allow_work();
    if (automaton.step(at, byte) != Automaton::kDead) return byte;
  }
  return -1;
}

// Writes a text, guided by `input`; true when it is whole.
bool write_text(const Grammar& grammar, std::string_view input, std::string& text) {
  Automaton automaton(std::make_shared<const Grammar>(grammar));
  StackSet at = automaton.start();
  for (size_t i = 0; i < kMostTextBytes; ++i) {
    if (automaton.is_large()) at = automaton.compact(at);
    const auto choice =
        static_cast<uint8_t>(input.empty() ? i : static_cast<uint8_t>(input[i % input.size()]));
    if (automaton.ends(at) && choice % 4 == 0) return true;
    const int byte = next_byte(automaton, at, choice);
    if (byte < 0) return automaton.ends(at);
    text += static_cast<char>(byte);
    at = automaton.step(at, static_cast<uint8_t>(byte));
  }
  return false;
}

void follow(const Result<GrammarRules>& rules, std::string_view input, bool is_json) {
  if (!rules) return;
  const auto grammar = Grammar::compile(*rules);
  if (!grammar) return;
  std::string text;
  const bool whole = write_text(*grammar, input, text);
  if (whole && is_json)
    SMOE_CHECK(Json::parse(text, {.max_depth = 1024, .unique_keys = false}).has_value());
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto schema = smoe::Json::parse(input, {.max_depth = 128, .unique_keys = false})) {
    smoe::follow(smoe::schema_rules(*schema), input, true);
  } else {
    smoe::follow(smoe::parse_gbnf(input), input, false);
  }
  return 0;
}
