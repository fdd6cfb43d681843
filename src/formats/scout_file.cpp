#include "formats/scout_file.h"

#include <limits>
#include <utility>

#include "base/checksum.h"
#include "base/json.h"
#include "base/units.h"
#include "formats/corrupt.h"
#include "formats/folder_file.h"

namespace smoe {
namespace {

constexpr uint64_t kTensorAlignment = 64;
constexpr size_t kMaxSpecText = 16 * kMiB;
constexpr size_t kMaxTableText = 16 * kMiB;
constexpr size_t kMaxSourceText = 64 * kKiB;
constexpr std::string_view kPaddingPrefix = "padding.";

// In the order of the enumerators.
constexpr std::string_view kLayoutNames[] = {"rows", "tiles16"};

std::string_view name_of(Layout layout) { return kLayoutNames[static_cast<size_t>(layout)]; }

uint64_t used_bytes(const ScoutTensor& tensor) {
  if (tensor.layout == Layout::kRows) return uint64_t{tensor.cols} * sizeof(float);
  return matrix_bytes(tensor.format, tensor.rows, tensor.cols);
}

Status check_tensor(const ScoutTensor& tensor, Code code) {
  const auto wrong = [&](std::string_view fact) {
    return Error{code, "tensor " + json_quote(tensor.name) + ": " + std::string(fact)};
  };
  if (tensor.name.empty() || tensor.name.starts_with(kPaddingPrefix))
    return wrong("the name is empty or begins with \"padding.\"");
  if (tensor.rows == 0 || tensor.cols == 0) return wrong("has no rows or no columns");
  if (tensor.layout == Layout::kRows && (tensor.rows != 1 || tensor.format != Format::kF32))
    return wrong("the layout \"rows\" is for one row of f32");
  if (tensor.cols % info(tensor.format).block_k != 0)
    return wrong("its rows do not fill the blocks of " + std::string(info(tensor.format).name));
  const auto tiles = ceil_div(tensor.rows, kTileRows);
  if (!checked_mul(tiles, tile_bytes(tensor.format, tensor.cols)))
    return wrong("larger than 64 bits count");
  return {};
}

// A vector keeps its own shape, so that other tools see what it is; the bytes up to the next
// boundary belong to a tensor of their own, because the container allows no gaps.
std::vector<TensorInfo> file_tensors(const std::vector<ScoutTensor>& tensors) {
  std::vector<TensorInfo> stored;
  stored.reserve(tensors.size());
  for (const ScoutTensor& tensor : tensors) {
    const uint64_t used = used_bytes(tensor);
    const bool vector = tensor.layout == Layout::kRows;
    stored.push_back({.name = tensor.name,
                      .dtype = vector ? DType::kF32 : DType::kU8,
                      .shape = {vector ? uint64_t{tensor.cols} : used}});
    if (const uint64_t padding = align_up(used, kTensorAlignment) - used; padding > 0)
      stored.push_back({.name = std::string(kPaddingPrefix) + tensor.name,
                        .dtype = DType::kU8,
                        .shape = {padding}});
  }
  return stored;
}

std::string table_text(const std::vector<ScoutTensor>& tensors) {
  JsonWriter json;
  json.begin_array();
  for (const ScoutTensor& tensor : tensors) {
    json.begin_object()
        .member("name", tensor.name)
        .member("layout", name_of(tensor.layout))
        .member("format", info(tensor.format).name)
        .member("rows", tensor.rows)
        .member("cols", tensor.cols)
        .member("checksum", checksum_text(tensor.checksum))
        .end_object();
  }
  json.end_array();
  return json.take();
}

Result<SafetensorsLayout> lay_out(const ScoutInfo& info) {
  for (const ScoutTensor& tensor : info.tensors) SMOE_DO(check_tensor(tensor, Code::kUsage));
  Metadata metadata = {
      {"spec", info.spec_json}, {"source", info.source}, {"tensors", table_text(info.tensors)}};
  return lay_out_folder_file("scout", info.fingerprint, file_tensors(info.tensors),
                             std::move(metadata));
}

// Offset and bytes of every tensor, from the first byte of data on.
void place(std::vector<ScoutTensor>& tensors, uint64_t data_begin) {
  uint64_t offset = data_begin;
  for (ScoutTensor& tensor : tensors) {
    tensor.offset = offset;
    tensor.bytes = align_up(used_bytes(tensor), kTensorAlignment);
    offset += tensor.bytes;
  }
}

Result<ScoutTensor> read_tensor(const Json& json) {
  const auto text = [&](std::string_view key) {
    const Json* value = json.find(key);
    return value != nullptr ? value->as_string().value_or("") : std::string_view();
  };
  const auto extent = [&](std::string_view key) {
    const Json* value = json.find(key);
    const uint64_t number = value != nullptr ? value->as_uint().value_or(0) : 0;
    return number <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(number) : 0U;
  };
  ScoutTensor tensor;
  tensor.name = text("name");
  const auto format = format_named(text("format"));
  const std::string_view layout = text("layout");
  if (!format || !info(*format).computed ||
      (layout != name_of(Layout::kRows) && layout != name_of(Layout::kTiles16)))
    return Error{Code::kUnsupported, "tensor " + json_quote(tensor.name) + " is " +
                                         json_quote(text("format")) + " in " + json_quote(layout) +
                                         ", which this build does not know"};
  tensor.format = *format;
  tensor.layout = layout == name_of(Layout::kRows) ? Layout::kRows : Layout::kTiles16;
  tensor.rows = extent("rows");
  tensor.cols = extent("cols");
  const auto checksum = parse_checksum(text("checksum"));
  if (!checksum) return corrupt("tensor " + json_quote(tensor.name) + ": has no checksum");
  tensor.checksum = *checksum;
  SMOE_DO(check_tensor(tensor, Code::kCorrupt));
  return tensor;
}

// What the table describes must be what the container holds.
Status check_stored(const std::vector<ScoutTensor>& tensors, const SafetensorsHeader& header) {
  const std::vector<TensorInfo> wanted = file_tensors(tensors);
  if (wanted.size() != header.tensors.size())
    return corrupt(std::to_string(header.tensors.size()) + " tensors, the table describes " +
                   std::to_string(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const TensorInfo& found = header.tensors[i];
    if (found.name != wanted[i].name || found.dtype != wanted[i].dtype ||
        found.shape != wanted[i].shape)
      return corrupt("tensor " + json_quote(found.name) + " stands where the table describes " +
                     json_quote(wanted[i].name) + ", or has another type or shape");
  }
  return {};
}

Result<ScoutInfo> read_scout_info(const FolderHeader& header) {
  ScoutInfo info;
  info.fingerprint = header.fingerprint;
  SMOE_TRY(info.spec_json, header.text("spec", kMaxSpecText));
  SMOE_TRY(info.source, header.text("source", kMaxSourceText));
  SMOE_TRY(const std::string_view table, header.text("tensors", kMaxTableText));
  SMOE_TRY(const Json json, Json::parse(table));
  if (!json.is_array()) return corrupt("metadata \"tensors\" is no list");
  for (const Json& item : json.items()) {
    SMOE_TRY(const ScoutTensor tensor, read_tensor(item));
    info.tensors.push_back(tensor);
  }
  SMOE_DO(check_stored(info.tensors, header.safetensors));
  place(info.tensors, header.safetensors.data_begin);
  return info;
}

}  // namespace

Result<ScoutFile> ScoutFile::open(const std::filesystem::path& path) {
  SMOE_TRY(const FolderHeader header, open_folder_file(path, "scout"));
  auto info = read_scout_info(header);
  if (!info) return std::move(info).error().in(path.string());
  ScoutFile file;
  file.info_ = std::move(*info);
  file.data_begin_ = header.safetensors.data_begin;
  file.data_bytes_ = header.data_bytes;
  file.path_ = path;
  return file;
}

ScoutFile ScoutFile::over(ScoutInfo info, const std::filesystem::path& path) {
  ScoutFile file;
  file.data_begin_ = info.tensors.front().offset;
  file.data_bytes_ = info.tensors.back().offset + info.tensors.back().bytes - file.data_begin_;
  file.info_ = std::move(info);
  file.path_ = path;
  return file;
}

Status plan_scout(ScoutInfo& info) {
  SMOE_TRY(const SafetensorsLayout layout, lay_out(info));
  place(info.tensors, layout.header.data_begin);
  return {};
}

Result<std::string> scout_header(const ScoutInfo& info) {
  SMOE_TRY(SafetensorsLayout layout, lay_out(info));
  std::vector<ScoutTensor> planned = info.tensors;
  place(planned, layout.header.data_begin);
  for (size_t i = 0; i < planned.size(); ++i)
    if (planned[i].offset != info.tensors[i].offset || planned[i].bytes != info.tensors[i].bytes)
      return Error{Code::kUsage, "tensor " + json_quote(planned[i].name) +
                                     ": its offset or bytes are not as planned"};
  return std::move(layout.header_bytes);
}

}  // namespace smoe
