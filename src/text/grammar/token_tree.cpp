#include "text/grammar/token_tree.h"

#include <algorithm>
#include <utility>

namespace smoe {
namespace {

constexpr size_t kTokenTreeMaxBytes = UINT16_MAX;  // a longer token is never allowed

size_t shared_bytes(std::string_view a, std::string_view b) {
  const auto [end, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(end - a.begin());
}

}  // namespace

std::string control_text(std::string_view name) { return kControlByte + std::string(name); }

std::string grammar_bytes(const Tokenizer& tokenizer, TokenId token) {
  if (tokenizer.is_special(token)) return control_text(tokenizer.spelling_of(token));
  return std::string(tokenizer.bytes_of(token));
}

std::string grammar_text(const Tokenizer& tokenizer, std::string_view text) {
  const auto tokens = tokenizer.encode(text);
  std::string result;
  for (const TokenId token : tokens ? *tokens : std::vector<TokenId>()) {
    if (!tokenizer.is_special(token)) continue;
    const std::string_view name = tokenizer.spelling_of(token);
    const size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    result.append(text.substr(0, at)).append(control_text(name));
    text.remove_prefix(at + name.size());
  }
  return result.append(text);
}

TokenTree::TokenTree(const Tokenizer& tokenizer) {
  std::vector<std::pair<std::string, TokenId>> sorted;
  sorted.reserve(tokenizer.size());
  for (uint32_t id = 0; id < tokenizer.size(); ++id) {
    std::string bytes = grammar_bytes(tokenizer, TokenId{id});
    const bool is_text =
        tokenizer.is_special(TokenId{id}) || bytes.find(kControlByte) == std::string::npos;
    if (is_text && !bytes.empty() && bytes.size() <= kTokenTreeMaxBytes)
      sorted.emplace_back(std::move(bytes), TokenId{id});
  }
  std::sort(sorted.begin(), sorted.end());
  tokens_.reserve(sorted.size());
  std::vector<uint32_t> open;  // the nodes of the current token's bytes
  std::string_view before;
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  for (const auto& [bytes, id] : sorted) {
    close_to(shared_bytes(before, bytes));
    while (open.size() < bytes.size()) {
      const auto byte = static_cast<uint8_t>(bytes[open.size()]);
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {byte, static_cast<uint16_t>(open.size()), static_cast<uint32_t>(tokens_.size()), 0});
    }
    tokens_.push_back(id);
    longest_ = std::max(longest_, bytes.size());
    before = bytes;
  }
  close_to(0);
  nodes_.push_back({0, 0, static_cast<uint32_t>(tokens_.size()), 0});
}

}  // namespace smoe
