#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace smoe {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(CheckedArithmetic, AnswersNothingWhereTheTrueResultDoesNotFit) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMost - 0xffffffffU);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
}

TEST(Rounding, GoesUpToTheNextMultiple) {
  EXPECT_EQ(align_up(0U, 16U), 0U);
  EXPECT_EQ(align_up(1U, 16U), 16U);
  EXPECT_EQ(align_up(16U, 16U), 16U);
  EXPECT_EQ(ceil_div(0U, 16U), 0U);
  EXPECT_EQ(ceil_div(17U, 16U), 2U);
  EXPECT_EQ(ceil_div(std::numeric_limits<uint32_t>::max(), 2U), 0x80000000U);
}

TEST(FormatBytes, UsesTheLargestUnitThatKeepsItBelow1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(kMiB - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes(3 * kGiB / 2), "1.50 GiB");
  EXPECT_EQ(format_bytes(kMost), "16.00 EiB");
}

TEST(ParseBytes, ReadsNumbersWithUnits) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("123456"), 123456U);
  EXPECT_EQ(parse_bytes("8G"), 8 * kGiB);
  EXPECT_EQ(parse_bytes("512MiB"), 512 * kMiB);
  EXPECT_EQ(parse_bytes("512 mb"), 512 * kMiB);
  EXPECT_EQ(parse_bytes("1.5g"), 3 * kGiB / 2);
  EXPECT_EQ(parse_bytes("2T"), 2048 * kGiB);
  EXPECT_EQ(parse_bytes("7b"), 7U);
}

TEST(ParseBytes, IsExactWhereADoubleWouldRound) {
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993U);
  EXPECT_EQ(parse_bytes("18446744073709551615"), kMost);
}

TEST(ParseBytes, RefusesWhatIsNoSizeOrDoesNotFit) {
  for (const char* text :
       {"",          " ",          ".",    "G",   "-1",  "+1",   "1..5",
        "1.2.3",     "1e3",        "0x10", "nan", "inf", "5ib",  "5bb",
        "5kk",       "5 k b",      "5 kx", "1 2", "5\n", "1,5G", "18446744073709551616",
        "16777216T", "99999999.5T"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << '"' << text << '"';
}

}  // namespace
}  // namespace smoe
