#include "formats/vault_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "base/rng.h"
#include "base/units.h"
#include "formats/folder_file.h"
#include "formats/sealed_file.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uint32_t kExperts = 3;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

VaultInfo small_vault_info() {
  VaultInfo info;
  info.layer = 7;
  info.experts = kExperts;
  info.record = RecordLayout::of_expert(32, 32, Format::kBF16, Format::kBF16, Format::kQ8_0);
  info.fingerprint = 0x123456789abcdef0U;
  info.checksums.assign(kExperts, 0);
  return info;
}

// A whole vault with random records, as its bytes.
std::string small_vault() {
  VaultInfo info = small_vault_info();
  std::string records(kExperts * info.record.record_bytes, '\0');
  Rng rng(1);
  for (char& byte : records) byte = static_cast<char>(rng.next());
  for (uint32_t expert = 0; expert < kExperts; ++expert)
    info.checksums[expert] = xxh3_64(std::string_view(records).substr(
        expert * info.record.record_bytes, info.record.record_bytes));
  return vault_header(info).value() + records;
}

Result<VaultFile> opened_vault(const TempDir& dir, const std::string& bytes) {
  const fs::path path = dir / "layer-00007.safetensors";
  test::put(path, bytes);
  return VaultFile::open(path);
}

std::string vault_refusal(const TempDir& dir, const std::string& bytes) {
  const auto vault = opened_vault(dir, bytes);
  EXPECT_FALSE(vault);
  return vault ? "accepted" : vault.error().message;
}

std::string changed_vault(const std::string& file, const std::string& from, const std::string& to) {
  return test::resealed(file, file.size() - kExperts * small_vault_info().record.record_bytes, from,
                        to);
}

TEST(VaultFile, ReadsBackWhatWasWritten) {
  const TempDir dir;
  const std::string file = small_vault();
  const auto vault = opened_vault(dir, file);
  ASSERT_TRUE(vault) << vault.error().message;
  const VaultInfo& info = vault->info();
  EXPECT_EQ(info.layer, 7U);
  EXPECT_EQ(info.experts, kExperts);
  EXPECT_EQ(info.fingerprint, small_vault_info().fingerprint);
  EXPECT_EQ(info.data_begin % kPageBytes, 0U);
  EXPECT_EQ(info.offset_of(kExperts), file.size());
  for (uint32_t expert = 0; expert < kExperts; ++expert)
    EXPECT_EQ(info.checksums[expert], xxh3_64(std::string_view(file).substr(
                                          info.offset_of(expert), info.record.record_bytes)));
}

TEST(VaultFile, IsAValidSafetensorsFileForAnyTool) {
  const std::string file = small_vault();
  const auto header = SafetensorsHeader::parse(bytes_of(file), file.size(), "vault");
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), kExperts);
  EXPECT_EQ(header->tensors[2].name, "expert.2");
  EXPECT_EQ(header->tensors[2].dtype, DType::kU8);
  EXPECT_EQ(header->tensors[2].shape,
            std::vector<uint64_t>{small_vault_info().record.record_bytes});
}

TEST(VaultHeader, HasALengthThatDoesNotDependOnTheChecksums) {
  VaultInfo info = small_vault_info();
  const size_t bytes = vault_header(info)->size();
  info.checksums.assign(kExperts, 0xffffffffffffffffU);
  info.fingerprint = 0;
  EXPECT_EQ(vault_header(info)->size(), bytes);
}

TEST(VaultHeader, IsTheSameForTheSameContent) {
  EXPECT_EQ(*vault_header(small_vault_info()), *vault_header(small_vault_info()));
}

TEST(VaultHeader, RefusesToDescribeWhatItDoesNotKnow) {
  VaultInfo info = small_vault_info();
  info.checksums.pop_back();
  EXPECT_EQ(vault_header(info).error().code, Code::kUsage);
  info.checksums.clear();
  info.experts = 0;
  EXPECT_EQ(vault_header(info).error().code, Code::kUsage);
}

// F4: every single flipped bit is seen, in the header when the file is opened_vault, in a record by
// its checksum.
TEST(VaultFile, DetectsEverySingleFlippedBit) {
  const TempDir dir;
  const std::string file = small_vault();
  const auto vault = opened_vault(dir, file);
  ASSERT_TRUE(vault);
  const VaultInfo& info = vault->info();
  test::expect_every_flip_is_seen(file, info.data_begin, vault->path(),
                                  [&] { return VaultFile::open(vault->path()).has_value(); });

  std::string record = file.substr(info.offset_of(1), info.record.record_bytes);
  for (char& byte : record)
    for (unsigned bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ static_cast<char>(1U << bit));
      ASSERT_NE(xxh3_64(record), info.checksums[1]);
      byte = static_cast<char>(byte ^ static_cast<char>(1U << bit));
    }
}

// D6: a vault cut off anywhere is refused when it is opened_vault, and so is one with bytes
// appended.
TEST(VaultFile, RefusesEveryTruncation) {
  const TempDir dir;
  const std::string file = small_vault();
  for (size_t part = 0; part < 64; ++part) {
    const std::string message = vault_refusal(dir, file.substr(0, file.size() * part / 64));
    EXPECT_THAT(message, StartsWith((dir / "layer-00007.safetensors").string() + ": "));
  }
  EXPECT_THAT(vault_refusal(dir, file.substr(0, file.size() - 1)), HasSubstr("with"));
  EXPECT_THAT(vault_refusal(dir, file + "x"), HasSubstr("appended"));
}

TEST(VaultFile, OfAnotherVersionIsUnsupportedAndBothVersionsAreNamed) {
  const TempDir dir;
  for (const char* version : {"0", "2", "9"}) {
    const std::string file = changed_vault(small_vault(), R"("smoe_version":"1")",
                                           "\"smoe_version\":\"" + std::string(version) + "\"");
    const auto vault = opened_vault(dir, file);
    ASSERT_FALSE(vault);
    EXPECT_EQ(vault.error().code, Code::kUnsupported);
    EXPECT_THAT(vault.error().message, HasSubstr("vault version " + std::string(version) +
                                                 ", this build reads version 1"));
  }
}

TEST(VaultFile, SaysSoWhenTheFileIsSomethingElse) {
  const TempDir dir;
  EXPECT_THAT(vault_refusal(dir, changed_vault(small_vault(), R"("vault")", R"("scout")")),
              HasSubstr("is no vault file of a model folder (metadata smoe_file is \"scout\")"));
  const auto plain = lay_out_safetensors({}, {{"format", "pt"}}, 64);
  EXPECT_THAT(vault_refusal(dir, plain->header_bytes), HasSubstr("smoe_file is missing"));
  EXPECT_EQ(VaultFile::open(dir / "absent").error().code, Code::kNotFound);
  EXPECT_FALSE(VaultFile::open(dir.path()));
}

TEST(VaultFile, RefusesASealedHeaderThatContradictsItself) {
  const TempDir dir;
  const std::string file = small_vault();
  const auto after = [&](const std::string& from, const std::string& to) {
    return vault_refusal(dir, changed_vault(file, from, to));
  };
  EXPECT_THAT(after(R"("experts":"3")", R"("experts":"2")"), HasSubstr("3 tensors for 2 experts"));
  EXPECT_THAT(after(R"("experts":"3")", R"("experts":"0")"), HasSubstr("no expert"));
  EXPECT_THAT(after(R"("experts":"3")", R"("experts":"x")"), HasSubstr("a number up to"));
  EXPECT_THAT(after(R"("expert.1")", R"("expert.7")"), HasSubstr("stands where"));
  EXPECT_THAT(after(R"("U8")", R"("I8")"), HasSubstr("stands where"));
  EXPECT_THAT(after(R"(record_bytes\":16384)", R"(record_bytes\":32768)"),
              HasSubstr("stands where"));
  EXPECT_THAT(after(R"(\"down\")", R"(\"gate\")"), HasSubstr("are named"));
  EXPECT_THAT(after(R"("record":)", R"("rekord":)"), HasSubstr("\"record\" is missing"));
  EXPECT_THAT(after(R"("fingerprint":"1)", R"("fingerprint":"X)"), HasSubstr("fingerprint"));
  EXPECT_THAT(after(R"("record_checksums":")", R"("record_checksumz":")"), HasSubstr("missing"));
  EXPECT_THAT(after(R"("layer":"7")", R"("layer":"-")"), HasSubstr("a number up to 65535"));
}

TEST(VaultFileName, CountsWithFiveDigits) {
  EXPECT_EQ(vault_file_name(0), "layer-00000.safetensors");
  EXPECT_EQ(vault_file_name(12345), "layer-12345.safetensors");
}

}  // namespace
}  // namespace smoe
