#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/sealed_file.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

using test::TempDir;
using testing::HasSubstr;

// A file that opens with `header`; the data follows.
std::string file_with(std::string_view header, size_t data_bytes) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xffU);
  file += header;
  file.append(data_bytes, '\0');
  return file;
}

Result<SafetensorsHeader> parse_safetensors(std::string_view file) {
  return SafetensorsHeader::parse(std::as_bytes(std::span(file)), file.size(), "m.safetensors");
}

std::string safetensors_refusal(std::string_view file) {
  const auto header = parse_safetensors(file);
  EXPECT_FALSE(header) << file;
  return header ? "accepted" : header.error().message;
}

std::string safetensors_refusal(std::string_view header, size_t data_bytes) {
  return safetensors_refusal(file_with(header, data_bytes));
}

TEST(SafetensorsHeader, ListsTensorsInTheOrderOfTheirData) {
  const auto header =
      parse_safetensors(file_with(R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
                                  R"("__metadata__":{"format":"pt","é":"\u00e9"},)"
                                  R"("a":{"data_offsets":[0,8],"shape":[],"dtype":"F64"}}   )",
                                  20));
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].begin, header->data_begin);
  EXPECT_EQ(header->tensors[0].bytes, 8U);
  EXPECT_EQ(header->tensors[1].dtype, DType::kBF16);
  EXPECT_EQ(header->tensors[1].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(header->tensors[1].begin, header->data_begin + 8);
  EXPECT_EQ(header->metadata.at("format"), "pt");
  EXPECT_EQ(header->metadata.at("é"), "é");
  EXPECT_EQ(header->find("b"), &header->tensors[1]);
  EXPECT_EQ(header->find("c"), nullptr);
}

TEST(SafetensorsHeader, TakesAnEmptyFileAndTensorsWithoutElements) {
  EXPECT_TRUE(parse_safetensors(file_with("{}", 0)));
  EXPECT_TRUE(parse_safetensors(file_with(R"({"__metadata__":{}})", 0)));
  EXPECT_TRUE(
      parse_safetensors(file_with(R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
                                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                                  2)));
}

TEST(SafetensorsHeader, RefusesALengthThatLies) {
  EXPECT_THAT(safetensors_refusal(std::string_view("\x02\0\0\0\0\0\0", 7)), HasSubstr("too short"));
  EXPECT_THAT(safetensors_refusal(""), HasSubstr("m.safetensors: too short"));
  std::string file = file_with("{}", 0);
  file[0] = 3;
  EXPECT_THAT(safetensors_refusal(file),
              HasSubstr("header length 3, but the file has only 10 bytes"));
  file[3] = 0x10;
  EXPECT_THAT(safetensors_refusal(file), HasSubstr("the most is 100000000"));
  file[7] = '\xff';
  EXPECT_THAT(safetensors_refusal(file), HasSubstr("the most is 100000000"));
  file = file_with("", 2);
  EXPECT_THAT(safetensors_refusal(file), HasSubstr("does not begin with '{'"));
}

TEST(SafetensorsHeader, RefusesAHeaderThatIsNoHeader) {
  EXPECT_THAT(safetensors_refusal("[]", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(safetensors_refusal(" {}", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(safetensors_refusal("{\"\xff\":1}", 0), HasSubstr("not UTF-8"));
  EXPECT_THAT(safetensors_refusal("{}x", 0), HasSubstr("after the end"));
  EXPECT_THAT(safetensors_refusal(std::string_view("{}\0", 3), 0), HasSubstr("after the end"));
  EXPECT_THAT(safetensors_refusal("{", 0), HasSubstr("string expected"));
  EXPECT_THAT(safetensors_refusal(R"({"a":1})", 0), HasSubstr("tensor \"a\""));
  EXPECT_THAT(safetensors_refusal(R"({"__metadata__":{"a":1}})", 0),
              HasSubstr("a string expected"));
  EXPECT_THAT(safetensors_refusal(R"({"__metadata__":{"a":"b",}})", 0),
              HasSubstr("a string expected"));
  EXPECT_THAT(safetensors_refusal(std::string(100000, '{'), 0), HasSubstr("string expected"));
}

TEST(SafetensorsHeader, RefusesDuplicateKeysOnEveryLevel) {
  constexpr std::string_view kA = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  constexpr std::string_view kSame = R"("\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  EXPECT_THAT(safetensors_refusal("{" + std::string(kA) + "," + std::string(kSame) + "}", 2),
              HasSubstr("duplicate tensor \"a\""));
  EXPECT_THAT(safetensors_refusal(R"({"__metadata__":{},"__metadata__":{}})", 0),
              HasSubstr("duplicate"));
  EXPECT_THAT(safetensors_refusal(R"({"__metadata__":{"k":"1","k":"1"}})", 0),
              HasSubstr("duplicate"));
  for (const char* field : {R"("dtype":"U8")", R"("shape":[1])", R"("data_offsets":[0,1])"})
    EXPECT_THAT(safetensors_refusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],)" +
                                        std::string(field) + "}}",
                                    1),
                HasSubstr("duplicate key"));
}

std::string tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return R"({"t":{"dtype":")" + std::string(dtype) + R"(","shape":[)" + std::string(shape) +
         R"(],"data_offsets":[)" + std::string(offsets) + "]}}";
}

TEST(SafetensorsHeader, RefusesTensorsWhoseNumbersDoNotAgree) {
  EXPECT_THAT(safetensors_refusal(tensor("F4", "1", "0,1"), 1),
              HasSubstr("dtype \"F4\" is not known"));
  EXPECT_EQ(parse_safetensors(file_with(tensor("F4", "1", "0,1"), 1)).error().code,
            Code::kUnsupported);
  EXPECT_THAT(safetensors_refusal(tensor("U8", "2", "0,1"), 1),
              HasSubstr("span 1 bytes, its shape needs 2"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1", "1,0"), 1), HasSubstr("data_offsets [1, 0]"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "9", "0,9"), 1), HasSubstr("with 1 bytes of data"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1", "0"), 1), HasSubstr("two data_offsets"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1", "0,1,2"), 1), HasSubstr("more than 2"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1,1,1,1,1,1,1,1,1", "0,1"), 1),
              HasSubstr("more than 8"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "-1", "0,1"), 1), HasSubstr("whole number"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1.0", "0,1"), 1), HasSubstr("expected"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "1", "0,99999999999999999999"), 1),
              HasSubstr("64 bits"));
  EXPECT_THAT(safetensors_refusal(R"({"t":{"dtype":"U8","shape":[1]}})", 1), HasSubstr("needed"));
  EXPECT_THAT(safetensors_refusal(
                  R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[[[1]]]}})", 1),
              HasSubstr("field \"x\""));
}

// RELIABILITY: an overflowing product once made a small buffer of a large tensor.
TEST(SafetensorsHeader, RefusesShapesThatOverflow) {
  EXPECT_THAT(safetensors_refusal(tensor("F32", "4611686018427387905", "0,4"), 4),
              HasSubstr("64 bits"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "4294967296,4294967296", "0,0"), 0),
              HasSubstr("64 bits"));
  EXPECT_THAT(safetensors_refusal(tensor("U8", "4294967297,4294967297,0", "0,1"), 1),
              HasSubstr("64 bits"));
}

TEST(SafetensorsHeader, RefusesGapsOverlapsAndAppendedBytes) {
  const auto two = [](std::string_view first, std::string_view second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[)" + std::string(first) +
           R"(]},"b":{"dtype":"U8","shape":[2],"data_offsets":[)" + std::string(second) + "]}}";
  };
  EXPECT_TRUE(parse_safetensors(file_with(two("0,2", "2,4"), 4)));
  EXPECT_TRUE(parse_safetensors(file_with(two("2,4", "0,2"), 4)));
  EXPECT_THAT(safetensors_refusal(two("0,2", "3,5"), 5),
              HasSubstr("begins at 3, the data before it ends at 2"));
  EXPECT_THAT(safetensors_refusal(two("0,2", "1,3"), 3), HasSubstr("begins at 1"));
  EXPECT_THAT(safetensors_refusal(two("0,2", "0,2"), 2), HasSubstr("begins at 0"));
  EXPECT_THAT(safetensors_refusal(two("1,3", "3,5"), 5), HasSubstr("begins at 1"));
  EXPECT_THAT(safetensors_refusal(two("0,2", "2,4"), 5), HasSubstr("something was appended"));
  EXPECT_THAT(safetensors_refusal("{}", 1), HasSubstr("appended"));
}

TEST(SafetensorsHeader, ShortensHostileNamesInMessages) {
  const std::string name(100000, 'n');
  EXPECT_LT(safetensors_refusal("{\"" + name + "\":{}}", 0).size(), 400U);
  EXPECT_THAT(safetensors_refusal("{\"a\\nb\":{}}", 0), HasSubstr("\"a\\nb\""));  // one line
}

// F1 in small: no cut and no flipped byte of a header is read beyond its bounds (ASan watches).
TEST(SafetensorsHeader, SurvivesEveryTruncationAndByteChange) {
  const std::string file = file_with(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(parse_safetensors(std::string(file, 0, length))) << length;
  for (size_t at = 0; at < file.size() - 8; ++at)
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = file;
      changed[at] = static_cast<char>(value);
      const auto header = parse_safetensors(changed);
      if (!header) continue;
      for (const TensorInfo& found : header->tensors)
        ASSERT_LE(found.begin + found.bytes, changed.size());
    }
}

TEST(LayOut, MakesAFileThatReadsBackWithItsDataOnTheBoundary) {
  const auto layout = lay_out_safetensors({{.name = "b", .dtype = DType::kF32, .shape = {3}},
                                           {.name = "a\"\n", .dtype = DType::kU8, .shape = {5}},
                                           {.name = "s", .dtype = DType::kF16, .shape = {}}},
                                          {{"format", "pt"}, {"note", "\"quoted\"\\"}}, 4096);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->header_bytes.size(), 4096U);
  EXPECT_EQ(layout->file_bytes, 4096U + 12 + 5 + 2);
  std::string file = layout->header_bytes;
  file.resize(layout->file_bytes);
  const auto header = parse_safetensors(file);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->data_begin, 4096U);
  EXPECT_EQ(header->metadata, layout->header.metadata);
  ASSERT_EQ(header->tensors.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(header->tensors[i].name, layout->header.tensors[i].name);
    EXPECT_EQ(header->tensors[i].begin, layout->header.tensors[i].begin);
    EXPECT_EQ(header->tensors[i].bytes, layout->header.tensors[i].bytes);
  }
}

TEST(LayOut, RefusesNamesAndSizesThatNoFileCanHold) {
  const auto code = [](std::vector<TensorInfo> tensors) {
    const auto layout = lay_out_safetensors(std::move(tensors), {}, 64);
    return layout ? std::nullopt : std::optional(layout.error().code);
  };
  const TensorInfo a = {.name = "a", .dtype = DType::kU8, .shape = {1}};
  EXPECT_EQ(code({a}), std::nullopt);
  EXPECT_EQ(code({a, a}), Code::kUsage);
  EXPECT_EQ(code({{.name = "__metadata__", .dtype = DType::kU8, .shape = {1}}}), Code::kUsage);
  EXPECT_EQ(code({{.name = "\xff", .dtype = DType::kU8, .shape = {1}}}), Code::kUsage);
  EXPECT_EQ(code({{.name = "b", .dtype = DType::kF64, .shape = {uint64_t{1} << 62}}}),
            Code::kUsage);
  const TensorInfo huge = {.name = "c", .dtype = DType::kU8, .shape = {uint64_t{1} << 63}};
  TensorInfo also = huge;
  also.name = "d";
  EXPECT_EQ(code({huge, also}), Code::kUsage);
}

TEST(SafetensorsFile, ShowsTheDataOfItsTensors) {
  const TempDir dir;
  std::string file = file_with(tensor("U8", "4", "0,4"), 4);
  std::memcpy(file.data() + file.size() - 4, "wxyz", 4);
  ASSERT_TRUE(replace_file(dir / "m.safetensors", file));
  const auto opened = SafetensorsFile::open(dir / "m.safetensors");
  ASSERT_TRUE(opened) << opened.error().message;
  const TensorInfo& info = opened->header().tensors[0];
  EXPECT_EQ(std::memcmp(opened->data(info).data(), "wxyz", 4), 0);
  opened->drop(info);
  EXPECT_EQ(std::memcmp(opened->data(info).data(), "wxyz", 4), 0);

  const auto read = SafetensorsHeader::read(*File::open(dir / "m.safetensors"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tensors[0].begin, info.begin);
}

TEST(SafetensorsFile, NamesThePathWhenTheFileIsCutOff) {
  const TempDir dir;
  const std::string file = file_with(tensor("U8", "4", "0,4"), 4);
  for (size_t length = 0; length < file.size(); ++length) {
    test::put(dir / "cut.safetensors", std::string(file, 0, length));
    const auto opened = SafetensorsFile::open(dir / "cut.safetensors");
    ASSERT_FALSE(opened) << length;
    EXPECT_THAT(opened.error().message, HasSubstr("cut.safetensors: "));
    EXPECT_FALSE(SafetensorsHeader::read(*File::open(dir / "cut.safetensors"))) << length;
  }
}

}  // namespace
}  // namespace smoe
