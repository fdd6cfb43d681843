// Regular expressions of a tokenizer.json, matched as the reference library matches them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex_syntax.h"

struct pcre2_real_code_8;

namespace smoe {

// Bytes [begin, end) of some text.
struct TextRange {
  size_t begin;
  size_t end;
  friend bool operator==(TextRange, TextRange) = default;
};

// What matching may still cost. Texts that come together share it.
struct MatchSteps {
  static MatchSteps for_text(size_t bytes);
  uint64_t left;
};

class Regex {
 public:
  // Oniguruma's Ruby syntax. Fails: kUnsupported, kCorrupt, with the reason; kUnsupported above
  // 4 KiB.
  static Result<Regex> compile(std::string_view pattern);
  // Matches exactly `text`.
  static Result<Regex> literal(std::string_view text);

  // `text`, or a copy in `storage` of the same length in which characters that PCRE2's Unicode
  // does not know are replaced by some of the same kind. The finder wants such text.
  std::string_view known(std::string_view text, std::string& storage) const;

  // Finds matches; has the memory that this takes, and the number of steps that all matches in one
  // text may take together. Lifetime: ends before the Regex. Threads: one.
  class Finder {
   public:
    Finder(const Regex& regex, size_t text_bytes);
    // Lifetime: ends before `shared`.
    Finder(const Regex& regex, MatchSteps& shared);
    ~Finder();
    Finder(const Finder&) = delete;
    Finder& operator=(const Finder&) = delete;

    // Appends all matches in text[range], which is matched as if nothing were around it. Offsets
    // are those of `text`. Needs valid UTF-8 that went through known().
    // Fails: kUnsupported when matching takes more steps or memory than a tokenizer may.
    Status find_all(std::string_view text, TextRange range, std::vector<TextRange>& matches);

   private:
    struct State;
    void prepare(const Regex& regex, MatchSteps& steps);
    // Whether there is a match at `at` or behind it.
    Result<bool> find(std::string_view subject, size_t at);

    std::unique_ptr<State> state_;
  };

 private:
  struct Replacement {
    char32_t first;
    char32_t last;
    char32_t stand_in;
  };
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };

  static Result<Regex> compile_translated(const TranslatedRegex& regex);
  void choose_stand_ins(const std::vector<CodePointRange>& mentioned);
  char32_t stand_in(char32_t code_point) const;

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
  std::vector<Replacement> replacements_;  // ascending
  std::vector<bool> affected_blocks_;      // of 256 code points
};

}  // namespace smoe
