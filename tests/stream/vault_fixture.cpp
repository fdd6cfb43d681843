#include "stream/vault_fixture.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/check.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "stream/catalog.h"
#include "stream/pread_reader.h"
#include "stream/uring_reader.h"

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

// Runs the script in a thread a read and lets the engine's own queue tell of its end.
class ScriptedDetour final : public ReadDetour {
 public:
  ScriptedDetour(std::unique_ptr<RecordFiles> real, Script script)
      : real_(std::move(real)), script_(std::move(script)) {}

  int depart(const ReadRequest& request) override {
    Read& read = reads_[request.slot];
    read.ended = ::eventfd(0, EFD_CLOEXEC);
    SMOE_CHECK(read.ended >= 0);
    read.thread = std::thread([this, &read, request] {
      read.got = script_(request, *real_);
      const uint64_t one = 1;
      SMOE_CHECK(::write(read.ended, &one, sizeof(one)) == sizeof(one));
    });
    return read.ended;
  }
  Result<size_t> arrive(const ReadRequest& request) override {
    Read& read = reads_.at(request.slot);
    read.thread.join();
    ::close(read.ended);
    return read.got;
  }

 private:
  struct Read {
    int ended = -1;
    std::thread thread;
    Result<size_t> got = size_t{0};
  };
  std::unique_ptr<RecordFiles> real_;
  Script script_;
  std::map<uint32_t, Read> reads_;  // by slot; touched by the step's thread, but for what it joins
};

std::unique_ptr<Reader> scripted_reader(const Catalog& catalog, const StreamerOptions& options,
                                        Script script) {
  auto files = VaultFiles::open(catalog.paths(), options.direct);
  SMOE_CHECK(files);
  if (options.io != IoEngine::kUring)
    return std::make_unique<PreadReader>(
        std::make_unique<ScriptedFiles>(std::move(*files), std::move(script)), options.readers);
  auto registered = VaultFiles::open(catalog.paths(), options.direct);
  SMOE_CHECK(registered);
  auto reader =
      open_uring_reader(*registered, options.readers,
                        std::make_unique<ScriptedDetour>(std::move(*files), std::move(script)));
  SMOE_CHECK(reader);
  return std::move(*reader);
}

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
  auto catalog = Catalog::of(vault.files(), options.mirror);
  SMOE_CHECK(catalog);
  auto reader = scripted_reader(*catalog, options, std::move(script));
  auto streamer = RingStreamer::make(std::move(*catalog), options, std::move(reader));
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

bool becomes_true(Streamer& streamer, const std::function<bool()>& claim) {
  return becomes_true([&] {
    streamer.bet({});
    return claim();
  });
}

std::vector<IoEngine> engines() {
  const std::vector<std::filesystem::path> any = {"/proc/self/exe"};
  auto files = VaultFiles::open(any, false);
  SMOE_CHECK(files);
  if (!open_uring_reader(*files, 1)) return {IoEngine::kPread};
  return {IoEngine::kPread, IoEngine::kUring};
}

std::string engine_name(const testing::TestParamInfo<IoEngine>& instance) {
  return instance.param == IoEngine::kUring ? "uring" : "pread";
}

}  // namespace smoe::test
