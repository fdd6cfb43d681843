// The models that a server may serve.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace smoe::server {

struct ModelEntry {
  std::string id;                // what requests call it
  std::filesystem::path folder;  // or a GGUF file
};

// Each path is a model: a folder, whose name is its id, or a GGUF file, whose name without ending
// is; or a folder that has some below it, at most three levels deep; their ids are their paths
// below it. Of a model in several GGUF files the first counts, and the part's number is not in the
// id. Sorted by id within a path. Fails: kNotFound, naming the path that has none; kUsage for two
// models of one id.
Result<std::vector<ModelEntry>> find_models(std::span<const std::string> paths);

}  // namespace smoe::server
