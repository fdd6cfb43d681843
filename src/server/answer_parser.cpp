#include "server/answer_parser.h"

#include <algorithm>
#include <utility>

namespace smoe::server {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Length of the longest end of `text` that begins `mark`, less than all of it.
size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n)
    if (text.ends_with(mark.substr(0, n))) return n;
  return 0;
}

size_t without_blanks_behind(std::string_view text) {
  const size_t last = text.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? 0 : last + 1;
}

struct FoundMark {
  size_t at = std::string_view::npos;
  std::string_view mark;
};

FoundMark first_mark(std::string_view text, const ToolFormat& format) {
  FoundMark found{text.find(format.open), format.open};
  if (!format.other_open.empty())
    if (const size_t at = text.find(format.other_open); at < found.at)
      found = {at, format.other_open};
  for (const std::string_view mark : format.silent)
    if (const size_t at = text.find(mark); at < found.at) found = {at, mark};
  return found;
}

}  // namespace

AnswerParser::AnswerParser(Options options) : options_(std::move(options)) {
  thinking_ = options_.split_reasoning && options_.starts_thinking;
  if (options_.split_reasoning) splitter_.emplace(options_.marks, options_.starts_thinking);
}

void AnswerParser::say(std::string_view text, std::vector<AnswerPart>& out) {
  if (after_call_) text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (text.empty()) return;
  after_call_ = false;
  out.push_back({AnswerPart::Kind::kText, std::string(text), {}});
}

// One step in text outside of calls; false when there is nothing more to do now.
bool AnswerParser::scan_text(std::vector<AnswerPart>& out, bool at_end) {
  const ToolFormat& format = *options_.format;
  const FoundMark found = first_mark(held_, format);
  if (found.at != std::string_view::npos) {
    const bool opens = found.mark == format.open || found.mark == format.other_open;
    const std::string_view before = std::string_view(held_).substr(0, found.at);
    const size_t said = opens ? without_blanks_behind(before) : before.size();
    blanks_ = before.substr(said);
    say(before.substr(0, said), out);
    held_.erase(0, found.at + found.mark.size());
    in_call_ = opens;
    opened_ = found.mark;
    return true;
  }
  size_t certain = held_.size();
  if (!at_end) {
    size_t begun = begun_mark(held_, format.open);
    if (!format.other_open.empty()) begun = std::max(begun, begun_mark(held_, format.other_open));
    for (const std::string_view mark : format.silent)
      begun = std::max(begun, begun_mark(held_, mark));
    certain = without_blanks_behind(std::string_view(held_).substr(0, certain - begun));
  }
  say(std::string_view(held_).substr(0, certain), out);
  held_.erase(0, certain);
  return false;
}

bool AnswerParser::scan_call(std::vector<AnswerPart>& out, bool at_end) {
  if (arguments_) return scan_arguments(out, at_end);
  if (behind_call_) return scan_behind_call(at_end);
  const ToolFormat& format = *options_.format;
  const size_t closed = held_.find(format.close);
  CallHead head = format.head(std::string_view(held_).substr(0, closed));
  if (head.state == CallHead::State::kFound) {
    held_.erase(0, head.bytes);
    arguments_.emplace(format, options_.tools, head.name);
    out.push_back({AnswerPart::Kind::kToolCall, {}, {std::move(head.name), ""}});
    return true;
  }
  if (closed == std::string::npos && !at_end) return false;
  const std::string inside = held_.substr(0, closed);
  const bool complete = closed != std::string::npos;
  held_.erase(0, complete ? closed + format.close.size() : held_.size());
  in_call_ = false;
  if (auto calls = format.read(inside, options_.tools)) {
    for (ToolCall& call : *calls) out.push_back({AnswerPart::Kind::kToolCall, {}, std::move(call)});
    after_call_ = true;
  } else {
    say(blanks_ + std::string(opened_) + inside + std::string(complete ? format.close : ""), out);
  }
  return true;
}

bool AnswerParser::scan_arguments(std::vector<AnswerPart>& out, bool at_end) {
  std::string piece = arguments_->take(held_, at_end);
  if (!piece.empty()) out.push_back({AnswerPart::Kind::kArguments, std::move(piece), {}});
  if (!arguments_->ended()) return false;
  arguments_.reset();
  behind_call_ = true;
  return true;
}

// Up to the end mark, or to another call before it.
bool AnswerParser::scan_behind_call(bool at_end) {
  const ToolFormat& format = *options_.format;
  const size_t closed = held_.find(format.close);
  const size_t again = format.again.empty() ? closed : held_.find(format.again);
  if (again < closed) {
    held_.erase(0, again);
    behind_call_ = false;
    return true;
  }
  if (closed == std::string::npos && !at_end) return false;
  held_.erase(0, closed == std::string::npos ? held_.size() : closed + format.close.size());
  in_call_ = false;
  behind_call_ = false;
  after_call_ = true;
  return true;
}

void AnswerParser::scan(std::vector<AnswerPart>& out, bool at_end) {
  while (in_call_ ? scan_call(out, at_end) : scan_text(out, at_end)) {
  }
}

void AnswerParser::take(std::vector<ReasoningSplitter::Part> parts, std::vector<AnswerPart>& out) {
  for (ReasoningSplitter::Part& part : parts) {
    thinking_ = part.thinking;
    if (part.thinking) {
      out.push_back({AnswerPart::Kind::kReasoning, std::move(part.text), {}});
    } else if (options_.format == nullptr) {
      say(part.text, out);
    } else {
      held_ += part.text;
      scan(out, false);
    }
  }
}

std::vector<AnswerPart> AnswerParser::push(std::string_view piece) {
  std::vector<AnswerPart> out;
  if (splitter_) {
    take(splitter_->push(piece), out);
  } else {
    take({{false, std::string(piece)}}, out);
  }
  return out;
}

std::vector<AnswerPart> AnswerParser::finish() {
  std::vector<AnswerPart> out;
  if (splitter_) take(splitter_->finish(), out);
  if (options_.format != nullptr) scan(out, true);
  return out;
}

}  // namespace smoe::server
