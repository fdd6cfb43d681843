#include "formats/gguf_pretokenizer.h"

#include <algorithm>
#include <string>

#include "base/json.h"

namespace smoe {
namespace {

// As the tokenizer.json files of the models that these were made for have them.
constexpr std::string_view kGpt2 =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kQwen2 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n])re"
    R"re(*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kLlama3 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[)re"
    R"re(\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kGpt4o =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|')re"
    R"re(t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm)re"
    R"re(}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s)re"
    R"re(*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kDeepseekV3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
// Letters that have two cases, as far as Unicode 11 knew them, without those of a few blocks.
constexpr std::string_view kDeepseekLetters =
    "\\s?[A-Za-z"
    "\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF"
    "\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"
    "\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A"
    "\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D"
    "\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3"
    "\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115"
    "\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F"
    "\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3"
    "\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF"
    "\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F"
    "\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2"
    "\U000118A0-\U000118DF\U0001E900-\U0001E943"
    "]+";
constexpr std::string_view kDeepseekMarks =
    "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+";

constexpr GgufPretokenizer kPretokenizers[] = {
    {.names = {"qwen2", "deepseek-r1-qwen"}, .patterns = {kQwen2}, .nfc = true},
    {.names = {"llama-bpe", "llama3", "llama-v3"},
     .patterns = {kLlama3},
     .whole_pieces = true,
     .adds_bos = true},
    {.names = {"deepseek-llm"},
     .patterns = {"[\\r\\n]", kDeepseekLetters, kDeepseekMarks, "\\s+$",
                  "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", "\\p{N}"}},
    {.names = {"deepseek-v3"},
     .patterns = {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+", kDeepseekV3}},
    {.names = {"gpt-4o"}, .patterns = {kGpt4o}, .whole_pieces = true},
    {.names = {"olmo"}, .patterns = {kGpt2}, .nfc = true},
    {.names = {"gpt-2"}, .patterns = {kGpt2}},
    {.names = {"default"},
     .patterns = {R"re([\p{P}\$\+<=>\^~\|]+)re", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
};

}  // namespace

Result<const GgufPretokenizer*> pretokenizer_named(std::string_view name) {
  std::string known;
  for (const GgufPretokenizer& pretokenizer : kPretokenizers)
    for (const std::string_view spelling : pretokenizer.names) {
      if (spelling.empty()) continue;
      if (spelling == name) return &pretokenizer;
      known += (known.empty() ? "" : ", ") + std::string(spelling);
    }
  return Error{Code::kUnsupported, "tokenizer.ggml.pre is " + json_quote(name.substr(0, 60)) +
                                       ", this build knows " + known};
}

}  // namespace smoe
