// What inspect tells about a model folder or a checkpoint, gathered from headers alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/settings.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "model/memory_plan.h"
#include "model/spec.h"

namespace smoe::cli {

// Tensors that differ in their layer or expert only.
struct TensorGroup {
  std::string name;  // "layer.*.attention.q", "expert.gate"
  std::string format;
  uint64_t rows = 0;
  uint64_t cols = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// What fits into one size of memory.
struct MemoryRow {
  uint64_t budget_bytes = 0;
  std::optional<MemoryPlan> plan;  // nothing when it is too small
  std::string refusal;             // then: why
};

// How an expert of a GGUF file is read, against a record of a vault.
struct AsItIs {
  uint64_t reads = 0;         // of an expert; a record is one
  uint64_t read_bytes = 0;    // of them, rounded out to the disk's blocks
  uint64_t record_bytes = 0;  // after shattering
};

struct Summary {
  bool is_model = false;  // a model folder; otherwise a checkpoint, and sizes are those to come,
                          // which for a GGUF file are those that it has in memory, too
  std::string source;     // where a model came from
  ModelSpec spec;
  std::vector<TensorGroup> tensors;
  uint64_t scout_bytes = 0;
  uint64_t vault_bytes = 0;
  std::vector<RecordSize> records;  // ascending by record_bytes
  std::optional<AsItIs> as_it_is;   // of a GGUF file, the largest expert
  std::vector<std::string> notes;
  std::vector<MemoryRow> memory;
};

// With --memory one row of memory, otherwise the smallest that works and the powers of two from
// there to the first that holds everything.
// Fails: as ModelFiles::open and plan_shatter; kUsage for a context that the model does not have.
Result<Summary> summarize(const std::filesystem::path& path, const Settings& settings);

}  // namespace smoe::cli
