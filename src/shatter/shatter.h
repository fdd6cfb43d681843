// The one-time conversion of a checkpoint into a model folder: streaming, parallel, resumable,
// crash-safe (DESIGN: the model folder; docs/model-folder.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/block_format.h"
#include "model/inventory.h"

namespace smoe {

enum class Quant : uint8_t {
  kExact,     // every tensor keeps the checkpoint's own type; nothing is lost
  kQuality,   // Q8_0 for matrices that fit its blocks of 32; router gates keep their type
  kBalanced,  // experts in Q4_K, the other matrices in Q8_0
  kSmall,     // experts in Q3_K, the other matrices in Q6_K
};
std::optional<Quant> quant_named(std::string_view name);  // "exact", "quality" …

struct ShatterProgress {
  uint64_t bytes_done = 0;  // of source tensors read
  uint64_t bytes_total = 0;
  std::string_view doing;  // "scout", "layer 3 of 48"
};

// What a calibration has seen: how much an error in each column of a matrix counts.
struct Calibration {
  uint64_t checksum = 0;  // of all of it: two calibrations make two models
  // By expert role (others: expert 0). Empty: nothing is known, all columns count alike.
  std::function<std::span<const float>(Role role, uint32_t layer, uint32_t expert)> importance = {};
};

struct ShatterOptions {
  Quant quant = Quant::kExact;
  unsigned threads = 1;
  std::function<void(const ShatterProgress&)> progress =
      {};                                        // called from the shattering thread, often
  const std::atomic<bool>* cancelled = nullptr;  // looked at between records: kCancelled
  // Over `quant`: what F32, F16, BF16 and FP8 matrices become. Blocks stay as they are, routers and
  // norms keep their type. Rows that do not fill its blocks take a type that they fill, or stay.
  std::optional<Format> experts = {};
  std::optional<Format> scout = {};
  Calibration calibration = {};
};

struct ShatterReport {
  bool already_done = false;    // the folder held this very model: nothing was written
  uint32_t layers_resumed = 0;  // files found finished from an interrupted run
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  double seconds = 0;
  std::vector<std::string> notes;  // for people: tensors that kept their type, missing tokenizer …
};

// The format of that name, where weights can be converted to it. Fails: kUsage, with the list.
Result<Format> storable_format(std::string_view name);

// Fails with an error that names the file and the remedy; then the folder holds only whole files
// and a later call with the same arguments resumes. kUsage when `model` holds another plan (other
// checkpoint or options) or is no model folder; kNoSpace before anything is written when the disk
// cannot hold it.
Result<ShatterReport> shatter(const std::filesystem::path& checkpoint,
                              const std::filesystem::path& model, const ShatterOptions& options);

}  // namespace smoe
