// What tensor shapes tell, and whether they agree with the config.
#pragma once

#include "base/result.h"
#include "formats/checkpoint.h"
#include "model/config.h"
#include "model/family.h"

namespace smoe {

// Fills what the config left to the shapes: widths, vocabulary, experts, heads. What no tensor
// tells stays 0. Fails: kCorrupt when hidden size and heads give no whole head size.
Status fill_from_shapes(const Family& family, const TensorSource& source, ModelFacts& facts);

// Every tensor of the source is known and needed, has the right shape and a type that this build
// reads, and none is missing. Fails: kCorrupt naming tensor and config, kNotFound, kUnsupported.
Status check_tensors(const SourceModel& model, const ConfigFacts& facts,
                     const TensorSource& source);

// Sides of the blocks of an FP8 weight that share a scale.
inline constexpr uint64_t kScaleBlock = 128;

}  // namespace smoe
