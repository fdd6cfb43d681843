// e^x as the CPU kernels compute it (docs/kernels.md, "Rows").
float exponential(float x) {
  if (x < -87.33) return 0.0;
  if (x > 88.37) return uintBitsToFloat(0x7f800000u);
  const float bias = 12582912.0;  // adding it rounds to an integer, which then stands in the low bits
  precise float shifted = fma(x, uintBitsToFloat(0x3fb8aa3bu), bias);
  precise float n = shifted - bias;
  precise float r = fma(n, -uintBitsToFloat(0x3f317200u), x);
  r = fma(n, -uintBitsToFloat(0x35bfbe8eu), r);
  precise float sum = 0.001394116075;
  sum = fma(sum, r, 0.008375168289);
  sum = fma(sum, r, 0.04166635227);
  sum = fma(sum, r, 0.1666641501);
  sum = fma(sum, r, 0.5);
  sum = fma(sum, r, 1.0);
  sum = fma(sum, r, 1.0);
  uint whole = floatBitsToUint(shifted) - floatBitsToUint(bias);
  precise float scaled = sum * uintBitsToFloat((whole + 127u) << 23);
  return scaled;
}
