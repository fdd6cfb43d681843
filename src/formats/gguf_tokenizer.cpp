#include "formats/gguf_tokenizer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/corrupt.h"
#include "formats/gguf_pretokenizer.h"

namespace smoe {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, a space in SentencePiece

enum class TokenType : uint8_t {  // numbered as in the file
  kNormal = 1,
  kUnknown,
  kControl,
  kUserDefined,
  kUnused,
  kByte
};

struct Tokens {
  std::vector<std::string_view> texts;
  std::vector<TokenType> types;
  std::vector<double> scores;  // of SentencePiece; else empty
};

// Nothing when the key is absent.
Result<std::optional<std::string_view>> text_of(const GgufHeader& header, std::string_view key) {
  const GgufValue* value = header.find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  const auto text = value->as_string();
  if (!text) return corrupt(std::string(key) + " must be a string");
  return text;
}

Result<std::optional<bool>> flag_of(const GgufHeader& header, std::string_view key) {
  const GgufValue* value = header.find(key);
  if (value == nullptr) return std::optional<bool>();
  const auto flag = value->as_bool();
  if (!flag) return corrupt(std::string(key) + " must be a boolean");
  return flag;
}

Result<std::vector<TokenType>> types_of(const GgufHeader& header, size_t tokens) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const GgufValue* value = header.find(kKey);
  if (value == nullptr) return std::vector<TokenType>(tokens, TokenType::kNormal);
  const auto numbers = value->as_ints();
  if (!numbers || numbers->size() != tokens)
    return corrupt(std::string(kKey) + " must have a whole number for each of the " +
                   std::to_string(tokens) + " tokens");
  std::vector<TokenType> types;
  for (const int64_t number : *numbers) {
    if (number < 1 || number > 6)
      return corrupt(std::string(kKey) + " has a " + std::to_string(number) + ", must be 1 to 6");
    types.push_back(static_cast<TokenType>(number));
  }
  return types;
}

Result<Tokens> tokens_of(const GgufHeader& header, bool with_scores) {
  Tokens tokens;
  const GgufValue* texts = header.find("tokenizer.ggml.tokens");
  auto strings = texts != nullptr ? texts->as_strings() : std::nullopt;
  if (!strings || strings->empty())
    return corrupt("tokenizer.ggml.tokens must be a list of strings");
  tokens.texts = std::move(*strings);
  SMOE_TRY(tokens.types, types_of(header, tokens.texts.size()));
  for (size_t id = 0; id < tokens.texts.size(); ++id)
    if (tokens.types[id] != TokenType::kUnused && !is_utf8(tokens.texts[id]))
      return corrupt("tokenizer.ggml.tokens: token " + std::to_string(id) + " is no UTF-8");
  if (!with_scores) return tokens;
  const GgufValue* scores = header.find("tokenizer.ggml.scores");
  auto numbers = scores != nullptr ? scores->as_doubles() : std::nullopt;
  if (!numbers || numbers->size() != tokens.texts.size())
    return corrupt("tokenizer.ggml.scores must have a number for each of the " +
                   std::to_string(tokens.texts.size()) + " tokens");
  tokens.scores = std::move(*numbers);
  return tokens;
}

// "bos_token_id" and its like. Nothing when the key is absent.
Result<std::optional<uint64_t>> special_id(const GgufHeader& header, std::string_view name,
                                           size_t tokens) {
  const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
  const GgufValue* value = header.find(key);
  if (value == nullptr) return std::optional<uint64_t>();
  const auto id = value->as_uint();
  if (!id || *id >= tokens)
    return corrupt(key + " must be one of the " + std::to_string(tokens) + " tokens");
  return id;
}

bool is_added(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined;
}

void write_added_tokens(const Tokens& tokens, JsonWriter& json) {
  json.key("added_tokens").begin_array();
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    // The unknown token of SentencePiece is a special one, too.
    const bool special =
        tokens.types[id] == TokenType::kControl || tokens.types[id] == TokenType::kUnknown;
    if ((!special && !is_added(tokens.types[id])) || tokens.texts[id].empty()) continue;
    json.begin_object().member("id", uint64_t{id}).member("content", tokens.texts[id]);
    for (const std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized"})
      json.member(flag, false);
    json.member("special", special).end_object();
  }
  json.end_array();
}

// Special tokens around a text, as `add_bos_token` and `add_eos_token` ask.
Status write_post_processor(const GgufHeader& header, const Tokens& tokens, bool adds_bos,
                            JsonWriter& json) {
  SMOE_TRY(const std::optional<bool> bos_flag, flag_of(header, "tokenizer.ggml.add_bos_token"));
  SMOE_TRY(const std::optional<bool> eos_flag, flag_of(header, "tokenizer.ggml.add_eos_token"));
  SMOE_TRY(std::optional<uint64_t> bos, special_id(header, "bos", tokens.texts.size()));
  SMOE_TRY(std::optional<uint64_t> eos, special_id(header, "eos", tokens.texts.size()));
  if (!bos_flag.value_or(adds_bos)) bos.reset();
  if (!eos_flag.value_or(false)) eos.reset();
  json.key("post_processor");
  if (!bos && !eos) {
    json.null();
    return {};
  }
  const auto write_special = [&](std::optional<uint64_t> id) {
    if (!id) return;
    json.begin_object().key("SpecialToken").begin_object();
    json.member("id", tokens.texts[*id]).member("type_id", 0).end_object().end_object();
  };
  json.begin_object().member("type", "TemplateProcessing").key("single").begin_array();
  write_special(bos);
  json.begin_object().key("Sequence").begin_object().member("id", "A").member("type_id", 0);
  json.end_object().end_object();
  write_special(eos);
  json.end_array().key("pair").begin_array().end_array();
  json.key("special_tokens").begin_object();
  for (const auto& id : {bos, bos == eos ? std::nullopt : eos}) {
    if (!id) continue;
    json.key(tokens.texts[*id]).begin_object().member("id", tokens.texts[*id]);
    json.key("ids").begin_array().value(*id).end_array();
    json.key("tokens").begin_array().value(tokens.texts[*id]).end_array().end_object();
  }
  json.end_object().end_object();
  return {};
}

void write_head(const Tokens& tokens, JsonWriter& json) {
  json.begin_object().member("version", "1.0");
  json.key("truncation").null().key("padding").null();
  write_added_tokens(tokens, json);
}

// Everything that is a token of the model itself. Fails: kCorrupt when a text has two ids.
Status write_vocabulary(const Tokens& tokens, bool with_special, JsonWriter& json) {
  std::unordered_map<std::string_view, size_t> ids;
  json.key("vocab").begin_object();
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    const TokenType type = tokens.types[id];
    if (type == TokenType::kUnused || (!with_special && is_added(type))) continue;
    if (const auto [other, first] = ids.emplace(tokens.texts[id], id); !first)
      return corrupt("tokenizer.ggml.tokens: tokens " + std::to_string(other->second) + " and " +
                     std::to_string(id) + " are both " + json_quote(tokens.texts[id]));
    json.member(tokens.texts[id], uint64_t{id});
  }
  json.end_object();
  return {};
}

void write_byte_level(JsonWriter& json) {
  json.begin_object().member("type", "ByteLevel").member("add_prefix_space", false);
  json.member("trim_offsets", false).member("use_regex", false).end_object();
}

void write_pretokenizer(const GgufPretokenizer& pretokenizer, JsonWriter& json) {
  json.key("normalizer");
  if (pretokenizer.nfc) {
    json.begin_object().member("type", "NFC").end_object();
  } else {
    json.null();
  }
  json.key("pre_tokenizer").begin_object().member("type", "Sequence");
  json.key("pretokenizers").begin_array();
  for (const std::string_view pattern : pretokenizer.patterns) {
    if (pattern.empty()) continue;
    json.begin_object().member("type", "Split").key("pattern").begin_object();
    json.member("Regex", pattern).end_object();
    json.member("behavior", "Isolated").member("invert", false).end_object();
  }
  write_byte_level(json);
  json.end_array().end_object();
}

Result<std::string> byte_level_bpe(const GgufHeader& header) {
  SMOE_TRY(const auto pre, text_of(header, "tokenizer.ggml.pre"));
  if (!pre)
    return Error{Code::kUnsupported,
                 "tokenizer.ggml.pre is missing, so nothing says how text is split; convert the "
                 "model with a newer converter"};
  SMOE_TRY(const GgufPretokenizer* const pretokenizer, pretokenizer_named(*pre));
  SMOE_TRY(const Tokens tokens, tokens_of(header, false));
  const GgufValue* merges = header.find("tokenizer.ggml.merges");
  const auto lines = merges != nullptr ? merges->as_strings() : std::nullopt;
  if (!lines) return corrupt("tokenizer.ggml.merges must be a list of strings");
  JsonWriter json;
  write_head(tokens, json);
  write_pretokenizer(*pretokenizer, json);
  SMOE_DO(write_post_processor(header, tokens, pretokenizer->adds_bos, json));
  json.key("decoder");
  write_byte_level(json);
  json.key("model").begin_object().member("type", "BPE").key("dropout").null();
  json.key("unk_token").null().key("continuing_subword_prefix").null();
  json.key("end_of_word_suffix").null().member("fuse_unk", false).member("byte_fallback", false);
  json.member("ignore_merges", pretokenizer->whole_pieces);
  SMOE_DO(write_vocabulary(tokens, false, json));
  json.key("merges").begin_array();
  for (const std::string_view line : *lines) {
    if (!is_utf8(line)) return corrupt("tokenizer.ggml.merges: a line is no UTF-8");
    json.value(line);
  }
  json.end_array().end_object().end_object();
  return json.take();
}

struct Merge {
  std::string_view left;
  std::string_view right;
  double score;  // of what they become
};

// Cuts of a piece cost its length squared; SentencePiece's own limit is a few dozen.
constexpr size_t kLongestPiece = 1024;

// SentencePiece joins the two neighbours whose piece has the best score. So the pieces, best first,
// are the ranks, and every way to cut a piece into two others is a merge of that rank.
Result<std::vector<Merge>> merges_of(const Tokens& tokens) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t id = 0; id < tokens.texts.size(); ++id) ids.emplace(tokens.texts[id], id);
  std::vector<Merge> merges;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    if (tokens.types[id] != TokenType::kNormal && tokens.types[id] != TokenType::kUserDefined)
      continue;
    const std::string_view piece = tokens.texts[id];
    if (piece.size() > kLongestPiece)
      return corrupt("tokenizer.ggml.tokens: token " + std::to_string(id) + " has " +
                     std::to_string(piece.size()) + " bytes, at most " +
                     std::to_string(kLongestPiece));
    for (size_t cut = 1; cut < piece.size(); ++cut)
      if (ids.contains(piece.substr(0, cut)) && ids.contains(piece.substr(cut)))
        merges.push_back({piece.substr(0, cut), piece.substr(cut), tokens.scores[id]});
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Merge& a, const Merge& b) { return a.score > b.score; });
  return merges;
}

void write_replace(std::string_view from, std::string_view to, JsonWriter& json) {
  json.begin_object().member("type", "Replace").key("pattern").begin_object();
  json.member("String", from).end_object().member("content", to).end_object();
}

// Spaces become U+2581 on the way in and spaces on the way out; what no token covers becomes bytes.
void write_sentencepiece_steps(bool prefix_space, JsonWriter& json) {
  json.key("normalizer").begin_object().member("type", "Sequence");
  json.key("normalizers").begin_array();
  if (prefix_space)
    json.begin_object().member("type", "Prepend").member("prepend", kSpace).end_object();
  write_replace(" ", kSpace, json);
  json.end_array().end_object().key("pre_tokenizer").null();
  json.key("decoder").begin_object().member("type", "Sequence").key("decoders").begin_array();
  write_replace(kSpace, " ", json);
  json.begin_object().member("type", "ByteFallback").end_object();
  json.begin_object().member("type", "Fuse").end_object();
  if (prefix_space)
    json.begin_object().member("type", "Strip").member("content", " ").member("start", 1);
  if (prefix_space) json.member("stop", 0).end_object();
  json.end_array().end_object();
}

Result<std::string> sentencepiece_bpe(const GgufHeader& header) {
  SMOE_TRY(const Tokens tokens, tokens_of(header, true));
  SMOE_TRY(const auto prefix, flag_of(header, "tokenizer.ggml.add_space_prefix"));
  SMOE_TRY(const auto squeezes, flag_of(header, "tokenizer.ggml.remove_extra_whitespaces"));
  if (squeezes.value_or(false))
    return Error{Code::kUnsupported,
                 "tokenizer.ggml.remove_extra_whitespaces is true, this build knows false"};
  const auto unknown = std::find(tokens.types.begin(), tokens.types.end(), TokenType::kUnknown);
  JsonWriter json;
  write_head(tokens, json);
  write_sentencepiece_steps(prefix.value_or(true), json);
  SMOE_DO(write_post_processor(header, tokens, true, json));
  json.key("model").begin_object().member("type", "BPE").key("dropout").null();
  json.key("unk_token");
  if (unknown != tokens.types.end()) {
    json.value(tokens.texts[static_cast<size_t>(unknown - tokens.types.begin())]);
  } else {
    json.null();
  }
  json.key("continuing_subword_prefix").null().key("end_of_word_suffix").null();
  json.member("fuse_unk", true).member("byte_fallback", true).member("ignore_merges", false);
  SMOE_DO(write_vocabulary(tokens, true, json));
  json.key("merges").begin_array();
  SMOE_TRY(const std::vector<Merge> merges, merges_of(tokens));
  for (const Merge& merge : merges)
    json.value(std::string(merge.left).append(" ").append(merge.right));
  json.end_array().end_object().end_object();
  return json.take();
}

bool adds_bos_by_default(const GgufHeader& header) {
  if (text_of(header, kModelKey).value_or(std::nullopt) == "llama") return true;
  const auto pre = text_of(header, "tokenizer.ggml.pre").value_or(std::nullopt);
  const auto pretokenizer = pretokenizer_named(pre.value_or(""));
  return pretokenizer && (*pretokenizer)->adds_bos;
}

}  // namespace

Result<std::optional<std::string>> tokenizer_json_of(const GgufHeader& header) {
  SMOE_TRY(const auto model, text_of(header, kModelKey));
  if (!model) return std::optional<std::string>();
  std::string text;
  if (*model == "gpt2") {
    SMOE_TRY(text, byte_level_bpe(header));
  } else if (*model == "llama") {
    SMOE_TRY(text, sentencepiece_bpe(header));
  } else {
    return Error{Code::kUnsupported, std::string(kModelKey) + " is " +
                                         json_quote(model->substr(0, 60)) +
                                         ", this build knows gpt2, llama"};
  }
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<std::string>> tokenizer_config_of(const GgufHeader& header) {
  SMOE_TRY(const auto model, text_of(header, kModelKey));
  if (!model) return std::optional<std::string>();
  SMOE_TRY(const Tokens tokens, tokens_of(header, false));
  JsonWriter json(2);
  json.begin_object();
  for (const auto& [name, key] : {std::pair{"bos", "bos_token"},
                                  {"eos", "eos_token"},
                                  {"unknown", "unk_token"},
                                  {"padding", "pad_token"}}) {
    SMOE_TRY(const auto id, special_id(header, name, tokens.texts.size()));
    if (id) json.member(key, tokens.texts[*id]);
  }
  SMOE_TRY(const auto adds_bos, flag_of(header, "tokenizer.ggml.add_bos_token"));
  SMOE_TRY(const auto adds_eos, flag_of(header, "tokenizer.ggml.add_eos_token"));
  json.member("add_bos_token", adds_bos.value_or(adds_bos_by_default(header)));
  json.member("add_eos_token", adds_eos.value_or(false)).end_object();
  return std::optional<std::string>(json.take() + "\n");
}

}  // namespace smoe
