// What thread t of 256 adds up for an RMS norm: the squares of elements t, t + 256, … in order. Eight
// loads are under way at once: one after the other they would cost more than all the rest.
float sum_of_squares(Floats row, uint begin, uint count) {
  precise float sum = 0.0;
  for (uint first = gl_LocalInvocationID.x; first < count; first += 8u * 256u) {
    float values[8];
    [[unroll]] for (uint i = 0u; i < 8u; ++i) {
      uint at = first + 256u * i;
      values[i] = at < count ? row.at[begin + at] : 0.0;
    }
    [[unroll]] for (uint i = 0u; i < 8u; ++i) sum = fma(values[i], values[i], sum);
  }
  return sum;
}
