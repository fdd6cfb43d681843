#include "base/floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smoe {
namespace {

// A format of sign, exponent and mantissa bits, decoded by the definition in double arithmetic.
struct Shape {
  int exponent_bits;
  int mantissa_bits;
  int bias;
};
constexpr Shape kF16Shape = {5, 10, 15};
constexpr Shape kBF16Shape = {8, 7, 127};
constexpr Shape kE4M3Shape = {4, 3, 7};

double decoded(uint32_t code, Shape shape) {
  const uint32_t mantissa = code & ((1U << shape.mantissa_bits) - 1);
  const uint32_t exponent = code >> shape.mantissa_bits & ((1U << shape.exponent_bits) - 1);
  const bool negative = (code >> (shape.mantissa_bits + shape.exponent_bits) & 1U) != 0;
  const double fraction = std::ldexp(mantissa, -shape.mantissa_bits);
  const double value = exponent == 0
                           ? std::ldexp(fraction, 1 - shape.bias)
                           : std::ldexp(1 + fraction, static_cast<int>(exponent) - shape.bias);
  return negative ? -value : value;
}

// Bit patterns, so that the sign of zero counts.
void expect_same_float(float found, double wanted, uint32_t code) {
  const auto rounded = static_cast<float>(wanted);
  ASSERT_EQ(static_cast<double>(rounded), wanted) << code;
  ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(rounded)) << code;
}

// The nearest code by search over both neighbours, ties to the even one.
uint16_t nearest(float value, Shape shape, uint32_t codes) {
  const double wanted = std::abs(static_cast<double>(value));
  uint32_t low = 0;
  uint32_t high = codes;  // of positive finite codes; `codes` itself stands for infinity
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (decoded(middle, shape) <= wanted ? low : high) = middle;
  }
  const double below = wanted - decoded(low, shape);
  const double above = decoded(high, shape) - wanted;  // infinity counts as the next power of two
  const bool up = above < below || (above == below && (low & 1U) != 0);
  const uint32_t sign = std::signbit(value) ? 1U << (shape.mantissa_bits + shape.exponent_bits) : 0;
  return static_cast<uint16_t>(sign | (up ? high : low));
}

TEST(F16, DecodesAllCodes) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = f16_to_float(static_cast<uint16_t>(code));
    if ((code & 0x7c00U) != 0x7c00U) {
      expect_same_float(value, decoded(code, kF16Shape), code);
    } else if ((code & 0x3ffU) == 0) {
      ASSERT_EQ(value, (code & 0x8000U) != 0 ? -INFINITY : INFINITY);
    } else {
      ASSERT_TRUE(std::isnan(value)) << code;
    }
  }
}

TEST(BF16, DecodesAllCodes) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = bf16_to_float(static_cast<uint16_t>(code));
    if ((code & 0x7f80U) != 0x7f80U) {
      expect_same_float(value, decoded(code, kBF16Shape), code);
    } else {
      ASSERT_EQ(std::isinf(value), (code & 0x7fU) == 0) << code;
      ASSERT_EQ(std::isnan(value), (code & 0x7fU) != 0) << code;
    }
  }
}

TEST(E4M3, DecodesAllCodes) {
  for (uint32_t code = 0; code < 0x100; ++code) {
    const float value = e4m3_to_float(static_cast<uint8_t>(code));
    if ((code & 0x7fU) == 0x7f) {
      ASSERT_TRUE(std::isnan(value)) << code;
    } else {
      expect_same_float(value, decoded(code, kE4M3Shape), code);
    }
  }
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0F);
}

TEST(E8M0, IsAPowerOfTwoForEveryCode) {
  for (uint32_t code = 0; code < 0xff; ++code)
    expect_same_float(e8m0_to_float(static_cast<uint8_t>(code)),
                      std::ldexp(1.0, static_cast<int>(code) - 127), code);
  EXPECT_TRUE(std::isnan(e8m0_to_float(0xff)));
}

TEST(F16, EncodesItsOwnValuesAndTheMiddlesBetweenThemToTheNearestEvenCode) {
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const float value = f16_to_float(static_cast<uint16_t>(code));
    const auto next = static_cast<float>(decoded(code + 1, kF16Shape));
    const float middle = (value + next) / 2;  // exact: a float has 13 more bits
    for (const float near : {value, middle, std::nextafter(middle, 0.0F),
                             std::nextafter(middle, std::numeric_limits<float>::max())}) {
      ASSERT_EQ(float_to_f16(near), nearest(near, kF16Shape, 0x7c00)) << near;
      ASSERT_EQ(float_to_f16(-near), nearest(-near, kF16Shape, 0x7c00)) << -near;
    }
  }
}

TEST(BF16, EncodesItsOwnValuesAndTheMiddlesBetweenThemToTheNearestEvenCode) {
  for (uint32_t code = 0; code < 0x7f7f; ++code) {
    const float value = bf16_to_float(static_cast<uint16_t>(code));
    const float middle = std::bit_cast<float>(std::bit_cast<uint32_t>(value) + 0x8000U);
    for (const float near : {value, middle, std::nextafter(middle, 0.0F),
                             std::nextafter(middle, std::numeric_limits<float>::max())}) {
      ASSERT_EQ(float_to_bf16(near), nearest(near, kBF16Shape, 0x7f80)) << near;
      ASSERT_EQ(float_to_bf16(-near), nearest(-near, kBF16Shape, 0x7f80)) << -near;
    }
  }
}

TEST(Floats, OverflowToInfinityAndKeepNaN) {
  EXPECT_EQ(float_to_f16(65519.0F), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_f16(-INFINITY), 0xfc00);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bf16(INFINITY), 0x7f80);
  for (const uint32_t payload : {1U, 0x1000U, 0x200000U, 0x400000U, 0x7fffffU}) {
    const auto nan = std::bit_cast<float>(0x7f800000U | payload);
    EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(nan)))) << payload;
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(nan)))) << payload;
  }
}

}  // namespace
}  // namespace smoe
