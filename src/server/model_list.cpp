#include "server/model_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "formats/companion.h"

namespace smoe::server {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxModelDepth = 3;

bool is_model_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "scout.safetensors", ignored);
}

// Of "name-00002-of-00003" the "00002"; "" for another name.
std::string_view part_of(std::string_view stem) {
  constexpr size_t kPartDigits = 5;
  const size_t of = stem.rfind("-of-");
  if (of == std::string_view::npos || of <= kPartDigits) return {};
  const std::string_view part = stem.substr(of - kPartDigits, kPartDigits);
  const bool is_part = stem[of - kPartDigits - 1] == '-' &&
                       part.find_first_not_of("0123456789") == std::string_view::npos;
  return is_part ? part : std::string_view();
}

// A file's name without its ending, and of a model in several files without the part's number.
std::string file_model_name(const fs::path& path) {
  std::string stem = path.stem().string();
  if (const std::string_view part = part_of(stem); !part.empty())
    stem.resize(static_cast<size_t>(part.data() - stem.data()) - 1);
  return stem;
}

bool is_model_file(const fs::path& path) {
  std::error_code ignored;
  const std::string stem = path.stem().string();
  return is_gguf_path(path) && fs::is_regular_file(path, ignored) &&
         (part_of(stem).empty() || part_of(stem) == "00001");
}

void collect_models(const fs::path& root, std::vector<ModelEntry>& found) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_model_file(entry->path())) {
      const fs::path below = entry->path().lexically_relative(root).parent_path();
      found.push_back({(below / file_model_name(entry->path())).string(), entry->path()});
    }
    if (!entry->is_directory(error)) continue;
    if (is_model_folder(entry->path())) {
      found.push_back({entry->path().lexically_relative(root).string(), entry->path()});
      entry.disable_recursion_pending();
    } else if (entry.depth() + 1 >= kMaxModelDepth) {
      entry.disable_recursion_pending();
    }
  }
}

std::string folder_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

}  // namespace

Result<std::vector<ModelEntry>> find_models(std::span<const std::string> paths) {
  std::vector<ModelEntry> models;
  for (const std::string& path : paths) {
    std::vector<ModelEntry> found;
    std::error_code ignored;
    if (is_model_folder(path)) {
      found.push_back({folder_name(path), path});
    } else if (is_gguf_path(path) && fs::is_regular_file(path, ignored)) {
      found.push_back({file_model_name(path), path});
    } else {
      collect_models(path, found);
    }
    if (found.empty())
      return Error{Code::kNotFound,
                   path +
                       ": is no model folder, no GGUF file, and has none below it; smoe shatter "
                       "CHECKPOINT MODEL makes a folder"};
    const auto by_id = [](const ModelEntry& a, const ModelEntry& b) { return a.id < b.id; };
    std::sort(found.begin(), found.end(), by_id);
    models.insert(models.end(), found.begin(), found.end());
  }
  for (size_t i = 0; i < models.size(); ++i)
    for (size_t j = i + 1; j < models.size(); ++j)
      if (models[i].id == models[j].id)
        return Error{Code::kUsage,
                     fmt::format("{} and {} have the same name, '{}'", models[i].folder.string(),
                                 models[j].folder.string(), models[i].id)};
  return models;
}

}  // namespace smoe::server
