#include "stream/vault_fixture.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "stream/catalog.h"

namespace smoe::test {
namespace {

class ScriptedFiles final : public RecordFiles {
 public:
  ScriptedFiles(std::unique_ptr<RecordFiles> real, Script script)
      : real_(std::move(real)), script_(std::move(script)) {}
  Result<size_t> read(const ReadRequest& request) override { return script_(request, *real_); }
  std::string description() const override { return "scripted"; }

 private:
  std::unique_ptr<RecordFiles> real_;
  Script script_;
};

std::vector<std::byte> stamped(ExpertKey key, uint64_t bytes) {
  Rng rng(static_cast<uint64_t>(key.layer) << 16U | static_cast<uint64_t>(key.expert));
  std::vector<std::byte> record(bytes);
  std::generate(record.begin(), record.end(), [&] { return static_cast<std::byte>(rng.next()); });
  return record;
}

}  // namespace

std::vector<ExpertKey> experts(uint32_t layer, uint32_t begin, uint32_t end) {
  std::vector<ExpertKey> keys;
  for (uint32_t expert = begin; expert < end; ++expert) keys.push_back(key(layer, expert));
  return keys;
}

TestVault& TestVault::add_layer(uint32_t layer, uint32_t experts, uint32_t width) {
  VaultInfo info;
  info.layer = layer;
  info.experts = experts;
  info.record = RecordLayout::of_expert(width, width, Format::kF32, Format::kF32, Format::kF32);
  std::string records;
  for (uint32_t expert = 0; expert < experts; ++expert) {
    const std::vector<std::byte> record = stamped(key(layer, expert), info.record.record_bytes);
    info.checksums.push_back(xxh3_64(record));
    for (const std::byte byte : record) records.push_back(static_cast<char>(byte));
  }
  const auto header = vault_header(info);
  SMOE_CHECK(header);
  const auto path = dir_ / vault_file_name(layer);
  SMOE_CHECK(replace_file(path, *header + records));
  auto file = VaultFile::open(path);
  SMOE_CHECK(file);
  files_.push_back(std::move(*file));
  return *this;
}

std::vector<std::byte> TestVault::record(ExpertKey key) const {
  for (const VaultFile& file : files_)
    if (file.info().layer == static_cast<uint32_t>(key.layer))
      return stamped(key, file.info().record.record_bytes);
  return {};
}

bool TestVault::holds(const Lease& lease) const {
  return std::ranges::equal(record(lease.key()), lease.record());
}

std::unique_ptr<RingStreamer> scripted(const TestVault& vault, const StreamerOptions& options,
                                       Script script) {
  auto catalog = Catalog::of(vault.files());
  SMOE_CHECK(catalog);
  auto files = VaultFiles::open(catalog->paths(), options.direct);
  SMOE_CHECK(files);
  auto streamer = RingStreamer::make(
      std::move(*catalog), options,
      std::make_unique<PreadReader>(
          std::make_unique<ScriptedFiles>(std::move(*files), std::move(script)), options.readers));
  SMOE_CHECK(streamer);
  return std::move(*streamer);
}

std::unique_ptr<Streamer> opened(const TestVault& vault, const StreamerOptions& options) {
  auto streamer = Streamer::open(vault.files(), options);
  SMOE_CHECK(streamer);
  return std::move(*streamer);
}

std::vector<ExpertKey> take_all(Streamer& streamer, const TestVault& vault,
                                std::span<const ExpertKey> keys, Streamer::Pick pick) {
  streamer.demand(keys);
  std::vector<ExpertKey> came;
  while (streamer.outstanding() > 0) {
    const auto lease = streamer.next_ready(pick);
    SMOE_CHECK(lease && vault.holds(*lease));
    came.push_back(lease->key());
  }
  return came;
}

void Gate::open() {
  open_.store(true);
  open_.notify_all();
}

void Gate::pass() {
  arrived_.fetch_add(1);
  arrived_.notify_all();
  open_.wait(false);
}

void Gate::wait_for(uint32_t reads) {
  for (uint32_t now = arrived_.load(); now < reads; now = arrived_.load()) arrived_.wait(now);
}

bool becomes_true(const std::function<bool()>& claim) {
  const uint64_t deadline = now_ns() + 10'000'000'000;
  while (!claim()) {
    if (now_ns() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace smoe::test
