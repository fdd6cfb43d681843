// tokenizer.json from strangers, and any text or ids through a tokenizer. RELIABILITY F5.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/byte_alphabet.h"
#include "text/compact_file.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace smoe {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// The first byte of the input says what the rest is.
enum class Input : uint8_t { kFile, kPattern, kText, kIds, kLast = kIds };

std::string letters(std::string_view bytes) {
  std::string text;
  append_byte_letters(text, bytes);
  return text;
}

constexpr std::string_view kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false})";

std::string split_json(std::string_view pattern, std::string_view behavior, bool invert) {
  JsonWriter json;
  json.begin_object().member("type", "Sequence").key("pretokenizers").begin_array();
  json.begin_object().member("type", "Split").key("pattern").begin_object();
  json.member("Regex", pattern).end_object();
  json.member("behavior", behavior).member("invert", invert).end_object();
  return json.raw(kByteLevel).end_array().end_object().take();
}

// A tokenizer over all bytes with a few merges and an added token.
std::string tokenizer_json(std::string_view pattern) {
  JsonWriter json;
  json.begin_object().member("version", "1.0").key("added_tokens").begin_array();
  json.begin_object().member("id", 260).member("content", "<|end|>").member("single_word", false);
  json.member("lstrip", false).member("rstrip", false).member("normalized", false);
  json.member("special", true).end_object().end_array();
  json.key("normalizer").begin_object().member("type", "NFC").end_object();
  json.key("pre_tokenizer").raw(split_json(pattern, "Isolated", false));
  json.key("decoder").raw(kByteLevel);
  json.key("model").begin_object().member("type", "BPE").key("vocab").begin_object();
  for (int byte = 0; byte < 256; ++byte)
    json.member(letters(std::string(1, static_cast<char>(byte))), byte);
  json.member("aa", 256).member("aaaa", 257).member(letters("\xc3\xa9"), 258).member("ab", 259);
  json.end_object().key("merges").begin_array();
  json.value("a a").value("aa aa").value(letters("\xc3") + " " + letters("\xa9")).value("a b");
  return json.end_array().end_object().end_object().take();
}

void stream(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  for (const bool skip_special : {false, true}) {
    Detokenizer detokenizer(tokenizer, skip_special);
    std::string streamed;
    for (const TokenId token : tokens) {
      const std::string piece = detokenizer.push(token);
      require(!first_invalid_utf8(piece));
      streamed += piece;
    }
    streamed += detokenizer.finish();
    require(streamed == tokenizer.decode(tokens, skip_special));
  }
}

// The explanations make up the text, and text that is not trusted yields no special token.
void explain_and_distrust(const Tokenizer& tokenizer, std::string_view text, bool has_unknown) {
  const auto explained = tokenizer.explain(text, {});
  require(explained.has_value());
  std::string joined;
  for (const auto& each : *explained) joined += each.text;
  require(joined == text || explained->empty());
  const size_t middle = text.empty() ? 0 : previous_character(text, text.size() / 2 + 1);
  const std::vector<Tokenizer::Span> spans = {{text.substr(0, middle), true},
                                              {text.substr(middle), false}};
  const auto spanned = tokenizer.encode_spans(spans);
  if (!spanned) return;
  require(spanned->tokens.size() == spanned->spans.size());
  for (size_t index = 0; index < spanned->tokens.size(); ++index) {
    require(spanned->spans[index] < spans.size());
    // An unknown token is a special one that any text may become.
    require(has_unknown || spanned->spans[index] == 0 ||
            !tokenizer.is_special(spanned->tokens[index]));
  }
}

void encode_and_decode(const Tokenizer& tokenizer, std::string_view text, bool lossless) {
  const auto tokens = tokenizer.encode(text, {.add_special = false, .parse_special = true});
  const auto invalid = first_invalid_utf8(text);
  require(!invalid || !tokens);
  if (!tokens) {
    require(invalid ? tokens.error().code == Code::kCorrupt
                    : tokens.error().code == Code::kUnsupported);
    return;
  }
  for (const TokenId token : *tokens) require(index_of(token) < tokenizer.size());
  explain_and_distrust(tokenizer, text, !lossless);
  // What stands on both sides of an added token is normalised apart.
  if (lossless && text.find("<|end|>") == std::string_view::npos)
    require(tokenizer.decode(*tokens, false) == to_nfc(text));
  stream(tokenizer, *tokens);
}

const Tokenizer& fixed_tokenizer() {
  static const Tokenizer tokenizer = [] {
    auto made = Tokenizer::parse(
        tokenizer_json(R"( ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"), "fixed");
    require(made.has_value());
    return std::move(*made);
  }();
  return tokenizer;
}

void load_file(std::string_view text) {
  const auto tokenizer = Tokenizer::parse(text, "fuzz");
  if (!tokenizer) {
    require(!tokenizer.error().message.empty());
    return;
  }
  const auto compact = compact_tokenizer(text);
  require(compact.has_value());
  const auto again = Tokenizer::parse_compact(*compact, "fuzz");
  require(again.has_value() && again->size() == tokenizer->size());
  encode_and_decode(*tokenizer,
                    "The caf\xc3\xa9's 12345 e\xcc\x81 <s> <|end|>\r\n\t \xf0\x9f\x98\x80!", false);
  encode_and_decode(*tokenizer, text.substr(0, 512), false);
}

// Flags, a pattern up to a zero byte, and a text, which the pieces must make up again.
void match_pattern(std::string_view input) {
  if (input.empty()) return;
  const auto flags = static_cast<uint8_t>(input[0]);
  constexpr std::string_view kBehaviors[] = {"Isolated", "Removed", "MergedWithPrevious",
                                             "MergedWithNext", "Contiguous"};
  const std::string_view behavior = kBehaviors[flags % 5];
  input.remove_prefix(1);
  const size_t zero = input.find('\0');
  const std::string_view pattern = input.substr(0, zero);
  if (first_invalid_utf8(pattern)) return;
  const auto json = Json::parse(split_json(pattern, behavior, (flags & 0x80) != 0));
  require(json.has_value());
  const auto pretokenizer = Pretokenizer::from_json(*json);
  if (!pretokenizer || zero == std::string_view::npos) return;
  const std::string text(input.substr(zero + 1));
  if (first_invalid_utf8(text)) return;
  const auto pieces = pretokenizer->split(text);
  if (!pieces) {
    require(pieces.error().code == Code::kUnsupported);
    return;
  }
  std::string joined;
  for (size_t piece = 0; piece < pieces->ranges.size(); ++piece) {
    require(!pieces->at(piece).empty());
    joined += pieces->at(piece);
  }
  if (behavior != "Removed") require(joined == letters(text));
}

void decode_ids(std::string_view input) {
  std::vector<TokenId> tokens;
  for (size_t at = 0; at + 1 < input.size(); at += 2)
    tokens.push_back(TokenId{
        (static_cast<uint8_t>(input[at]) * 256u + static_cast<uint8_t>(input[at + 1])) % 280u});
  stream(fixed_tokenizer(), tokens);
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using smoe::Input;
  if (size == 0) return 0;
  const auto kind = static_cast<Input>(data[0] % (static_cast<uint8_t>(Input::kLast) + 1));
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (kind) {
    case Input::kFile:
      smoe::load_file(rest);
      break;
    case Input::kPattern:
      smoe::match_pattern(rest);
      break;
    case Input::kText:
      smoe::encode_and_decode(smoe::fixed_tokenizer(), rest, true);
      break;
    case Input::kIds:
      smoe::decode_ids(rest);
      break;
  }
  return 0;
}
