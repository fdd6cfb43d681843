#include "formats/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/units.h"

namespace smoe {
namespace {

using testing::HasSubstr;

std::string layout_text(const RecordLayout& layout) {
  JsonWriter json;
  layout.write(json);
  return json.take();
}

Result<RecordLayout> read_text(const std::string& text) {
  const auto json = Json::parse(text);
  EXPECT_TRUE(json) << text;
  return RecordLayout::read(*json);
}

// Marks each byte of each tile and finds two that share one.
void expect_no_byte_is_shared(const RecordLayout& layout) {
  std::vector<int> owners(layout.record_bytes);
  for (const Segment& segment : layout.segments) {
    EXPECT_EQ(segment.offset % 256, 0U);
    for (uint64_t tile = 0; tile < ceil_div(segment.rows, kTileRows); ++tile) {
      const uint64_t begin = segment.offset + tile * segment.tile_stride;
      EXPECT_EQ(begin % 64, 0U);
      for (uint64_t i = 0; i < tile_bytes(segment.format, segment.cols); ++i)
        ASSERT_EQ(owners.at(begin + i)++, 0) << segment.name << " tile " << tile;
    }
  }
}

TEST(RecordLayout, OfAnExpertFitsItsPagesAndReadsBack) {
  for (const uint32_t cols : {32U, 64U, 128U, 2048U})
    for (const uint32_t width : {32U, 96U, 768U})
      for (const Format gate : {Format::kF32, Format::kBF16, Format::kQ8_0, Format::kF8E4M3})
        for (const Format up : {gate, Format::kF16}) {
          const auto layout = RecordLayout::of_expert(cols, width, gate, up, Format::kQ8_0);
          EXPECT_EQ(layout.record_bytes % kPageBytes, 0U);
          expect_no_byte_is_shared(layout);
          const auto read = read_text(layout_text(layout));
          ASSERT_TRUE(read) << read.error().message;
          EXPECT_EQ(layout_text(*read), layout_text(layout));
        }
}

TEST(RecordLayout, InterleavesGateAndUpTileByTileWhenTheirFormatsAgree) {
  const auto layout =
      RecordLayout::of_expert(2048, 768, Format::kQ8_0, Format::kQ8_0, Format::kQ8_0);
  EXPECT_EQ(layout.find("gate")->offset, 0U);
  EXPECT_EQ(layout.find("up")->offset, 34816U);
  EXPECT_EQ(layout.find("gate")->tile_stride, 2U * 34816);
  EXPECT_EQ(layout.find("up")->tile_stride, 2U * 34816);
  EXPECT_EQ(layout.find("down")->offset, 48U * 2 * 34816);
  EXPECT_EQ(layout.find("down")->rows, 2048U);
  EXPECT_EQ(layout.find("down")->cols, 768U);
  EXPECT_EQ(layout.record_bytes, 5013504U);  // 306 pages without a byte of padding
  EXPECT_EQ(layout.find("side"), nullptr);
}

TEST(RecordLayout, PutsGateAndUpOneAfterTheOtherWhenTheirFormatsDiffer) {
  const auto layout = RecordLayout::of_expert(64, 32, Format::kF32, Format::kBF16, Format::kF16);
  EXPECT_EQ(layout.find("gate")->tile_stride, tile_bytes(Format::kF32, 64));
  EXPECT_EQ(layout.find("up")->offset, 2 * tile_bytes(Format::kF32, 64));
}

class BadRecord : public testing::Test {
 protected:
  // What reading says after `change` to a good layout.
  std::string after(const std::function<void(RecordLayout&)>& change) {
    RecordLayout layout =
        RecordLayout::of_expert(64, 64, Format::kBF16, Format::kBF16, Format::kQ8_0);
    change(layout);
    const auto read = read_text(layout_text(layout));
    EXPECT_FALSE(read);
    return read ? "accepted" : read.error().message;
  }
  std::string after_text(const std::string& from, const std::string& to) {
    std::string text =
        layout_text(RecordLayout::of_expert(64, 64, Format::kBF16, Format::kBF16, Format::kQ8_0));
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto read = read_text(text.replace(at, from.size(), to));
    EXPECT_FALSE(read);
    return read ? "accepted" : read.error().message;
  }
};

TEST_F(BadRecord, IsRefusedWhenASegmentLeavesTheRecord) {
  EXPECT_THAT(after([](auto& l) { l.record_bytes = kPageBytes; }), HasSubstr("outside the record"));
  EXPECT_THAT(after([](auto& l) { l.segments[2].offset = l.record_bytes - 256; }),
              HasSubstr("outside the record"));
  EXPECT_THAT(after([](auto& l) { l.segments[2].rows = 0xffffffff; }),
              HasSubstr("outside the record"));
  EXPECT_THAT(after([](auto& l) {
                l.record_bytes = uint64_t{1} << 62;
                l.segments[2].rows = 0xffffffff;
                l.segments[2].tile_stride = uint64_t{1} << 61;
              }),
              HasSubstr("outside the record"));
}

TEST_F(BadRecord, IsRefusedWhenSegmentsOverlap) {
  EXPECT_THAT(after([](auto& l) { l.segments[2].offset = 256; }), HasSubstr("overlap"));
  EXPECT_THAT(after([](auto& l) { l.segments[1].offset = 0; }), HasSubstr("overlap"));
  EXPECT_THAT(after([](auto& l) { l.segments[1].offset += 256; }), HasSubstr("overlap"));
  EXPECT_THAT(after([](auto& l) { l.segments[1].offset -= 256; }), HasSubstr("overlap"));
  EXPECT_THAT(after([](auto& l) { l.segments[1].tile_stride += 64; }), HasSubstr("overlap"));
}

TEST_F(BadRecord, IsRefusedWhenItsNumbersMakeNoSense) {
  EXPECT_THAT(after([](auto& l) { l.record_bytes += 1; }), HasSubstr("no multiple of 16384"));
  EXPECT_THAT(after([](auto& l) { l.record_bytes = 0; }), HasSubstr("no multiple of 16384"));
  EXPECT_THAT(after([](auto& l) { l.segments[0].rows = 0; }), HasSubstr("no rows"));
  EXPECT_THAT(after([](auto& l) { l.segments[0].offset = 64; }), HasSubstr("multiple of 256"));
  EXPECT_THAT(after([](auto& l) { l.segments[0].tile_stride = 64; }), HasSubstr("tile_stride"));
  EXPECT_THAT(after([](auto& l) { l.segments[0].tile_stride += 1; }), HasSubstr("tile_stride"));
  EXPECT_THAT(after([](auto& l) { l.segments[2].cols = 40; }), HasSubstr("blocks"));
  EXPECT_THAT(after([](auto& l) { l.segments[1].name = "gate"; }), HasSubstr("are named"));
  EXPECT_THAT(after_text(R"("bytes":)", R"("bytes":1)"), HasSubstr("must be a number up to"));
  EXPECT_THAT(after_text(R"("bytes":14336)", R"("bytes":14337)"), HasSubstr("its shape needs"));
  EXPECT_THAT(after_text(R"("rows":64)", R"("rows":-1)"), HasSubstr("must be a number"));
  EXPECT_THAT(after_text(R"("rows":64)", R"("rows":"64")"), HasSubstr("must be a number"));
  EXPECT_THAT(after_text(R"("name":"gate")", R"("nam":"gate")"), HasSubstr("must be a string"));
  EXPECT_THAT(after_text(R"("segments")", R"("segment")"), HasSubstr("must be a list"));
}

TEST_F(BadRecord, OfAFormatOrLayoutFromTheFutureIsUnsupported) {
  EXPECT_THAT(after_text("q8_0", "q9_9"), HasSubstr("does not know"));
  EXPECT_THAT(after_text("tiles16", "tiles32"), HasSubstr("does not know"));
}

}  // namespace
}  // namespace smoe
