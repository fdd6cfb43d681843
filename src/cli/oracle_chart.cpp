#include "cli/oracle_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"

namespace smoe::cli {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 60;
constexpr double kRight = 150;
constexpr double kTop = 50;
constexpr double kBottom = 60;

// Told apart by people who see colours differently (Okabe and Ito 2008).
constexpr std::array<const char*, 5> kColors{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00"};

double x_of(double share) { return kLeft + share * (kWidth - kLeft - kRight); }
double y_of(double rate) { return kHeight - kBottom - rate * (kHeight - kTop - kBottom); }

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  std::string escaped;
  for (const char c : words) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      escaped += c;
    }
  }
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped);
}

std::string grid(const OracleTable& table) {
  std::string svg;
  for (int percent = 0; percent <= 100; percent += 20) {
    const double y = y_of(percent / 100.0);
    svg += fmt::format("<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft, y,
                       x_of(1), y);
    svg += text(kLeft - 8, y + 4, "end", fmt::format("{} %", percent));
  }
  for (const OracleRow& row : table.rows)
    svg += text(x_of(row.share), kHeight - kBottom + 18, "middle",
                fmt::format("{:.0f} %", 100 * row.share));
  return svg + text((kLeft + x_of(1)) / 2, kHeight - 14, "middle", "ring, share of all records");
}

}  // namespace

std::string oracle_chart(const OracleTable& table, const std::string& title) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g stroke=\"#ddd\" "
      "fill=\"#222\" stroke-width=\"0.5\">\n",
      kWidth, kHeight);
  svg += text(kLeft, 28, "start", title) + grid(table) + "</g>\n";
  for (size_t policy = 0; policy < table.policies.size(); ++policy) {
    const char* color = kColors[policy % kColors.size()];
    std::string points;
    for (const OracleRow& row : table.rows)
      points += fmt::format("{:.1f},{:.1f} ", x_of(row.share), y_of(row.hit_rates[policy]));
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       points, color);
    svg += fmt::format("<g fill=\"{}\">", color) +
           text(x_of(1) + 12, kTop + 20 * static_cast<double>(policy + 1), "start",
                table.policies[policy]) +
           "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace smoe::cli
