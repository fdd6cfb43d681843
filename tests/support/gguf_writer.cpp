#include "support/gguf_writer.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace smoe::test {
namespace {

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
  return text;
}

std::string le_float(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return le32(bits);
}

void pad(std::string& text, uint64_t alignment) {
  text.resize((text.size() + alignment - 1) / alignment * alignment, '\0');
}

}  // namespace

std::string le32(uint64_t value) { return little_endian(value, 4); }
std::string le64(uint64_t value) { return little_endian(value, 8); }
std::string gguf_string(std::string_view text) { return le64(text.size()) + std::string(text); }

void GgufWriter::set_raw(std::string_view key, std::string bytes) {
  unset(key);
  keys.emplace_back(key, std::move(bytes));
}
void GgufWriter::set_u32(std::string_view key, uint64_t value) {
  set_raw(key, le32(kGgufU32) + le32(value));
}
void GgufWriter::set_f32(std::string_view key, float value) {
  set_raw(key, le32(kGgufF32) + le_float(value));
}
void GgufWriter::set_bool(std::string_view key, bool value) {
  set_raw(key, le32(kGgufBool) + (value ? '\1' : '\0'));
}
void GgufWriter::set_string(std::string_view key, std::string_view value) {
  set_raw(key, le32(kGgufString) + gguf_string(value));
}
void GgufWriter::set_strings(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes = le32(kGgufArray) + le32(kGgufString) + le64(values.size());
  for (const std::string& value : values) bytes += gguf_string(value);
  set_raw(key, std::move(bytes));
}
void GgufWriter::set_ints(std::string_view key, const std::vector<int32_t>& values) {
  std::string bytes = le32(kGgufArray) + le32(kGgufI32) + le64(values.size());
  for (const int32_t value : values) bytes += le32(static_cast<uint32_t>(value));
  set_raw(key, std::move(bytes));
}
void GgufWriter::set_floats(std::string_view key, const std::vector<float>& values) {
  std::string bytes = le32(kGgufArray) + le32(kGgufF32) + le64(values.size());
  for (const float value : values) bytes += le_float(value);
  set_raw(key, std::move(bytes));
}
void GgufWriter::unset(std::string_view key) {
  std::erase_if(keys, [&](const auto& entry) { return entry.first == key; });
}

GgufWriter::Tensor* GgufWriter::find(std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found != tensors.end() ? &*found : nullptr;
}

std::string GgufWriter::bytes() const {
  const bool stated = alignment != 32;
  std::string file = "GGUF" + le32(version) + le64(tensors.size());
  file += le64(keys.size() + (stated ? 1 : 0));
  for (const auto& [key, value] : keys) file += gguf_string(key) + value;
  if (stated) file += gguf_string("general.alignment") + le32(kGgufU32) + le32(alignment);
  std::string data;
  for (const Tensor& tensor : tensors) {
    file += gguf_string(tensor.name) + le32(tensor.dims.size());
    for (const uint64_t side : tensor.dims) file += le64(side);
    file += le32(tensor.type) + le64(data.size());
    data += tensor.data;
    pad(data, alignment);
  }
  pad(file, alignment);
  return file + data;
}

void GgufWriter::write(const std::filesystem::path& path) const {
  std::ofstream out(path, std::ios::binary);
  const std::string text = bytes();
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

GgufWriter small_gguf() {
  GgufWriter file;
  file.set_string("general.architecture", "qwen3moe");
  file.set_u32("count", 7);
  file.set_raw("long", le32(kGgufU64) + le64(uint64_t{1} << 63));
  file.set_raw("negative", le32(kGgufI32) + le32(0xffffffffU));
  file.set_f32("ratio", 0.5F);
  file.set_bool("flag", true);
  file.set_strings("words", {"a", "", "ccc"});
  file.set_ints("numbers", {1, -2});
  file.set_floats("scores", {1.5F, -2});
  file.tensors.push_back({"a", {4, 2}, kGgufTensorF32, std::string(32, 'a')});
  file.tensors.push_back({"b.weight", {32, 3}, kGgufTensorQ8_0, std::string(3 * 34, 'b')});
  return file;
}

}  // namespace smoe::test
