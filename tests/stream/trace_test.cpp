#include "stream/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "base/rng.h"
#include "base/units.h"
#include "stream/vault_fixture.h"
#include "support/temp_dir.h"

namespace smoe {
namespace {

using test::experts;
using test::key;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// Two layers of different sizes, a visit with the router's numbers and one without.
Trace small_trace() {
  Trace trace({{LayerId{1}, 4, 16 * kKiB}, {LayerId{3}, 3, 48 * kKiB}});
  const std::vector<ExpertKey> first = {key(1, 0), key(1, 3)};
  const std::vector<float> probabilities = {0.4F, 1.5F, 1e-7F, 0.1F};
  const std::vector<uint16_t> ranks = {1, 0, 3, 2};
  trace.append({LayerId{1}, first, {probabilities, ranks, 2, 2}});
  const std::vector<ExpertKey> second = {key(3, 2)};
  trace.append({LayerId{3}, second, {}});
  return trace;
}

void expect_small_trace(const Trace& trace) {
  EXPECT_THAT(trace.layers(), ElementsAre(TraceLayer{LayerId{1}, 4, 16 * kKiB},
                                          TraceLayer{LayerId{3}, 3, 48 * kKiB}));
  ASSERT_EQ(trace.visits(), 2U);
  EXPECT_EQ(trace.demands(), 3U);
  Trace::Cursor cursor(trace);
  const LayerVisit first = cursor.visit(0);
  EXPECT_EQ(first.layer, LayerId{1});
  EXPECT_THAT(first.demanded, ElementsAre(key(1, 0), key(1, 3)));
  EXPECT_EQ(first.router.tokens, 2U);
  EXPECT_EQ(first.router.active, 2U);
  EXPECT_THAT(first.router.ranks, ElementsAre(1, 0, 3, 2));
  const std::vector<float> expected = {0.4F, 1.5F, 1e-7F, 0.1F};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(first.router.probabilities[i] / expected[i], 1, 0.0005);
  const LayerVisit second = cursor.visit(1);
  EXPECT_EQ(second.layer, LayerId{3});
  EXPECT_THAT(second.demanded, ElementsAre(key(3, 2)));
  EXPECT_TRUE(second.router.probabilities.empty());
}

class TraceFile : public testing::Test {
 protected:
  void put(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string bytes() { return *read_text_file(path_, kMiB); }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "a.trace";
};

TEST(TraceTest, GivesBackWhatWasAppended) { expect_small_trace(small_trace()); }

TEST_F(TraceFile, GivesBackWhatWasWritten) {
  ASSERT_TRUE(small_trace().write(path_));
  const auto read = Trace::read(path_);
  ASSERT_TRUE(read) << read.error().message;
  expect_small_trace(*read);
}

// docs/trace-format.md, byte by byte.
TEST_F(TraceFile, HasTheDocumentedBytes) {
  ASSERT_TRUE(small_trace().write(path_));
  const std::string found = bytes();
  ASSERT_EQ(found.size(), 8U + 4 + 2 * 16 + (20 + 2 * 2 + 4 * 2) + (20 + 2));
  EXPECT_EQ(found.substr(0, 12), std::string("SMOETRC1\x02\0\0\0", 12));
  EXPECT_EQ(found.substr(12, 16), std::string("\x01\0\0\0\x04\0\0\0\0\x40\0\0\0\0\0\0", 16));
  EXPECT_EQ(found.substr(44, 24),
            std::string("\0\0\0\0\x02\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\0\0\0\0\x03\0", 24));
  // 2048 * (8 - ln 0.4) = 18260.57
  EXPECT_EQ(found.substr(68, 2), std::string("\x55\x47", 2));
}

TEST_F(TraceFile, ThatEndsAnywhereButBetweenVisitsIsRefused) {
  ASSERT_TRUE(small_trace().write(path_));
  const std::string whole = bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    if (length == 44 || length == 76) continue;  // before the first visit, and before the second
    put(whole.substr(0, length));
    const auto read = Trace::read(path_);
    ASSERT_FALSE(read) << length << " bytes";
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("a.trace: "));
  }
}

TEST_F(TraceFile, WithNumbersOutOfRangeIsRefused) {
  ASSERT_TRUE(small_trace().write(path_));
  const std::string whole = bytes();
  struct Change {
    size_t at;
    char value;
  };
  for (const Change& change :
       {Change{8, 0}, Change{16, 0}, Change{28, 1}, Change{44, 2}, Change{48, 0}, Change{56, 5},
        Change{60, 2}, Change{64, 3}, Change{66, 4}}) {
    std::string damaged = whole;
    damaged[change.at] = change.value;
    put(damaged);
    EXPECT_FALSE(Trace::read(path_)) << "byte " << change.at;
  }
}

TEST_F(TraceFile, OfRandomBytesIsReadOrRefusedAndNeverCrashes) {
  ASSERT_TRUE(small_trace().write(path_));
  const std::string whole = bytes();
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i)
      damaged[8 + rng.below(damaged.size() - 8)] = static_cast<char>(rng.next());
    put(damaged);
    const auto read = Trace::read(path_);
    if (!read) continue;
    Trace::Cursor cursor(*read);
    for (size_t i = 0; i < read->visits(); ++i) cursor.visit(i);
  }
}

TEST_F(TraceFile, ThatIsMissingIsNamed) {
  const auto read = Trace::read(dir_ / "none.trace");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kNotFound);
  EXPECT_THAT(read.error().message, HasSubstr("none.trace"));
}

TEST(TraceRecorder, SeesWhatAStreamerIsAskedFor) {
  test::TestVault vault;
  vault.add_layer(3, 8).add_layer(1, 8);
  TraceRecorder recorder(vault.files());
  StreamerOptions options;
  options.slots = {4};
  options.observer = &recorder;
  const auto streamer = test::opened(vault, options);
  EXPECT_TRUE(streamer->wants_router());
  const auto keys = experts(1, 2, 4);
  const std::vector<float> probabilities(8, 0.125F);
  const std::vector<uint16_t> ranks = {0, 1, 2, 3, 4, 5, 6, 7};
  streamer->demand(keys, {probabilities, ranks, 1, 2});
  while (streamer->outstanding() > 0) ASSERT_TRUE(streamer->next_ready(Streamer::Pick::kAny));
  test::take_all(*streamer, vault, experts(3, 0, 1));

  const Trace& trace = recorder.trace();
  EXPECT_EQ(trace.layers()[0].layer, LayerId{1});
  ASSERT_EQ(trace.visits(), 2U);
  Trace::Cursor cursor(trace);
  const LayerVisit first = cursor.visit(0);
  EXPECT_THAT(first.demanded, ElementsAreArray(keys));
  EXPECT_THAT(first.router.ranks, ElementsAreArray(ranks));
  EXPECT_EQ(cursor.visit(1).layer, LayerId{3});
}

}  // namespace
}  // namespace smoe
