// The one-time conversion of a checkpoint into a model folder: streaming, parallel, resumable,
// crash-safe (DESIGN: the model folder; docs/model-folder.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smoe {

enum class Quant : uint8_t {
  kExact,    // every tensor keeps the checkpoint's own type; nothing is lost
  kQuality,  // Q8_0 for matrices that fit its blocks of 32; router gates keep their type
};
std::optional<Quant> quant_named(std::string_view name);  // "exact", "quality"

struct ShatterProgress {
  uint64_t bytes_done = 0;  // of source tensors read
  uint64_t bytes_total = 0;
  std::string_view doing;  // "scout", "layer 3 of 48"
};

struct ShatterOptions {
  Quant quant = Quant::kExact;
  unsigned threads = 1;
  std::function<void(const ShatterProgress&)> progress =
      {};                                        // called from the shattering thread, often
  const std::atomic<bool>* cancelled = nullptr;  // looked at between records: kCancelled
};

struct ShatterReport {
  bool already_done = false;    // the folder held this very model: nothing was written
  uint32_t layers_resumed = 0;  // files found finished from an interrupted run
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  double seconds = 0;
  std::vector<std::string> notes;  // for people: tensors that kept their type, missing tokenizer …
};

// Fails with an error that names the file and the remedy; then the folder holds only whole files
// and a later call with the same arguments resumes. kUsage when `model` holds another plan (other
// checkpoint or options) or is no model folder; kNoSpace before anything is written when the disk
// cannot hold it.
Result<ShatterReport> shatter(const std::filesystem::path& checkpoint,
                              const std::filesystem::path& model, const ShatterOptions& options);

}  // namespace smoe
