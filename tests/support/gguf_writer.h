// GGUF files as other programs write them. Written with code of its own, so that a mistake in our
// reader and our writer cannot cancel out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smoe::test {

// Type numbers of the format.
enum GgufValueType : uint32_t {
  kGgufU8 = 0,
  kGgufU32 = 4,
  kGgufI32 = 5,
  kGgufF32 = 6,
  kGgufBool = 7,
  kGgufString = 8,
  kGgufArray = 9,
  kGgufU64 = 10,
};
enum GgufTensorType : uint32_t {
  kGgufTensorF32 = 0,
  kGgufTensorF16 = 1,
  kGgufTensorQ4_0 = 2,   // NOLINT(readability-identifier-naming): ggml's name
  kGgufTensorQ8_0 = 8,   // NOLINT(readability-identifier-naming): ggml's name
  kGgufTensorQ4_K = 12,  // NOLINT(readability-identifier-naming): ggml's name
  kGgufTensorBF16 = 30,
};

std::string le32(uint64_t value);
std::string le64(uint64_t value);
std::string gguf_string(std::string_view text);

struct GgufWriter {
  uint32_t version = 3;
  uint64_t alignment = 32;  // stated only when it is another
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;  // the fastest axis first
    uint32_t type = 0;
    std::string data;
  };
  std::vector<std::pair<std::string, std::string>> keys;  // name, type and value
  std::vector<Tensor> tensors;

  void set_raw(std::string_view key, std::string bytes);  // changes or adds
  void set_u32(std::string_view key, uint64_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, const std::vector<std::string>& values);
  void set_ints(std::string_view key, const std::vector<int32_t>& values);
  void set_floats(std::string_view key, const std::vector<float>& values);
  void unset(std::string_view key);

  Tensor* find(std::string_view name);

  std::string bytes() const;
  void write(const std::filesystem::path& path) const;
};

// A small valid file with a value of every kind and two tensors.
GgufWriter small_gguf();

}  // namespace smoe::test
