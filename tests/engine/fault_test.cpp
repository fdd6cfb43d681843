// What must never be computed with: damaged, foreign or missing files, numbers that are none,
// requests that do not fit. Each is one clear error and leaves the engine usable.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "base/checksum.h"
#include "base/file.h"
#include "devices/cpu/cpu_device.h"
#include "formats/tiles.h"
#include "support/model_fixture.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

constexpr auto quiet = [](size_t, size_t) {};

class EngineFault : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = dir_ / "model";
    copy_model(shattered(golden_dir("qwen3_moe")), folder_);
    prompt_ = Reference(golden_dir("qwen3_moe") / "golden.safetensors").tokens("input_ids");
  }

  // The error of opening the folder.
  Error open_error(const EngineOptions& options = {}) {
    ThreadPool pool(1);
    auto device = make_cpu_device(pool, CpuKernels::kBest);
    auto engine = Engine::open(folder_, options, **device);
    EXPECT_FALSE(engine);
    return engine ? Error{} : engine.error();
  }

  fs::path vault(uint32_t layer) const { return folder_ / "vault" / vault_file_name(layer); }

  void overwrite(const fs::path& path, uint64_t offset, std::span<const std::byte> bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.good());
  }

  std::byte byte_at(const fs::path& path, uint64_t offset) {
    std::byte byte{};
    auto file = File::open(path);
    EXPECT_TRUE(file && file->read_at(offset, std::span(&byte, 1)));
    return byte;
  }

  void flip_bit(const fs::path& path, uint64_t offset) {
    const std::byte flipped = byte_at(path, offset) ^ std::byte{4};
    overwrite(path, offset, std::span(&flipped, 1));
  }

  // Puts a value into one weight of an expert's `segment` and makes every checksum right again, as
  // a faulty conversion would.
  void plant(uint32_t layer, uint32_t expert, const char* segment_name, uint16_t bf16) {
    auto file = VaultFile::open(vault(layer));
    ASSERT_TRUE(file);
    VaultInfo info = file->info();
    const Segment* segment = info.record.find(segment_name);
    ASSERT_EQ(segment->format, Format::kBF16);
    overwrite(vault(layer), info.offset_of(expert) + segment->offset,
              std::as_bytes(std::span(&bf16, 1)));
    std::vector<std::byte> record(info.record.record_bytes);
    auto opened = File::open(vault(layer));
    ASSERT_TRUE(opened && opened->read_at(info.offset_of(expert), record));
    info.checksums[expert] = xxh3_64(record);
    const auto header = vault_header(info);
    ASSERT_TRUE(header);
    overwrite(vault(layer), 0, std::as_bytes(std::span(header->data(), header->size())));
  }

  TempDir dir_;
  fs::path folder_;
  std::vector<TokenId> prompt_;
};

testing::AssertionResult names(const Error& error, std::initializer_list<std::string> words) {
  for (const std::string& word : words)
    if (error.message.find(word) == std::string::npos)
      return testing::AssertionFailure() << "\"" << word << "\" is not in: " << error.message;
  if (error.message.find('\n') != std::string::npos && error.code != Code::kNotFound)
    return testing::AssertionFailure() << "more than one line: " << error.message;
  return testing::AssertionSuccess();
}

TEST_F(EngineFault, AFolderThatIsNoModelIsRefusedWithTheCommandThatMakesOne) {
  folder_ = golden_dir("qwen3_moe");
  EXPECT_TRUE(names(open_error(), {"qwen3_moe", "smoe shatter"}));
  folder_ = dir_ / "nothing";
  EXPECT_TRUE(names(open_error(), {"nothing", "no such"}));
  fs::create_directory(folder_);
  EXPECT_TRUE(names(open_error(), {"is no model folder"}));
}

// D6
TEST_F(EngineFault, AVaultOfAnotherScoutIsRefused) {
  const fs::path other = shattered(golden_dir("qwen3_moe"), Quant::kQuality);
  fs::copy_file(other / "vault" / vault_file_name(1), vault(1),
                fs::copy_options::overwrite_existing);
  const Error error = open_error();
  EXPECT_EQ(error.code, Code::kCorrupt);
  EXPECT_TRUE(names(error, {vault_file_name(1), "fingerprint"}));
}

TEST_F(EngineFault, AMissingLayerIsNamed) {
  fs::remove(vault(2));
  EXPECT_TRUE(names(open_error(), {vault_file_name(2)}));
}

TEST_F(EngineFault, TwoLayersThatChangedPlacesAreRefused) {
  fs::rename(vault(0), dir_ / "aside");
  fs::rename(vault(1), vault(0));
  fs::rename(dir_ / "aside", vault(1));
  EXPECT_TRUE(names(open_error(), {vault_file_name(0), "holds layer 1"}));
}

// D6: each of 64 lengths.
TEST_F(EngineFault, ATruncatedFileIsRefusedAtOpen) {
  for (const fs::path& path : {vault(0), folder_ / "scout.safetensors"}) {
    const uint64_t whole = fs::file_size(path);
    for (uint64_t i = 0; i < 64; ++i) {
      fs::resize_file(path, whole * (63 - i) / 64);
      EXPECT_TRUE(names(open_error(), {path.filename().string()}))
          << "length " << fs::file_size(path);
    }
    fs::remove(path);
    const fs::path intact = shattered(golden_dir("qwen3_moe"));
    fs::copy_file(intact / fs::relative(path, folder_), path);
  }
}

TEST_F(EngineFault, AFlippedBitInARecordFailsTheRequestAndNothingElse) {
  auto file = VaultFile::open(vault(1));
  ASSERT_TRUE(file);
  for (uint32_t expert = 0; expert < file->info().experts; ++expert)
    flip_bit(vault(1), file->info().offset_of(expert) + 1000);
  OpenModel model(folder_, {});
  Session session = model.session();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_TRUE(names(status.error(), {vault_file_name(1), "layer 1", "expert"}));
  EXPECT_TRUE(session.tokens().empty());

  // The same engine goes on once the file is whole again.
  for (uint32_t expert = 0; expert < file->info().experts; ++expert)
    flip_bit(vault(1), file->info().offset_of(expert) + 1000);
  EXPECT_TRUE(session.append(prompt_, quiet));
}

// D3, D7: with a second copy a damaged vault and a damaged scout cost nothing but time.
TEST_F(EngineFault, AMirrorGivesTheSameBitsAfterFaultsInEveryRecordAndInTheScout) {
  const fs::path intact = shattered(golden_dir("qwen3_moe"));
  OpenModel plain(intact, {});
  const auto expected = all_logits(plain.engine(), prompt_);
  for (const uint32_t layer : {0U, 1U, 2U}) {
    auto file = VaultFile::open(vault(layer));
    ASSERT_TRUE(file);
    for (uint32_t expert = 0; expert < file->info().experts; ++expert)
      flip_bit(vault(layer), file->info().offset_of(expert) + 1000);
  }
  const auto scout = ScoutFile::open(folder_ / "scout.safetensors");
  ASSERT_TRUE(scout);
  flip_bit(folder_ / "scout.safetensors", scout->info().tensors[3].offset + 5);
  for (const IoEngine io : {IoEngine::kAuto, IoEngine::kPread, IoEngine::kBuffered}) {
    EngineSettings settings;
    settings.options.io = io;
    settings.options.ring_slots = 8;
    settings.options.mirror = intact;
    OpenModel model(folder_, settings);
    EXPECT_EQ(all_logits(model.engine(), prompt_), expected);
    EXPECT_GT(model.engine().stream_stats().rescues, 0U);
  }
}

TEST_F(EngineFault, AMirrorOfAnotherModelIsRefused) {
  EngineOptions options;
  options.mirror = shattered(golden_dir("qwen2_moe"));
  EXPECT_TRUE(names(open_error(options), {"--mirror", "is not a copy of"}));
}

TEST_F(EngineFault, AFlippedBitInTheScoutFailsTheRequestNamingTheTensor) {
  const auto scout = ScoutFile::open(folder_ / "scout.safetensors");
  ASSERT_TRUE(scout);
  const ScoutTensor& tensor = scout->info().tensors[3];
  flip_bit(folder_ / "scout.safetensors", tensor.offset + 5);
  OpenModel model(folder_, {});
  Session session = model.session();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_TRUE(names(status.error(), {"scout.safetensors", tensor.name}));
}

// N3, trap 35: a NaN ends the request with the layer and expert; no token is chosen from it.
TEST_F(EngineFault, ANaNInAnExpertNamesLayerAndExpert) {
  for (uint32_t expert = 0; expert < 16; ++expert) plant(1, expert, "down", 0x7fc0);
  OpenModel model(folder_, {});
  Session session = model.session();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNumeric);
  EXPECT_TRUE(names(status.error(), {"layer 1", "expert"}));
}

TEST_F(EngineFault, AnInfinityInTheLastLayerIsFoundToo) {
  for (uint32_t expert = 0; expert < 16; ++expert) plant(2, expert, "up", 0x7f80);
  OpenModel model(folder_, {});
  Session session = model.session();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNumeric);
  EXPECT_TRUE(names(status.error(), {"layer 2", "expert"}));
}

// Trap 35: what passes 65504 overflows fp16, not this engine.
TEST_F(EngineFault, AnActivationBeyondFp16IsComputed) {
  for (uint32_t expert = 0; expert < 16; ++expert) plant(2, expert, "down", 0x4980);  // 2^20
  OpenModel model(folder_, {});
  const auto logits = all_logits(model.engine(), prompt_);
  for (const auto& row : logits)
    for (const float value : row) ASSERT_TRUE(std::isfinite(value));
}

// Trap 19
TEST_F(EngineFault, APromptLongerThanTheContextIsRefusedBeforeAnyWork) {
  EngineSettings settings;
  settings.options.context = 74;
  OpenModel model(folder_, settings);
  Session session = model.session();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kContextFull);
  EXPECT_TRUE(names(status.error(), {"75", "74"}));
  EXPECT_TRUE(session.append(std::span(prompt_).first(74), quiet));
  EXPECT_EQ(session.room(), 0U);
  EXPECT_FALSE(session.append(TokenId{1}));
}

TEST_F(EngineFault, ATokenOutsideTheVocabularyIsRefused) {
  OpenModel model(folder_, {});
  Session session = model.session();
  const Status status = session.append(TokenId{160});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUsage);
  EXPECT_TRUE(names(status.error(), {"160"}));
}

TEST_F(EngineFault, ABudgetThatIsTooSmallIsRefusedWithTheSmallestThatWorks) {
  EngineOptions options;
  options.memory_bytes = 1000000;
  const Error error = open_error(options);
  EXPECT_EQ(error.code, Code::kNoMemory);
  EXPECT_TRUE(names(error, {"--memory", "needs at least", "scout", "ring"}));
}

// K5
TEST_F(EngineFault, ARingOfOneSlotIsRefusedWithTheSmallestThatWorks) {
  EngineOptions options;
  options.ring_slots = 1;
  const Error error = open_error(options);
  EXPECT_EQ(error.code, Code::kUsage);
  EXPECT_TRUE(names(error, {"at least 2"}));
}

TEST_F(EngineFault, ACancelledPromptEndsAtOnceAndLeavesTheSessionAsItWas) {
  OpenModel model(folder_, {});
  Session session = model.session();
  ASSERT_TRUE(session.append(TokenId{1}));
  model.engine().cancel();
  const Status status = session.append(prompt_, quiet);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCancelled);
  EXPECT_EQ(session.tokens().size(), 1U);
  model.engine().clear_cancel();
  EXPECT_TRUE(session.append(prompt_, quiet));
}

}  // namespace
}  // namespace smoe::test
