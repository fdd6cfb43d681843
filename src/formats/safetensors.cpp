#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "base/units.h"
#include "formats/corrupt.h"
#include "formats/json_cursor.h"

namespace smoe {
namespace {

constexpr size_t kMaxTensors = 1'000'000;
constexpr size_t kMaxMetadata = 10'000;  // a map entry takes far more memory than its text
constexpr size_t kMaxRank = 8;
constexpr size_t kShortestEntry =
    std::string_view(R"("":{"dtype":"U8","shape":[],"data_offsets":[0,0]})").size();

Result<uint64_t> header_length(std::span<const std::byte> head, uint64_t file_bytes) {
  if (file_bytes < kSafetensorsPrefixBytes || head.size() < kSafetensorsPrefixBytes)
    return corrupt("too short for a safetensors file (" + std::to_string(file_bytes) + " bytes)");
  uint64_t length = 0;
  for (size_t i = 0; i < kSafetensorsPrefixBytes; ++i)
    length |= std::to_integer<uint64_t>(head[i]) << (8 * i);
  if (length > kMaxSafetensorsHeaderBytes)
    return corrupt("header length " + std::to_string(length) + ", the most is " +
                   std::to_string(kMaxSafetensorsHeaderBytes));
  if (length > file_bytes - kSafetensorsPrefixBytes)
    return corrupt("header length " + std::to_string(length) + ", but the file has only " +
                   std::to_string(file_bytes) + " bytes");
  return length;
}

// An upper bound, so that the tensors can be allocated once; exact when the text is valid.
size_t count_members(std::string_view text) {
  size_t members = 0;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ':' && depth == 1) ++members;
  }
  return members;
}

// Reads the header's text. The nesting is fixed by what a header may hold (three levels), so a
// deeper text is refused where its fourth level begins.
class SafetensorsHeaderReader {
 public:
  SafetensorsHeaderReader(std::string_view text, uint64_t data_bytes)
      : cursor_(text), text_(text), data_bytes_(data_bytes) {}

  Status read(SafetensorsHeader& to) {
    const size_t members = count_members(text_);
    if (members > kMaxTensors + 1)
      return corrupt("more than " + std::to_string(kMaxTensors) + " tensors");
    // Text that only looks like many tensors must not reserve more than real ones could fill.
    to.tensors.reserve(std::min(members, text_.size() / kShortestEntry));
    SMOE_DO(cursor_.expect('{'));
    bool has_metadata = false;
    for (bool first = true; !cursor_.take('}'); first = false) {
      if (!first) SMOE_DO(cursor_.expect(','));
      SMOE_TRY(std::string name, cursor_.string());
      SMOE_DO(cursor_.expect(':'));
      if (name == "__metadata__") {
        if (has_metadata) return corrupt("duplicate key \"__metadata__\"");
        has_metadata = true;
        SMOE_DO(read_metadata(to.metadata));
      } else {
        to.tensors.emplace_back().name = std::move(name);
        SMOE_DO(read_tensor(to.tensors.back()));
      }
    }
    if (!cursor_.at_end()) return corrupt("text after the end of the header");
    return {};
  }

 private:
  Status read_metadata(std::map<std::string, std::string>& to) {
    SMOE_DO(cursor_.expect('{'));
    for (bool first = true; !cursor_.take('}'); first = false) {
      if (!first) SMOE_DO(cursor_.expect(','));
      SMOE_TRY(std::string key, cursor_.string());
      SMOE_DO(cursor_.expect(':'));
      SMOE_TRY(std::string value, cursor_.string());
      if (!to.emplace(key, std::move(value)).second)
        return corrupt("duplicate key " + in_quotes(key) + " in __metadata__");
      if (to.size() > kMaxMetadata)
        return corrupt("more than " + std::to_string(kMaxMetadata) + " entries in __metadata__");
    }
    return {};
  }

  Status read_tensor(TensorInfo& tensor) {
    Status status = read_fields(tensor);
    if (!status) return std::move(status).error().in("tensor " + in_quotes(tensor.name));
    return {};
  }

  Status read_fields(TensorInfo& tensor) {
    std::optional<DType> dtype;
    std::optional<std::vector<uint64_t>> shape;
    std::optional<std::vector<uint64_t>> range;
    SMOE_DO(cursor_.expect('{'));
    for (bool first = true; !cursor_.take('}'); first = false) {
      if (!first) SMOE_DO(cursor_.expect(','));
      SMOE_TRY(const std::string field, cursor_.string());
      SMOE_DO(cursor_.expect(':'));
      if ((field == "dtype" && dtype) || (field == "shape" && shape) ||
          (field == "data_offsets" && range))
        return corrupt("duplicate key " + in_quotes(field));
      if (field == "dtype") {
        SMOE_TRY(const std::string name, cursor_.string());
        dtype = dtype_named(name);
        if (!dtype)
          return Error{Code::kUnsupported,
                       "dtype " + in_quotes(name) + " is not known to this build"};
      } else if (field == "shape") {
        SMOE_TRY(shape, numbers(kMaxRank, "dimensions"));
      } else if (field == "data_offsets") {
        SMOE_TRY(range, numbers(2, "data_offsets"));
      } else {
        return Error{Code::kUnsupported,
                     "field " + in_quotes(field) + " is not known to this build"};
      }
    }
    if (!dtype || !shape || !range || range->size() != 2)
      return corrupt("dtype, shape and two data_offsets are needed");
    tensor.dtype = *dtype;
    tensor.shape = std::move(*shape);
    return place(tensor, range->front(), range->back());
  }

  Result<std::vector<uint64_t>> numbers(size_t most, std::string_view what) {
    std::vector<uint64_t> values;
    SMOE_DO(cursor_.expect('['));
    while (!cursor_.take(']')) {
      if (!values.empty()) SMOE_DO(cursor_.expect(','));
      if (values.size() == most)
        return corrupt("more than " + std::to_string(most) + " " + std::string(what));
      SMOE_TRY(const uint64_t value, cursor_.number());
      values.push_back(value);
    }
    values.shrink_to_fit();
    return values;
  }

  // `begin` stays relative to the data for now.
  Status place(TensorInfo& tensor, uint64_t begin, uint64_t end) const {
    std::optional<uint64_t> bytes = bytes_of(tensor.dtype);
    for (const uint64_t extent : tensor.shape)
      if (bytes) bytes = checked_mul(*bytes, extent);
    if (!bytes) return corrupt("its shape has more elements than 64 bits count");
    if (end < begin || end > data_bytes_)
      return corrupt("data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
                     "] in a file with " + std::to_string(data_bytes_) + " bytes of data");
    if (end - begin != *bytes)
      return corrupt("data_offsets span " + std::to_string(end - begin) +
                     " bytes, its shape needs " + std::to_string(*bytes));
    tensor.begin = begin;
    tensor.bytes = *bytes;
    return {};
  }

  JsonCursor cursor_;
  std::string_view text_;
  uint64_t data_bytes_;
};

Status check_unique_names(const std::vector<TensorInfo>& tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
  for (size_t i = 1; i < order.size(); ++i)
    if (tensors[order[i - 1]].name == tensors[order[i]].name)
      return corrupt("duplicate tensor " + in_quotes(tensors[order[i]].name));
  return {};
}

Status check_gap_free(const std::vector<TensorInfo>& tensors, uint64_t data_bytes) {
  uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != end)
      return corrupt("tensor " + in_quotes(tensor.name) + ": data begins at " +
                     std::to_string(tensor.begin) + ", the data before it ends at " +
                     std::to_string(end));
    end += tensor.bytes;
  }
  if (end != data_bytes)
    return corrupt("the tensors end at byte " + std::to_string(end) + " of the data, which has " +
                   std::to_string(data_bytes) + " (cut off, or something was appended)");
  return {};
}

Result<SafetensorsHeader> parse_header(std::span<const std::byte> head, uint64_t file_bytes) {
  SMOE_TRY(const uint64_t length, header_length(head, file_bytes));
  if (head.size() - kSafetensorsPrefixBytes < length) return corrupt("the header is cut off");
  const std::string_view text(reinterpret_cast<const char*>(head.data()) + kSafetensorsPrefixBytes,
                              static_cast<size_t>(length));
  if (!is_utf8(text)) return corrupt("the header is not UTF-8");
  if (!text.starts_with('{')) return corrupt("the header does not begin with '{'");
  SafetensorsHeader header;
  header.data_begin = kSafetensorsPrefixBytes + length;
  const uint64_t data_bytes = file_bytes - header.data_begin;
  SMOE_DO(SafetensorsHeaderReader(text, data_bytes).read(header));
  SMOE_DO(check_unique_names(header.tensors));
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              if (a.begin != b.begin) return a.begin < b.begin;
              return a.bytes != b.bytes ? a.bytes < b.bytes : a.name < b.name;
            });
  SMOE_DO(check_gap_free(header.tensors, data_bytes));
  for (TensorInfo& tensor : header.tensors) tensor.begin += header.data_begin;
  return header;
}

}  // namespace

const TensorInfo* SafetensorsHeader::find(std::string_view name) const {
  for (const TensorInfo& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

Result<SafetensorsHeader> SafetensorsHeader::parse(std::span<const std::byte> head,
                                                   uint64_t file_bytes, std::string_view name) {
  auto header = parse_header(head, file_bytes);
  if (!header) return std::move(header).error().in(name);
  return header;
}

Result<SafetensorsHeader> SafetensorsHeader::read(const File& file) {
  SMOE_TRY(const std::string head, read_safetensors_head(file));
  SMOE_TRY(const uint64_t file_bytes, file.size());
  return parse(std::as_bytes(std::span(head)), file_bytes, file.path().string());
}

Result<std::string> read_safetensors_head(const File& file) {
  SMOE_TRY(const uint64_t file_bytes, file.size());
  std::string head(static_cast<size_t>(std::min(file_bytes, kSafetensorsPrefixBytes)), '\0');
  SMOE_DO(file.read_at(0, std::as_writable_bytes(std::span(head))));
  auto length = header_length(std::as_bytes(std::span(head)), file_bytes);
  if (!length) return std::move(length).error().in(file.path().string());
  head.resize(static_cast<size_t>(kSafetensorsPrefixBytes + *length));
  SMOE_DO(file.read_at(0, std::as_writable_bytes(std::span(head))));
  return head;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file;
  SMOE_TRY(file.file_, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.file_.bytes();
  SMOE_TRY(file.header_, SafetensorsHeader::parse(bytes, bytes.size(), path.string()));
  return file;
}

std::span<const std::byte> SafetensorsFile::data(const TensorInfo& tensor) const {
  SMOE_CHECK(tensor.begin <= file_.bytes().size() &&
             tensor.bytes <= file_.bytes().size() - tensor.begin);
  return file_.bytes().subspan(static_cast<size_t>(tensor.begin),
                               static_cast<size_t>(tensor.bytes));
}

void SafetensorsFile::drop(const TensorInfo& tensor) const {
  file_.drop(tensor.begin, tensor.bytes);
}

}  // namespace smoe
