#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "text/byte_token.h"
#include "text/json_scanner.h"
#include "text/step_fields.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// How much worse than the worst token an unknown character is.
constexpr double kUnknownPenalty = 10.0;

Error corrupt(const std::string& message) { return {Code::kCorrupt, "model Unigram: " + message}; }

}  // namespace

Result<Unigram::Options> Unigram::read_options(const Json& description) {
  SMOE_TRY(const StepFields model, StepFields::of(description, "model"));
  SMOE_DO(model.only({"unk_id", "vocab", "byte_fallback"}));
  Options options;
  SMOE_TRY(options.byte_fallback, model.boolean("byte_fallback", false));
  if (model.value("unk_id") != nullptr) {
    SMOE_TRY(const uint32_t unknown, model.id("unk_id"));
    options.unknown = TokenId{unknown};
  }
  return options;
}

Result<Unigram> Unigram::from_json(const Json& description, std::string_view vocab) {
  SMOE_TRY(const Options options, read_options(description));
  JsonScanner scanner(vocab);
  if (!scanner.take('[')) return corrupt("\"vocab\" should be an array");
  Vocabulary vocabulary;
  std::vector<double> scores;
  std::string scratch;
  for (bool first = true; !scanner.take(']'); first = false) {
    if (!first && !scanner.take(',')) return corrupt("\"vocab\" is no JSON");
    const auto id = static_cast<uint32_t>(scores.size());
    if (id > kMaxTokenId) return corrupt("\"vocab\" is too long");
    const auto text = scanner.take('[') ? scanner.string(scratch) : std::nullopt;
    if (!text || !scanner.take(',')) return corrupt("token " + std::to_string(id) + " is no pair");
    const std::string token(*text);
    const auto score = scanner.number();
    if (!score || !scanner.take(']'))
      return corrupt("token " + std::to_string(id) + " has no score");
    if (!vocabulary.add(token, TokenId{id}))
      return Error{Code::kUnsupported, "model Unigram: " + json_quote(token) +
                                           " is there twice, which is not supported"};
    scores.push_back(*score);
  }
  return make(std::move(vocabulary), std::move(scores), options);
}

Result<Unigram> Unigram::make(Vocabulary vocabulary, std::vector<double> scores, Options options) {
  if (scores.empty() || vocabulary.size() != scores.size() || vocabulary.tokens() != scores.size())
    return corrupt("\"vocab\" is empty or has holes");
  if (options.unknown && index_of(*options.unknown) >= scores.size())
    return corrupt("\"unk_id\" should be a token of the vocabulary");
  if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); }))
    return corrupt("a score is not finite");
  Unigram model;
  model.unknown_score_ = *std::min_element(scores.begin(), scores.end()) - kUnknownPenalty;
  model.vocabulary_ = std::move(vocabulary);
  model.scores_ = std::move(scores);
  model.options_ = options;
  for (uint32_t id = 0; id < model.scores_.size(); ++id)
    if (!model.vocabulary_.text_of(TokenId{id}).empty()) model.sorted_.push_back(id);
  std::sort(model.sorted_.begin(), model.sorted_.end(), [&](uint32_t a, uint32_t b) {
    return model.vocabulary_.text_of(TokenId{a}) < model.vocabulary_.text_of(TokenId{b});
  });
  for (unsigned byte = 0; byte < 256 && options.byte_fallback; ++byte) {
    const auto id = model.vocabulary_.find(byte_token(static_cast<uint8_t>(byte)));
    model.byte_tokens_.push_back(id ? static_cast<uint32_t>(*id) : UINT32_MAX);
  }
  return model;
}

// Calls use(bytes, id) for each token that `text` begins with, the shortest first: the range of
// sorted tokens that agree with the text is narrowed byte by byte.
template <class Use>
void Unigram::for_each_prefix(std::string_view text, const Use& use) const {
  auto begin = sorted_.begin();
  auto end = sorted_.end();
  for (size_t at = 0; at < text.size() && begin != end; ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const auto byte_of = [&](uint32_t id) {
      return static_cast<uint8_t>(vocabulary_.text_of(TokenId{id})[at]);
    };
    begin = std::partition_point(begin, end, [&](uint32_t id) { return byte_of(id) < byte; });
    end = std::partition_point(begin, end, [&](uint32_t id) { return byte_of(id) == byte; });
    if (begin == end) return;
    if (vocabulary_.text_of(TokenId{*begin}).size() == at + 1) {
      use(at + 1, *begin);
      ++begin;
    }
  }
}

Result<std::vector<Unigram::Node>> Unigram::best_paths(std::string_view piece) const {
  std::vector<Node> nodes(piece.size() + 1);
  for (size_t at = 0; at < piece.size();) {
    const size_t character_bytes = utf8_step(piece, at).bytes;
    const double so_far = nodes[at].score;
    const auto offer = [&](size_t end, double score, bool unknown) {
      Node& node = nodes[end];
      const bool better = node.begin == SIZE_MAX || score > node.score;
      if (better) node = {score, at, unknown};
      return better;
    };
    bool has_character = false;
    for_each_prefix(piece.substr(at), [&](size_t bytes, uint32_t id) {
      offer(at + bytes, scores_[id] + so_far, options_.unknown == TokenId{id});
      has_character = has_character || bytes == character_bytes;
    });
    if (!has_character && offer(at + character_bytes, unknown_score_ + so_far, true) &&
        !options_.unknown)
      return Error{Code::kUnsupported, "model Unigram: no token for " +
                                           json_quote(piece.substr(at, character_bytes)) +
                                           ", and the vocabulary has no unknown token"};
    at += character_bytes;
  }
  return nodes;
}

Status Unigram::encode(std::string_view piece, std::vector<TokenId>& tokens) const {
  SMOE_TRY(const std::vector<Node> nodes, best_paths(piece));
  std::vector<std::string_view> texts;  // the last first
  bool fusing = false;
  for (size_t end = piece.size(); end > 0;) {
    const Node& node = nodes[end];
    if (node.unknown && fusing) {  // neighbours without a token become one unknown token
      texts.back() = piece.substr(node.begin, texts.back().size() + end - node.begin);
    } else {
      texts.push_back(piece.substr(node.begin, end - node.begin));
    }
    fusing = node.unknown;
    end = node.begin;
  }
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) append_token(*text, tokens);
  return {};
}

void Unigram::append_token(std::string_view text, std::vector<TokenId>& tokens) const {
  const auto byte_token_of = [&](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)]; };
  if (const auto id = vocabulary_.find(text)) {
    tokens.push_back(*id);
  } else if (!byte_tokens_.empty() && std::all_of(text.begin(), text.end(), [&](char byte) {
               return byte_token_of(byte) != UINT32_MAX;
             })) {
    for (const char byte : text) tokens.push_back(TokenId{byte_token_of(byte)});
  } else {
    tokens.push_back(*options_.unknown);
  }
}

}  // namespace smoe
