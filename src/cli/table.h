// Tables for people: a heading, a line under it, aligned columns.
#pragma once

#include <string>
#include <vector>

namespace smoe::cli {

struct Column {
  std::string title;
  bool numbers = false;  // aligned to the right
};

// Every row has as many cells as there are columns.
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows);
// The same as a table of GitHub's Markdown.
std::string render_markdown(const std::vector<Column>& columns,
                            const std::vector<std::vector<std::string>>& rows);

}  // namespace smoe::cli
