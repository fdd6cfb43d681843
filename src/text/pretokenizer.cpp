#include "text/pretokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/step_fields.h"

namespace smoe {
namespace {

// No released tokenizer has more than a handful; each is a pass over the text.
constexpr size_t kMaxSteps = 32;

// ByteLevel with "use_regex", as GPT-2 split its text.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// What becomes of the matches ("delimiters") and of the text between them.
enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct BehaviorName {
  std::string_view name;
  Behavior behavior;
};
constexpr auto kBehaviors = std::to_array<BehaviorName>({
    {"Isolated", Behavior::kIsolated},
    {"Removed", Behavior::kRemoved},
    {"MergedWithPrevious", Behavior::kMergedWithPrevious},
    {"MergedWithNext", Behavior::kMergedWithNext},
    {"Contiguous", Behavior::kContiguous},
});

struct Segment {
  TextRange range;
  bool delimiter;
};

class SplitStep : public PretokenizerStep {
 public:
  SplitStep(Regex regex, Behavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  Status apply(Pieces& pieces) const override {
    std::string storage;
    const std::string_view known = regex_.known(pieces.text, storage);
    Regex::Finder finder(regex_, pieces.text.size());
    std::vector<TextRange> matches;
    std::vector<Segment> segments;
    std::vector<TextRange> result;
    for (const TextRange piece : pieces.ranges) {
      matches.clear();
      SMOE_DO(finder.find_all(known, piece, matches));
      cover(piece, matches, segments);
      append_pieces(segments, result);
    }
    std::erase_if(result, [](TextRange range) { return range.begin == range.end; });
    pieces.ranges = std::move(result);
    return {};
  }

 private:
  // The whole piece as matches and what lies between them.
  void cover(TextRange piece, const std::vector<TextRange>& matches,
             std::vector<Segment>& segments) const {
    segments.clear();
    size_t covered = piece.begin;
    for (const TextRange match : matches) {
      if (covered != match.begin) segments.push_back({{covered, match.begin}, invert_});
      segments.push_back({match, !invert_});
      covered = match.end;
    }
    if (covered != piece.end) segments.push_back({{covered, piece.end}, invert_});
  }

  void append_pieces(const std::vector<Segment>& segments, std::vector<TextRange>& result) const {
    switch (behavior_) {
      case Behavior::kIsolated:
        for (const Segment& segment : segments) result.push_back(segment.range);
        return;
      case Behavior::kRemoved:
        for (const Segment& segment : segments)
          if (!segment.delimiter) result.push_back(segment.range);
        return;
      case Behavior::kMergedWithPrevious:
      case Behavior::kContiguous:
        append_merged(segments, result);
        return;
      case Behavior::kMergedWithNext:
        append_merged_backwards(segments, result);
        return;
    }
  }

  // A delimiter joins the piece before it (but not another delimiter); when contiguous, neighbours
  // of one kind join.
  void append_merged(const std::vector<Segment>& segments, std::vector<TextRange>& result) const {
    bool previous = false;
    bool first = true;
    for (const Segment& segment : segments) {
      const bool joins = behavior_ == Behavior::kContiguous ? segment.delimiter == previous
                                                            : segment.delimiter && !previous;
      if (joins && !first) {
        result.back().end = segment.range.end;
      } else {
        result.push_back(segment.range);
      }
      previous = segment.delimiter;
      first = false;
    }
  }

  static void append_merged_backwards(const std::vector<Segment>& segments,
                                      std::vector<TextRange>& result) {
    const size_t begin = result.size();
    bool next = false;
    for (size_t index = segments.size(); index-- > 0;) {
      const Segment& segment = segments[index];
      if (segment.delimiter && !next && result.size() > begin) {
        result.back().begin = segment.range.begin;
      } else {
        result.push_back(segment.range);
      }
      next = segment.delimiter;
    }
    std::reverse(result.begin() + static_cast<std::ptrdiff_t>(begin), result.end());
  }

  Regex regex_;
  Behavior behavior_;
  bool invert_;
};

class PrefixSpaceStep : public PretokenizerStep {
 public:
  Status apply(Pieces& pieces) const override {
    Pieces result;
    for (size_t piece = 0; piece < pieces.ranges.size(); ++piece) {
      const size_t begin = result.text.size();
      if (!pieces.at(piece).starts_with(' ')) result.text.push_back(' ');
      result.text.append(pieces.at(piece));
      result.ranges.push_back({begin, result.text.size()});
    }
    pieces = std::move(result);
    return {};
  }
};

class ByteAlphabetStep : public PretokenizerStep {
 public:
  Status apply(Pieces& pieces) const override {
    Pieces result;
    result.text.reserve(pieces.text.size() * 2);
    result.ranges.reserve(pieces.ranges.size());
    for (size_t piece = 0; piece < pieces.ranges.size(); ++piece) {
      const size_t begin = result.text.size();
      append_byte_letters(result.text, pieces.at(piece));
      result.ranges.push_back({begin, result.text.size()});
    }
    pieces = std::move(result);
    return {};
  }
};

}  // namespace

Result<Pretokenizer> Pretokenizer::from_json(const Json& description) {
  Pretokenizer pretokenizer;
  if (!description.is_null()) SMOE_DO(pretokenizer.add_step(description));
  return pretokenizer;
}

Status Pretokenizer::add_step(const Json& description) {
  SMOE_TRY(const StepFields step, StepFields::of(description, "pre_tokenizer"));
  if (steps_.size() > kMaxSteps)
    return Error{Code::kUnsupported,
                 "pre_tokenizer: more than " + std::to_string(kMaxSteps) + " steps"};
  if (step.type() == "Split") return add_split(step);
  if (step.type() == "ByteLevel") return add_byte_level(step);
  if (step.type() != "Sequence") return step.unsupported();
  SMOE_DO(step.only({"pretokenizers"}));
  SMOE_TRY(const auto* steps, step.array("pretokenizers"));
  for (const Json& inner : *steps) SMOE_DO(add_step(inner));
  return {};
}

Status Pretokenizer::add_split(const StepFields& step) {
  SMOE_DO(step.only({"pattern", "behavior", "invert"}));
  SMOE_TRY(const bool invert, step.boolean("invert"));
  SMOE_TRY(const std::string_view name, step.string("behavior"));
  const auto* behavior = std::find_if(kBehaviors.begin(), kBehaviors.end(),
                                      [&](const BehaviorName& each) { return each.name == name; });
  if (behavior == kBehaviors.end())
    return Error{Code::kUnsupported, step.name() + ": behavior " + json_quote(name) +
                                         " is not supported by this version"};
  const Json* pattern = step.value("pattern");
  const auto text_of = [&](std::string_view kind) {
    const Json* text =
        pattern == nullptr || pattern->members().size() != 1 ? nullptr : pattern->find(kind);
    return text == nullptr ? std::nullopt : text->as_string();
  };
  const auto expression = text_of("Regex");
  const auto literal = text_of("String");
  if (!expression && !literal)
    return step.wrong("pattern", "{\"Regex\": text} or {\"String\": text}");
  auto regex = expression ? Regex::compile(*expression) : Regex::literal(*literal);
  if (!regex) return std::move(regex).error().in(step.name());
  steps_.push_back(std::make_unique<SplitStep>(std::move(*regex), behavior->behavior, invert));
  return {};
}

Status Pretokenizer::add_byte_level(const StepFields& step) {
  // "trim_offsets" says where a token lies in the text, which nothing here asks for.
  SMOE_DO(step.only({"add_prefix_space", "trim_offsets", "use_regex"}));
  if (spells_bytes_)  // each would double the text
    return Error{Code::kUnsupported, step.name() + ": is there twice, which is not supported"};
  SMOE_TRY(const bool add_prefix_space, step.boolean("add_prefix_space"));
  SMOE_TRY(const bool use_regex, step.boolean("use_regex", true));
  if (add_prefix_space) steps_.push_back(std::make_unique<PrefixSpaceStep>());
  if (use_regex) {
    SMOE_TRY(Regex regex, Regex::compile(kGpt2Pattern));
    steps_.push_back(std::make_unique<SplitStep>(std::move(regex), Behavior::kIsolated, false));
  }
  steps_.push_back(std::make_unique<ByteAlphabetStep>());
  spells_bytes_ = true;
  return {};
}

Result<Pieces> Pretokenizer::split(std::string text) const {
  Pieces pieces;
  if (!text.empty()) pieces.ranges.push_back({0, text.size()});
  pieces.text = std::move(text);
  for (const auto& step : steps_) SMOE_DO(step->apply(pieces));
  return pieces;
}

}  // namespace smoe
