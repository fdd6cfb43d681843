#include "text/decoder_stages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/byte_token.h"
#include "text/utf8.h"

namespace smoe {
namespace {

using Stage = Decoder::Stage;
using Step = Decoder::Step;

constexpr std::string_view kReplacementText = "\xef\xbf\xbd";

// Letters of the byte alphabet back to bytes, and these to text: one token in the end.
class ByteLevelStage : public Stage {
 public:
  explicit ByteLevelStage(Stage& next) : next_(next) {}

  void text(std::string_view text) override { token_.append(text); }

  void end_token() override {
    append_bytes_of_letters(bytes_, token_);
    token_.clear();
    // All but a character that the next bytes could still complete is certain.
    size_t certain = 0;
    while (certain < bytes_.size()) {
      const Utf8Step step = utf8_step(bytes_, certain);
      if (step.truncated) break;
      certain += step.bytes;
    }
    pass_on(certain);
  }

  void finish() override {
    if (!token_.empty()) end_token();
    pass_on(bytes_.size());
    next_.end_token();
    next_.finish();
  }

 private:
  void pass_on(size_t bytes) {
    if (bytes == 0) return;
    std::string text;
    append_repaired(text, std::string_view(bytes_).substr(0, bytes));
    bytes_.erase(0, bytes);
    next_.text(text);
  }

  Stage& next_;
  std::string token_;
  std::string bytes_;
};

// The visible character back to a space; in the first token it is dropped, wherever it stands.
class MetaspaceStage : public Stage {
 public:
  MetaspaceStage(const Step& step, Stage& next)
      : replacement_(step.content), dropping_(step.drops_first), next_(next) {}

  void text(std::string_view text) override {
    size_t copied = 0;
    for (size_t at = text.find(replacement_); at != std::string_view::npos;
         at = text.find(replacement_, copied)) {
      if (at > copied) next_.text(text.substr(copied, at - copied));
      if (!dropping_) next_.text(" ");
      copied = at + replacement_.size();
    }
    if (copied < text.size()) next_.text(text.substr(copied));
  }

  void end_token() override {
    dropping_ = false;
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  std::string_view replacement_;
  bool dropping_;
  Stage& next_;
};

// Within each token. A tail that may become the text that is looked for is held back.
class ReplaceLiteralStage : public Stage {
 public:
  ReplaceLiteralStage(const Step& step, Stage& next)
      : literal_(step.literal), content_(step.content), next_(next) {}

  void text(std::string_view text) override {
    held_.append(text);
    size_t copied = 0;
    for (size_t at = held_.find(literal_); at != std::string::npos;
         at = held_.find(literal_, copied)) {
      pass_on(copied, at);
      if (!content_.empty()) next_.text(content_);
      copied = at + literal_.size();
    }
    const size_t longest = std::min(held_.size() - copied, literal_.size() - 1);
    size_t tail = longest;
    while (tail > 0 && !literal_.starts_with(std::string_view(held_).substr(held_.size() - tail)))
      --tail;
    pass_on(copied, held_.size() - tail);
    held_.erase(0, held_.size() - tail);
  }

  void end_token() override {
    pass_on(0, held_.size());
    held_.clear();
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  void pass_on(size_t begin, size_t end) {
    if (begin < end) next_.text(std::string_view(held_).substr(begin, end - begin));
  }

  std::string_view literal_;
  std::string_view content_;
  Stage& next_;
  std::string held_;
};

// Within each token, which is known only at its end.
class ReplaceRegexStage : public Stage {
 public:
  ReplaceRegexStage(const Step& step, Stage& next)
      : regex_(*step.regex), content_(step.content), next_(next) {}

  void text(std::string_view text) override { token_.append(text); }

  void end_token() override {
    std::string storage;
    std::vector<TextRange> matches;
    Regex::Finder finder(regex_, token_.size());
    // A token that passes the limits of matching stays as it is: decoding has nobody to tell.
    if (!finder.find_all(regex_.known(token_, storage), {0, token_.size()}, matches))
      matches.clear();
    std::string result;
    size_t copied = 0;
    for (const TextRange match : matches) {
      result.append(token_, copied, match.begin - copied).append(content_);
      copied = match.end;
    }
    result.append(token_, copied);
    token_.clear();
    if (!result.empty()) next_.text(result);
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  const Regex& regex_;
  std::string_view content_;
  Stage& next_;
  std::string token_;
};

// A run of tokens of bytes is text when all of it is valid, else one replacement a byte.
class ByteFallbackStage : public Stage {
 public:
  explicit ByteFallbackStage(Stage& next) : next_(next) {}

  void text(std::string_view text) override {
    constexpr size_t kByteTokenBytes = 6;
    if (!is_long_) token_.append(text);
    if (is_long_) {
      next_.text(text);
    } else if (token_.size() > kByteTokenBytes) {
      end_run();
      is_long_ = true;
      next_.text(std::exchange(token_, {}));
    }
  }

  void end_token() override {
    const auto byte = is_long_ ? std::nullopt : byte_of_token(token_);
    if (byte) {
      add_byte(*byte);
    } else {
      end_run();
      if (!token_.empty()) next_.text(token_);
      next_.end_token();
    }
    token_.clear();
    is_long_ = false;
  }

  void finish() override {
    end_run();
    next_.finish();
  }

 private:
  void add_byte(uint8_t byte) {
    run_.push_back(static_cast<char>(byte));
    // What is no UTF-8 now never becomes any.
    while (checked_ < run_.size() && !is_broken_) {
      const Utf8Step step = utf8_step(run_, checked_);
      if (step.truncated) return;
      is_broken_ = !step.valid;
      checked_ += step.bytes;
    }
    if (!is_broken_) return;
    for (size_t each = 0; each < run_.size(); ++each) pass_on(kReplacementText);
    run_.clear();
  }

  void end_run() {
    if (checked_ == run_.size()) {
      if (!run_.empty()) pass_on(run_);
    } else if (!is_broken_) {
      for (size_t each = 0; each < run_.size(); ++each) pass_on(kReplacementText);
    }
    run_.clear();
    checked_ = 0;
    is_broken_ = false;
  }

  void pass_on(std::string_view text) {
    next_.text(text);
    next_.end_token();
  }

  Stage& next_;
  std::string token_;
  bool is_long_ = false;  // the current token is too long for one of a byte
  std::string run_;
  size_t checked_ = 0;  // bytes of run_ that are valid
  bool is_broken_ = false;
};

class FuseStage : public Stage {
 public:
  explicit FuseStage(Stage& next) : next_(next) {}
  void text(std::string_view text) override { next_.text(text); }
  void end_token() override {}
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  Stage& next_;
};

// Takes a character away at both ends of each token.
class StripStage : public Stage {
 public:
  StripStage(const Step& step, Stage& next) : step_(step), next_(next) {}

  void text(std::string_view text) override {
    const std::string_view content = step_.content;
    while (stripped_ < step_.start && text.starts_with(content)) {
      text.remove_prefix(content.size());
      ++stripped_;
    }
    if (text.empty()) return;
    stripped_ = step_.start;  // the beginning is over
    held_.append(text);
    size_t tail = 0;
    size_t characters = 0;
    while (characters < step_.stop &&
           std::string_view(held_).substr(0, held_.size() - tail).ends_with(content)) {
      tail += content.size();
      ++characters;
    }
    if (held_.size() > tail) next_.text(std::string_view(held_).substr(0, held_.size() - tail));
    held_.erase(0, held_.size() - tail);
  }

  void end_token() override {
    held_.clear();
    stripped_ = 0;
    next_.end_token();
  }

  void finish() override { next_.finish(); }

 private:
  const Step& step_;
  Stage& next_;
  size_t stripped_ = 0;
  std::string held_;  // characters at the end that may have to go
};

}  // namespace

std::unique_ptr<Stage> make_stage(const Step& step, Stage& next) {
  switch (step.kind) {
    case Step::Kind::kByteLevel:
      return std::make_unique<ByteLevelStage>(next);
    case Step::Kind::kMetaspace:
      return std::make_unique<MetaspaceStage>(step, next);
    case Step::Kind::kReplace:
      if (step.regex) return std::make_unique<ReplaceRegexStage>(step, next);
      return std::make_unique<ReplaceLiteralStage>(step, next);
    case Step::Kind::kByteFallback:
      return std::make_unique<ByteFallbackStage>(next);
    case Step::Kind::kFuse:
      return std::make_unique<FuseStage>(next);
    case Step::Kind::kStrip:
      return std::make_unique<StripStage>(step, next);
  }
  return nullptr;
}

}  // namespace smoe
