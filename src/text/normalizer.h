// The normaliser of a tokenizer.json: what happens to text before it is split.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/normal_form.h"
#include "text/regex.h"
#include "text/sourced_text.h"

namespace smoe {

class Normalizer {
 public:
  // `description` is the value of "normalizer"; null is no normalisation.
  // Fails: kUnsupported with the step's name, kCorrupt.
  static Result<Normalizer> from_json(const Json& description);

  bool changes_nothing() const { return steps_.empty(); }
  // Needs valid UTF-8. Fails: kUnsupported when a regex passes its limits.
  // Cost: linear, also for text made of combining marks.
  Result<SourcedText> normalize(SourcedText text) const;
  Result<std::string> normalize(std::string_view text) const;
  // One of several texts, whose regexes may take `steps` together.
  Result<SourcedText> normalize(SourcedText text, MatchSteps& steps) const;

 private:
  enum class Kind { kForm, kLowercase, kPrepend, kReplace, kStrip };
  struct Step {
    Kind kind;
    NormalForm form = NormalForm::kNfc;
    std::string literal = {};         // kReplace: what is looked for, unless a regex is
    std::optional<Regex> regex = {};  // kReplace
    std::string content = {};         // kPrepend, kReplace
    bool left = false;                // kStrip
    bool right = false;               // kStrip
  };
  Status add_step(const Json& description);
  Status add_form(NormalForm form);
  Status add_replace(const class StepFields& fields);
  static Result<SourcedText> apply(const Step& step, SourcedText text, MatchSteps& steps);

  std::vector<Step> steps_;
};

}  // namespace smoe
