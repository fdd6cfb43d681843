#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>
#include <span>
#include <string>

#include "text/byte_token.h"
#include "text/json_scanner.h"
#include "text/step_fields.h"
#include "text/utf8.h"

namespace smoe {
namespace {

constexpr char32_t kShortCharacters = 0x200;
constexpr uint32_t kNone = UINT32_MAX;
// Below this many symbols a scan for the lowest rank beats a heap.
constexpr size_t kFewSymbols = 48;

Error bpe_corrupt(const std::string& message) { return {Code::kCorrupt, "model BPE: " + message}; }

// A slot of the merge table: 22 bits for each id (kMaxTokenId), 20 for the rank.
constexpr unsigned kRankBits = 20;
constexpr uint64_t kRankMask = (uint64_t{1} << kRankBits) - 1;
constexpr unsigned kIdBits = 22;
static_assert(kMaxTokenId < (1u << kIdBits));
constexpr uint64_t kEmptySlot = UINT64_MAX;
constexpr size_t kMaxMerges = kRankMask;  // the last rank could make a pair look like no pair

// Far enough ahead that a slot has come from memory when it is needed.
constexpr size_t kPrefetchDistance = 16;

uint64_t pair_of(TokenId left, TokenId right) {
  return (static_cast<uint64_t>(left) << kIdBits) | static_cast<uint64_t>(right);
}

// A merge that is possible, or was when it was queued.
struct Candidate {
  uint32_t rank;
  uint32_t position;

  // For a priority queue that gives the lowest rank first, then the leftmost.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

struct Symbol {
  TokenId token;
  uint32_t previous;
  uint32_t next;
  bool alive;
};

}  // namespace

void Bpe::MergeTable::reserve(size_t merges) {
  slots_.assign(std::bit_ceil(merges * 2 + 16), kEmptySlot);
}

size_t Bpe::MergeTable::slot_of(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  // Multiplication by 2^64 / golden ratio spreads the low bits of both ids over the high ones.
  size_t slot = static_cast<size_t>((pair * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (slots_[slot] != kEmptySlot && slots_[slot] >> kRankBits != pair) slot = (slot + 1) & mask;
  return slot;
}

void Bpe::MergeTable::set(TokenId left, TokenId right, uint32_t rank) {
  const uint64_t pair = pair_of(left, right);
  slots_[slot_of(pair)] = (pair << kRankBits) | rank;
}

void Bpe::MergeTable::prefetch(TokenId left, TokenId right) const {
  const uint64_t hash = (pair_of(left, right) * 0x9e3779b97f4a7c15u) >> 32;
  __builtin_prefetch(&slots_[static_cast<size_t>(hash) & (slots_.size() - 1)], 1);
}

uint32_t Bpe::MergeTable::find(TokenId left, TokenId right) const {
  const uint64_t slot = slots_[slot_of(pair_of(left, right))];
  return slot == kEmptySlot ? kNone : static_cast<uint32_t>(slot & kRankMask);
}

Result<Bpe> Bpe::from_json(const Json& description, std::string_view vocab,
                           std::string_view merges) {
  SMOE_TRY(Vocabulary vocabulary, read_vocabulary(vocab));
  SMOE_TRY(const std::vector<MergeRule> rules, read_merges(merges, vocabulary));
  return make(description, std::move(vocabulary), PackedArray<MergeRule>(std::span(rules)));
}

Result<Bpe> Bpe::make(const Json& description, Vocabulary vocabulary,
                      PackedArray<MergeRule> rules) {
  Bpe bpe;
  bpe.vocabulary_ = std::move(vocabulary);
  bpe.short_characters_.assign(kShortCharacters, kNone);
  std::string text;
  for (char32_t character = 0; character < kShortCharacters; ++character) {
    text.clear();
    append_utf8(text, character);
    if (const auto id = bpe.vocabulary_.find(text))
      bpe.short_characters_[character] = static_cast<uint32_t>(*id);
  }
  SMOE_DO(bpe.read_options(description));
  if (rules.size() > kMaxMerges)
    return Error{Code::kUnsupported, "model BPE: " + std::to_string(rules.size()) +
                                         " merges, at most " + std::to_string(kMaxMerges) +
                                         " are supported"};
  bpe.merges_.reserve(rules.size());
  bpe.results_.reserve(rules.size());
  for (uint32_t rank = 0; rank < rules.size(); ++rank) {
    if (rank + kPrefetchDistance < rules.size()) {
      const MergeRule later = rules[rank + kPrefetchDistance];
      bpe.merges_.prefetch(later.left, later.right);
    }
    const MergeRule rule = rules[rank];
    bpe.merges_.set(rule.left, rule.right, rank);
    bpe.results_.push_back(rule.result);
  }
  return bpe;
}

Status Bpe::read_options(const Json& description) {
  SMOE_TRY(const StepFields model, StepFields::of(description, "model"));
  if (model.type() != "BPE") return model.unsupported();
  SMOE_DO(model.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                      "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  const Json* dropout = model.value("dropout");
  if (dropout != nullptr && dropout->as_double() != 0.0)
    return Error{Code::kUnsupported, "model BPE: dropout is not supported by this version"};
  for (const std::string_view field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json* affix = model.value(field);
    if (affix != nullptr && affix->as_string() != "")
      return Error{Code::kUnsupported,
                   "model BPE: field " + json_quote(field) + " is not supported by this version"};
  }
  SMOE_TRY(fuse_unknown_, model.boolean("fuse_unk", false));
  SMOE_TRY(ignore_merges_, model.boolean("ignore_merges", false));
  SMOE_TRY(const bool byte_fallback, model.boolean("byte_fallback", false));
  for (unsigned byte = 0; byte < 256 && byte_fallback; ++byte) {
    const auto id = vocabulary_.find(byte_token(static_cast<uint8_t>(byte)));
    byte_tokens_.push_back(id ? static_cast<uint32_t>(*id) : kNone);
  }
  if (model.value("unk_token") == nullptr) return {};
  SMOE_TRY(const std::string_view unknown, model.string("unk_token"));
  unknown_ = vocabulary_.find(unknown);
  if (!unknown_) return model.wrong("unk_token", "a token of the vocabulary");
  return {};
}

Result<Vocabulary> Bpe::read_vocabulary(std::string_view json) {
  JsonScanner scanner(json);
  if (!scanner.take('{')) return bpe_corrupt("\"vocab\" should be an object");
  Vocabulary vocabulary;
  std::string scratch;
  while (!scanner.take('}')) {
    if (vocabulary.tokens() > 0 && !scanner.take(',')) return bpe_corrupt("\"vocab\" is no JSON");
    const auto text = scanner.string(scratch);
    if (!text || !scanner.take(':')) return bpe_corrupt("\"vocab\" is no JSON");
    const auto id = scanner.whole_number();
    if (!id || *id > kMaxTokenId) return bpe_corrupt(json_quote(*text) + " has no usable id");
    const size_t tokens = vocabulary.tokens();
    if (!vocabulary.add(*text, TokenId{static_cast<uint32_t>(*id)}) ||
        vocabulary.tokens() == tokens)
      return bpe_corrupt(json_quote(*text) + " is there twice, or another token has id " +
                         std::to_string(*id));
  }
  return vocabulary;
}

Result<std::vector<Bpe::MergeRule>> Bpe::read_merges(std::string_view json,
                                                     const Vocabulary& vocabulary) {
  JsonScanner scanner(json);
  if (!scanner.take('[')) return bpe_corrupt("\"merges\" should be an array");
  std::vector<MergeRule> rules;
  std::string scratch;
  std::string right_scratch;
  for (bool first = true; !scanner.take(']'); first = false) {
    if (!first && !scanner.take(',')) return bpe_corrupt("\"merges\" is no JSON");
    std::optional<std::string_view> left;
    std::optional<std::string_view> right;
    if (scanner.take('[')) {
      left = scanner.string(scratch);
      if (scanner.take(',')) right = scanner.string(right_scratch);
      if (!scanner.take(']')) right.reset();
    } else if (const auto line = scanner.string(scratch)) {
      if (line->starts_with("#version")) continue;
      const size_t space = line->find(' ');
      if (space != std::string_view::npos && line->find(' ', space + 1) == std::string_view::npos) {
        left = line->substr(0, space);
        right = line->substr(space + 1);
      }
    }
    if (!left || !right)
      return bpe_corrupt("merge " + std::to_string(rules.size()) + " is no pair");
    const auto left_id = vocabulary.find(*left);
    const auto right_id = vocabulary.find(*right);
    const auto result = vocabulary.find(std::string(*left).append(*right));
    if (!left_id || !right_id || !result)
      return bpe_corrupt("merge " + std::to_string(rules.size()) + " of " + json_quote(*left) +
                         " and " + json_quote(*right) + " needs a token that the vocabulary lacks");
    rules.push_back({*left_id, *right_id, *result});
  }
  return rules;
}

bool Bpe::covers_all_bytes() const {
  return !byte_tokens_.empty() &&
         std::find(byte_tokens_.begin(), byte_tokens_.end(), kNone) == byte_tokens_.end();
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& tokens) const {
  if (ignore_merges_) {
    if (const auto whole = vocabulary_.find(piece)) {
      tokens.push_back(*whole);
      return;
    }
  }
  const size_t begin = tokens.size();
  append_characters(piece, tokens);
  if (tokens.size() - begin <= kFewSymbols) {
    merge_few(tokens, begin);
  } else {
    merge_many(tokens, begin);
  }
}

// Whether each byte of the character has a token; if so they are appended.
bool Bpe::append_bytes(std::string_view character, std::vector<TokenId>& tokens) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)]; };
  if (byte_tokens_.empty() || std::any_of(character.begin(), character.end(),
                                          [&](char byte) { return token_of(byte) == kNone; }))
    return false;
  for (const char byte : character) tokens.push_back(TokenId{token_of(byte)});
  return true;
}

void Bpe::append_characters(std::string_view piece, std::vector<TokenId>& tokens) const {
  // The reference holds an unknown token back until the next known character, past tokens of
  // bytes.
  bool unknown_waits = false;
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = utf8_step(piece, at);
    const std::string_view character = piece.substr(at, step.bytes);
    at += step.bytes;
    std::optional<TokenId> token;
    if (step.code_point < kShortCharacters) {
      const uint32_t id = short_characters_[step.code_point];
      if (id != kNone) token = TokenId{id};
    } else {
      token = vocabulary_.find(character);
    }
    if (!token && (append_bytes(character, tokens) || !unknown_)) continue;
    if (unknown_waits && (token || !fuse_unknown_)) tokens.push_back(*unknown_);
    unknown_waits = !token;
    if (token) tokens.push_back(*token);
  }
  if (unknown_waits) tokens.push_back(*unknown_);
}

// Takes the lowest rank again and again; pieces are a handful of characters on average.
void Bpe::merge_few(std::vector<TokenId>& tokens, size_t begin) const {
  std::array<uint32_t, kFewSymbols> ranks;  // ranks[i]: of joining symbols i and i + 1
  const auto symbol = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
  size_t count = tokens.size() - begin;
  const auto at = [&](size_t index) -> TokenId& {
    return symbol[static_cast<std::ptrdiff_t>(index)];
  };
  for (size_t index = 0; index + 1 < count; ++index)
    ranks[index] = merges_.find(at(index), at(index + 1));
  for (;;) {
    size_t best = count;
    uint32_t best_rank = kNone;
    for (size_t index = 0; index + 1 < count; ++index) {
      if (ranks[index] >= best_rank) continue;
      best = index;
      best_rank = ranks[index];
    }
    if (best == count) break;
    at(best) = results_[best_rank];
    --count;
    for (size_t index = best + 1; index < count; ++index) {
      at(index) = at(index + 1);
      ranks[index - 1] = ranks[index];
    }
    if (best > 0) ranks[best - 1] = merges_.find(at(best - 1), at(best));
    if (best + 1 < count) ranks[best] = merges_.find(at(best), at(best + 1));
  }
  tokens.resize(begin + count);
}

// The same with a heap over a linked list, for long pieces. An entry that no longer fits what
// stands at its position is dropped when it comes up.
void Bpe::merge_many(std::vector<TokenId>& tokens, size_t begin) const {
  std::vector<Symbol> symbols;
  const auto count = static_cast<uint32_t>(tokens.size() - begin);
  symbols.reserve(count);
  for (uint32_t index = 0; index < count; ++index)
    symbols.push_back({tokens[begin + index], index == 0 ? kNone : index - 1,
                       index + 1 == count ? kNone : index + 1, true});
  std::vector<Candidate> initial;
  initial.reserve(count);
  for (uint32_t index = 0; index + 1 < count; ++index) {
    const uint32_t rank = merges_.find(symbols[index].token, symbols[index + 1].token);
    if (rank != kNone) initial.push_back({rank, index});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(initial));
  const auto offer = [&](uint32_t left) {
    if (left == kNone || symbols[left].next == kNone) return;
    const uint32_t rank = merges_.find(symbols[left].token, symbols[symbols[left].next].token);
    if (rank != kNone) queue.push({rank, left});
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.position];
    if (!left.alive || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    const uint32_t rank = merges_.find(left.token, right.token);
    if (rank == kNone || results_[rank] != results_[top.rank]) continue;
    left.token = results_[rank];
    right.alive = false;
    left.next = right.next;
    if (right.next != kNone) symbols[right.next].previous = top.position;
    offer(left.previous);
    offer(top.position);
  }
  tokens.resize(begin);
  for (const Symbol& symbol : symbols)
    if (symbol.alive) tokens.push_back(symbol.token);
}

}  // namespace smoe
