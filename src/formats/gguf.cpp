#include "formats/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/unaligned.h"
#include "base/units.h"
#include "formats/corrupt.h"

namespace smoe {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = kMiB;
constexpr size_t kMaxKeys = 100'000;  // a map entry takes more memory than the shortest key's bytes
constexpr size_t kMaxGgufTensors = 1'000'000;
constexpr size_t kMaxNameBytes = 1024;
constexpr uint32_t kMaxDimensions = 4;
constexpr uint64_t kShortestKey = 8 + 1 + 4 + 1;             // length, a letter, type, a byte
constexpr uint64_t kShortestTensor = 8 + 1 + 4 + 8 + 4 + 8;  // … dimensions, one, type, offset

struct TensorType {
  uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;  // nothing: known by name only
};

constexpr TensorType kTensorTypes[] = {
    {0, "F32", DType::kF32},          {1, "F16", DType::kF16},
    {2, "Q4_0", DType::kQ4_0},        {3, "Q4_1", DType::kQ4_1},
    {6, "Q5_0", DType::kQ5_0},        {7, "Q5_1", DType::kQ5_1},
    {8, "Q8_0", DType::kQ8_0},        {10, "Q2_K", DType::kQ2_K},
    {11, "Q3_K", DType::kQ3_K},       {12, "Q4_K", DType::kQ4_K},
    {13, "Q5_K", DType::kQ5_K},       {14, "Q6_K", DType::kQ6_K},
    {20, "IQ4_NL", DType::kIQ4_NL},   {23, "IQ4_XS", DType::kIQ4_XS},
    {24, "I8", DType::kI8},           {25, "I16", DType::kI16},
    {26, "I32", DType::kI32},         {27, "I64", DType::kI64},
    {28, "F64", DType::kF64},         {30, "BF16", DType::kBF16},
    {39, "MXFP4", DType::kMXFP4},     {4, "Q4_2", std::nullopt},
    {5, "Q4_3", std::nullopt},        {9, "Q8_1", std::nullopt},
    {15, "Q8_K", std::nullopt},       {16, "IQ2_XXS", std::nullopt},
    {17, "IQ2_XS", std::nullopt},     {18, "IQ3_XXS", std::nullopt},
    {19, "IQ1_S", std::nullopt},      {21, "IQ3_S", std::nullopt},
    {22, "IQ2_S", std::nullopt},      {29, "IQ1_M", std::nullopt},
    {31, "Q4_0_4_4", std::nullopt},   {32, "Q4_0_4_8", std::nullopt},
    {33, "Q4_0_8_8", std::nullopt},   {34, "TQ1_0", std::nullopt},
    {35, "TQ2_0", std::nullopt},      {36, "IQ4_NL_4_4", std::nullopt},
    {37, "IQ4_NL_4_8", std::nullopt}, {38, "IQ4_NL_8_8", std::nullopt},
};

// Bytes of a scalar, by GgufType; 0 for strings and arrays.
constexpr std::array<uint8_t, 13> kScalarBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

size_t scalar_bytes(GgufType type) { return kScalarBytes[static_cast<size_t>(type)]; }

Result<DType> tensor_type(uint32_t id) {
  std::string known;
  std::string found = "type " + std::to_string(id);
  for (const TensorType& type : kTensorTypes) {
    if (type.id == id && type.dtype) return *type.dtype;
    if (type.id == id) found = type.name;
    if (type.dtype) known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  return Error{Code::kUnsupported, "is " + found + ", this build reads " + known};
}

// Takes values off the front of a file; none reaches beyond its end.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> file) : file_(file) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return file_.size() - at_; }
  std::span<const std::byte> since(uint64_t begin) const {
    return file_.subspan(begin, at_ - begin);
  }

  Status skip(uint64_t bytes) {
    if (bytes > left())
      return corrupt("byte " + std::to_string(at_) + ": " + std::to_string(bytes) +
                     " more bytes are announced, " + std::to_string(left()) + " are there");
    at_ += bytes;
    return {};
  }

  template <class T>
  Result<T> number() {
    const uint64_t begin = at_;
    SMOE_DO(skip(sizeof(T)));
    return load<T>(file_.data() + begin);
  }

  Result<std::string_view> string() {
    SMOE_TRY(const uint64_t bytes, number<uint64_t>());
    const uint64_t begin = at_;
    SMOE_DO(skip(bytes));
    return std::string_view(reinterpret_cast<const char*>(file_.data()) + begin, bytes);
  }

  // Of a key or a tensor.
  Result<std::string_view> name(std::string_view what) {
    const uint64_t begin = at_;
    SMOE_TRY(const std::string_view text, string());
    if (text.empty() || text.size() > kMaxNameBytes || !is_utf8(text) ||
        text.find('\0') != std::string_view::npos)
      return corrupt("byte " + std::to_string(begin) + ": the name of a " + std::string(what) +
                     " must be 1 to " + std::to_string(kMaxNameBytes) + " bytes of UTF-8");
    return text;
  }

 private:
  std::span<const std::byte> file_;
  uint64_t at_ = 0;
};

class GgufHeaderReader {
 public:
  explicit GgufHeaderReader(std::span<const std::byte> file) : cursor_(file), file_(file) {}

  Status read(GgufHeader& to) {
    SMOE_DO(read_version(to));
    SMOE_TRY(const uint64_t tensors, cursor_.number<uint64_t>());
    SMOE_TRY(const uint64_t keys, cursor_.number<uint64_t>());
    SMOE_DO(check_count("tensors", tensors, kShortestTensor, kMaxGgufTensors));
    SMOE_DO(check_count("keys", keys, kShortestKey, kMaxKeys));
    for (uint64_t i = 0; i < keys; ++i) SMOE_DO(read_key(to));
    SMOE_DO(read_alignment(to));
    // The directory's shortest entries must fit into what is left now.
    SMOE_DO(check_count("tensors", tensors, kShortestTensor, kMaxGgufTensors));
    to.tensors.reserve(tensors);
    for (uint64_t i = 0; i < tensors; ++i) SMOE_DO(read_tensor(to));
    return place_tensors(to);
  }

 private:
  Status read_version(GgufHeader& to) {
    SMOE_TRY(const uint32_t magic, cursor_.number<uint32_t>());
    if (magic != kMagic) return corrupt("is no GGUF file: it does not begin with \"GGUF\"");
    SMOE_TRY(to.version, cursor_.number<uint32_t>());
    if (to.version == 2 || to.version == 3) return {};
    if ((to.version & 0xffffU) == 0 && to.version != 0)
      return Error{Code::kUnsupported, "is big-endian, this build reads little-endian GGUF"};
    return Error{Code::kUnsupported, "GGUF version " + std::to_string(to.version) +
                                         ", this build reads 2 and 3; convert the model anew"};
  }

  Status check_count(std::string_view what, uint64_t count, uint64_t least_bytes, uint64_t most) {
    const uint64_t fitting = std::min<uint64_t>(cursor_.left() / least_bytes, most);
    if (count <= fitting) return {};
    return corrupt(std::to_string(count) + " " + std::string(what) + " announced, at most " +
                   std::to_string(fitting) + " can be in the " + std::to_string(cursor_.left()) +
                   " bytes that follow");
  }

  Status read_key(GgufHeader& to) {
    SMOE_TRY(const std::string_view key, cursor_.name("key"));
    Result<GgufValue> value = read_value();
    if (!value) return std::move(value).error().in("key " + in_quotes(key));
    if (!to.metadata.emplace(key, *value).second) return corrupt("two keys " + in_quotes(key));
    return {};
  }

  Result<GgufType> read_type() {
    SMOE_TRY(const uint32_t type, cursor_.number<uint32_t>());
    if (type >= kScalarBytes.size())
      return Error{Code::kUnsupported, "value type " + std::to_string(type) +
                                           ", this build reads 0 to " +
                                           std::to_string(kScalarBytes.size() - 1)};
    return static_cast<GgufType>(type);
  }

  Result<GgufValue> read_value() {
    SMOE_TRY(const GgufType type, read_type());
    if (type != GgufType::kArray) return read_elements(type, 1, false);
    SMOE_TRY(const GgufType element, read_type());
    if (element == GgufType::kArray)
      return Error{Code::kUnsupported, "an array of arrays, which this build does not read"};
    SMOE_TRY(const uint64_t count, cursor_.number<uint64_t>());
    return read_elements(element, count, true);
  }

  Result<GgufValue> read_elements(GgufType type, uint64_t count, bool array) {
    const uint64_t begin = cursor_.at();
    const uint64_t least = std::max<uint64_t>(scalar_bytes(type), 1);
    SMOE_DO(check_count("elements", count, least, std::numeric_limits<uint64_t>::max()));
    if (type == GgufType::kString) {
      for (uint64_t i = 0; i < count; ++i) {
        if (const auto text = cursor_.string(); !text) return text.error();
      }
    } else {
      SMOE_DO(cursor_.skip(count * scalar_bytes(type)));
    }
    const auto raw = cursor_.since(begin);
    const auto is_flag = [](std::byte byte) { return byte <= std::byte{1}; };
    if (type == GgufType::kBool && !std::all_of(raw.begin(), raw.end(), is_flag))
      return corrupt("a boolean that is neither 0 nor 1");
    return GgufValue(type, count, array, raw);
  }

  Status read_alignment(const GgufHeader& header) {
    const GgufValue* value = header.find("general.alignment");
    if (value == nullptr) return {};
    const auto number = value->as_uint();
    if (!number || !std::has_single_bit(*number) || *number > kMaxAlignment)
      return corrupt("general.alignment must be a power of two up to " +
                     std::to_string(kMaxAlignment));
    alignment_ = *number;
    return {};
  }

  Status read_tensor(GgufHeader& to) {
    SMOE_TRY(const std::string_view name, cursor_.name("tensor"));
    GgufTensor& tensor = to.tensors.emplace_back();
    tensor.name = name;
    Status status = read_fields(tensor);
    if (!status) return std::move(status).error().in("tensor " + in_quotes(name));
    if (!names_.insert(name).second) return corrupt("two tensors " + in_quotes(name));
    return {};
  }

  Status read_fields(GgufTensor& tensor) {
    SMOE_TRY(const uint32_t dimensions, cursor_.number<uint32_t>());
    if (dimensions < 1 || dimensions > kMaxDimensions)
      return corrupt("has " + std::to_string(dimensions) + " dimensions, must have 1 to " +
                     std::to_string(kMaxDimensions));
    for (uint32_t i = 0; i < dimensions; ++i) {
      SMOE_TRY(const uint64_t side, cursor_.number<uint64_t>());
      if (side == 0) return corrupt("a dimension is 0");
      tensor.shape.push_back(side);
    }
    SMOE_TRY(const uint32_t type, cursor_.number<uint32_t>());
    SMOE_TRY(tensor.begin, cursor_.number<uint64_t>());
    SMOE_TRY(tensor.dtype, tensor_type(type));
    const uint64_t row = tensor.shape.front();
    std::optional<uint64_t> bytes = row_bytes(tensor.dtype, row);
    if (!bytes && row % block_of(tensor.dtype).weights != 0)
      return corrupt("rows of " + std::to_string(row) + " weights do not fill blocks of " +
                     std::to_string(block_of(tensor.dtype).weights) + " (" +
                     std::string(name_of(tensor.dtype)) + ")");
    std::optional<uint64_t> weights = row;
    for (uint32_t i = 1; i < dimensions && bytes && weights; ++i) {
      bytes = checked_mul(*bytes, tensor.shape[i]);
      weights = checked_mul(*weights, tensor.shape[i]);
    }
    if (!bytes || !weights) return corrupt("has more weights than 64 bits count");
    tensor.bytes = *bytes;
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    return {};
  }

  // Offsets count from the start of the data, which the header is padded to.
  Status place_tensors(GgufHeader& to) {
    to.data_begin = align_up(cursor_.at(), alignment_);
    const uint64_t data_bytes = std::max<uint64_t>(file_.size(), to.data_begin) - to.data_begin;
    for (GgufTensor& tensor : to.tensors) {
      const auto end = checked_add(tensor.begin, tensor.bytes);
      if (tensor.begin % alignment_ != 0)
        return corrupt("tensor " + in_quotes(tensor.name) + ": its offset " +
                       std::to_string(tensor.begin) + " is no multiple of " +
                       std::to_string(alignment_));
      if (!end || *end > data_bytes)
        return corrupt("tensor " + in_quotes(tensor.name) + ": its " +
                       std::to_string(tensor.bytes) + " bytes at " + std::to_string(tensor.begin) +
                       " end outside the file, which has " + std::to_string(data_bytes) +
                       " bytes of data; fetch it again");
      tensor.begin += to.data_begin;
    }
    std::stable_sort(to.tensors.begin(), to.tensors.end(),
                     [](const GgufTensor& a, const GgufTensor& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < to.tensors.size(); ++i)
      if (to.tensors[i - 1].begin + to.tensors[i - 1].bytes > to.tensors[i].begin)
        return corrupt("tensors " + in_quotes(to.tensors[i - 1].name) + " and " +
                       in_quotes(to.tensors[i].name) + " overlap");
    return {};
  }

  Cursor cursor_;
  std::span<const std::byte> file_;
  uint64_t alignment_ = kDefaultAlignment;
  std::set<std::string_view> names_;
};

// Calls use(T) with the i-th scalar as its own type.
template <class Use>
void visit_scalar(GgufType type, const std::byte* at, const Use& use) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kBool:
      return use(load<uint8_t>(at));
    case GgufType::kI8:
      return use(load<int8_t>(at));
    case GgufType::kU16:
      return use(load<uint16_t>(at));
    case GgufType::kI16:
      return use(load<int16_t>(at));
    case GgufType::kU32:
      return use(load<uint32_t>(at));
    case GgufType::kI32:
      return use(load<int32_t>(at));
    case GgufType::kF32:
      return use(load<float>(at));
    case GgufType::kU64:
      return use(load<uint64_t>(at));
    case GgufType::kI64:
      return use(load<int64_t>(at));
    case GgufType::kF64:
      return use(load<double>(at));
    case GgufType::kString:
    case GgufType::kArray:
      return;
  }
}

std::string_view string_at(std::span<const std::byte> raw, uint64_t at) {
  return {reinterpret_cast<const char*>(raw.data()) + at + sizeof(uint64_t),
          load<uint64_t>(raw.data() + at)};
}

// All elements as T, when each is a T (or fits it).
template <class T>
std::optional<std::vector<T>> elements_as(GgufType type, std::span<const std::byte> raw) {
  std::vector<T> all;
  bool fits = scalar_bytes(type) != 0;
  for (size_t at = 0; at < raw.size() && fits; at += scalar_bytes(type))
    visit_scalar(type, raw.data() + at, [&](auto value) {
      using Value = decltype(value);
      if constexpr (std::is_floating_point_v<Value> != std::is_floating_point_v<T>) {
        fits = false;
      } else if constexpr (std::is_same_v<Value, uint64_t>) {
        fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        all.push_back(static_cast<T>(value));
      } else {
        all.push_back(static_cast<T>(value));
      }
    });
  if (!fits) return std::nullopt;
  return all;
}

}  // namespace

std::optional<bool> GgufValue::as_bool() const {
  if (array_ || type_ != GgufType::kBool) return std::nullopt;
  return raw_[0] != std::byte{0};
}

std::optional<uint64_t> GgufValue::as_uint() const {
  std::optional<uint64_t> result;
  if (array_ || type_ == GgufType::kBool) return result;
  visit_scalar(type_, raw_.data(), [&](auto value) {
    if constexpr (std::is_integral_v<decltype(value)>)
      if (std::is_unsigned_v<decltype(value)> || static_cast<int64_t>(value) >= 0)
        result = static_cast<uint64_t>(value);
  });
  return result;
}

std::optional<double> GgufValue::as_double() const {
  std::optional<double> result;
  if (array_) return result;
  visit_scalar(type_, raw_.data(), [&](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) result = static_cast<double>(value);
  });
  return result;
}

std::optional<std::string_view> GgufValue::as_string() const {
  if (array_ || type_ != GgufType::kString) return std::nullopt;
  return string_at(raw_, 0);
}

std::optional<std::vector<std::string_view>> GgufValue::as_strings() const {
  if (!array_ || type_ != GgufType::kString) return std::nullopt;
  std::vector<std::string_view> all;
  all.reserve(count_);
  for (uint64_t at = 0; at < raw_.size();) {
    all.push_back(string_at(raw_, at));
    at += sizeof(uint64_t) + all.back().size();
  }
  return all;
}

std::optional<std::vector<int64_t>> GgufValue::as_ints() const {
  return array_ ? elements_as<int64_t>(type_, raw_) : std::nullopt;
}

std::optional<std::vector<double>> GgufValue::as_doubles() const {
  return array_ ? elements_as<double>(type_, raw_) : std::nullopt;
}

const GgufValue* GgufHeader::find(std::string_view key) const {
  const auto found = metadata.find(key);
  return found != metadata.end() ? &found->second : nullptr;
}

Result<GgufHeader> GgufHeader::parse(std::span<const std::byte> file, std::string_view name) {
  GgufHeader header;
  if (Status status = GgufHeaderReader(file).read(header); !status)
    return std::move(status).error().in(name);
  return header;
}

}  // namespace smoe
