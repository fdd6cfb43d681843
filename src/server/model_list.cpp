#include "server/model_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace smoe::server {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxModelDepth = 3;

bool is_model_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "scout.safetensors", ignored);
}

void collect_models(const fs::path& root, std::vector<ModelEntry>& found) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
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
    if (is_model_folder(path)) {
      found.push_back({folder_name(path), path});
    } else {
      collect_models(path, found);
    }
    if (found.empty())
      return Error{Code::kNotFound,
                   path +
                       ": is no model folder and has none below it; smoe shatter CHECKPOINT "
                       "MODEL makes one"};
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
