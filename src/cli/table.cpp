#include "cli/table.h"

#include <algorithm>

#include "base/check.h"

namespace smoe::cli {
namespace {

// Characters, not bytes: the continuation bytes of UTF-8 take no room.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

void append_rule(std::string& out, const std::vector<Column>& columns,
                 const std::vector<size_t>& widths, const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string padding(widths[i] - width_of(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += columns[i].numbers ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(width_of(column.title));
  }
  for (const auto& row : rows) {
    SMOE_CHECK(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }

  std::string out;
  append_rule(out, columns, widths, titles);
  std::vector<std::string> rule;
  rule.reserve(widths.size());
  for (const size_t width : widths) rule.emplace_back(width, '-');
  append_rule(out, columns, widths, rule);
  for (const auto& row : rows) append_rule(out, columns, widths, row);
  return out;
}

std::string render_markdown(const std::vector<Column>& columns,
                            const std::vector<std::vector<std::string>>& rows) {
  std::string out = "|";
  for (const Column& column : columns) out += " " + column.title + " |";
  out += "\n|";
  for (const Column& column : columns) out += column.numbers ? " ---: |" : " --- |";
  for (const auto& row : rows) {
    SMOE_CHECK(row.size() == columns.size());
    out += "\n|";
    for (const std::string& cell : row) out += " " + cell + " |";
  }
  return out + "\n";
}

}  // namespace smoe::cli
