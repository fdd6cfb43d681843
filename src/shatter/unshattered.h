// A checkpoint used as it is: the model folder that shattering it would write exists as an index in
// memory alone, and its bytes are made of the files' as they are read. Nothing is written.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/model_files.h"

namespace smoe {

// The logits of such a model have the same bits as those of the shattered one (--quant exact).
// Fails: as open_source and plan_shatter; kUnsupported for FP8, whose scales lie apart.
Result<ModelFiles> open_unshattered(const std::filesystem::path& path);

// A model folder, or a GGUF file by its name (*.gguf). Fails: as ModelFiles::open and
// open_unshattered.
Result<ModelFiles> open_model_files(const std::filesystem::path& path);

}  // namespace smoe
