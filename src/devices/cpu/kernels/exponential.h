// e^x as every instruction set computes it: n = round(x / ln 2), r = x - n ln 2 in two parts, a
// polynomial of degree 6 (interpolation at the Chebyshev nodes of |r| <= ln 2 / 2, relative error
// 2e-8), scaled by 2^n. No library function would give the same bits everywhere.
#pragma once

namespace smoe::cpu {

inline constexpr float kExpLog2E = 0x1.715476p+0F;
inline constexpr float kExpLn2High = 0x1.62e4p-1F;  // 15 bits: n * kExpLn2High is exact
inline constexpr float kExpLn2Low = 0x1.7f7d1cp-20F;
// Adding it rounds to an integer, which then stands in the low bits.
inline constexpr float kExpRound = 0x1.8p+23F;
inline constexpr float kExpLowest = -87.33F;  // below: 0
inline constexpr float kExpHighest = 88.37F;  // above: infinity, so that n <= 127
inline constexpr float kExpC2 = 0.5F;
inline constexpr float kExpC3 = 0.1666641501F;
inline constexpr float kExpC4 = 0.04166635227F;
inline constexpr float kExpC5 = 0.008375168289F;
inline constexpr float kExpC6 = 0.001394116075F;

}  // namespace smoe::cpu
