// F1: what reading a header takes at its peak, counted at operator new.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "formats/safetensors.h"

namespace {

std::atomic<size_t> now_bytes{0};
std::atomic<size_t> peak_bytes{0};

}  // namespace

// Not inlined: gcc would see malloc and operator delete side by side and take them for a mistake.
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const size_t now = now_bytes += ::malloc_usable_size(memory);
  if (now > peak_bytes) peak_bytes = now;
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) now_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/) noexcept { operator delete(memory); }

namespace smoe {
namespace {

// Peak bytes for reading `text` as the header of a file with `data_bytes` of data.
size_t peak_of(const std::string& text, uint64_t data_bytes, bool wanted) {
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>(text.size() >> (8 * i) & 0xffU);
  head += text;
  const size_t before = now_bytes;
  peak_bytes = before;
  const auto header =
      SafetensorsHeader::parse(std::as_bytes(std::span(head)), head.size() + data_bytes, "m");
  EXPECT_EQ(header.has_value(), wanted) << (header ? "" : header.error().message);
  return peak_bytes - before;
}

std::string header_of(size_t tensors, const std::string& prefix) {
  std::string text = "{";
  for (size_t i = 0; i < tensors; ++i)
    text += (i > 0 ? ",\"" : "\"") + prefix + std::to_string(i) +
            R"(.weight":{"dtype":"BF16","shape":[1],"data_offsets":[)" + std::to_string(2 * i) +
            "," + std::to_string(2 * i + 2) + "]}";
  return text + "}";
}

TEST(SafetensorsMemory, IsAtMostTwiceTheHeader) {
  const std::string real = header_of(20000, "model.layers.17.mlp.experts.");
  EXPECT_LE(peak_of(real, 40000, true), 2 * real.size());
  const std::string terse = header_of(20000, "");
  EXPECT_LE(peak_of(terse, 40000, true), 2 * terse.size());
}

TEST(SafetensorsMemory, IsAtMostTwiceAHostileHeader) {
  constexpr size_t kSmall = 64 * 1024;  // the message and its parts
  const std::string colons = "{" + std::string(1000000, ':');
  EXPECT_LE(peak_of(colons, 0, false), 2 * colons.size() + kSmall);
  const std::string nested(1000000, '{');
  EXPECT_LE(peak_of(nested, 0, false), 2 * nested.size() + kSmall);
  const std::string name = "{\"" + std::string(1000000, 'n') + "\":1}";
  EXPECT_LE(peak_of(name, 0, false), 3 * name.size() + kSmall);  // a string grows by doubling
  std::string metadata = R"({"__metadata__":{)";
  for (int i = 0; i < 200000; ++i) metadata += "\"" + std::to_string(i) + "\":\"\",";
  EXPECT_LE(peak_of(metadata, 0, false), 2 * metadata.size());
}

}  // namespace
}  // namespace smoe
