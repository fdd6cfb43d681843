// How far a long prompt is, on stderr; takes itself off the screen.
#pragma once

#include <fmt/format.h>

#include "cli/terminal.h"

namespace smoe::cli {

class PromptProgress {
 public:
  explicit PromptProgress(const Terminal& terminal) : terminal_(terminal) {}
  ~PromptProgress() { clear(); }
  PromptProgress(const PromptProgress&) = delete;
  PromptProgress& operator=(const PromptProgress&) = delete;

  void update(size_t done, size_t total) {
    if (!terminal_.shows_progress() || done == total) return clear();
    terminal_.print_note(fmt::format("\r\033[Kprompt: {} of {} tokens", done, total));
    shown_ = true;
  }
  void clear() {
    if (shown_) terminal_.print_note("\r\033[K");
    shown_ = false;
  }

 private:
  const Terminal& terminal_;
  bool shown_ = false;
};

}  // namespace smoe::cli
