// Walks JSON text without building a tree, for the two tables of a tokenizer.json that make up
// nearly all of it (a tree of Qwen3's file takes a quarter of a second).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smoe {

// Every call skips white space first and moves on only when it finds what it looks for.
class JsonScanner {
 public:
  // Needs valid UTF-8.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  bool take(char punctuation);
  bool at_end();
  // Strictly as RFC 8259 has it. The result lies in the text, or in `scratch` when there are
  // escapes; nothing when it is no string, or one with half a surrogate pair.
  std::optional<std::string_view> string(std::string& scratch);
  // Digits only.
  std::optional<uint64_t> whole_number();
  // Any number of JSON.
  std::optional<double> number();
  // The text of the next value. Brackets must balance; what is between them is not checked.
  std::optional<std::string_view> value();

 private:
  void skip_space();
  bool skip_string();
  bool append_escape(std::string& to);
  std::optional<uint32_t> four_hex_digits();

  std::string_view text_;
  size_t at_ = 0;
};

// A tokenizer.json whose tables have been cut out.
struct TokenizerTables {
  std::string rest;         // the same with null in place of the tables
  std::string_view vocab;   // the value of model.vocab, "" when there is none
  std::string_view merges;  // of model.merges
};

// Nothing when the text is no object or breaks off; the reader of whole files says why.
std::optional<TokenizerTables> cut_out_tables(std::string_view json);

}  // namespace smoe
