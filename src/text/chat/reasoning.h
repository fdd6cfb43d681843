// Tells a model's thinking from its answer, while the text streams in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smoe {

struct ReasoningMarks {
  std::string open = "<think>";
  std::string close = "</think>";
};

// Those of models with a chat template: "<think>" and its end, or gpt-oss's channel of analysis.
ReasoningMarks reasoning_marks_of(std::string_view template_source);

// Whether `prompt` ends inside an open thought: some templates open it for the model.
bool ends_in_thought(std::string_view prompt, const ReasoningMarks& marks);

// Cuts text at the marks, which are in neither part, nor is the white space around them. A text has
// one thought at most, at its beginning: later marks are text like any other.
class ReasoningSplitter {
 public:
  struct Part {
    bool thinking = false;
    std::string text;
    friend bool operator==(const Part&, const Part&) = default;
  };

  explicit ReasoningSplitter(ReasoningMarks marks, bool starts_thinking);

  // What is certain after this piece: at most a mark's length behind.
  std::vector<Part> push(std::string_view piece);
  // What was held back at the end of the text.
  std::vector<Part> finish();

 private:
  enum class State : uint8_t { kStart, kThinking, kAnswer };
  void cut(std::vector<Part>& parts, bool at_end);
  void emit(std::vector<Part>& parts, size_t bytes);

  ReasoningMarks marks_;
  State state_;
  bool skip_space_ = true;  // at the beginning of a part
  std::string held_;
};

}  // namespace smoe
