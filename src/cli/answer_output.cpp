#include "cli/answer_output.h"

namespace smoe::cli {
namespace {

constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kPlain = "\033[0m";

}  // namespace

void AnswerOutput::add(std::string_view piece) {
  if (!splitter_) return take(false, piece);
  for (const auto& part : splitter_->push(piece)) take(part.thinking, part.text);
}

Status AnswerOutput::end() {
  if (splitter_)
    for (const auto& part : splitter_->finish()) take(part.thinking, part.text);
  if (context_.settings.json) return status_;
  if (dimmed_) print(kPlain);
  dimmed_ = false;
  if (!ends_line_) print("\n");
  return status_;
}

void AnswerOutput::take(bool thinking, std::string_view text) {
  (thinking ? thinking_ : text_) += text;
  if (!context_.settings.json) show(thinking, text);
}

void AnswerOutput::show(bool thinking, std::string_view text) {
  const Terminal& terminal = context_.terminal;
  if (thinking && !terminal.stdout_is_terminal()) return;
  const bool dim = thinking && terminal.answer_colors();
  if (!thinking && text_.size() == text.size() && !thinking_.empty() && !ends_line_) {
    print(dimmed_ ? std::string(kPlain) + "\n\n" : "\n\n");  // the answer begins after its thought
    dimmed_ = false;
  }
  if (dim && !dimmed_) print(kDim);
  dimmed_ = dimmed_ || dim;
  print(text);
  ends_line_ = text.ends_with('\n');
}

void AnswerOutput::print(std::string_view text) {
  if (!status_) return;
  status_ = context_.terminal.print(text);
  if (!status_ || context_.terminal.broken_pipe()) engine_.cancel();
}

}  // namespace smoe::cli
