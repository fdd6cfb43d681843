// GGUF headers: what is read, and what is refused before anything is allocated. F3.
#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "support/gguf_writer.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

using test::gguf_string;
using test::GgufWriter;
using test::le32;
using test::le64;
using test::small_gguf;

Result<GgufHeader> parse_gguf(std::string_view bytes) {
  return GgufHeader::parse(std::as_bytes(std::span(bytes)), "m.gguf");
}

std::string gguf_refusal(std::string_view bytes) {
  const auto header = parse_gguf(bytes);
  return header ? "accepted"
                : std::string(name_of(header.error().code)) + " " + header.error().message;
}

// What a change of the small file leads to.
std::string refusal_of(const std::function<void(GgufWriter&)>& change) {
  GgufWriter file = small_gguf();
  change(file);
  return gguf_refusal(file.bytes());
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(Gguf, ReadsEveryKindOfValue) {
  const std::string bytes = small_gguf().bytes();
  const auto header = parse_gguf(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->version, 3U);
  EXPECT_EQ(header->find("general.architecture")->as_string(), "qwen3moe");
  EXPECT_EQ(header->find("count")->as_uint(), 7U);
  EXPECT_EQ(header->find("long")->as_uint(), uint64_t{1} << 63);
  EXPECT_EQ(header->find("ratio")->as_double(), 0.5);
  EXPECT_EQ(header->find("flag")->as_bool(), true);
  EXPECT_EQ(header->find("words")->as_strings(), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(header->find("words")->size(), 3U);
  EXPECT_EQ(header->find("numbers")->as_ints(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(header->find("scores")->as_doubles(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(header->find("absent"), nullptr);
}

TEST(Gguf, AnswersNothingForAnotherKindOfValue) {
  const std::string bytes = small_gguf().bytes();
  const auto header = parse_gguf(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->find("negative")->as_uint(), std::nullopt);
  EXPECT_EQ(header->find("ratio")->as_uint(), std::nullopt);
  EXPECT_EQ(header->find("count")->as_double(), std::nullopt);
  EXPECT_EQ(header->find("count")->as_bool(), std::nullopt);
  EXPECT_EQ(header->find("flag")->as_uint(), std::nullopt);
  EXPECT_EQ(header->find("flag")->as_string(), std::nullopt);
  EXPECT_EQ(header->find("count")->as_ints(), std::nullopt);
  EXPECT_EQ(header->find("scores")->as_ints(), std::nullopt);
  EXPECT_EQ(header->find("numbers")->as_doubles(), std::nullopt);
  EXPECT_EQ(header->find("numbers")->as_uint(), std::nullopt);
  EXPECT_EQ(header->find("numbers")->as_strings(), std::nullopt);
  EXPECT_EQ(header->find("words")->as_ints(), std::nullopt);
  EXPECT_EQ(header->find("words")->as_string(), std::nullopt);
}

TEST(Gguf, ReadsTensorsWithTheSlowestAxisFirst) {
  const std::string bytes = small_gguf().bytes();
  const auto header = parse_gguf(bytes);
  ASSERT_TRUE(header);
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->data_begin % 32, 0U);
  const GgufTensor& a = header->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::kF32);
  EXPECT_EQ(a.shape, (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(a.begin, header->data_begin);
  EXPECT_EQ(a.bytes, 32U);
  const GgufTensor& b = header->tensors[1];
  EXPECT_EQ(b.dtype, DType::kQ8_0);
  EXPECT_EQ(b.bytes, 3 * 34U);
  EXPECT_EQ(bytes.substr(b.begin, b.bytes), std::string(3 * 34, 'b'));
}

TEST(Gguf, ReadsVersionTwoAndOtherAlignments) {
  GgufWriter file = small_gguf();
  file.version = 2;
  file.alignment = 4096;
  const std::string bytes = file.bytes();
  const auto header = parse_gguf(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->version, 2U);
  EXPECT_EQ(header->tensors[1].begin, header->data_begin + 4096);
  EXPECT_EQ(bytes[header->tensors[1].begin], 'b');
}

TEST(Gguf, RefusesOtherVersionsAndByteOrders) {
  expect_has(refusal_of([](GgufWriter& file) { file.version = 1; }),
             "unsupported m.gguf: GGUF version 1, this build reads 2 and 3");
  expect_has(refusal_of([](GgufWriter& file) { file.version = 4; }), "version 4");
  expect_has(refusal_of([](GgufWriter& file) { file.version = 3U << 24; }), "is big-endian");
  expect_has(gguf_refusal("GGML" + std::string(60, '\0')), "is no GGUF file");
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string bytes = small_gguf().bytes();
  ASSERT_EQ(gguf_refusal(bytes), "accepted");
  // The padding behind the last tensor may be missing, as some programs leave it out.
  const size_t used = bytes.find_last_of('b') + 1;
  EXPECT_EQ(gguf_refusal(bytes.substr(0, used)), "accepted");
  for (size_t length = 0; length < used; ++length)
    EXPECT_NE(gguf_refusal(bytes.substr(0, length)), "accepted") << length;
}

// The count is compared with what the file can hold, so that none of these allocates.
TEST(Gguf, RefusesCountsThatTheFileCannotHold) {
  const std::string bytes = small_gguf().bytes();
  for (const uint64_t count :
       {uint64_t{1000}, uint64_t{1} << 32, uint64_t{1} << 60, ~uint64_t{0}}) {
    std::string tensors = bytes;
    tensors.replace(8, 8, le64(count));
    EXPECT_TRUE(gguf_refusal(tensors).starts_with("corrupt m.gguf: ")) << gguf_refusal(tensors);
    std::string keys = bytes;
    keys.replace(16, 8, le64(count));
    EXPECT_TRUE(gguf_refusal(keys).starts_with("corrupt m.gguf: ")) << gguf_refusal(keys);
    for (const uint32_t type : {0U, 5U, 8U, 12U})
      expect_has(refusal_of([&](GgufWriter& file) {
                   file.set_raw("words", le32(test::kGgufArray) + le32(type) + le64(count));
                 }),
                 "key \"words\"");
    expect_has(refusal_of([&](GgufWriter& file) {
                 file.set_raw("text", le32(test::kGgufString) + le64(count) + "abc");
               }),
               "key \"text\"");
    std::string name = replaced(bytes, gguf_string("b.weight"), le64(count) + "b.weight");
    EXPECT_TRUE(gguf_refusal(name).starts_with("corrupt m.gguf: ")) << gguf_refusal(name);
  }
}

TEST(Gguf, RefusesKeysThatAreNotOneOfAKind) {
  expect_has(refusal_of([](GgufWriter& file) {
               file.keys.emplace_back("count", le32(test::kGgufBool) + '\1');
             }),
             "two keys \"count\"");
  expect_has(refusal_of([](GgufWriter& file) { file.set_u32("", 1); }), "the name of a key");
  expect_has(refusal_of([](GgufWriter& file) { file.set_u32("\xff", 1); }), "the name of a key");
  expect_has(refusal_of([](GgufWriter& file) { file.set_u32(std::string(1025, 'k'), 1); }),
             "the name of a key");
  expect_has(refusal_of([](GgufWriter& file) { file.set_raw("odd", le32(13) + le64(0)); }),
             "unsupported m.gguf: key \"odd\": value type 13");
  expect_has(refusal_of([](GgufWriter& file) {
               file.set_raw("deep", le32(test::kGgufArray) + le32(test::kGgufArray) + le64(0));
             }),
             "an array of arrays");
  expect_has(
      refusal_of([](GgufWriter& file) { file.set_raw("flag", le32(test::kGgufBool) + '\2'); }),
      "a boolean that is neither 0 nor 1");
}

TEST(Gguf, RefusesTensorsThatAreNotOneOfAKind) {
  expect_has(refusal_of([](GgufWriter& file) { file.tensors[1].name = "a"; }), "two tensors \"a\"");
  expect_has(refusal_of([](GgufWriter& file) { file.tensors[1].name = ""; }),
             "the name of a tensor");
  expect_has(refusal_of([](GgufWriter& file) { file.tensors[0].dims = {}; }), "has 0 dimensions");
  expect_has(refusal_of([](GgufWriter& file) {
               file.tensors[0].dims = {2, 2, 2, 1, 1};
             }),
             "has 5 dimensions");
  expect_has(refusal_of([](GgufWriter& file) {
               file.tensors[0].dims = {4, 0};
             }),
             "a dimension is 0");
}

TEST(Gguf, RefusesTensorTypesByNameWithTheListThatWorks) {
  const auto of_type = [](uint32_t type) {
    return refusal_of([&](GgufWriter& file) { file.tensors[0].type = type; });
  };
  expect_has(of_type(16),
             "unsupported m.gguf: tensor \"a\": is IQ2_XXS, this build reads F32, F16");
  expect_has(of_type(99), "tensor \"a\": is type 99, this build reads");
  expect_has(of_type(16), "Q4_K");
}

TEST(Gguf, RefusesShapesThatWrapOrDoNotFillTheirBlocks) {
  const uint64_t half = uint64_t{1} << 32;
  expect_has(refusal_of([&](GgufWriter& file) {
               file.tensors[0].dims = {half, half};
             }),
             "more weights than 64 bits count");
  expect_has(refusal_of([&](GgufWriter& file) {
               file.tensors[0].dims = {half, half / 2, 2};
             }),
             "more weights than 64 bits count");
  expect_has(refusal_of([&](GgufWriter& file) { file.tensors[0].dims = {uint64_t{1} << 62}; }),
             "more weights than 64 bits count");
  expect_has(refusal_of([](GgufWriter& file) {
               file.tensors[1].dims = {33, 3};
             }),
             "rows of 33 weights do not fill blocks of 32 (Q8_0)");
  expect_has(refusal_of([](GgufWriter& file) {
               file.tensors[0].dims = {4, 200};
             }),
             "end outside the file");
}

TEST(Gguf, RefusesTensorsThatOverlapOrLieAcrossTheAlignment) {
  const std::string bytes = small_gguf().bytes();
  const std::string entry = le32(test::kGgufTensorQ8_0);
  const auto with_offset = [&](uint64_t offset) {
    return gguf_refusal(replaced(bytes, entry + le64(32), entry + le64(offset)));
  };
  EXPECT_EQ(with_offset(32), "accepted");
  expect_has(with_offset(0), "overlap");
  expect_has(with_offset(33), "is no multiple of 32");
  expect_has(with_offset(64), "end outside the file");
  expect_has(with_offset(~uint64_t{31}), "end outside the file");
}

TEST(Gguf, RefusesAlignmentsThatAreNoPowersOfTwo) {
  for (const uint64_t alignment : {uint64_t{0}, uint64_t{24}, uint64_t{1} << 31})
    expect_has(refusal_of([&](GgufWriter& file) { file.set_u32("general.alignment", alignment); }),
               "general.alignment must be a power of two");
  expect_has(refusal_of([](GgufWriter& file) { file.set_string("general.alignment", "32"); }),
             "general.alignment must be a power of two");
}

class Parts : public testing::Test {
 protected:
  // Three parts; the first has the metadata.
  void SetUp() override {
    for (uint32_t part = 0; part < 3; ++part) {
      GgufWriter file;
      if (part == 0) file.set_string("general.architecture", "qwen3moe");
      file.set_u32("split.no", part);
      file.set_u32("split.count", 3);
      file.set_raw("split.tensors.count", le32(test::kGgufI32) + le32(3));
      file.tensors.push_back(
          {"t" + std::to_string(part), {4}, test::kGgufTensorF32, std::string(16, 'a')});
      parts_.push_back(std::move(file));
    }
  }
  void write() {
    for (size_t part = 0; part < parts_.size(); ++part) parts_[part].write(path(part));
  }
  std::filesystem::path path(size_t part) const {
    return folder_ / ("m-0000" + std::to_string(part + 1) + "-of-00003.gguf");
  }
  std::string outcome(size_t part = 0) const {
    const auto files = open_gguf(path(part));
    return files ? std::to_string(files->size()) + " files" : files.error().message;
  }

  test::TempDir folder_;
  std::vector<GgufWriter> parts_;
};

TEST_F(Parts, AreFoundFromAnyOfThem) {
  write();
  for (size_t part = 0; part < 3; ++part) {
    const auto files = open_gguf(path(part));
    ASSERT_TRUE(files) << files.error().message;
    ASSERT_EQ(files->size(), 3U);
    EXPECT_NE(files->front().header().find("general.architecture"), nullptr);
    EXPECT_EQ((*files)[2].header().tensors[0].name, "t2");
  }
}

TEST_F(Parts, MustAllBeThereUnderTheirNames) {
  write();
  std::filesystem::rename(path(1), folder_ / "other.gguf");
  expect_has(outcome(), path(1).string() + ": is missing, but m-00001-of-00003.gguf needs it");
  const auto renamed = open_gguf(folder_ / "other.gguf");
  ASSERT_FALSE(renamed);
  expect_has(renamed.error().message, "is one of 3 parts; keep the names");
}

TEST_F(Parts, MustBeWhatTheirNamesSay) {
  parts_[1].set_u32("split.no", 2);
  write();
  expect_has(outcome(), "says that it is part 3 of 3, its name says 2 of 3");
  parts_[1].set_u32("split.no", 1);
  parts_[1].set_u32("split.count", 4);
  write();
  expect_has(outcome(), "says that it is part 2 of 4");
  parts_[1].unset("split.count");
  write();
  expect_has(outcome(), "says that it is part 2 of 1");
}

TEST_F(Parts, MustHoldEachTensorOnceAndAllOfThem) {
  parts_[2].tensors[0].name = "t0";
  write();
  expect_has(outcome(), "holds tensor \"t0\", which m-00001-of-00003.gguf holds, too");
  parts_[2].tensors.clear();
  write();
  expect_has(outcome(), "announces 3 tensors in all parts, they hold 2");
}

TEST(GgufFile, GivesATensorsBytes) {
  const test::TempDir folder;
  small_gguf().write(folder / "m.gguf");
  const auto file = GgufFile::open(folder / "m.gguf");
  ASSERT_TRUE(file) << file.error().message;
  const auto data = file->data(file->header().tensors[1]);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data()), data.size()),
            std::string(3 * 34, 'b'));
  EXPECT_EQ(file->header_bytes().size(), file->header().data_begin);
  const auto alone = open_gguf(folder / "m.gguf");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->size(), 1U);
  EXPECT_FALSE(open_gguf(folder / "absent.gguf"));
}

}  // namespace
}  // namespace smoe
