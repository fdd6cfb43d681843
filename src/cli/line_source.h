// Where the lines of a conversation come from: the terminal, or a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/line_editor.h"

namespace smoe::cli {

class LineSource {
 public:
  using Event = LineEditor::Event;
  using Line = LineEditor::Line;

  // Stdin as it is: a terminal gets editing and history, anything else is read line by line.
  // A line of more than `most_bytes` is not read to its end.
  static Result<std::unique_ptr<LineSource>> open(Context& context, uint64_t most_bytes);
  virtual ~LineSource() = default;

  virtual Line read(std::string_view prompt) = 0;
  virtual void remember(std::string_view text) = 0;
  virtual bool interactive() const = 0;
};

}  // namespace smoe::cli
