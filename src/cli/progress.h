// A progress bar on stderr: bytes, bytes a second, time left. Only on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace smoe::cli {

struct ProgressView {
  std::string_view doing;  // "layer 3 of 48"
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  double bytes_per_second = 0;  // 0: not known yet
};

// One line of at most `columns` characters. What does not fit is left out, the least useful first.
std::string render_progress(const ProgressView& view, size_t columns);

// "45 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(double seconds);

class ProgressBar {
 public:
  explicit ProgressBar(const Terminal& terminal) : terminal_(terminal) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // May be called as often as one likes: draws ten times a second at most.
  void update(std::string_view doing, uint64_t done_bytes, uint64_t total_bytes);
  // Takes the bar off the screen.
  void clear();

 private:
  void measure(uint64_t now, uint64_t done_bytes);

  const Terminal& terminal_;
  bool shown_ = false;
  uint64_t drawn_ns_ = 0;
  // The speed is that of the last few seconds, so that it follows a disk that slows down.
  uint64_t mark_ns_ = 0;
  uint64_t mark_bytes_ = 0;
  double bytes_per_second_ = 0;
};

}  // namespace smoe::cli
