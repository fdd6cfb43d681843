// A GGUF file as a checkpoint: its tensors under the names, and its keys as the config.json, of the
// Hugging Face folder that it was made from, so that everything behind reads one kind of source.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "formats/checkpoint.h"

namespace smoe {

// One file or any part of several. Tensors keep their type. Experts that lie in one tensor are
// delivered one by one, an expert's three tensors together; rows of q and k that the converter put
// into pairs are put back. Fails: as open_gguf, gguf_architecture_of, gguf_config, naming the file.
Result<std::unique_ptr<TensorSource>> open_gguf_checkpoint(const std::filesystem::path& path);

// A checkpoint of any kind: a GGUF file by its name (*.gguf), else as open_checkpoint. Fails: also
// kUsage for a folder of GGUF files.
Result<std::unique_ptr<TensorSource>> open_source(const std::filesystem::path& path);

}  // namespace smoe
