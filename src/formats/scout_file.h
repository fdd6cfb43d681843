// scout.safetensors: every weight that each token uses, and in __metadata__ what the model is.
// docs/model-folder.md has the metadata keys.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "formats/block_format.h"

namespace smoe {

enum class Layout : uint8_t {
  kRows,     // f32, row-major: vectors (norms, biases)
  kTiles16,  // 16-row tiles of a Format, stored as U8
};

struct ScoutTensor {
  std::string
      name;  // role with layer: "layer.3.attention.q", "embedding", "head" (model/inventory.h)
  Layout layout = Layout::kRows;
  Format format = Format::kF32;  // kF32 for kRows
  uint32_t rows = 0;             // 1 for vectors
  uint32_t cols = 0;
  uint64_t offset = 0;  // absolute in the file
  uint64_t bytes = 0;   // padded to a multiple of 64
  uint64_t checksum = 0;
};

struct ScoutInfo {
  std::string spec_json;  // ModelSpec as JSON (model/spec.h)
  std::string source;     // where the model came from, for people
  uint64_t fingerprint = 0;
  std::vector<ScoutTensor> tensors;  // in file order = the order in which a step needs them
};

class ScoutFile {
 public:
  // Reads and checks header, its checksum, sizes and version; no tensor data.
  // Fails: kNotFound, kIo, kCorrupt, kUnsupported, naming the file and the fact.
  static Result<ScoutFile> open(const std::filesystem::path& path);
  // A scout that was never written: tensors have their places, `path` is for messages.
  static ScoutFile over(ScoutInfo info, const std::filesystem::path& path);

  const ScoutInfo& info() const { return info_; }
  uint64_t data_begin() const { return data_begin_; }
  uint64_t data_bytes() const { return data_bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  ScoutInfo info_;
  uint64_t data_begin_ = 0;
  uint64_t data_bytes_ = 0;
  std::filesystem::path path_;
};

// Brings the tensors of a scout that was never written into memory, as a file would have them.
class ScoutReader {
 public:
  virtual ~ScoutReader() = default;
  // `out` has the tensor's bytes and is zero. Threads: one. Fails: kCancelled when `stop` becomes
  // true; as reading and packing do, naming file and tensor.
  virtual Status read(size_t tensor, std::span<std::byte> out, const std::atomic<bool>& stop) = 0;
  // What read() needs of memory beside `out`.
  virtual uint64_t buffer_bytes() const = 0;
};

// The bytes that open a scout file. `info.tensors` has names, layouts, formats, shapes and
// checksums; offsets and bytes are computed (use plan_scout first) and must agree.
Result<std::string> scout_header(const ScoutInfo& info);

// Fills in offset and bytes of every tensor; the header's length does not depend on checksum
// values.
Status plan_scout(ScoutInfo& info);

}  // namespace smoe
