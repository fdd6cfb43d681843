// Working memory of the CPU device: carved once out of one allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "base/result.h"
#include "compute/device.h"
#include "devices/cpu/kernels/kernel_table.h"

namespace smoe::cpu {

// Rows that one sweep over a matrix serves. More would not lessen the memory traffic noticeably
// (weights are read once for 192 rows), fewer would; a multiple of every kernel's max_rows.
inline constexpr uint32_t kSweepRows = 192;
// k's of a tile that many rows share while they lie in the caches: a multiple of every format's
// unit; four tiles of it take 128 KiB as F32.
inline constexpr uint32_t kBlockCols = 512;
// Tiles that are multiplied with the same activation rows, one after the other.
inline constexpr uint32_t kGroupTiles = 4;
// Queries that share the loads of a page.
inline constexpr uint32_t kMaxQueries = 24;

// Consecutive tokens of a batch that belong to one sequence.
struct SequenceRun {
  uint32_t begin;
  uint32_t end;
  uint32_t first_task;
};

struct WorkerScratch {
  float* tiles = nullptr;    // [kGroupTiles][kBlockCols][kTileRows]
  float* queries = nullptr;  // [query_floats]
  float* sums = nullptr;     // [query_floats]
  float* scores = nullptr;   // [kMaxQueries][kStepPositions]
};

struct Scratch {
  // What rows are turned into before a product.
  struct Prepared {
    const KernelTable& kernels;
    bool rounded;  // also to BF16, kept as f32
  };
  // Fails: kNoMemory.
  static Result<Scratch> allocate(const Device::Limits& limits, const Prepared& prepared,
                                  unsigned threads);
  static size_t bytes_for(const Device::Limits& limits, const Prepared& prepared, unsigned threads);

  AlignedBuffer memory;
  Device::Limits limits;
  size_t hidden_stride = 0;    // floats
  size_t quantized_bytes = 0;  // of one row, prepared
  size_t query_floats = 0;

  const std::byte** float_rows = nullptr;      // [kSweepRows]
  const std::byte** quantized_rows = nullptr;  // [kSweepRows]
  std::byte* quantized = nullptr;              // [kSweepRows][quantized_bytes]
  float* gate = nullptr;                       // [kSweepRows][hidden_stride]
  float* up = nullptr;                         // [kSweepRows][hidden_stride]
  SequenceRun* sequences = nullptr;            // [limits.rows]
  WorkerScratch* workers = nullptr;            // [threads]
};

}  // namespace smoe::cpu
