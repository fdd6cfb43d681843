#include "formats/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/units.h"
#include "formats/sealed_file.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using testing::AllOf;
using testing::HasSubstr;

// name → text; every byte of a tensor is one character of its text.
using Tensors = std::map<std::string, std::string>;

using test::put;

void put_shard(const fs::path& path, const Tensors& tensors) {
  std::vector<TensorInfo> infos;
  std::string data;
  for (const auto& [name, text] : tensors) {
    infos.push_back({.name = name, .dtype = DType::kU8, .shape = {text.size()}});
    data += text;
  }
  put(path, lay_out_safetensors(infos, {}, 64)->header_bytes + data);
}

void put_index(const fs::path& path, const std::map<std::string, std::string>& file_of_tensor) {
  JsonWriter json;
  json.begin_object().key("weight_map").begin_object();
  for (const auto& [tensor, file] : file_of_tensor) json.member(tensor, file);
  json.end_object().end_object();
  put(path, json.text());
}

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

class Sharded : public testing::Test {
 protected:
  void SetUp() override {
    put(dir_ / "config.json", R"({"model_type":"toy"})");
    put_shard(dir_ / kFirst, {{"a", "aaaa"}, {"c", "cc"}});
    put_shard(dir_ / kSecond, {{"b", "bbb"}, {"c.scale", "s"}});
    put_index(dir_ / kIndex, {{"a", kFirst}, {"b", kSecond}, {"c", kFirst}, {"c.scale", kSecond}});
  }

  std::string refusal() {
    const auto source = open_checkpoint(dir_.path());
    EXPECT_FALSE(source);
    return source ? "accepted" : source.error().message;
  }

  TempDir dir_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Tensors delivered(TensorSource& source, const std::function<bool(std::string_view)>& wanted) {
  Tensors found;
  const Status status = source.deliver(
      [&](const TensorSource::Tensor& tensor) { return wanted(tensor.name); },
      [&](const TensorSource::Tensor& tensor, std::span<const std::byte> data) -> Status {
        EXPECT_EQ(tensor.bytes, data.size());
        EXPECT_TRUE(found.emplace(tensor.name, text_of(data)).second);
        return {};
      });
  EXPECT_TRUE(status) << status.error().message;
  return found;
}

TEST_F(Sharded, ListsAndDeliversTheTensorsOfAllShards) {
  const auto source = open_checkpoint(dir_.path());
  ASSERT_TRUE(source) << source.error().message;
  std::vector<std::string> names;
  for (const auto& tensor : (*source)->tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "c.scale"}));
  EXPECT_EQ((*source)->find("b")->bytes, 3U);
  EXPECT_EQ((*source)->find("d"), nullptr);
  EXPECT_EQ(delivered(**source, [](auto) { return true; }),
            (Tensors{{"a", "aaaa"}, {"b", "bbb"}, {"c", "cc"}, {"c.scale", "s"}}));
  EXPECT_EQ(delivered(**source, [](auto name) { return name == "b"; }), (Tensors{{"b", "bbb"}}));
  EXPECT_EQ(*(*source)->config().find("model_type")->as_string(), "toy");
}

// traps 33: a scale that lies in another shard than its weight is read by name.
TEST_F(Sharded, ReadsATensorOfAnotherShardDuringADelivery) {
  const auto source = open_checkpoint(dir_.path());
  ASSERT_TRUE(source);
  int calls = 0;
  ASSERT_TRUE((*source)->deliver([](const auto& tensor) { return tensor.name == "c"; },
                                 [&](const auto&, auto) -> Status {
                                   ++calls;
                                   EXPECT_EQ(text_of((*source)->read("c.scale").value()), "s");
                                   return {};
                                 }));
  EXPECT_EQ(calls, 1);
  const auto absent = (*source)->read("d");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
}

TEST_F(Sharded, EndsADeliveryWithTheReceiversError) {
  const auto source = open_checkpoint(dir_.path());
  ASSERT_TRUE(source);
  int calls = 0;
  const Status status = (*source)->deliver([](const auto&) { return true; },
                                           [&](const auto&, auto) -> Status {
                                             ++calls;
                                             return Error{Code::kCancelled, "enough"};
                                           });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCancelled);
  EXPECT_EQ(calls, 1);
}

// traps 32, one test a way in which shards and index can disagree.
TEST_F(Sharded, NamesAMissingShardAndHowToFetchIt) {
  fs::remove(dir_ / kSecond);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(std::string(kSecond) + ": is missing"), HasSubstr(kIndex),
                               HasSubstr("hf download REPOSITORY " + std::string(kSecond))));
  EXPECT_EQ(open_checkpoint(dir_.path()).error().code, Code::kNotFound);
}

TEST_F(Sharded, RefusesAnIndexThatNamesAnAbsentTensor) {
  put_index(dir_ / kIndex,
            {{"a", kFirst}, {"b", kSecond}, {"c", kFirst}, {"c.scale", kSecond}, {"d", kSecond}});
  EXPECT_THAT(refusal(), AllOf(HasSubstr(std::string(kSecond) + ": has no tensor \"d\""),
                               HasSubstr("fetch both files again")));
}

TEST_F(Sharded, RefusesATensorInTwoShards) {
  put_shard(dir_ / kSecond, {{"b", "bbb"}, {"c.scale", "s"}, {"a", "AAAA"}});
  EXPECT_THAT(refusal(), AllOf(HasSubstr(kSecond), HasSubstr("holds tensor \"a\""),
                               HasSubstr("says that it lies in " + std::string(kFirst))));
}

TEST_F(Sharded, RefusesATensorThatTheIndexDoesNotName) {
  put_index(dir_ / kIndex, {{"a", kFirst}, {"b", kSecond}, {"c", kFirst}});
  EXPECT_THAT(refusal(), HasSubstr("holds tensor \"c.scale\", but"));
}

TEST_F(Sharded, RefusesADifferentSingleFileBesideTheIndex) {
  put_shard(dir_ / "model.safetensors", {{"a", "aaaa"}});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("model.safetensors: does not hold the tensors"),
                               HasSubstr("remove one of the two")));
  put_shard(dir_ / "model.safetensors",
            {{"a", "aaaaa"}, {"b", "bbb"}, {"c", "cc"}, {"c.scale", "s"}});
  EXPECT_THAT(refusal(), HasSubstr("different models"));  // same names, another shape
}

TEST_F(Sharded, TakesASingleFileWithTheSameTensorsForACopy) {
  put_shard(dir_ / "model.safetensors",
            {{"a", "aaaa"}, {"b", "bbb"}, {"c", "cc"}, {"c.scale", "s"}});
  EXPECT_TRUE(open_checkpoint(dir_.path()));
}

TEST_F(Sharded, IgnoresOtherFilesThatTheIndexDoesNotName) {
  put_shard(dir_ / "model-00003-of-00003.safetensors", {{"a", "old"}});
  put_shard(dir_ / "consolidated.safetensors", {{"x", "x"}});
  EXPECT_TRUE(open_checkpoint(dir_.path()));
}

TEST_F(Sharded, RefusesAnIndexThatPointsOutOfTheFolder) {
  for (const char* file : {"../other.safetensors", "/etc/passwd", "", "model.bin"}) {
    put_index(dir_ / kIndex, {{"a", file}});
    EXPECT_THAT(refusal(), HasSubstr("must lie in a .safetensors file of this folder"));
  }
  put(dir_ / kIndex, R"({"weight_map":{"a":1}})");
  EXPECT_THAT(refusal(), HasSubstr("must lie in"));
  put(dir_ / kIndex, R"({"weight_map":{}})");
  EXPECT_THAT(refusal(), HasSubstr("has no \"weight_map\""));
  put(dir_ / kIndex, R"({"weight_map":)");
  EXPECT_THAT(refusal(), HasSubstr("index.json: not valid JSON"));
  put(dir_ / kIndex, R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})");
  EXPECT_THAT(refusal(), HasSubstr("duplicate key"));
}

TEST_F(Sharded, SaysThatTheIndexIsMissingWhenOnlyShardsAreThere) {
  fs::remove(dir_ / kIndex);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(std::string(kIndex) + ": is missing"),
                               HasSubstr("one of several shards")));
}

TEST_F(Sharded, RefusesAShardThatIsCutOff) {
  const auto whole = read_text_file(dir_ / kSecond, kMiB);
  put(dir_ / kSecond, whole->substr(0, whole->size() - 1));
  EXPECT_THAT(refusal(), HasSubstr(kSecond));
}

// A mapping of a file that shrank would raise SIGBUS.
TEST_F(Sharded, NoticesAShardThatShrankAfterItWasOpened) {
  const auto source = open_checkpoint(dir_.path());
  ASSERT_TRUE(source);
  fs::resize_file(dir_ / kSecond, 3);
  EXPECT_THAT((*source)->read("b").error().message, HasSubstr("changed while it was read"));
  const Status status = (*source)->deliver([](const auto& tensor) { return tensor.name == "b"; },
                                           [](const auto&, auto) -> Status { return {}; });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("changed while it was read"));
}

TEST_F(Sharded, NoticesAShardThatShrinksBetweenTwoTensors) {
  const auto source = open_checkpoint(dir_.path());
  ASSERT_TRUE(source);
  int calls = 0;
  const Status status = (*source)->deliver(
      [](const auto& tensor) { return tensor.name.starts_with("a") || tensor.name == "c"; },
      [&](const auto&, auto) -> Status {
        ++calls;
        fs::resize_file(dir_ / kFirst, 3);
        return {};
      });
  EXPECT_FALSE(status);
  EXPECT_EQ(calls, 1);
}

TEST_F(Sharded, FollowsTheSymlinksOfTheHubCache) {
  const TempDir cache;
  fs::create_directories(cache / "snapshots");
  for (const char* file : {"config.json", kFirst, kSecond, kIndex})
    fs::create_symlink(dir_ / file, cache / "snapshots" / file);
  const auto source = open_checkpoint(cache / "snapshots");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(text_of((*source)->read("b").value()), "bbb");
  fs::remove(dir_ / kFirst);  // a link that leads nowhere
  EXPECT_THAT(open_checkpoint(cache / "snapshots").error().message, HasSubstr("is missing"));
}

TEST_F(Sharded, HasAnIdentityThatFollowsFilesSizesAndHeaders) {
  const std::string before = (*open_checkpoint(dir_.path()))->identity();
  EXPECT_EQ((*open_checkpoint(dir_.path()))->identity(), before);
  put_shard(dir_ / kSecond, {{"b", "BBB"}, {"c.scale", "S"}});  // data only: not looked at
  EXPECT_EQ((*open_checkpoint(dir_.path()))->identity(), before);
  put(dir_ / "config.json", R"({"model_type":"other"})");
  const std::string after_config = (*open_checkpoint(dir_.path()))->identity();
  EXPECT_NE(after_config, before);
  put_shard(dir_ / kSecond, {{"b", "bbbb"}, {"c.scale", "s"}});
  EXPECT_NE((*open_checkpoint(dir_.path()))->identity(), after_config);
}

TEST(Checkpoint, NeedsAConfigAndWeights) {
  const TempDir dir;
  const auto refusal = [&] { return open_checkpoint(dir.path()).error().message; };
  EXPECT_THAT(refusal(), HasSubstr("config.json"));
  put(dir / "config.json", "[]");
  EXPECT_THAT(refusal(), HasSubstr("config.json: is no JSON object"));
  put(dir / "config.json", "{");
  EXPECT_THAT(refusal(), HasSubstr("config.json: not valid JSON"));
  put(dir / "config.json", "{}");
  EXPECT_THAT(refusal(), HasSubstr("holds neither model.safetensors nor"));
  EXPECT_EQ(open_checkpoint(dir / "absent").error().code, Code::kNotFound);
  put(dir / "model.gguf", "GGUF");
  EXPECT_EQ(open_checkpoint(dir / "model.gguf").error().code, Code::kUnsupported);
}

TEST(Checkpoint, OpensTheFolderOfAFile) {
  const TempDir dir;
  put(dir / "config.json", "{}");
  put_shard(dir / "model.safetensors", {{"a", "x"}});
  const auto source = open_checkpoint(dir / "model.safetensors");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), dir.path().string());
  EXPECT_EQ((*source)->config_text(), "{}");
}

TEST(Checkpoint, HandsOutTheCompanionFilesThatAreThere) {
  const TempDir dir;
  put(dir / "config.json", "{}");
  put_shard(dir / "model.safetensors", {{"a", "x"}});
  put(dir / "tokenizer.json", "{\"any\": \"bytes \xff\"}\n");
  const auto source = open_checkpoint(dir.path());
  ASSERT_TRUE(source);
  EXPECT_EQ(**(*source)->companion("tokenizer.json"), "{\"any\": \"bytes \xff\"}\n");
  EXPECT_EQ(*(*source)->companion("chat_template.jinja"), std::nullopt);
  EXPECT_EQ((*source)->companion("../config.json").error().code, Code::kUsage);
}

TEST(Checkpoint, ReadsTheGoldenCheckpointsOfEveryFamily) {
  const fs::path golden = fs::path(SMOE_SOURCE_DIR) / "tests/data/golden";
  for (const char* family : {"qwen3_moe", "qwen3_moe_mixed", "qwen3_moe_fp8", "qwen2_moe",
                             "deepseek_moe_v1", "olmoe", "mixtral"}) {
    const auto source = open_checkpoint(golden / family);
    ASSERT_TRUE(source) << source.error().message;
    size_t tensors = 0;
    ASSERT_TRUE((*source)->deliver(
        [](const auto&) { return true; },
        [&](const TensorSource::Tensor& tensor, std::span<const std::byte> data) -> Status {
          ++tensors;
          const auto copy = (*source)->read(tensor.name);
          EXPECT_TRUE(copy && std::equal(copy->begin(), copy->end(), data.begin(), data.end()));
          return {};
        }));
    EXPECT_EQ(tensors, (*source)->tensors().size());
    EXPECT_GT(tensors, 50U);
  }
}

}  // namespace
}  // namespace smoe
