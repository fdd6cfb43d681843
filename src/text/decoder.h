// The decoder of a tokenizer.json: from tokens back to text.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/regex.h"

namespace smoe {

class Decoder {
 public:
  // `description` is the value of "decoder". Fails: kUnsupported with the step's name, kCorrupt.
  static Result<Decoder> from_json(const Json& description);

  // Appends what a token stands for in the middle of a text; a token of a byte stands for it.
  void append_bytes_of(std::string& bytes, std::string_view token) const;

  struct Step;
  // One step at work: takes the text of tokens and passes text on.
  class Stage;

  // Decodes token by token. The pieces that push() and finish() append are the decoded text of all
  // tokens, each is valid UTF-8, and each comes as early as any continuation allows.
  // Lifetime: ends before the decoder. Threads: one.
  class Stream {
   public:
    explicit Stream(const Decoder& decoder);
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();

    void push(std::string_view token, std::string& text);
    // No more tokens come. The stream is not used after it.
    void finish(std::string& text);

   private:
    std::vector<std::unique_ptr<Stage>> stages_;  // the last one collects the text
  };

  Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

 private:
  Status add_step(const Json& description);

  std::vector<Step> steps_;
  size_t growth_ = 1;  // how many times as long the steps make a text at most
};

}  // namespace smoe
