// What the tests of vault and scout files share: damage to a sealed header.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/file.h"
#include "formats/folder_file.h"

namespace smoe::test {

// Written at once: a test need not survive power loss.
inline void put(const std::filesystem::path& path, const std::string& bytes) {
  auto file = File::create(path);
  ASSERT_TRUE(file && file->write_at(0, std::as_bytes(std::span(bytes))));
}

// The text of the header replaced and sealed again, as somebody who knows the format would.
inline std::string resealed(std::string file, size_t data_begin, const std::string& from,
                            const std::string& to) {
  const size_t at = file.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  file.replace(at, from.size(), to);
  const std::string key = "\"header_checksum\":\"";
  const auto checksum = header_checksum(std::string_view(file).substr(0, data_begin));
  EXPECT_TRUE(checksum);
  file.replace(file.find(key) + key.size(), 16, checksum.value_or(""));
  return file;
}

// Flips every bit of the header. The text is opened as a file each time; in the padding, where all
// bytes are alike, one bit a byte is, and all are checked against the checksum.
inline void expect_every_flip_is_seen(const std::string& file, size_t data_begin,
                                      const std::filesystem::path& path,
                                      const std::function<bool()>& opens) {
  auto disk = File::create(path);
  ASSERT_TRUE(disk && disk->write_at(0, std::as_bytes(std::span(file))));
  ASSERT_TRUE(opens());
  const size_t text_end = file.find_last_not_of(' ', data_begin - 1) + 1;
  std::string head = file.substr(0, data_begin);
  const auto sealed = header_checksum(head);
  for (size_t at = 0; at < data_begin; ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const char good = head[at];
      head[at] = static_cast<char>(good ^ static_cast<char>(1U << bit));
      if (at < text_end || bit == at % 8) {
        const auto flipped = std::as_bytes(std::span(head)).subspan(at, 1);
        ASSERT_TRUE(disk->write_at(at, flipped));
        ASSERT_FALSE(opens()) << "byte " << at << " bit " << bit;
      } else {
        ASSERT_NE(header_checksum(head), sealed) << "byte " << at << " bit " << bit;
      }
      head[at] = good;
      if (at < text_end || bit == at % 8) {
        ASSERT_TRUE(disk->write_at(at, std::as_bytes(std::span(head)).subspan(at, 1)));
      }
    }
  ASSERT_TRUE(opens());
}

}  // namespace smoe::test
