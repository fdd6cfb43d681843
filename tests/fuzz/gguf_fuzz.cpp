// F3: a GGUF header, and what is made of its keys. Mutations change fields, because a changed byte
// nearly always ends in "bytes are missing".
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "base/check.h"
#include "families/gguf_architecture.h"
#include "formats/gguf.h"
#include "formats/gguf_tokenizer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace smoe {
namespace {

// Every byte that an accepted header points to must be there.
void touch(const GgufHeader& header, std::span<const std::byte> file) {
  size_t sum = 0;
  for (const auto& [key, value] : header.metadata) {
    sum += key.size() + value.as_uint().value_or(0) + (value.as_bool().value_or(false) ? 1 : 0);
    sum += value.as_string().value_or("").size();
    if (value.as_double()) ++sum;
    const auto strings = value.as_strings();
    SMOE_CHECK(!strings || strings->size() == value.size());
    if (strings)
      for (const std::string_view text : *strings)
        sum += static_cast<size_t>(std::count(text.begin(), text.end(), 'a'));
    const auto numbers = value.as_ints();
    SMOE_CHECK(!numbers || numbers->size() == value.size());
    const auto reals = value.as_doubles();
    SMOE_CHECK(!reals || reals->size() == value.size());
  }
  uint64_t end = header.data_begin;
  for (const GgufTensor& tensor : header.tensors) {
    SMOE_CHECK(tensor.begin >= end && tensor.bytes > 0);
    end = tensor.begin + tensor.bytes;
    SMOE_CHECK(end > tensor.begin && end <= file.size());
    uint64_t rows = 1;
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    SMOE_CHECK(row_bytes(tensor.dtype, tensor.shape.back()).value_or(0) * rows == tensor.bytes);
  }
  SMOE_CHECK(sum != SIZE_MAX);
}

// A config.json and tokenizer files, or an error of one line.
template <class Text>
void expect_text_or_line(const Result<Text>& result) {
  SMOE_CHECK(result || result.error().message.find('\n') == std::string::npos);
}

void understand(const GgufHeader& header) {
  expect_text_or_line(tokenizer_json_of(header));
  expect_text_or_line(tokenizer_config_of(header));
  std::vector<TensorPlace> places;
  for (const GgufTensor& tensor : header.tensors)
    if (const auto place = gguf_place_of(tensor.name)) places.push_back(*place);
  const auto architecture = gguf_architecture_of(header);
  std::vector<std::string> notes;
  if (!architecture) return expect_text_or_line(architecture);
  const auto config = gguf_config(**architecture, header, places, notes);
  expect_text_or_line(config);
  SMOE_CHECK(!config || Json::parse(*config));
}

// A field of four or eight bytes gets a number that lies near a limit, or near what it was.
void change_field(std::string& file, std::mt19937& random) {
  constexpr uint64_t kNumbers[] = {
      0,   1,           2,          3,          8,          31,         32,    33,
      256, 0xffffffffU, 0x80000000, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL, ~31ULL};
  const size_t width = random() % 2 == 0 ? 4 : 8;
  if (file.size() < width) return;
  const size_t at = random() % (file.size() - width + 1);
  uint64_t value = 0;
  std::memcpy(&value, file.data() + at, width);
  const auto choice = random() % 4;
  if (choice == 0) value += 1;
  if (choice == 1) value -= 1;
  if (choice >= 2) value = kNumbers[random() % std::size(kNumbers)];
  std::memcpy(file.data() + at, &value, width);
}

void copy_piece(std::string& file, std::mt19937& random) {
  const size_t from = random() % file.size();
  const std::string piece = file.substr(from, 1 + random() % 64);
  const size_t to = random() % file.size();
  if (random() % 2 == 0) {
    file.insert(to, piece);
  } else {
    file.replace(to, piece.size(), piece);
  }
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = smoe::GgufHeader::parse(file, "fuzz.gguf");
  if (header) {
    smoe::touch(*header, file);
    smoe::understand(*header);
  } else {
    SMOE_CHECK(header.error().message.find('\n') == std::string::npos);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937 random(seed);
  if (size == 0 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string file(reinterpret_cast<const char*>(data), size);
  for (auto edits = 1 + random() % 3; edits > 0 && !file.empty(); --edits) {
    const auto kind = random() % 8;
    if (kind < 6) smoe::change_field(file, random);
    if (kind == 6) smoe::copy_piece(file, random);
    if (kind == 7) file.erase(random() % file.size(), 1 + random() % 16);
  }
  const size_t bytes = std::min(file.size(), max_size);
  std::memcpy(data, file.data(), bytes);
  return bytes;
}
