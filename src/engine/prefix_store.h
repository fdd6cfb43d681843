// Pages of the KV cache on disk: beginnings of texts that outlive the memory they were computed in,
// and the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace smoe {

struct PrefixStoreOptions {
  std::filesystem::path folder;  // empty: nothing is kept on disk
  uint64_t space_bytes = 0;      // of all files
  uint64_t day_bytes = 0;        // written within one day, in UTC
  // What a page's bits depend on beside its tokens: model, program, kernels, types.
  std::string identity;
};

struct PrefixStoreStats {
  uint64_t space_bytes = 0;
  uint64_t day_bytes = 0;
  uint64_t held_bytes = 0;     // of all files
  uint64_t today_bytes = 0;    // written
  uint64_t pages_written = 0;  // since the start
  uint64_t pages_read = 0;
  uint64_t pages_damaged = 0;  // found to be so, and removed
};

// Identifies a page and all that lead to it; of the page before the first.
enum class PageKey : uint64_t {};

// One file a page: "<key>.kv", docs/prefix-files.md. A page is written at most once, and only what
// has a right checksum, and says that it is this page of this model, is ever given back; everything
// else is removed and counts as not there. Where the disk refuses, pages are simply not kept.
// Threads: one at a time.
class PrefixStore {
 public:
  // `page_bytes`: of all layers together. Makes the folder (mode 0700) where it is missing.
  // Fails: kIo, naming the folder.
  static Result<std::unique_ptr<PrefixStore>> open(PrefixStoreOptions options, size_t page_bytes);

  PageKey root() const { return root_; }
  PageKey key_of(PageKey parent, std::span<const TokenId> tokens) const;
  bool has(PageKey key) const { return files_.contains(key); }

  // Where the next page's bytes go before save(), and where load() puts them.
  std::span<std::byte> payload() {
    return std::span(file_).subspan(kHeaderBytes + identity_bytes_, page_bytes_);
  }
  // Writes payload() as the page of `tokens`, which follow `parent`; not if it is there, nor beyond
  // a budget. Files that were not used for longest make room.
  void save(PageKey parent, std::span<const TokenId> tokens);
  // False when it is not there or was damaged.
  bool load(PageKey parent, std::span<const TokenId> tokens);
  // Whether a page may be written now.
  bool may_write();

  PrefixStoreStats stats() const { return stats_; }

 private:
  static constexpr size_t kHeaderBytes = 168;
  static constexpr size_t kChecksumBytes = 8;
  struct Held {
    uint64_t bytes = 0;
    int64_t used = 0;  // higher is later
  };
  PrefixStore(PrefixStoreOptions options, size_t page_bytes);
  Status find_files();
  void read_day();
  void write_day();
  void roll_day();
  bool make_room(uint64_t bytes);
  void remove(PageKey key);
  void fill_header(PageKey parent, std::span<const TokenId> tokens);
  std::filesystem::path path_of(PageKey key) const;

  PrefixStoreOptions options_;
  size_t page_bytes_;
  size_t identity_bytes_;
  PageKey root_{};
  std::unordered_map<PageKey, Held> files_;
  std::vector<std::byte> file_;      // one whole file
  std::vector<std::byte> expected_;  // the header that a loaded file must have
  int64_t clock_ = 0;
  uint64_t today_ = 0;  // days since 1970
  PrefixStoreStats stats_;
};

}  // namespace smoe
