// Decodes weights: four columns of four rows at a time, for every format of formats/block_format.h.
// docs/block-formats.md has the places. A unit of a tile is whole words of 16 bytes; `group` is which
// four of the tile's 16 rows.
const int kF32 = 0, kF16 = 1, kBF16 = 2, kQ8_0 = 3, kF8E4M3 = 4, kQ4_0 = 5, kQ4_1 = 6, kQ5_0 = 7,
          kQ5_1 = 8, kQ2_K = 9, kQ3_K = 10, kQ4_K = 11, kQ5_K = 12, kQ6_K = 13, kIQ4_NL = 14,
          kIQ4_XS = 15, kMXFP4 = 16;

const uvec4 kIq4Levels = uvec4(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
const uvec4 kMxfp4Levels = uvec4(0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);

ivec4 signed_bytes(uint word) {
  return ivec4(int(word << 24) >> 24, int(word << 16) >> 24, int(word << 8) >> 24, int(word) >> 24);
}

uvec4 bytes_of(uint word) {
  return uvec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
}

// `bits` bits of each byte, from bit `shift` on.
ivec4 codes_of(uint word, uint shift, uint mask) { return ivec4(bytes_of(word >> shift) & mask); }

ivec4 levels_of(uvec4 levels, ivec4 codes) {
  ivec4 found;
  [[unroll]] for (int i = 0; i < 4; ++i)
    found[i] = int(levels[codes[i] >> 2] << (24 - 8 * (codes[i] & 3))) >> 24;
  return found;
}

float e4m3(uint code) {
  uint exponent = code >> 3 & 15u;
  uint mantissa = code & 7u;
  float magnitude = exponent == 0u ? float(mantissa) * 0.001953125
                                   : uintBitsToFloat((exponent + 120u) << 23 | mantissa << 20);
  if ((code & 127u) == 127u) magnitude = uintBitsToFloat(0x7fc00000u);
  return (code & 128u) != 0u ? -magnitude : magnitude;
}

float mxfp4_step(uint exponent) {
  if (exponent < 2u) return uintBitsToFloat(exponent == 1u ? 0x00400000u : 0x00200000u);
  return uintBitsToFloat((exponent - 1u) << 23);
}

// Fp16 scales of four rows, two bytes each, of block `block` of a unit.
vec4 half_scales(Words tiles, uint unit, uint block, uint group) {
  uvec4 both = tiles.at[unit + 2u * block + group / 2u];
  uvec2 mine = (group & 1u) == 0u ? both.xy : both.zw;
  return vec4(unpackHalf2x16(mine.x), unpackHalf2x16(mine.y));
}

// Byte `index` of the twelve that Q3_K, Q4_K and Q5_K keep scales in.
uint scale_byte(uvec4 words[3], int row, uint index) {
  return words[index / 4u][row] >> 8u * (index & 3u) & 255u;
}

mat4 with_step(vec4 step, ivec4 codes[4]) {
  precise mat4 weights;
  [[unroll]] for (int row = 0; row < 4; ++row) weights[row] = step[row] * vec4(codes[row]);
  return weights;
}

mat4 with_base(vec4 step, vec4 base, ivec4 codes[4]) {
  precise mat4 weights;
  [[unroll]] for (int row = 0; row < 4; ++row)
    weights[row] = fma(vec4(step[row]), vec4(codes[row]), vec4(base[row]));
  return weights;
}

mat4 decode_f32(Words tiles, uint tile, uint column, uint columns, uint group) {
  mat4 turned = mat4(0);
  [[unroll]] for (uint i = 0; i < 4u; ++i)
    if (column + i < columns)
      turned[i] = uintBitsToFloat(tiles.at[tile + (column + i) * 4u + group]);
  return transpose(turned);
}

mat4 decode_16(bool bf16, Words tiles, uint tile, uint column, uint columns, uint group) {
  mat4 weights = mat4(0);
  [[unroll]] for (uint pair = 0; pair < 2u; ++pair) {
    if (column + 2u * pair >= columns) break;
    uvec4 words = tiles.at[tile + (column / 2u + pair) * 4u + group];
    [[unroll]] for (int row = 0; row < 4; ++row) {
      vec2 both = bf16 ? uintBitsToFloat(uvec2(words[row] << 16, words[row] & 0xffff0000u))
                       : unpackHalf2x16(words[row]);
      weights[row][2u * pair] = both.x;
      weights[row][2u * pair + 1u] = both.y;
    }
  }
  return weights;
}

mat4 decode_f8(Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 128u * 132u;
  vec4 scales = uintBitsToFloat(tiles.at[unit + group]);
  uvec4 words = tiles.at[unit + 4u + column % 128u + group];
  precise mat4 weights;
  [[unroll]] for (int row = 0; row < 4; ++row) {
    uvec4 codes = bytes_of(words[row]);
    weights[row] = vec4(e4m3(codes.x), e4m3(codes.y), e4m3(codes.z), e4m3(codes.w)) * scales[row];
  }
  return weights;
}

// Blocks of 32 with one scale and perhaps a minimum.
mat4 decode_32(int format, Words tiles, uint tile, uint column, uint group) {
  const bool minimum = format == kQ4_1 || format == kQ5_1;
  const bool fifth = format == kQ5_0 || format == kQ5_1;
  const bool wide = format == kMXFP4;
  uint block = column / 32u;
  uint piece = column % 32u / 4u;
  const uint blocks = minimum ? 1u : wide ? 4u : 2u;  // of a unit
  const uint words = format == kQ8_0 ? 8u : fifth ? 5u : 4u;
  uint unit = tile + block / blocks * (4u + blocks * words * 4u);
  uint inside = block % blocks;
  uint body = unit + 4u + inside * words * 4u + group;

  vec4 step;
  vec4 base = vec4(0);
  if (minimum) {
    uvec4 heads = tiles.at[unit + group];
    [[unroll]] for (int row = 0; row < 4; ++row) {
      vec2 both = unpackHalf2x16(heads[row]);
      step[row] = both.x;
      base[row] = both.y;
    }
  } else if (wide) {
    uvec4 exponents = bytes_of(tiles.at[unit + inside][group]);
    [[unroll]] for (int row = 0; row < 4; ++row) step[row] = mxfp4_step(exponents[row]);
  } else {
    step = half_scales(tiles, unit, inside, group);
  }

  ivec4 codes[4];
  if (format == kQ8_0) {
    uvec4 bytes = tiles.at[body + 4u * piece];
    [[unroll]] for (int row = 0; row < 4; ++row) codes[row] = signed_bytes(bytes[row]);
    return with_step(step, codes);
  }
  uvec4 nibbles = tiles.at[body + 4u * ((piece & 3u) + (fifth ? 1u : 0u))];
  [[unroll]] for (int row = 0; row < 4; ++row)
    codes[row] = codes_of(nibbles[row], 4u * (piece >> 2), 15u);
  if (fifth) {
    uvec4 highs = tiles.at[body];
    [[unroll]] for (int row = 0; row < 4; ++row) {
      uint high = highs[row] >> 4u * piece;
      codes[row] += ivec4(high & 1u, high >> 1 & 1u, high >> 2 & 1u, high >> 3 & 1u) * 16;
    }
  }
  [[unroll]] for (int row = 0; row < 4; ++row) {
    if (format == kQ4_0) codes[row] -= 8;
    if (format == kQ5_0) codes[row] -= 16;
    if (format == kIQ4_NL) codes[row] = levels_of(kIq4Levels, codes[row]);
    if (format == kMXFP4) codes[row] = levels_of(kMxfp4Levels, codes[row]);
  }
  if (minimum) return with_base(step, base, codes);
  return with_step(step, codes);
}

mat4 decode_q2_k(Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 256u * 84u;
  uint part = column % 256u / 16u;
  uvec4 heads = tiles.at[unit + group];
  uvec4 scales = tiles.at[unit + 4u + 4u * (part / 4u) + group];
  uvec4 pairs = tiles.at[unit + 4u + 4u * (4u + column % 256u / 128u * 8u + column % 32u / 4u) + group];
  vec4 step;
  vec4 base;
  ivec4 codes[4];
  [[unroll]] for (int row = 0; row < 4; ++row) {
    vec2 both = unpackHalf2x16(heads[row]);
    uint scale = scales[row] >> 8u * (part & 3u) & 255u;
    step[row] = both.x * float(scale & 15u);
    base[row] = -both.y * float(scale >> 4);
    codes[row] = codes_of(pairs[row], column % 128u / 32u * 2u, 3u);
  }
  return with_base(step, base, codes);
}

mat4 decode_q3_k(Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 512u * 220u;
  uint inside = column / 256u & 1u;
  uint body = unit + 4u + inside * 108u + group;
  uint part = column % 256u / 16u;
  uint piece = column % 32u / 4u;
  uvec4 bytes[3] = uvec4[3](tiles.at[body], tiles.at[body + 4u], tiles.at[body + 8u]);
  uvec4 highs = tiles.at[body + 4u * (3u + piece)];
  uvec4 pairs = tiles.at[body + 4u * (11u + column % 256u / 128u * 8u + piece)];
  vec4 step = half_scales(tiles, unit, inside, group);
  ivec4 codes[4];
  [[unroll]] for (int row = 0; row < 4; ++row) {
    uint low = scale_byte(bytes, row, part & 7u) >> 4u * (part >> 3) & 15u;
    uint high = scale_byte(bytes, row, 8u + (part & 3u)) >> 2u * (part >> 2) & 3u;
    step[row] *= float(int(low | high << 4) - 32);
    codes[row] = codes_of(pairs[row], column % 128u / 32u * 2u, 3u) +
                 codes_of(highs[row], column % 256u / 32u, 1u) * 4 - 4;
  }
  return with_step(step, codes);
}

// Q4_K, and Q5_K with a fifth bit of each weight.
mat4 decode_q45_k(bool fifth, Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 256u * (fifth ? 176u : 144u);
  uint body = unit + 4u + group;
  uint part = column % 256u / 32u;
  uint piece = column % 32u / 4u;
  uvec4 heads = tiles.at[unit + group];
  uvec4 bytes[3] = uvec4[3](tiles.at[body], tiles.at[body + 4u], tiles.at[body + 8u]);
  uvec4 nibbles = tiles.at[body + 4u * ((fifth ? 11u : 3u) + part / 2u * 8u + piece)];
  uvec4 highs = fifth ? tiles.at[body + 4u * (3u + piece)] : uvec4(0);
  vec4 step;
  vec4 base;
  ivec4 codes[4];
  [[unroll]] for (int row = 0; row < 4; ++row) {
    uint scale = scale_byte(bytes, row, part < 4u ? part : part + 4u);
    uint least = scale_byte(bytes, row, part < 4u ? part + 4u : part + 4u);
    if (part < 4u) {
      scale &= 63u;
      least &= 63u;
    } else {
      scale = (scale & 15u) | scale_byte(bytes, row, part - 4u) >> 6 << 4;
      least = least >> 4 | scale_byte(bytes, row, part) >> 6 << 4;
    }
    vec2 both = unpackHalf2x16(heads[row]);
    step[row] = both.x * float(scale);
    base[row] = -both.y * float(least);
    codes[row] = codes_of(nibbles[row], 4u * (part & 1u), 15u);
    if (fifth) codes[row] += codes_of(highs[row], part, 1u) * 16;
  }
  return with_base(step, base, codes);
}

mat4 decode_q6_k(Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 512u * 420u;
  uint inside = column / 256u & 1u;
  uint body = unit + 4u + inside * 208u + group;
  uint part = column % 256u / 16u;
  uint half_of = column % 256u / 128u;
  uint quarter = column % 128u / 32u;
  uint piece = column % 32u / 4u;
  uvec4 scales = tiles.at[body + 4u * (part / 4u)];
  uvec4 nibbles = tiles.at[body + 4u * (4u + half_of * 16u + (quarter & 1u) * 8u + piece)];
  uvec4 pairs = tiles.at[body + 4u * (36u + half_of * 8u + piece)];
  vec4 step = half_scales(tiles, unit, inside, group);
  ivec4 codes[4];
  [[unroll]] for (int row = 0; row < 4; ++row) {
    step[row] *= float(int(scales[row] << (24u - 8u * (part & 3u))) >> 24);
    codes[row] = codes_of(nibbles[row], quarter < 2u ? 0u : 4u, 15u) +
                 codes_of(pairs[row], 2u * quarter, 3u) * 16 - 32;
  }
  return with_step(step, codes);
}

mat4 decode_iq4_xs(Words tiles, uint tile, uint column, uint group) {
  uint unit = tile + column / 256u * 136u;
  uint body = unit + 4u + group;
  uint part = column % 256u / 32u;
  uint piece = column % 32u / 4u;
  uvec4 heads = tiles.at[unit + group];
  uvec4 lows = tiles.at[body];
  uvec4 nibbles = tiles.at[body + 4u * (1u + part * 4u + (piece & 3u))];
  vec4 step;
  ivec4 codes[4];
  [[unroll]] for (int row = 0; row < 4; ++row) {
    uint scale = (lows[row] >> 4u * part & 15u) | (heads[row] >> (16u + 2u * part) & 3u) << 4;
    step[row] = unpackHalf2x16(heads[row]).x * float(int(scale) - 32);
    codes[row] = levels_of(kIq4Levels, codes_of(nibbles[row], 4u * (piece >> 2), 15u));
  }
  return with_step(step, codes);
}

// Column i of the result is columns column .. column + 3 of row 4 * group + i of the tile that
// begins at word `tile`; column is a multiple of 4. Columns from `columns` on are zero or whatever
// stands in the last unit, which is zero too.
mat4 decode(int format, Words tiles, uint tile, uint column, uint columns, uint group) {
  if (format == kF32) return decode_f32(tiles, tile, column, columns, group);
  if (format == kF16 || format == kBF16)
    return decode_16(format == kBF16, tiles, tile, column, columns, group);
  if (format == kF8E4M3) return decode_f8(tiles, tile, column, group);
  if (format == kQ2_K) return decode_q2_k(tiles, tile, column, group);
  if (format == kQ3_K) return decode_q3_k(tiles, tile, column, group);
  if (format == kQ4_K || format == kQ5_K)
    return decode_q45_k(format == kQ5_K, tiles, tile, column, group);
  if (format == kQ6_K) return decode_q6_k(tiles, tile, column, group);
  if (format == kIQ4_XS) return decode_iq4_xs(tiles, tile, column, group);
  return decode_32(format, tiles, tile, column, group);
}
