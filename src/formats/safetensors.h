// The safetensors container: an 8-byte little-endian header length, a JSON header, tensor data.
// Format: https://github.com/huggingface/safetensors#format
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "formats/dtype.h"

namespace smoe {

inline constexpr uint64_t kSafetensorsPrefixBytes = 8;  // the length of the JSON header
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // the reference's own limit

struct TensorInfo {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // absolute offset in the file
  uint64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;              // in the order of their data
  std::map<std::string, std::string> metadata;  // __metadata__, strings only
  uint64_t data_begin = 0;                      // 8 + header length

  const TensorInfo* find(std::string_view name) const;

  // Checks, in this order: 8 <= file_bytes; header length <= min(100 MB, file_bytes - 8); UTF-8;
  // first byte '{'; nothing but what a header may hold; <= 1 M tensors; each tensor's known dtype,
  // rank <= 8, products that do not overflow, end - begin equal to the size; data gap-free, without
  // overlap, and ending at the file's end; no duplicate names. `head` holds at least the 8 +
  // header-length first bytes of the file. Fails: kCorrupt, kUnsupported (a dtype this build does
  // not know), naming `name` and the tensor.
  static Result<SafetensorsHeader> parse(std::span<const std::byte> head, uint64_t file_bytes,
                                         std::string_view name);
  // Reads and parses the header of an open file.
  static Result<SafetensorsHeader> read(const File& file);
};

// The bytes that `parse` needs: the length prefix and the header, checked against the file's size.
Result<std::string> read_safetensors_head(const File& file);

// Lays out a new file: give names, types and shapes in the order wanted; `begin` and `bytes` are
// filled in. The header is padded with spaces so that data starts on a multiple of `alignment`.
// `header_bytes` gets the exact bytes to write at offset 0 (length prefix included).
// Fails: kUsage on duplicate names or sizes that overflow.
struct SafetensorsLayout {
  SafetensorsHeader header;
  std::string header_bytes;
  uint64_t file_bytes = 0;
};
Result<SafetensorsLayout> lay_out_safetensors(std::vector<TensorInfo> tensors,
                                              std::map<std::string, std::string> metadata,
                                              uint64_t alignment);

// A mapped safetensors file.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const SafetensorsHeader& header() const { return header_; }
  std::span<const std::byte> data(const TensorInfo& tensor) const;
  // The pages of `tensor` will not be needed again.
  void drop(const TensorInfo& tensor) const;
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  MappedFile file_;
  SafetensorsHeader header_;
};

}  // namespace smoe
