// How fast records come from a disk, by read engine, and what the step's thread pays for it.
//
//   stream_bench FOLDER [TOKENS]
//
// Writes a vault of about 3 GB into FOLDER unless one is there (delete it afterwards), then runs
// each engine in turn, three times over: a token is a walk through all layers with eight demands
// each, seven in ten of them in the ring, as in decoding a model some four times larger than
// memory. With a compute time (here 0.4 ms an expert) the overlap shows; without, the engine's
// limit.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/units.h"
#include "formats/vault_file.h"
#include "stream/streamer.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLayers = 16;
constexpr uint32_t kExperts = 72;
constexpr uint32_t kWidth = 470;  // 2.54 MiB a record
constexpr uint32_t kActive = 8;

Status write_layer(const fs::path& folder, uint32_t layer) {
  const fs::path path = folder / vault_file_name(layer);
  if (fs::exists(path)) return {};
  VaultInfo info;
  info.layer = layer;
  info.experts = kExperts;
  info.record = RecordLayout::of_expert(kWidth, kWidth, Format::kF32, Format::kF32, Format::kF32);
  info.checksums.assign(kExperts, 0);
  SMOE_TRY(const std::string header, vault_header(info));
  return replace_file(path, [&](File& file) -> Status {
    SMOE_DO(file.write_at(0, std::as_bytes(std::span(header))));
    Rng rng(layer);
    std::vector<uint64_t> record(info.record.record_bytes / sizeof(uint64_t));
    for (uint32_t expert = 0; expert < kExperts; ++expert) {
      for (uint64_t& word : record) word = rng.next();
      const uint64_t offset = header.size() + expert * info.record.record_bytes;
      SMOE_DO(file.write_at(offset, std::as_bytes(std::span(record))));
    }
    return {};
  });
}

struct Setting {
  std::string name;
  IoEngine io = IoEngine::kPread;
  uint64_t compute_ns = 0;  // of an expert
  bool bets = false;
};

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void compute(uint64_t duration_ns) {
  const uint64_t until = now_ns() + duration_ns;
  while (now_ns() < until) {
  }
}

// Seven in ten demands come from a set that fits the ring.
std::vector<ExpertKey> demands_of(uint32_t layer, Rng& rng) {
  constexpr uint32_t kFavourites = 14;
  std::vector<ExpertKey> keys;
  while (keys.size() < kActive) {
    const uint64_t expert = rng.uniform() < 0.7 ? rng.below(kFavourites) : rng.below(kExperts);
    const ExpertKey key{static_cast<LayerId>(layer), static_cast<ExpertId>(expert)};
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  std::ranges::sort(keys);
  return keys;
}

// Half of what the next layer will demand, with a wrong guess now and then.
std::vector<ExpertKey> guess(const std::vector<ExpertKey>& next, Rng& rng) {
  std::vector<ExpertKey> keys;
  for (size_t i = rng.below(2); i < next.size(); i += 2) keys.push_back(next[i]);
  for (ExpertKey& key : keys)
    if (rng.uniform() < 0.15) key.expert = static_cast<ExpertId>(rng.below(kExperts));
  return keys;
}

Status run(std::span<const VaultFile> files, const Setting& setting, uint32_t tokens,
           uint64_t seed) {
  StreamerOptions options;
  options.io = setting.io;
  options.slots = {kLayers * 20};
  options.verify = Verify::kNever;
  SMOE_TRY(const auto streamer, Streamer::open(files, options));
  Rng rng(seed);
  Rng luck(seed);
  std::vector<ExpertKey> next = demands_of(0, rng);
  StreamStats before;
  uint64_t began = 0;
  double processor = 0;
  for (uint32_t token = 0; token < 2 * tokens; ++token) {
    if (token == tokens) {  // the ring is full
      before = streamer->stats();
      began = now_ns();
      processor = processor_seconds();
    }
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      compute(4 * setting.compute_ns);
      streamer->demand(next);
      next = demands_of((layer + 1) % kLayers, rng);
      const std::vector<ExpertKey> bets = guess(next, luck);
      if (setting.bets) streamer->bet(bets);
      while (streamer->outstanding() > 0) {
        SMOE_TRY(const Lease lease, streamer->next_ready(Streamer::Pick::kAny));
        compute(setting.compute_ns);
      }
      if (setting.bets) streamer->bet(bets);
    }
  }
  const double seconds = seconds_between(began, now_ns());
  const StreamStats after = streamer->stats();
  const auto since = [&](uint64_t StreamStats::*field) {
    return static_cast<double>(after.*field - before.*field);
  };
  const double computed = static_cast<double>(setting.compute_ns) * 1e-9 *
                          (since(&StreamStats::demands) + 4 * kLayers * tokens);
  fmt::print(
      "{:<22} {:6.1f} ms/token  {:5.2f} GB/s  {:4.1f} % hits  waited {:5.1f}  read {:5.1f}  "
      "processor beyond computing {:5.2f} ms/token, {:4.1f} us/read  bets used {:.0f} of {:.0f}\n",
      setting.name, seconds * 1e3 / tokens, since(&StreamStats::bytes_read) * 1e-9 / seconds,
      100 * since(&StreamStats::hits) / since(&StreamStats::demands),
      since(&StreamStats::wait_ns) * 1e-6 / tokens,
      since(&StreamStats::disk_busy_ns) * 1e-6 / tokens,
      (processor_seconds() - processor - computed) * 1e3 / tokens,
      (processor_seconds() - processor - computed) * 1e6 / since(&StreamStats::reads),
      since(&StreamStats::bets_used), since(&StreamStats::bets));
  std::fflush(stdout);
  return {};
}

Status bench(const fs::path& folder, uint32_t tokens) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::vector<VaultFile> files;
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    SMOE_DO(write_layer(folder, layer));
    SMOE_TRY(VaultFile file, VaultFile::open(folder / vault_file_name(layer)));
    files.push_back(std::move(file));
  }
  const std::vector<Setting> settings = {
      {"pread", IoEngine::kPread},
      {"io_uring", IoEngine::kUring},
      {"pread, computing", IoEngine::kPread, 400'000},
      {"io_uring, computing", IoEngine::kUring, 400'000},
      {"pread, bets", IoEngine::kPread, 400'000, true},
      {"io_uring, bets", IoEngine::kUring, 400'000, true},
  };
  for (uint64_t round = 0; round < 3; ++round)
    for (const Setting& setting : settings) SMOE_DO(run(files, setting, tokens, round + 1));
  return {};
}

}  // namespace
}  // namespace smoe

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  uint32_t tokens = 30;
  const bool counted = arguments.size() == 2;
  if (counted) {
    const std::string& text = arguments[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
    if (error != std::errc() || *end != '\0' || tokens == 0) tokens = 0;
  }
  if (arguments.empty() || arguments.size() > 2 || tokens == 0) {
    fmt::print(stderr, "usage: stream_bench FOLDER [TOKENS]\n");
    return 2;
  }
  const smoe::Status status = smoe::bench(arguments[0], tokens);
  if (status) return 0;
  fmt::print(stderr, "stream_bench: {}\n", status.error().message);
  return 1;
}
