#include "engine/prefix_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/checksum.h"
#include "base/file.h"
#include "base/log.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SMOEKV1\n";
constexpr std::string_view kExtension = ".kv";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kDayFile = "written.txt";
constexpr size_t kMaxTokens = 32;
constexpr uint64_t kMaxDayFileBytes = 64;

uint64_t days_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::hours>(since).count()) / 24;
}

std::optional<PageKey> key_of_name(const std::string& name) {
  if (!name.ends_with(kExtension)) return std::nullopt;
  const auto value = parse_checksum(name.substr(0, name.size() - kExtension.size()));
  if (!value) return std::nullopt;
  return PageKey{*value};
}

// Little-endian on every machine that this program runs on.
template <class T>
void put(std::span<std::byte> to, size_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof(value));
}

}  // namespace

PrefixStore::PrefixStore(PrefixStoreOptions options, size_t page_bytes)
    : options_(std::move(options)),
      page_bytes_(page_bytes),
      identity_bytes_(options_.identity.size()),
      root_{xxh3_64(options_.identity)},
      file_(kHeaderBytes + identity_bytes_ + page_bytes + kChecksumBytes),
      expected_(kHeaderBytes + identity_bytes_) {
  stats_.space_bytes = options_.space_bytes;
  stats_.day_bytes = options_.day_bytes;
}

Result<std::unique_ptr<PrefixStore>> PrefixStore::open(PrefixStoreOptions options,
                                                       size_t page_bytes) {
  std::unique_ptr<PrefixStore> store(new PrefixStore(std::move(options), page_bytes));
  SMOE_DO(make_private_directory(store->options_.folder));
  SMOE_DO(store->find_files());
  store->read_day();
  return store;
}

// A link, a folder or anything else with the name of a page is none (a saved file that leads out of
// its folder).
Status PrefixStore::find_files() {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, PageKey>> found;
  for (fs::directory_iterator entry(options_.folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->symlink_status(gone).type() != fs::file_type::regular) continue;
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kPartial)) fs::remove(entry->path(), gone);  // of a run that was killed
    const auto key = key_of_name(name);
    if (!key) continue;
    const uint64_t bytes = entry->file_size(gone);
    if (gone) continue;
    files_[*key].bytes = bytes;
    stats_.held_bytes += bytes;
    found.emplace_back(entry->last_write_time(gone), *key);
  }
  if (error)
    return Error{Code::kIo,
                 fmt::format("{}: cannot list: {}", options_.folder.string(), error.message())};
  std::sort(found.begin(), found.end());
  for (const auto& [time, key] : found) files_[key].used = ++clock_;
  make_room(0);
  return {};
}

void PrefixStore::read_day() {
  today_ = days_now();
  const auto text = read_text_file(options_.folder / kDayFile, kMaxDayFileBytes);
  if (!text) return;
  uint64_t day = 0;
  uint64_t bytes = 0;
  if (std::sscanf(text->c_str(), "%" SCNu64 " %" SCNu64, &day, &bytes) == 2 && day == today_)
    stats_.today_bytes = bytes;
}

// Before the page itself, so that a run that is killed has counted too much, never too little.
void PrefixStore::write_day() {
  const std::string text = fmt::format("{} {}\n", today_, stats_.today_bytes);
  if (Status written =
          replace_private_file(options_.folder / kDayFile, std::as_bytes(std::span(text)));
      !written)
    log::warn("{}", written.error().message);
}

void PrefixStore::roll_day() {
  if (const uint64_t day = days_now(); day != today_) {
    today_ = day;
    stats_.today_bytes = 0;
  }
}

bool PrefixStore::may_write() {
  roll_day();
  return stats_.today_bytes + file_.size() <= options_.day_bytes &&
         file_.size() <= options_.space_bytes;
}

PageKey PrefixStore::key_of(PageKey parent, std::span<const TokenId> tokens) const {
  Checksum sum;
  sum.add(std::as_bytes(std::span(&parent, 1)));
  sum.add(std::as_bytes(tokens));
  return PageKey{sum.value()};
}

fs::path PrefixStore::path_of(PageKey key) const {
  return options_.folder / (checksum_text(static_cast<uint64_t>(key)) + std::string(kExtension));
}

void PrefixStore::remove(PageKey key) {
  const auto file = files_.find(key);
  if (file == files_.end()) return;
  stats_.held_bytes -= file->second.bytes;
  files_.erase(file);
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
}

bool PrefixStore::make_room(uint64_t bytes) {
  while (!files_.empty() && stats_.held_bytes + bytes > options_.space_bytes) {
    const auto oldest = std::min_element(
        files_.begin(), files_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    remove(oldest->first);
  }
  return stats_.held_bytes + bytes <= options_.space_bytes;
}

void PrefixStore::fill_header(PageKey parent, std::span<const TokenId> tokens) {
  SMOE_CHECK(tokens.size() <= kMaxTokens);
  const std::span<std::byte> header(expected_);
  std::fill(header.begin(), header.end(), std::byte{});
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  put(header, 8, static_cast<uint64_t>(parent));
  put(header, 16, static_cast<uint64_t>(page_bytes_));
  put(header, 24, static_cast<uint32_t>(identity_bytes_));
  put(header, 28, static_cast<uint32_t>(tokens.size()));
  std::memcpy(header.data() + 32, tokens.data(), tokens.size_bytes());
  std::memcpy(header.data() + kHeaderBytes, options_.identity.data(), identity_bytes_);
}

void PrefixStore::save(PageKey parent, std::span<const TokenId> tokens) {
  const PageKey key = key_of(parent, tokens);
  if (has(key) || !may_write() || !make_room(file_.size())) return;
  fill_header(parent, tokens);
  const std::span<std::byte> file(file_);
  std::copy(expected_.begin(), expected_.end(), file.begin());
  put(file, file.size() - kChecksumBytes, xxh3_64(file.first(file.size() - kChecksumBytes)));
  stats_.today_bytes += file.size();
  write_day();
  if (Status written = replace_private_file(path_of(key), file); !written) {
    log::warn("{}; this beginning is not kept", written.error().message);
    return;
  }
  files_[key] = {file.size(), ++clock_};
  stats_.held_bytes += file.size();
  ++stats_.pages_written;
}

bool PrefixStore::load(PageKey parent, std::span<const TokenId> tokens) {
  const PageKey key = key_of(parent, tokens);
  if (!has(key)) return false;
  const fs::path path = path_of(key);
  const std::span<std::byte> file(file_);
  const Status read = read_private_file(path, file);
  fill_header(parent, tokens);
  uint64_t sum = 0;
  std::memcpy(&sum, file.data() + file.size() - kChecksumBytes, sizeof(sum));
  if (!read || !std::equal(expected_.begin(), expected_.end(), file.begin()) ||
      sum != xxh3_64(file.first(file.size() - kChecksumBytes))) {
    log::warn("{}: is damaged or no page of this model; it is removed and computed again",
              path.string());
    remove(key);
    ++stats_.pages_damaged;
    return false;
  }
  files_[key].used = ++clock_;
  std::error_code ignored;  // only the order in which files go later depends on it
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  ++stats_.pages_read;
  return true;
}

}  // namespace smoe
