#include "text/tokenizer_file.h"

#include <algorithm>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/json_scanner.h"
#include "text/step_fields.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// Steps that only move the offsets of tokens, which nothing here asks for.
bool changes_offsets_only(std::string_view type) { return type == "ByteLevel"; }

Result<std::vector<TokenId>> template_ids(const Json& special_tokens, std::string_view name,
                                          const Model& model, const AddedTokens& added) {
  const Json* entry = special_tokens.find(name);
  const Json* ids = entry == nullptr ? nullptr : entry->find("ids");
  if (ids == nullptr || !ids->is_array())
    return Error{Code::kCorrupt,
                 "post_processor TemplateProcessing: no ids for " + json_quote(name)};
  std::vector<TokenId> result;
  for (const Json& item : ids->items()) {
    const auto number = item.as_uint();
    const TokenId id{number && *number <= kMaxTokenId ? static_cast<uint32_t>(*number)
                                                      : kMaxTokenId};
    const bool known = model.vocabulary().holds(id) ||
                       std::any_of(added.all().begin(), added.all().end(),
                                   [&](const AddedToken& token) { return token.id == id; });
    if (!known)
      return Error{Code::kCorrupt, "post_processor TemplateProcessing: " + json_quote(name) +
                                       " has an id that is no token"};
    result.push_back(id);
  }
  return result;
}

// "single": special tokens before and after the one sequence. "pair" is for two texts.
Result<Tokenizer::Affixes> read_template(const StepFields& step, const Model& model,
                                         const AddedTokens& added) {
  SMOE_DO(step.only({"single", "pair", "special_tokens"}));
  SMOE_TRY(const auto* pieces, step.array("single"));
  const Json* special_tokens = step.value("special_tokens");
  if (special_tokens == nullptr) return step.wrong("special_tokens", "an object");
  Tokenizer::Affixes affixes;
  bool behind = false;
  for (const Json& piece : *pieces) {
    const Json* special = piece.find("SpecialToken");
    if (special == nullptr) {
      const Json* sequence = piece.find("Sequence");
      const Json* id = sequence == nullptr ? nullptr : sequence->find("id");
      if (id == nullptr || id->as_string() != "A" || std::exchange(behind, true))
        return step.wrong("single", "special tokens around one sequence A");
      continue;
    }
    const Json* name = special->find("id");
    if (name == nullptr || !name->is_string()) return step.wrong("single", "named tokens");
    SMOE_TRY(const auto ids, template_ids(*special_tokens, *name->as_string(), model, added));
    auto& to = behind ? affixes.after : affixes.before;
    to.insert(to.end(), ids.begin(), ids.end());
  }
  if (!behind) return step.wrong("single", "special tokens around one sequence A");
  return affixes;
}

Status add_post_processor(const Json& description, const Model& model, const AddedTokens& added,
                          Tokenizer::Affixes& affixes) {
  SMOE_TRY(const StepFields step, StepFields::of(description, "post_processor"));
  if (changes_offsets_only(step.type()))
    return step.only({"add_prefix_space", "trim_offsets", "use_regex"});
  if (step.type() == "TemplateProcessing") {
    SMOE_TRY(const Tokenizer::Affixes more, read_template(step, model, added));
    affixes.before.insert(affixes.before.begin(), more.before.begin(), more.before.end());
    affixes.after.insert(affixes.after.end(), more.after.begin(), more.after.end());
    return {};
  }
  if (step.type() != "Sequence") return step.unsupported();
  SMOE_DO(step.only({"processors"}));
  SMOE_TRY(const auto* steps, step.array("processors"));
  for (const Json& inner : *steps) SMOE_DO(add_post_processor(inner, model, added, affixes));
  return {};
}

Result<AddedTokens> read_added_tokens(const StepFields& file, const Model& model,
                                      const Normalizer& normalizer) {
  std::vector<AddedToken> tokens;
  if (file.value("added_tokens") != nullptr) {
    SMOE_TRY(const auto* descriptions, file.array("added_tokens"));
    for (const Json& description : *descriptions) {
      SMOE_TRY(AddedToken token, AddedToken::from_json(description));
      const auto known = model.vocabulary().find(token.content);
      const bool taken = model.vocabulary().holds(token.id);
      if (known ? *known != token.id : taken)
        return Error{Code::kCorrupt,
                     "added token " + json_quote(token.content) + ": has id " +
                         std::to_string(index_of(token.id)) + ", in the vocabulary " +
                         (known ? "it has id " + std::to_string(index_of(*known))
                                : "that is " + json_quote(model.vocabulary().text_of(token.id)))};
      tokens.push_back(std::move(token));
    }
  }
  return AddedTokens::make(std::move(tokens), normalizer);
}

// What has no token would vanish from the text without a word.
Status check_alphabet(const Pretokenizer& pretokenizer, const Model& model) {
  if (model.loses_nothing()) return {};
  if (!pretokenizer.spells_bytes())
    return Error{Code::kUnsupported,
                 "model BPE: without an unknown token, byte_fallback or a ByteLevel pre_tokenizer, "
                 "characters could get lost"};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool in_utf8 = byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
    std::string letter;
    append_utf8(letter, letter_of_byte(static_cast<uint8_t>(byte)));
    if (in_utf8 && !model.vocabulary().find(letter))
      return Error{Code::kUnsupported, "model BPE: the vocabulary has no token for byte " +
                                           std::to_string(byte) + " (" + json_quote(letter) + ")"};
  }
  return {};
}

}  // namespace

Result<TokenizerFile> read_tokenizer_parts(std::string_view json, const ReadModel& read_model) {
  SMOE_TRY(const Json document, Json::parse(json));
  SMOE_TRY(const StepFields file, StepFields::untyped(document, "tokenizer"));
  // Truncation and padding are left-overs of training; every caller of the reference resets them.
  SMOE_DO(file.only({"version", "truncation", "padding", "added_tokens", "normalizer",
                     "pre_tokenizer", "post_processor", "decoder", "model"}));
  SMOE_TRY(const std::string_view version, file.string("version"));
  if (version != "1.0")
    return Error{Code::kUnsupported,
                 "tokenizer: version " + json_quote(version) + ", this build reads \"1.0\""};
  const Json none;
  const auto part = [&](std::string_view field) -> const Json& {
    const Json* value = file.value(field);
    return value == nullptr ? none : *value;
  };
  TokenizerFile parts;
  SMOE_TRY(parts.normalizer, Normalizer::from_json(part("normalizer")));
  SMOE_TRY(parts.pretokenizer, Pretokenizer::from_json(part("pre_tokenizer")));
  SMOE_TRY(parts.decoder, Decoder::from_json(part("decoder")));
  SMOE_TRY(parts.model, read_model(part("model")));
  SMOE_TRY(parts.added, read_added_tokens(file, parts.model, parts.normalizer));
  if (!part("post_processor").is_null())
    SMOE_DO(add_post_processor(part("post_processor"), parts.model, parts.added, parts.affixes));
  SMOE_DO(check_alphabet(parts.pretokenizer, parts.model));
  return parts;
}

Result<TokenizerFile> read_tokenizer_file(std::string_view json) {
  if (const auto invalid = first_invalid_utf8(json))
    return Error{Code::kCorrupt, "byte " + std::to_string(*invalid) + " is no UTF-8"};
  const auto tables = cut_out_tables(json);
  return read_tokenizer_parts(tables ? tables->rest : json, [&](const Json& description) {
    return Model::from_json(description, tables ? tables->vocab : "", tables ? tables->merges : "");
  });
}

}  // namespace smoe
