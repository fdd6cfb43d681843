// Tokens that are found in text as they stand, before anything is split: special tokens and others
// that were added to a vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/token.h"
#include "text/normalizer.h"
#include "text/regex.h"

namespace smoe {

struct AddedToken {
  TokenId id{};
  std::string content;
  bool single_word = false;  // only where no letter, digit or mark touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;
  bool normalized = false;  // is looked for in normalised text
  bool special = false;

  // Whether it steers the model, so that nobody but the template may write it: a special token, or
  // one that is written like a tag. Models mark many of those (<think>, [INST]) as not special.
  bool is_control() const;

  static Result<AddedToken> from_json(const Json& description);
};

// A stretch of text: an added token, or text between them.
struct AddedTokenMatch {
  std::string_view text;
  const AddedToken* token;  // nullptr for text
};

class AddedTokens {
 public:
  // Fails: kUnsupported when a token is longer than kMaxContentBytes.
  static Result<AddedTokens> make(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  enum class Text { kAsWritten, kNormalized };
  // Whether a token may be taken at bytes [begin, end) of the text.
  using Allowed = std::function<bool(const AddedToken& token, size_t begin, size_t end)>;
  struct Search {
    Text kind;
    bool parse_special = true;         // otherwise special tokens are text
    const Allowed* allowed = nullptr;  // all are, when there is none
  };
  // Cuts `text` at the tokens that are to be found in it: the leftmost, then the longest.
  void cut(std::string_view text, const Search& search,
           std::vector<AddedTokenMatch>& matches) const;

  bool is_control(TokenId id) const {
    return index_of(id) < control_.size() && control_[index_of(id)];
  }

  const std::vector<AddedToken>& all() const { return tokens_; }

  static constexpr size_t kMaxContentBytes = 1024;

 private:
  // Finds the longest of a set of strings that begins at a place in a text.
  class Trie {
   public:
    Trie();
    void add(std::string_view text, uint32_t token);
    struct Match {
      uint32_t token = kNothing;
      size_t bytes = 0;
    };
    template <class Accept>
    Match longest(std::string_view text, size_t at, const Accept& accept) const;
    bool empty() const { return nodes_.size() == 1; }
    static constexpr uint32_t kNothing = UINT32_MAX;

   private:
    struct Node {
      uint32_t token = kNothing;
      uint32_t first_child = 0;  // 0: none, the root is nobody's child
      uint32_t sibling = 0;
      char byte = 0;
    };
    uint32_t child_of(uint32_t node, char byte) const;

    std::vector<Node> nodes_;
    std::vector<uint32_t> roots_;  // children of the root, by byte
  };

  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;
  std::vector<bool> control_;            // by id
  std::optional<Regex> word_character_;  // there when a token needs it
  Trie as_written_;
  Trie normalized_;
};

}  // namespace smoe
