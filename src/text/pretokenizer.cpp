#include "text/pretokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/step_fields.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// No released tokenizer has more than a handful; each is a pass over the text.
constexpr size_t kMaxPretokenizerSteps = 32;
// Steps that write something before each piece, over and over, would fill the memory.
constexpr size_t kMaxSplitGrowth = 64;
constexpr size_t kAllowedSplitBytes = 1 << 20;

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
    const std::string& text = pieces.content.text;
    const std::string_view known = regex_.known(text, storage);
    Regex::Finder finder(regex_, text.size());
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
    Pieces result = pieces.empty_like();
    for (size_t piece = 0; piece < pieces.ranges.size(); ++piece) {
      const TextRange range = pieces.ranges[piece];
      const size_t begin = result.content.text.size();
      if (!pieces.at(piece).starts_with(' '))
        result.content.append(" ", pieces.content, range.begin);
      result.content.append(pieces.content, range.begin, range.end);
      result.ranges.push_back({begin, result.content.text.size()});
    }
    pieces = std::move(result);
    return {};
  }
};

class ByteAlphabetStep : public PretokenizerStep {
 public:
  Status apply(Pieces& pieces) const override {
    Pieces result = pieces.empty_like();
    result.content.text.reserve(pieces.content.text.size() * 2);
    result.ranges.reserve(pieces.ranges.size());
    for (size_t piece = 0; piece < pieces.ranges.size(); ++piece) {
      const size_t begin = result.content.text.size();
      append_letters(result.content, pieces.content, pieces.ranges[piece]);
      result.ranges.push_back({begin, result.content.text.size()});
    }
    pieces = std::move(result);
    return {};
  }

 private:
  static void append_letters(SourcedText& to, const SourcedText& from, TextRange range) {
    std::string letter;
    size_t at = range.begin;
    for (; at < range.end && (from.tracked || at < from.first_bytes); ++at) {
      letter.clear();
      append_utf8(letter, letter_of_byte(static_cast<uint8_t>(from.text[at])));
      to.append(letter, from, at);
    }
    append_byte_letters(to.text, std::string_view(from.text).substr(at, range.end - at));
  }
};

// Spaces become a visible character, which also stands before the text, and pieces begin with it.
class MetaspaceStep : public PretokenizerStep {
 public:
  enum class Prepend { kAlways, kFirst, kNever };
  MetaspaceStep(std::string_view replacement, Prepend prepend, bool split)
      : replacement_(replacement), prepend_(prepend), split_(split) {}

  Status apply(Pieces& pieces) const override {
    Pieces result = pieces.empty_like();
    for (size_t piece = 0; piece < pieces.ranges.size(); ++piece) {
      const bool first = pieces.ranges[piece].begin < pieces.content.first_bytes;
      const bool prefixed = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && first);
      rewrite(pieces, piece, prefixed, result);
    }
    pieces = std::move(result);
    return {};
  }

 private:
  void rewrite(const Pieces& pieces, size_t piece, bool prefixed, Pieces& result) const {
    const TextRange range = pieces.ranges[piece];
    const SourcedText& from = pieces.content;
    SourcedText& to = result.content;
    size_t begin = to.text.size();
    const auto end_piece = [&] {
      if (to.text.size() > begin) result.ranges.push_back({begin, to.text.size()});
      begin = to.text.size();
    };
    const std::string_view text = pieces.at(piece);
    if (prefixed && !text.starts_with(' ') && !text.starts_with(replacement_))
      to.append(replacement_, from, range.begin);
    for (size_t at = range.begin; at < range.end;) {
      const std::string_view rest = std::string_view(from.text).substr(at, range.end - at);
      const bool space = rest.front() == ' ';
      const size_t bytes = utf8_step(rest, 0).bytes;
      if (split_ && (space || rest.starts_with(replacement_))) end_piece();
      if (space) {
        to.append(replacement_, from, at);
      } else {
        to.append(from, at, at + bytes);
      }
      at += bytes;
    }
    end_piece();
  }

  std::string replacement_;
  Prepend prepend_;
  bool split_;
};

struct PrependName {
  std::string_view name;
  MetaspaceStep::Prepend prepend;
};
constexpr auto kPrepends = std::to_array<PrependName>({
    {"always", MetaspaceStep::Prepend::kAlways},
    {"first", MetaspaceStep::Prepend::kFirst},
    {"never", MetaspaceStep::Prepend::kNever},
});

Result<Behavior> read_behavior(const StepFields& step, std::string_view name) {
  const auto* behavior = std::find_if(kBehaviors.begin(), kBehaviors.end(),
                                      [&](const BehaviorName& each) { return each.name == name; });
  if (behavior == kBehaviors.end())
    return Error{Code::kUnsupported, step.name() + ": behavior " + json_quote(name) +
                                         " is not supported by this version"};
  return behavior->behavior;
}

}  // namespace

Result<Pretokenizer> Pretokenizer::from_json(const Json& description) {
  Pretokenizer pretokenizer;
  if (!description.is_null()) SMOE_DO(pretokenizer.add_step(description));
  return pretokenizer;
}

Status Pretokenizer::add_step(const Json& description) {
  SMOE_TRY(const StepFields step, StepFields::of(description, "pre_tokenizer"));
  if (steps_.size() > kMaxPretokenizerSteps)
    return Error{Code::kUnsupported,
                 "pre_tokenizer: more than " + std::to_string(kMaxPretokenizerSteps) + " steps"};
  if (step.type() == "Split") return add_split(step);
  if (step.type() == "ByteLevel") return add_byte_level(step);
  if (step.type() == "Digits") return add_digits(step);
  if (step.type() == "Punctuation") return add_punctuation(step);
  if (step.type() == "Metaspace") return add_metaspace(step);
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
  SMOE_TRY(const Behavior behavior, read_behavior(step, name));
  SMOE_TRY(const StepPattern pattern, step.pattern("pattern"));
  auto regex = pattern.is_regex ? Regex::compile(pattern.text) : Regex::literal(pattern.text);
  if (!regex) return std::move(regex).error().in(step.name());
  steps_.push_back(std::make_unique<SplitStep>(std::move(*regex), behavior, invert));
  return {};
}

Status Pretokenizer::add_digits(const StepFields& step) {
  SMOE_DO(step.only({"individual_digits"}));
  SMOE_TRY(const bool individual, step.boolean("individual_digits"));
  SMOE_TRY(Regex regex,
           Regex::compile(std::string(number_pattern()).append(individual ? "" : "+")));
  steps_.push_back(std::make_unique<SplitStep>(std::move(regex), Behavior::kIsolated, false));
  return {};
}

Status Pretokenizer::add_punctuation(const StepFields& step) {
  SMOE_DO(step.only({"behavior"}));
  Behavior behavior = Behavior::kIsolated;
  if (step.value("behavior") != nullptr) {
    SMOE_TRY(const std::string_view name, step.string("behavior"));
    SMOE_TRY(behavior, read_behavior(step, name));
  }
  SMOE_TRY(Regex regex, Regex::compile(punctuation_pattern()));
  steps_.push_back(std::make_unique<SplitStep>(std::move(regex), behavior, false));
  return {};
}

Status Pretokenizer::add_metaspace(const StepFields& step) {
  // "str_rep" repeats the replacement in old files, and is not looked at.
  SMOE_DO(step.only({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"}));
  SMOE_TRY(const std::string_view replacement, step.character("replacement"));
  SMOE_TRY(const bool split, step.boolean("split", true));
  SMOE_TRY(const bool add_prefix_space, step.boolean("add_prefix_space", true));
  auto prepend = MetaspaceStep::Prepend::kAlways;
  if (step.value("prepend_scheme") != nullptr) {
    SMOE_TRY(const std::string_view name, step.string("prepend_scheme"));
    const auto* known = std::find_if(kPrepends.begin(), kPrepends.end(),
                                     [&](const PrependName& each) { return each.name == name; });
    if (known == kPrepends.end())
      return step.wrong("prepend_scheme", "\"always\", \"first\" or \"never\"");
    prepend = known->prepend;
  }
  if (!add_prefix_space && prepend != MetaspaceStep::Prepend::kNever)
    return step.wrong("prepend_scheme", "\"never\" where \"add_prefix_space\" is false");
  steps_.push_back(std::make_unique<MetaspaceStep>(replacement, prepend, split));
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

Result<Pieces> Pretokenizer::split(SourcedText text) const {
  Pieces pieces;
  if (!text.text.empty()) pieces.ranges.push_back({0, text.text.size()});
  pieces.content = std::move(text);
  const size_t most = kAllowedSplitBytes + kMaxSplitGrowth * pieces.content.text.size();
  for (const auto& step : steps_) {
    SMOE_DO(step->apply(pieces));
    if (pieces.content.text.size() > most)
      return Error{Code::kUnsupported, "pre_tokenizer: makes text more than " +
                                           std::to_string(kMaxSplitGrowth) + " times as long"};
  }
  return pieces;
}

}  // namespace smoe
