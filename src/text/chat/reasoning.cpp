#include "text/chat/reasoning.h"

#include <algorithm>
#include <utility>

namespace smoe {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Length of the longest end of `text` that begins `mark`.
size_t begun(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n)
    if (text.ends_with(mark.substr(0, n))) return n;
  return 0;
}

size_t trailing_space(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

}  // namespace

ReasoningMarks reasoning_marks_of(std::string_view template_source) {
  constexpr std::string_view kAnalysis = "<|channel|>analysis<|message|>";
  if (template_source.find(kAnalysis) == std::string_view::npos) return {};
  return {std::string(kAnalysis), "<|end|>"};
}

bool ends_in_thought(std::string_view prompt, const ReasoningMarks& marks) {
  const size_t opened = prompt.rfind(marks.open);
  if (opened == std::string_view::npos) return false;
  return prompt.find_first_not_of(kSpace, opened + marks.open.size()) == std::string_view::npos;
}

ReasoningSplitter::ReasoningSplitter(ReasoningMarks marks, bool starts_thinking)
    : marks_(std::move(marks)), state_(starts_thinking ? State::kThinking : State::kStart) {}

void ReasoningSplitter::emit(std::vector<Part>& parts, size_t bytes) {
  std::string_view text = std::string_view(held_).substr(0, bytes);
  if (skip_space_) {
    const size_t first = std::min(text.find_first_not_of(kSpace), text.size());
    text.remove_prefix(first);
    skip_space_ = text.empty();
  }
  if (!text.empty()) parts.push_back({state_ == State::kThinking, std::string(text)});
  held_.erase(0, bytes);
}

void ReasoningSplitter::cut(std::vector<Part>& parts, bool at_end) {
  if (state_ == State::kStart) {
    const size_t first = std::min(held_.find_first_not_of(kSpace), held_.size());
    const std::string_view text = std::string_view(held_).substr(first);
    if (text.starts_with(marks_.open)) {
      held_.erase(0, first + marks_.open.size());
      state_ = State::kThinking;
    } else if (at_end || !marks_.open.starts_with(text)) {
      state_ = State::kAnswer;
      skip_space_ = false;
    }
  }
  if (state_ == State::kThinking) {
    const size_t closed = held_.find(marks_.close);
    if (closed != std::string::npos) {
      emit(parts, closed - trailing_space(std::string_view(held_).substr(0, closed)));
      held_.erase(0, held_.find(marks_.close) + marks_.close.size());
      state_ = State::kAnswer;
      skip_space_ = true;
    } else {
      size_t certain = held_.size();
      if (!at_end) certain -= begun(held_, marks_.close);
      certain -= trailing_space(std::string_view(held_).substr(0, certain));
      emit(parts, certain);
    }
  }
  if (state_ == State::kAnswer) emit(parts, held_.size());
}

std::vector<ReasoningSplitter::Part> ReasoningSplitter::push(std::string_view piece) {
  std::vector<Part> parts;
  held_ += piece;
  cut(parts, false);
  return parts;
}

std::vector<ReasoningSplitter::Part> ReasoningSplitter::finish() {
  std::vector<Part> parts;
  cut(parts, true);
  return parts;
}

}  // namespace smoe
