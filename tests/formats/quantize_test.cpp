// Floats into blocks: no worse than ggml, exact where blocks can be, and never silently wrong.
#include "formats/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "formats/blocks.h"

namespace smoe {
namespace {

constexpr DType kAll[] = {DType::kQ8_0,   DType::kQ6_K, DType::kQ5_K, DType::kQ4_K, DType::kQ3_K,
                          DType::kIQ4_NL, DType::kQ5_1, DType::kQ5_0, DType::kQ4_0, DType::kMXFP4};

std::vector<float> round_trip(DType dtype, std::span<const float> row,
                              std::span<const float> importance = {}) {
  std::vector<std::byte> bytes(*row_bytes(dtype, row.size()));
  const Status status = quantize_row(dtype, row, importance, bytes);
  EXPECT_TRUE(status) << name_of(dtype) << ": " << status.error().message;
  std::vector<float> out(row.size());
  dequantize_row(dtype, bytes, out);
  return out;
}

double weighted_error(std::span<const float> a, std::span<const float> b,
                      std::span<const float> importance) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const double away = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += away * away * (importance.empty() ? 1 : static_cast<double>(importance[k]));
  }
  return sum;
}

struct Reference {
  DType dtype;
  const char* name;
  bool with_importance;
};

constexpr Reference kReferences[] = {
    {DType::kQ8_0, "q8_0", false},  {DType::kQ6_K, "q6_K", true},  {DType::kQ5_K, "q5_K", true},
    {DType::kQ4_K, "q4_K", true},   {DType::kQ3_K, "q3_K", true},  {DType::kIQ4_NL, "iq4_nl", true},
    {DType::kQ5_1, "q5_1", false},  {DType::kQ5_0, "q5_0", false}, {DType::kQ4_0, "q4_0", true},
    {DType::kMXFP4, "mxfp4", false}};

// Row by row, with and without importance.
TEST(Quantize, LosesNoMoreThanGgml) {
  const std::vector<float> rows = test::floats_in("rows.f32");
  const std::vector<float> importance = test::floats_in("importance.f32");
  for (const Reference& reference : kReferences)
    for (const bool weighted : {false, true}) {
      if (weighted && !reference.with_importance) continue;
      const std::string file =
          std::string(reference.name) + (weighted ? ".importance.bin" : ".plain.bin");
      const std::string bytes = test::block_file(file);
      const auto theirs = test::decoded(reference.dtype, std::as_bytes(std::span(bytes)));
      const std::span<const float> counted =
          weighted ? std::span<const float>(importance) : std::span<const float>();
      for (size_t at = 0; at < rows.size(); at += test::kBlockCols) {
        const auto row = std::span(rows).subspan(at, test::kBlockCols);
        const auto ours = round_trip(reference.dtype, row, counted);
        EXPECT_LE(weighted_error(row, ours, counted),
                  weighted_error(row, std::span(theirs).subspan(at, test::kBlockCols), counted))
            << file << " row " << at / test::kBlockCols;
      }
    }
}

TEST(Quantize, KeepsRowsThatBlocksHoldExactly) {
  // Codes of both ends in every part, so that the scale is 0.5 in each type. K types have scales
  // of 6 bits, so their largest one is 63 steps (31 or 127 where it has a sign).
  struct Exact {
    DType dtype;
    float scale;
    int lowest;
    int highest;
  };
  constexpr Exact kExact[] = {{DType::kQ8_0, 0.5F, -127, 127},  {DType::kQ4_0, 0.5F, -8, 7},
                              {DType::kQ5_0, 0.5F, -16, 15},    {DType::kQ5_1, 0.5F, -3, 28},
                              {DType::kQ6_K, 0.5F, -32, 31},    {DType::kQ3_K, 0.5F, -4, 3},
                              {DType::kQ4_K, 0.5F * 63, 0, 15}, {DType::kQ5_K, 0.5F * 63, 0, 31}};
  for (const Exact& exact : kExact) {
    Rng rng(5);
    std::vector<float> row(512);
    for (size_t k = 0; k < row.size(); ++k) {
      const int range = exact.highest - exact.lowest + 1;
      int code = exact.lowest + static_cast<int>(rng.below(static_cast<uint64_t>(range)));
      if (k % 16 == 3) code = exact.lowest;
      if (k % 16 == 11) code = exact.highest;
      row[k] = exact.scale * static_cast<float>(code);
    }
    EXPECT_EQ(round_trip(exact.dtype, row), row) << name_of(exact.dtype);
  }
}

TEST(Quantize, KeepsTheLevelsOfCodebooks) {
  for (const auto& [dtype, levels] :
       {std::pair{DType::kIQ4_NL, kIq4Values}, {DType::kMXFP4, kMxfp4Values}}) {
    std::vector<float> row;
    for (size_t k = 0; k < 64; ++k) row.push_back(0.25F * static_cast<float>(levels[k % 16]));
    EXPECT_EQ(round_trip(dtype, row), row) << name_of(dtype);
  }
}

TEST(Quantize, MakesZerosOfZeros) {
  const std::vector<float> row(256);
  for (const DType dtype : kAll) EXPECT_EQ(round_trip(dtype, row), row) << name_of(dtype);
}

TEST(Quantize, TakesWeightsThatAreTinyEqualOrAllOfOneSign) {
  Rng rng(9);
  for (const DType dtype : kAll)
    for (const float size : {1e-38F, 1e-20F, 1e-6F, 1.0F, 1e4F})
      for (const float base : {-2.0F, 0.0F, 2.0F}) {
        std::vector<float> row(256);
        for (float& weight : row)
          weight = size * (base + static_cast<float>(rng.uniform() * (base == 0 ? 0 : 1)));
        for (const float weight : round_trip(dtype, row)) {
          ASSERT_TRUE(std::isfinite(weight)) << name_of(dtype);
          ASSERT_LE(std::abs(weight), 4 * size) << name_of(dtype);
        }
      }
}

TEST(Quantize, PrefersTheColumnsThatCount) {
  Rng rng(3);
  std::vector<float> row(256);
  std::vector<float> importance(256);
  for (size_t k = 0; k < row.size(); ++k) {
    row[k] = static_cast<float>(rng.uniform()) - 0.5F;
    importance[k] = k % 8 == 0 ? 100.0F : 0.01F;
  }
  for (const DType dtype : kAll) {
    if (dtype == DType::kQ8_0 || dtype == DType::kMXFP4) continue;  // nothing, or hardly, to choose
    EXPECT_LT(weighted_error(row, round_trip(dtype, row, importance), importance),
              0.9 * weighted_error(row, round_trip(dtype, row), importance))
        << name_of(dtype);
  }
}

// A calibration never sees everything: what it has not met must not become zero.
TEST(Quantize, KeepsWeightsOfColumnsThatCountNothing) {
  Rng rng(4);
  std::vector<float> row(256);
  std::vector<float> importance(256, 1.0F);
  for (float& weight : row) weight = static_cast<float>(rng.uniform()) - 0.5F;
  std::fill(importance.begin() + 64, importance.begin() + 96, 0.0F);
  const std::span<const float> unseen = std::span(row).subspan(64, 32);
  for (const DType dtype : kAll) {
    const auto found = round_trip(dtype, row, importance);
    EXPECT_LT(weighted_error(unseen, std::span(found).subspan(64, 32), {}), 0.1) << name_of(dtype);
  }
}

TEST(Quantize, TakesColumnsThatCountNothingAsAlike) {
  const std::vector<float> rows = test::floats_in("rows.f32");
  const auto row = std::span(rows).first(256);
  const std::vector<float> nothing(256);
  for (const DType dtype : kAll)
    EXPECT_EQ(round_trip(dtype, row, nothing), round_trip(dtype, row)) << name_of(dtype);
}

TEST(Quantize, RefusesWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto refusal = [](DType dtype, float weight, float importance) {
    std::vector<float> row(256, 1.0F);
    std::vector<float> counted(256, 1.0F);
    row[77] = weight;
    counted[78] = importance;
    std::vector<std::byte> out(*row_bytes(dtype, row.size()));
    const Status status = quantize_row(dtype, row, counted, out);
    return status ? "accepted"
                  : std::string(name_of(status.error().code)) + ": " + status.error().message;
  };
  for (const DType dtype : kAll) {
    EXPECT_EQ(refusal(dtype, nan, 1), "numeric_error: column 77: the weight is NaN");
    EXPECT_EQ(refusal(dtype, -infinity, 1), "numeric_error: column 77: the weight is infinite");
    EXPECT_EQ(refusal(dtype, 1, nan), "numeric_error: column 78: the importance is NaN");
    EXPECT_EQ(refusal(dtype, 1, -2), "numeric_error: column 78: the importance is -2.000000");
  }
  for (const DType dtype : kAll) {
    if (dtype == DType::kMXFP4) continue;
    for (const float weight : {3e38F, -1e12F, 9e8F, -4e8F})
      EXPECT_EQ(refusal(dtype, weight, 1).find("numeric_error: column "), 0U) << name_of(dtype);
    EXPECT_NE(refusal(dtype, 3e38F, 1)
                  .find("a weight is too large for " + std::string(name_of(dtype)) +
                        " (its scale passes 65504)"),
              std::string::npos);
  }
}

// The scale of MXFP4 reaches as far as floats do.
TEST(Quantize, TakesWeightsOfEverySizeForMxfp4) {
  for (const float size : {0x1p-120F, 1.0F, 0x1p60F, 0x1p124F}) {
    std::vector<float> row;
    for (size_t k = 0; k < 32; ++k) row.push_back(size * static_cast<float>(kMxfp4Values[k % 16]));
    EXPECT_EQ(round_trip(DType::kMXFP4, row), row) << size;
  }
}

TEST(Quantize, CaresForTheProportionsOfImportancesOnly) {
  const std::vector<float> rows = test::floats_in("rows.f32");
  const std::vector<float> importance = test::floats_in("importance.f32");
  const auto row = std::span(rows).first(512);
  for (const float factor : {0x1p-100F, 0x1p100F}) {
    std::vector<float> scaled(importance.begin(), importance.begin() + 512);
    for (float& value : scaled) value *= factor;
    for (const DType dtype : kAll)
      EXPECT_EQ(round_trip(dtype, row, scaled),
                round_trip(dtype, row, std::span(importance).first(512)))
          << name_of(dtype);
  }
}

TEST(Quantize, SaysWhichTypeStandsInForBlocksThatDoNotFit) {
  EXPECT_EQ(block_type_for(DType::kQ4_K, 768).dtype, DType::kQ4_K);
  EXPECT_EQ(block_type_for(DType::kQ4_K, 768).reason, "");
  EXPECT_EQ(block_type_for(DType::kQ6_K, 1408).dtype, DType::kQ8_0);
  EXPECT_EQ(block_type_for(DType::kQ6_K, 1408).reason,
            "rows of 1408 weights do not fill blocks of 256 (Q6_K)");
  EXPECT_EQ(block_type_for(DType::kQ5_K, 1408).dtype, DType::kQ5_1);
  EXPECT_EQ(block_type_for(DType::kQ4_K, 1408).dtype, DType::kQ5_0);
  EXPECT_EQ(block_type_for(DType::kQ3_K, 1408).dtype, DType::kIQ4_NL);
  EXPECT_EQ(block_type_for(DType::kQ4_0, 48).dtype, std::nullopt);
  EXPECT_EQ(block_type_for(DType::kQ4_K, 40).dtype, std::nullopt);
  EXPECT_EQ(block_type_for(DType::kQ4_0, 48).reason,
            "rows of 48 weights do not fill blocks of 32 (Q4_0)");
}

TEST(Quantize, KnowsWhatItCanMake) {
  for (const DType dtype : kAll) EXPECT_TRUE(can_quantize_to(dtype)) << name_of(dtype);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ2_K, DType::kIQ4_XS, DType::kQ4_1})
    EXPECT_FALSE(can_quantize_to(dtype)) << name_of(dtype);
}

}  // namespace
}  // namespace smoe
