// The dense weights in memory: read in the background in the order of a step, checked as they
// arrive.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "compute/device.h"
#include "compute/tensor.h"
#include "formats/scout_file.h"
#include "model/spec.h"

namespace smoe {

// A layer's dense weights; what the spec does not ask for is empty.
struct LayerWeights {
  Vector attention_norm;
  Matrix query, key, value, output;
  Vector query_bias, key_bias, value_bias, output_bias;
  Vector query_norm, key_norm;
  Vector ffn_norm;
  Matrix dense_gate, dense_up, dense_down;
  Matrix router;
  Matrix shared_gate, shared_up, shared_down, shared_router;
};

class Scout {
 public:
  // Checks that the file has every tensor that `spec` needs in its shape, reserves the memory and
  // starts the reading thread, which asks `reader` where there is one, and
  // reads a tensor from `mirror`, the same file elsewhere, when its own file fails. Fails:
  // kCorrupt, kNotFound (naming file and tensor), kNoMemory, kIo.
  static Result<std::unique_ptr<Scout>> open(const ScoutFile& file, const ModelSpec& spec,
                                             Device& device,
                                             std::shared_ptr<ScoutReader> reader = {},
                                             const std::filesystem::path& mirror = {});
  ~Scout();
  Scout(const Scout&) = delete;
  Scout& operator=(const Scout&) = delete;

  const Matrix& embedding() const { return embedding_; }
  const Vector& final_norm() const { return final_norm_; }
  const Matrix& head() const { return head_; }
  const LayerWeights& layer(uint32_t index) const { return layers_[index]; }

  std::span<const std::byte> memory() const { return memory_.bytes(); }
  // What every step reads of it: all but the embedding, of which it takes a row a token, unless
  // that is the head too.
  uint64_t step_bytes() const { return step_bytes_; }

  // Wait until the weights are in memory and checked, and bring them to the device. Threads: the
  // step's own. Cost: one atomic load once they are. Fails: kIo, kCorrupt, naming file and tensor.
  Status bring_embedding() { return bring(embedding_end_); }
  Status bring_layer(uint32_t index) { return bring(layer_ends_[index]); }
  Status bring_all() { return bring(static_cast<uint32_t>(file_.info().tensors.size())); }
  bool has_layer(uint32_t index) const {
    const uint32_t now = progress_.load(std::memory_order_acquire);
    return now != kFailed && now >= layer_ends_[index];
  }
  // Threads: any. Fails: as bring_all().
  Status wait_for_all() const {
    return wait_for(static_cast<uint32_t>(file_.info().tensors.size()));
  }

 private:
  Scout(const ScoutFile& file, const ModelSpec& spec, std::shared_ptr<ScoutReader> reader);
  Status bind(Device& device);
  Status wait_for(uint32_t tensors) const;
  Status bring(uint32_t tensors);
  void read_all();
  Status read_file();
  Status read_from_reader();
  void publish(uint32_t value);
  Status read_tensor(const File& file, const ScoutTensor& tensor);
  Status read_from_mirror(const ScoutTensor& tensor, Error found);

  ScoutFile file_;
  const ModelSpec& spec_;
  std::filesystem::path mirror_;
  std::shared_ptr<ScoutReader> tensors_;  // shared with ModelFiles; none: they are read from file_
  uint64_t step_bytes_ = 0;
  AlignedBuffer memory_;
  Device* device_ = nullptr;
  Buffer buffer_;
  uint32_t brought_ = 0;  // tensors that the device has
  Matrix embedding_;
  Vector final_norm_;
  Matrix head_;
  std::vector<LayerWeights> layers_;
  uint32_t embedding_end_ = 0;        // number of tensors that must have been read
  std::vector<uint32_t> layer_ends_;  // the same for each layer

  // Tensors read so far, in file order; kFailed once error_ is set. Waiters sleep on it.
  static constexpr uint32_t kFailed = UINT32_MAX;
  std::atomic<uint32_t> progress_{0};
  std::atomic<bool> stopping_{false};
  Error error_{};
  std::thread reader_;
};

}  // namespace smoe
