// Where models differ, as named rules. Each rule's switch stands in one function of the engine.
#pragma once

#include <cstdint>

namespace smoe {

enum class Score : uint8_t {
  kSoftmaxThenTopK,  // softmax over all experts, keep the k largest
  kTopKThenSoftmax,  // keep the k largest logits, softmax over them
};

enum class QkNorm : uint8_t {
  kNone,
  kPerHead,   // RMS norm of each head's vector (Qwen3)
  kFullWidth  // RMS norm of the whole projection (OLMoE)
};

enum class Activation : uint8_t { kSilu };

enum class RopeKind : uint8_t { kDefault };  // rotate halves, no scaling

enum class AttentionKind : uint8_t { kGrouped };  // MHA and GQA

enum class FfnKind : uint8_t { kDense, kExperts };

}  // namespace smoe
