#include "text/added_tokens.h"

#include <algorithm>

#include "text/step_fields.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

size_t end_of_spaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (!is_space(step.code_point)) break;
    at += step.bytes;
  }
  return at;
}

// Does not look before `limit`.
size_t begin_of_spaces(std::string_view text, size_t at, size_t limit) {
  while (at > limit) {
    const size_t before = previous_character(text, at);
    if (!is_space(utf8_step(text, before).code_point)) break;
    at = before;
  }
  return at;
}

// Letters, marks, digits, connectors and joiners: `\w` of the reference's own regex engine, which
// is not the one that pre-tokenizers use.
constexpr std::string_view kWordCharacter =
    R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}])";

}  // namespace

Result<AddedToken> AddedToken::from_json(const Json& description) {
  SMOE_TRY(const StepFields fields, StepFields::untyped(description, "added token"));
  SMOE_DO(
      fields.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
  AddedToken token;
  SMOE_TRY(const uint32_t id, fields.id("id"));
  token.id = TokenId{id};
  SMOE_TRY(token.content, fields.string("content"));
  SMOE_TRY(token.single_word, fields.boolean("single_word"));
  SMOE_TRY(token.lstrip, fields.boolean("lstrip"));
  SMOE_TRY(token.rstrip, fields.boolean("rstrip"));
  SMOE_TRY(token.normalized, fields.boolean("normalized"));
  SMOE_TRY(token.special, fields.boolean("special"));
  return token;
}

bool AddedToken::is_control() const {
  const auto is_tag = [&](char open, char close) {
    return content.size() > 2 && content.front() == open && content.back() == close;
  };
  return special || is_tag('<', '>') || is_tag('[', ']');
}

AddedTokens::Trie::Trie() : nodes_(1), roots_(256, 0) {}

uint32_t AddedTokens::Trie::child_of(uint32_t node, char byte) const {
  if (node == 0) return roots_[static_cast<unsigned char>(byte)];
  uint32_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void AddedTokens::Trie::add(std::string_view text, uint32_t token) {
  uint32_t node = 0;
  for (const char byte : text) {
    uint32_t child = child_of(node, byte);
    if (child == 0) {
      child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({kNothing, 0, nodes_[node].first_child, byte});
      if (node == 0) {
        roots_[static_cast<unsigned char>(byte)] = child;
      } else {
        nodes_[node].first_child = child;
      }
    }
    node = child;
  }
  if (nodes_[node].token == kNothing) nodes_[node].token = token;
}

// Of the tokens that accept(token, end) takes.
template <class Accept>
AddedTokens::Trie::Match AddedTokens::Trie::longest(std::string_view text, size_t at,
                                                    const Accept& accept) const {
  Match match;
  uint32_t node = 0;
  for (size_t end = at; end < text.size();) {
    node = child_of(node, text[end]);
    if (node == 0) break;
    ++end;
    const uint32_t token = nodes_[node].token;
    if (token != kNothing && accept(token, end)) match = {token, end - at};
  }
  return match;
}

Result<AddedTokens> AddedTokens::make(std::vector<AddedToken> tokens,
                                      const Normalizer& normalizer) {
  AddedTokens added;
  added.tokens_ = std::move(tokens);
  if (std::any_of(added.tokens_.begin(), added.tokens_.end(),
                  [](const AddedToken& token) { return token.single_word; })) {
    SMOE_TRY(added.word_character_, Regex::compile(kWordCharacter));
  }
  // Together, or a file of many tokens would take the limit once for each.
  size_t bytes = 0;
  for (const AddedToken& token : added.tokens_) bytes += token.content.size();
  MatchSteps steps = MatchSteps::for_text(bytes);
  // Of two that normalise to the same text, a special one comes first.
  for (const bool special : {true, false}) {
    for (uint32_t index = 0; index < added.tokens_.size(); ++index) {
      const AddedToken& token = added.tokens_[index];
      if (token.special != special || token.content.empty()) continue;
      if (added.control_.size() <= index_of(token.id))
        added.control_.resize(index_of(token.id) + 1);
      if (token.is_control()) added.control_[index_of(token.id)] = true;
      if (token.content.size() > kMaxContentBytes)
        return Error{Code::kUnsupported, "added token " + json_quote(token.content.substr(0, 32)) +
                                             "…: longer than " + std::to_string(kMaxContentBytes) +
                                             " bytes"};
      if (token.normalized) {
        SMOE_TRY(const SourcedText normal,
                 normalizer.normalize(SourcedText{.text = token.content}, steps));
        if (normal.text.empty())
          return Error{Code::kUnsupported,
                       "added token " + json_quote(token.content) + ": its normal form is empty"};
        added.normalized_.add(normal.text, index);
      } else {
        added.as_written_.add(token.content, index);
      }
    }
  }
  return added;
}

bool AddedTokens::stands_alone(std::string_view text, size_t begin, size_t end) const {
  const auto is_word = [&](size_t at) {
    const std::string_view character = text.substr(at, utf8_step(text, at).bytes);
    std::string storage;
    std::vector<TextRange> found;
    Regex::Finder finder(*word_character_, character.size());
    const Status status =
        finder.find_all(word_character_->known(character, storage), {0, character.size()}, found);
    return status && !found.empty();
  };
  return (begin == 0 || !is_word(previous_character(text, begin))) &&
         (end == text.size() || !is_word(end));
}

void AddedTokens::cut(std::string_view text, const Search& search,
                      std::vector<AddedTokenMatch>& matches) const {
  const Trie& trie = search.kind == Text::kNormalized ? normalized_ : as_written_;
  size_t covered = 0;
  for (size_t at = trie.empty() ? text.size() : 0; at < text.size();) {
    const Trie::Match match = trie.longest(text, at, [&](uint32_t token, size_t end) {
      return search.allowed == nullptr || (*search.allowed)(tokens_[token], at, end);
    });
    if (match.bytes == 0) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + match.bytes;
    at = end;
    const AddedToken& token = tokens_[match.token];
    if (token.special && !search.parse_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.rstrip) end = end_of_spaces(text, end);
    if (token.lstrip) begin = std::max(covered, begin_of_spaces(text, begin, covered));
    // A token of white space may lie within what rstrip took along. The reference finds it there
    // still, unless lstrip leaves nothing of it.
    if (covered < begin) matches.push_back({text.substr(covered, begin - covered), nullptr});
    if (begin < end) matches.push_back({text.substr(begin, end - begin), &token});
    covered = end;
  }
  if (covered < text.size()) matches.push_back({text.substr(covered), nullptr});
}

}  // namespace smoe
