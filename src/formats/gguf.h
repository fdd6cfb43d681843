// The GGUF container: typed metadata keys, a directory of tensors, and their data. Versions 2 and
// 3, little-endian. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "formats/dtype.h"

namespace smoe {

enum class GgufType : uint32_t {  // numbered as in the file
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

// A metadata value. Its bytes were checked when the header was read; they are not copied.
// Lifetime: ends before the bytes that were parsed.
class GgufValue {
 public:
  GgufValue() = default;
  GgufValue(GgufType type, uint64_t count, bool array, std::span<const std::byte> raw)
      : type_(type), array_(array), count_(count), raw_(raw) {}

  bool is_array() const { return array_; }
  GgufType type() const { return type_; }   // of an array's elements
  uint64_t size() const { return count_; }  // elements of an array; 1 for others

  // Nothing when this is an array or of another kind.
  std::optional<bool> as_bool() const;
  std::optional<uint64_t> as_uint() const;  // any whole number that is not negative
  std::optional<double> as_double() const;  // F32 or F64
  std::optional<std::string_view> as_string() const;
  // Nothing when this is no array of that kind.
  std::optional<std::vector<std::string_view>> as_strings() const;
  std::optional<std::vector<int64_t>> as_ints() const;  // whole numbers below 2^63, booleans
  std::optional<std::vector<double>> as_doubles() const;

 private:
  GgufType type_ = GgufType::kU8;
  bool array_ = false;
  uint64_t count_ = 0;
  std::span<const std::byte> raw_;
};

struct GgufTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;  // row-major, the slowest axis first: the file's order turned round
  uint64_t begin = 0;           // absolute offset in the file
  uint64_t bytes = 0;
};

struct GgufHeader {
  uint32_t version = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // in the order of their data
  uint64_t data_begin = 0;

  // nullptr when there is no such key.
  const GgufValue* find(std::string_view key) const;

  // `file` is the whole file. Every count and length is compared with the bytes that are left
  // before anything is allocated, and nothing is allocated that the file's own bytes do not fill:
  // strings and arrays stay where they are. Checks: magic, version, value types, no key or tensor
  // twice, alignment a power of two, 1 to 4 dimensions, rows that fill their blocks, products that
  // do not wrap, tensors aligned, inside the file, and apart from each other.
  // Fails: kCorrupt; kUnsupported for a version, byte order, value type or tensor type that this
  // build does not read (with those that it does); naming `name` and the key or tensor.
  static Result<GgufHeader> parse(std::span<const std::byte> file, std::string_view name);
};

// A mapped GGUF file.
class GgufFile {
 public:
  static Result<GgufFile> open(const std::filesystem::path& path);

  const GgufHeader& header() const { return header_; }
  // The bytes before the first tensor's.
  std::span<const std::byte> header_bytes() const;
  std::span<const std::byte> data(const GgufTensor& tensor) const;
  // These bytes of the file will not be needed again.
  void drop(uint64_t begin, uint64_t bytes) const { file_.drop(begin, bytes); }
  uint64_t file_bytes() const { return file_.bytes().size(); }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  MappedFile file_;
  GgufHeader header_;
};

// A model in one file, or in several (NAME-00001-of-0000N.gguf), which are found from any one of
// them. The first one's metadata is the model's. Fails: as GgufHeader::parse; kNotFound for a
// missing file, by name; kCorrupt when the files are not parts 1 to N of one model or two of them
// hold one tensor.
Result<std::vector<GgufFile>> open_gguf(const std::filesystem::path& path);

}  // namespace smoe
