#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

constexpr uint64_t kDrawEveryNs = 100'000'000;
constexpr uint64_t kMeasureEveryNs = 1'000'000'000;
constexpr size_t kBarColumns = 24;

std::string bar_of(double share) {
  const auto filled = static_cast<size_t>(share * static_cast<double>(kBarColumns));
  std::string bar = "[";
  bar.append(filled, '=');
  if (filled < kBarColumns) bar += '>';
  bar.append(kBarColumns - std::min(filled + 1, kBarColumns), ' ');
  return bar + "]";
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string render_progress(const ProgressView& view, size_t columns) {
  const uint64_t done = std::min(view.done_bytes, view.total_bytes);
  const double share =
      view.total_bytes == 0 ? 0 : static_cast<double>(done) / static_cast<double>(view.total_bytes);
  std::string speed;
  std::string left;
  if (view.bytes_per_second > 0) {
    speed = fmt::format("{}/s", format_bytes(static_cast<uint64_t>(view.bytes_per_second)));
    left = fmt::format("{} left", format_duration(static_cast<double>(view.total_bytes - done) /
                                                  view.bytes_per_second));
  }
  // In reading order; the number says what may go first when the line is too long.
  std::array<std::pair<std::string, int>, 6> parts{{
      {std::string(view.doing), 3},
      {bar_of(share), 1},
      {fmt::format("{:3.0f} %", std::floor(share * 100)), 6},
      {fmt::format("{} of {}", format_bytes(done), format_bytes(view.total_bytes)), 2},
      {std::move(speed), 4},
      {std::move(left), 5},
  }};
  for (int least = 1;; ++least) {
    std::string line;
    for (const auto& [text, rank] : parts)
      if (!text.empty() && rank >= least) line += (line.empty() ? "" : "  ") + text;
    if (line.size() <= columns) return line;
  }
}

void ProgressBar::measure(uint64_t now, uint64_t done_bytes) {
  if (mark_ns_ == 0) {
    mark_ns_ = now;
    mark_bytes_ = done_bytes;
  }
  if (now - mark_ns_ < kMeasureEveryNs || done_bytes < mark_bytes_) return;
  const double current =
      static_cast<double>(done_bytes - mark_bytes_) / seconds_between(mark_ns_, now);
  bytes_per_second_ = bytes_per_second_ == 0 ? current : 0.7 * bytes_per_second_ + 0.3 * current;
  mark_ns_ = now;
  mark_bytes_ = done_bytes;
}

void ProgressBar::update(std::string_view doing, uint64_t done_bytes, uint64_t total_bytes) {
  if (!terminal_.shows_progress()) return;
  const uint64_t now = now_ns();
  measure(now, done_bytes);
  if (shown_ && now - drawn_ns_ < kDrawEveryNs) return;
  const ProgressView view{doing, done_bytes, total_bytes, bytes_per_second_};
  // One column stays free: writing into the last one wraps on some terminals.
  terminal_.print_note("\r\x1b[K" + render_progress(view, terminal_.columns() - 1));
  shown_ = true;
  drawn_ns_ = now;
}

void ProgressBar::clear() {
  if (shown_) terminal_.print_note("\r\x1b[K");
  shown_ = false;
}

}  // namespace smoe::cli
