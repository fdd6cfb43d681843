// F1: any bytes as a safetensors file. First byte: 0 takes the rest as the whole file; otherwise
// the next two bytes are the size of the data and the rest is the header's text.
#include <string>

#include "base/check.h"
#include "formats/safetensors.h"
#include "fuzz/field_mutator.h"

namespace smoe {
namespace {

constexpr size_t kFixedBytes = 3;

void check_accepted(const SafetensorsHeader& header, uint64_t file_bytes) {
  uint64_t end = header.data_begin;
  for (const TensorInfo& tensor : header.tensors) {
    SMOE_CHECK(tensor.begin == end);
    uint64_t elements = 1;
    for (const uint64_t extent : tensor.shape) elements *= extent;
    SMOE_CHECK(elements * bytes_of(tensor.dtype) == tensor.bytes);
    end += tensor.bytes;
  }
  SMOE_CHECK(end == file_bytes);
  const auto again = lay_out_safetensors(header.tensors, header.metadata, 64);
  SMOE_CHECK(again.has_value());
  const auto read = SafetensorsHeader::parse(std::as_bytes(std::span(again->header_bytes)),
                                             again->file_bytes, "again");
  SMOE_CHECK(read && read->tensors.size() == header.tensors.size());
  SMOE_CHECK(read->metadata == header.metadata);
}

void try_file(const std::string& head, uint64_t file_bytes) {
  const auto header = SafetensorsHeader::parse(std::as_bytes(std::span(head)), file_bytes, "input");
  if (header) check_accepted(*header, file_bytes);
  if (!header) SMOE_CHECK(header.error().message.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < smoe::kFixedBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (data[0] == 0) {
    const std::string file(text.substr(1));
    smoe::try_file(file, file.size());
    return 0;
  }
  const uint64_t data_bytes = data[1] | uint64_t{data[2]} << 8;
  const std::string_view header = text.substr(smoe::kFixedBytes);
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>(header.size() >> (8 * i) & 0xffU);
  head += header;
  smoe::try_file(head, head.size() + data_bytes);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::string_view> words = {
      "\"dtype\":",
      "\"shape\":[",
      "\"data_offsets\":[0,0]",
      "\"__metadata__\":{",
      "\"U8\"",
      "\"F32\"",
      "\"BF16\"",
      "\"F8_E4M3\"",
      "\"F64\"",
      "},",
      "[0,1]",
      "\\ud83d\\ude38",
      "\\u0000",
      "  ",
      "{",
      "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"};
  return smoe::fuzz::mutate(data, size, max_size, seed, smoe::kFixedBytes, words);
}
