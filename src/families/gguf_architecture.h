// What GGUF files call architectures, hyperparameters and tensors, as data: which family each
// architecture is, which key states which fact, which tensor plays which role.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/gguf.h"
#include "model/family.h"
#include "model/naming.h"

namespace smoe {

struct GgufArchitecture {
  std::string_view name;  // general.architecture
  const Family* family;
  // Rows of q and k lie in pairs that are turned together, where the engine turns halves.
  bool paired_rope = false;
  // What programs that run the architecture take for norm_topk_prob, which files rarely state.
  std::optional<bool> renormalize = {};
  bool only_experts = false;  // feed_forward_length is the width of an expert
};

// Fails: kUnsupported for an architecture that this build does not know, with the list that works,
// and for one without experts.
Result<const GgufArchitecture*> gguf_architecture_of(const GgufHeader& header);

// A tensor's role, by its GGUF name. Experts lie in one tensor of all (kExpertUp, layer, 0), or
// each in its own.
std::optional<TensorPlace> gguf_place_of(std::string_view name);

// The file's facts as the config.json that its checkpoint had, in the family's spelling. `tensors`
// tells what they alone can: biases, dense layers, a tied head. What people should know is added
// to `notes`. Fails: kCorrupt for a key that is missing, of a wrong type, or that contradicts
// another; kUnsupported for a value, or a key of the architecture's, that this build does not know:
// leaving it out would change the numbers.
Result<std::string> gguf_config(const GgufArchitecture& architecture, const GgufHeader& header,
                                std::span<const TensorPlace> tensors,
                                std::vector<std::string>& notes);

}  // namespace smoe
