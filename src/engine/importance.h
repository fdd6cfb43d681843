// How much an error in each column of each weight matrix counts: the mean square of the activations
// that the column met while the model read a text (llama.cpp calls it an importance matrix).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "model/inventory.h"
#include "model/spec.h"

namespace smoe {

// Given to an engine (EngineOptions) it listens to its steps; after the text, finish().
// Bits: rows are added up one after the other in the order of the text, so the sums do not depend
// on prompt chunks, threads or the ring. Threads: the step's own. Cost: a step computes the
// experts' first two matrices twice, and allocates.
class Importance {
 public:
  explicit Importance(const ModelSpec& spec);

  // Of the sums, and of the rows that a step of so many tokens needs besides.
  static uint64_t bytes_for(const ModelSpec& spec, uint32_t rows);

  // Before the first step; finish() gives back what this takes. Fails: kNoMemory.
  // Lifetime: the device outlives finish().
  Status attach(Device& device, uint32_t rows);

  // The input of a matrix; those of one input (query, key and value; gate and up) are one.
  void add(Role role, uint32_t layer, const Rows& in);
  // The inputs of a gated block's three matrices: rows of `in` (all of them when `rows` is empty),
  // and what its gate makes of them. `down` says which block it is.
  struct Gated {
    Role down;
    uint32_t layer = 0;
    uint32_t expert = 0;
    Matrix gate;
    Matrix up;
  };
  void add(const Gated& block, const Rows& in, std::span<const uint32_t> rows);

  // Fails: with the first error of reading from the device; kNumeric for activations whose squares
  // are no numbers.
  Status finish();

  // After finish(). Empty: nothing is known, all columns count alike. An expert that few tokens
  // chose is taken together with the layer's other experts.
  std::span<const float> of(Role role, uint32_t layer, uint32_t expert) const;
  uint64_t checksum() const;  // of all of it

 private:
  struct Columns {
    std::vector<double> sums;
    uint64_t rows = 0;
    std::vector<float> means;  // made by finish()
  };

  static constexpr size_t kNone = SIZE_MAX;
  size_t index_of(Role role, uint32_t layer, uint32_t expert) const;
  void add_rows(Columns& columns, const Rows& in);
  void add_gated_rows(Columns& columns, const Rows& gate, const Rows& up);
  void keep(Status status);
  void join_experts(uint32_t layer, size_t first);

  const ModelSpec& spec_;
  std::vector<size_t> begin_;     // of each layer's columns
  std::vector<Columns> columns_;  // layer after layer; the head's come last
  Device* device_ = nullptr;
  Buffer buffer_;
  Rows gathered_;
  Rows gate_;
  Rows up_;
  std::vector<float> values_;
  std::vector<float> gate_values_;
  Status status_;  // the first error
};

}  // namespace smoe
