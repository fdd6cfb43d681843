#include <set>

#include "base/json.h"
#include "base/units.h"
#include "formats/safetensors.h"

namespace smoe {
namespace {

Error unusable(const std::string& name, std::string_view fact) {
  return {Code::kUsage, "tensor " + json_quote(name) + ": " + std::string(fact)};
}

// Fills in bytes, and begin relative to the data; returns the bytes of all.
Result<uint64_t> place(std::vector<TensorInfo>& tensors) {
  std::set<std::string_view> names = {"__metadata__"};
  uint64_t end = 0;
  for (TensorInfo& tensor : tensors) {
    if (!names.insert(tensor.name).second) return unusable(tensor.name, "the name is taken");
    if (!is_utf8(tensor.name)) return unusable(tensor.name, "the name is not UTF-8");
    std::optional<uint64_t> bytes = bytes_of(tensor.dtype);
    for (const uint64_t extent : tensor.shape)
      if (bytes) bytes = checked_mul(*bytes, extent);
    const auto next = bytes ? checked_add(end, *bytes) : bytes;
    if (!next) return unusable(tensor.name, "larger than 64 bits count");
    tensor.begin = end;
    tensor.bytes = *bytes;
    end = *next;
  }
  return end;
}

std::string header_text(const SafetensorsHeader& header) {
  JsonWriter json;
  json.begin_object();
  if (!header.metadata.empty()) {
    json.key("__metadata__").begin_object();
    for (const auto& [key, value] : header.metadata) json.member(key, value);
    json.end_object();
  }
  for (const TensorInfo& tensor : header.tensors) {
    json.key(tensor.name).begin_object().member("dtype", name_of(tensor.dtype));
    json.key("shape").begin_array();
    for (const uint64_t extent : tensor.shape) json.value(extent);
    json.end_array().key("data_offsets").begin_array();
    json.value(tensor.begin).value(tensor.begin + tensor.bytes).end_array().end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace

Result<SafetensorsLayout> lay_out_safetensors(std::vector<TensorInfo> tensors,
                                              std::map<std::string, std::string> metadata,
                                              uint64_t alignment) {
  SafetensorsLayout layout;
  SMOE_TRY(const uint64_t data_bytes, place(tensors));
  layout.header.tensors = std::move(tensors);
  layout.header.metadata = std::move(metadata);
  std::string text = header_text(layout.header);
  const uint64_t data_begin = align_up<uint64_t>(kSafetensorsPrefixBytes + text.size(), alignment);
  const uint64_t length = data_begin - kSafetensorsPrefixBytes;
  const auto file_bytes = checked_add(data_begin, data_bytes);
  if (length > kMaxSafetensorsHeaderBytes || !file_bytes)
    return Error{Code::kUsage, "a safetensors header of " + format_bytes(length) + " over " +
                                   format_bytes(data_bytes) + " of data is too large"};
  text.resize(static_cast<size_t>(length), ' ');
  for (uint64_t i = 0; i < kSafetensorsPrefixBytes; ++i)
    layout.header_bytes += static_cast<char>(length >> (8 * i) & 0xffU);
  layout.header_bytes += text;
  layout.header.data_begin = data_begin;
  layout.file_bytes = *file_bytes;
  for (TensorInfo& tensor : layout.header.tensors) tensor.begin += data_begin;
  return layout;
}

}  // namespace smoe
