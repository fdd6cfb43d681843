// The steps of a decoder at work. Each takes tokens as text that may come in parts, because a step
// before it may have made one token of all (Fuse), and passes on what is certain.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "text/decoder.h"
#include "text/regex.h"

namespace smoe {

// Adding a kind of step means an enumerator, a stage and its line in make_stage(); bytes_of() in
// decoder.cpp has the third place.
struct Decoder::Step {
  enum class Kind { kByteLevel, kMetaspace, kReplace, kByteFallback, kFuse, kStrip };
  Kind kind;
  std::string content = {};         // kMetaspace, kStrip: a character; kReplace: the new text
  std::string literal = {};         // kReplace: what is looked for, unless a regex is
  std::optional<Regex> regex = {};  // kReplace
  bool drops_first = false;         // kMetaspace: in the first token
  size_t start = 0;                 // kStrip: characters at most
  size_t stop = 0;
};

class Decoder::Stage {
 public:
  virtual ~Stage() = default;
  // More text of the current token: whole characters.
  virtual void text(std::string_view text) = 0;
  virtual void end_token() = 0;
  virtual void finish() = 0;
};

// Lifetime: ends before `step` and `next`.
std::unique_ptr<Decoder::Stage> make_stage(const Decoder::Step& step, Decoder::Stage& next);

// Collects text.
class CollectingStage : public Decoder::Stage {
 public:
  void text(std::string_view text) override { text_.append(text); }
  void end_token() override {}
  void finish() override {}
  void take(std::string& text) {
    text.append(text_);
    text_.clear();
  }

 private:
  std::string text_;
};

}  // namespace smoe
