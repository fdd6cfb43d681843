#include "text/model.h"

#include <utility>

#include "text/byte_token.h"
#include "text/step_fields.h"
#include "text/utf8.h"

namespace smoe {

Result<Model> Model::from_json(const Json& description, std::string_view vocab,
                               std::string_view merges) {
  SMOE_TRY(const StepFields model, StepFields::of(description, "model"));
  if (model.type() == "Unigram") {
    SMOE_TRY(Unigram unigram, Unigram::from_json(description, vocab));
    return Model(std::move(unigram));
  }
  if (model.type() != "BPE") return model.unsupported();
  SMOE_TRY(Bpe bpe, Bpe::from_json(description, vocab, merges));
  return Model(std::move(bpe));
}

Status Model::encode(std::string_view piece, std::vector<TokenId>& tokens) const {
  if (const auto* unigram = std::get_if<Unigram>(&model_)) return unigram->encode(piece, tokens);
  std::get<Bpe>(model_).encode(piece, tokens);
  return {};
}

std::vector<size_t> Model::ends_of(std::string_view piece, std::span<const TokenId> tokens) const {
  const Vocabulary& known = vocabulary();
  // What a token covers at a place: its own text, or the byte that it stands for.
  const auto covered = [&](TokenId token, size_t at) -> size_t {
    const std::string_view text = known.text_of(token);
    if (!text.empty() && piece.substr(at).starts_with(text)) return text.size();
    const auto byte = byte_of_token(text);
    return byte && at < piece.size() && static_cast<uint8_t>(piece[at]) == *byte ? 1 : 0;
  };
  std::vector<size_t> ends;
  ends.reserve(tokens.size());
  size_t at = 0;
  for (size_t index = 0; index < tokens.size(); ++index) {
    size_t bytes = covered(tokens[index], at);
    if (bytes == 0 && at < piece.size()) {
      // An unknown token covers what lies before the next one that is known.
      bytes = utf8_step(piece, at).bytes;
      while (index + 1 < tokens.size() && at + bytes < piece.size() &&
             covered(tokens[index + 1], at + bytes) == 0 && tokens[index + 1] != tokens[index])
        bytes += utf8_step(piece, at + bytes).bytes;
    }
    at += bytes;
    ends.push_back(at);
  }
  if (!ends.empty()) ends.back() = piece.size();
  return ends;
}

const Vocabulary& Model::vocabulary() const {
  return std::visit([](const auto& model) -> const Vocabulary& { return model.vocabulary(); },
                    model_);
}

bool Model::loses_nothing() const {
  if (const auto* bpe = std::get_if<Bpe>(&model_))
    return bpe->has_unknown_token() || bpe->covers_all_bytes();
  return true;  // Unigram refuses text that it cannot say
}

}  // namespace smoe
