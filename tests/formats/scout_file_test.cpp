#include "formats/scout_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/units.h"
#include "formats/sealed_file.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

using test::TempDir;
using testing::HasSubstr;

ScoutTensor matrix(std::string name, Format format, uint32_t rows, uint32_t cols) {
  ScoutTensor tensor;
  tensor.name = std::move(name);
  tensor.layout = Layout::kTiles16;
  tensor.format = format;
  tensor.rows = rows;
  tensor.cols = cols;
  return tensor;
}

ScoutTensor vector(std::string name, uint32_t cols) {
  ScoutTensor tensor;
  tensor.name = std::move(name);
  tensor.rows = 1;
  tensor.cols = cols;
  return tensor;
}

ScoutInfo small_scout_info() {
  ScoutInfo info;
  info.spec_json = R"({"width":32,"text":"\"quoted\""})";
  info.source = "tales";
  info.fingerprint = 0xfedcba9876543210U;
  info.tensors = {matrix("embedding", Format::kBF16, 20, 32), vector("layer.0.norm", 30),
                  matrix("layer.0.router", Format::kQ8_0, 4, 64), vector("final_norm", 32)};
  return info;
}

ScoutInfo planned_info() {
  ScoutInfo info = small_scout_info();
  EXPECT_TRUE(plan_scout(info));
  return info;
}

std::string small_scout() {
  ScoutInfo info = planned_info();
  std::string data;
  for (ScoutTensor& tensor : info.tensors) {
    const std::string bytes(tensor.bytes, static_cast<char>('a' + data.size() % 7));
    tensor.checksum = xxh3_64(bytes);
    data += bytes;
  }
  return scout_header(info).value() + data;
}

Result<ScoutFile> opened_scout(const TempDir& dir, const std::string& bytes) {
  test::put(dir / "scout.safetensors", bytes);
  return ScoutFile::open(dir / "scout.safetensors");
}

std::string scout_refusal(const TempDir& dir, const std::string& bytes) {
  const auto scout = opened_scout(dir, bytes);
  EXPECT_FALSE(scout);
  return scout ? "accepted" : scout.error().message;
}

std::string changed_scout(const std::string& file, const std::string& from, const std::string& to) {
  return test::resealed(file, planned_info().tensors[0].offset, from, to);
}

TEST(ScoutFile, ReadsBackWhatWasWritten) {
  const TempDir dir;
  const std::string file = small_scout();
  const auto scout = opened_scout(dir, file);
  ASSERT_TRUE(scout) << scout.error().message;
  const ScoutInfo wanted = planned_info();
  EXPECT_EQ(scout->info().spec_json, wanted.spec_json);
  EXPECT_EQ(scout->info().source, "tales");
  EXPECT_EQ(scout->info().fingerprint, wanted.fingerprint);
  EXPECT_EQ(scout->data_begin() + scout->data_bytes(), file.size());
  ASSERT_EQ(scout->info().tensors.size(), wanted.tensors.size());
  for (size_t i = 0; i < wanted.tensors.size(); ++i) {
    const ScoutTensor& tensor = scout->info().tensors[i];
    EXPECT_EQ(tensor.name, wanted.tensors[i].name);
    EXPECT_EQ(tensor.layout, wanted.tensors[i].layout);
    EXPECT_EQ(tensor.format, wanted.tensors[i].format);
    EXPECT_EQ(tensor.rows, wanted.tensors[i].rows);
    EXPECT_EQ(tensor.cols, wanted.tensors[i].cols);
    EXPECT_EQ(tensor.offset, wanted.tensors[i].offset);
    EXPECT_EQ(tensor.bytes, wanted.tensors[i].bytes);
    EXPECT_EQ(tensor.checksum, xxh3_64(std::string_view(file).substr(tensor.offset, tensor.bytes)));
  }
}

TEST(ScoutFile, PutsEveryTensorOnAVectorBoundaryBehindAWholePage) {
  const ScoutInfo info = planned_info();
  EXPECT_EQ(info.tensors[0].offset % kPageBytes, 0U);
  uint64_t end = info.tensors[0].offset;
  for (const ScoutTensor& tensor : info.tensors) {
    EXPECT_EQ(tensor.offset, end);
    EXPECT_EQ(tensor.bytes % 64, 0U);
    end += tensor.bytes;
  }
  EXPECT_EQ(info.tensors[1].bytes, 128U);  // 30 floats and 8 bytes of padding
}

// Other tools must see a vector as it is, and what a matrix is not: rows.
TEST(ScoutFile, IsAValidSafetensorsFileForAnyTool) {
  const std::string file = small_scout();
  const auto header =
      SafetensorsHeader::parse(std::as_bytes(std::span(file)), file.size(), "scout");
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 5U);
  EXPECT_EQ(header->tensors[0].dtype, DType::kU8);
  EXPECT_EQ(header->tensors[1].dtype, DType::kF32);
  EXPECT_EQ(header->tensors[1].shape, std::vector<uint64_t>{30});
  EXPECT_EQ(header->tensors[2].name, "padding.layer.0.norm");
  EXPECT_EQ(header->tensors[2].bytes, 8U);
  EXPECT_EQ(header->tensors[4].shape, std::vector<uint64_t>{32});
}

TEST(PlanScout, DoesNotDependOnChecksums) {
  ScoutInfo info = planned_info();
  const std::string header = scout_header(info).value();
  for (ScoutTensor& tensor : info.tensors) tensor.checksum = 0xffffffffffffffffU;
  const std::string other = scout_header(info).value();
  EXPECT_EQ(header.size(), other.size());
  EXPECT_EQ(header.size(), info.tensors[0].offset);
  EXPECT_NE(header, other);
}

TEST(ScoutHeader, RefusesAnInfoThatWasNotPlanned) {
  ScoutInfo info = planned_info();
  info.tensors[2].offset += 64;
  EXPECT_EQ(scout_header(info).error().code, Code::kUsage);
  EXPECT_EQ(scout_header(small_scout_info()).error().code, Code::kUsage);
}

TEST(PlanScout, RefusesTensorsThatNoScoutCanHold) {
  const auto code = [](ScoutTensor tensor) {
    ScoutInfo info;
    info.tensors = {std::move(tensor)};
    const Status status = plan_scout(info);
    return status ? std::nullopt : std::optional(status.error().code);
  };
  EXPECT_EQ(code(vector("a", 3)), std::nullopt);
  EXPECT_EQ(code(vector("", 3)), Code::kUsage);
  EXPECT_EQ(code(vector("padding.a", 3)), Code::kUsage);
  EXPECT_EQ(code(vector("a", 0)), Code::kUsage);
  EXPECT_EQ(code(matrix("a", Format::kQ8_0, 1, 40)), Code::kUsage);
  EXPECT_EQ(code(matrix("a", Format::kF32, 0xffffffff, 0xffffffff)), Code::kUsage);
  ScoutTensor rows = vector("a", 3);
  rows.rows = 2;
  EXPECT_EQ(code(rows), Code::kUsage);
}

// F4.
TEST(ScoutFile, DetectsEverySingleFlippedBit) {
  const TempDir dir;
  const std::string file = small_scout();
  const auto scout = opened_scout(dir, file);
  ASSERT_TRUE(scout);
  const ScoutInfo& info = scout->info();
  test::expect_every_flip_is_seen(file, scout->data_begin(), scout->path(),
                                  [&] { return ScoutFile::open(scout->path()).has_value(); });
  for (const ScoutTensor& tensor : info.tensors) {
    std::string data = file.substr(tensor.offset, tensor.bytes);
    for (char& byte : data)
      for (unsigned bit = 0; bit < 8; ++bit) {
        byte = static_cast<char>(byte ^ static_cast<char>(1U << bit));
        ASSERT_NE(xxh3_64(data), tensor.checksum);
        byte = static_cast<char>(byte ^ static_cast<char>(1U << bit));
      }
  }
}

// D6.
TEST(ScoutFile, RefusesEveryTruncation) {
  const TempDir dir;
  const std::string file = small_scout();
  for (size_t part = 0; part < 64; ++part)
    EXPECT_THAT(scout_refusal(dir, file.substr(0, file.size() * part / 64)),
                HasSubstr("scout.safetensors: "));
  scout_refusal(dir, file.substr(0, file.size() - 1));
  scout_refusal(dir, file + "x");
}

TEST(ScoutFile, OfAnotherVersionIsUnsupportedAndBothVersionsAreNamed) {
  const TempDir dir;
  for (const char* version : {"0", "2"}) {
    const auto scout =
        opened_scout(dir, changed_scout(small_scout(), R"("smoe_version":"1")",
                                        "\"smoe_version\":\"" + std::string(version) + "\""));
    ASSERT_FALSE(scout);
    EXPECT_EQ(scout.error().code, Code::kUnsupported);
    EXPECT_THAT(scout.error().message, HasSubstr("scout version " + std::string(version) +
                                                 ", this build reads version 1"));
  }
}

TEST(ScoutFile, RefusesASealedTableThatContradictsTheTensors) {
  const TempDir dir;
  const std::string file = small_scout();
  const auto after = [&](const std::string& from, const std::string& to) {
    return scout_refusal(dir, changed_scout(file, from, to));
  };
  EXPECT_THAT(after(R"(\"rows\":20)", R"(\"rows\":99)"), HasSubstr("stands where"));
  EXPECT_THAT(after(R"(\"cols\":30)", R"(\"cols\":31)"), HasSubstr("stands where"));
  EXPECT_THAT(after(R"(\"cols\":30)", R"(\"cols\":32)"), HasSubstr("the table describes 4"));
  EXPECT_THAT(after(R"(\"name\":\"embedding\")", R"(\"name\":\"embeddinh\")"),
              HasSubstr("stands where"));
  EXPECT_THAT(after(R"(\"rows\":20)", R"(\"rows\":-1)"), HasSubstr("no rows"));
  EXPECT_THAT(after(R"(\"bf16\")", R"(\"bf17\")"), HasSubstr("does not know"));
  EXPECT_THAT(after(R"(\"tiles16\")", R"(\"tiles17\")"), HasSubstr("does not know"));
  EXPECT_THAT(after(R"("tensors":"[{)", R"("tensors":"[()"), HasSubstr("JSON"));
  EXPECT_THAT(after(R"("spec":)", R"("spek":)"), HasSubstr("\"spec\" is missing"));
  EXPECT_THAT(after(R"("source":)", R"("sourze":)"), HasSubstr("\"source\" is missing"));
}

}  // namespace
}  // namespace smoe
