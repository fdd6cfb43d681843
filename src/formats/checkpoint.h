// A checkpoint as the user downloaded it: tensors by name, config and tokenizer files.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/safetensors.h"

namespace smoe {

// What shatter reads from, whatever lies behind: a folder of safetensors files, a GGUF file, or
// later shards that arrive from a network.
class TensorSource {
 public:
  struct Tensor {
    std::string name;
    DType dtype = DType::kU8;
    std::vector<uint64_t> shape;
    uint64_t bytes = 0;
  };
  // Called once a tensor, in the order in which the source delivers them; `data` is valid during
  // the call only. A status that is an error ends the delivery and is handed on.
  using Receiver = std::function<Status(const Tensor& tensor, std::span<const std::byte> data)>;

  virtual ~TensorSource() = default;
  // Every tensor, known before the first byte is delivered, sorted by name.
  virtual const std::vector<Tensor>& tensors() const = 0;
  const Tensor* find(std::string_view name) const;
  // Delivers the tensors for which `wanted` holds. Threads: one delivery at a time.
  virtual Status deliver(const std::function<bool(const Tensor&)>& wanted,
                         const Receiver& receive) = 0;
  // The bytes of one tensor, copied out (small tensors: scales, norms). Fails: kNotFound.
  virtual Result<std::vector<std::byte>> read(std::string_view name) = 0;
  // Where the bytes of one of tensors() lie, for those who read them themselves; nothing when they
  // do not lie anywhere as deliver() gives them.
  struct Extent {
    std::filesystem::path file;
    uint64_t offset = 0;
  };
  virtual std::optional<Extent> extent_of(const Tensor& /*tensor*/) const { return {}; }
  // Identity for the fingerprint of a plan: file names, sizes and header checksums, not data.
  virtual std::string identity() const = 0;
  // config.json and, where present, the other files that belong to a model folder.
  virtual const Json& config() const = 0;
  virtual std::string_view config_text() const = 0;
  virtual std::string name() const = 0;  // for messages: the folder's path
  // What people should know about the source, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
  // Verbatim content of tokenizer.json, tokenizer_config.json, chat_template.jinja,
  // generation_config.json, special_tokens_map.json; nothing when absent.
  virtual Result<std::optional<std::string>> companion(std::string_view file_name) const = 0;
};

// Opens a Hugging Face folder: model.safetensors.index.json with its shards, or a single
// model.safetensors. Every tensor that the index names must be in its shard exactly once; a missing
// shard, a tensor in two shards, or a model.safetensors beside an index that disagrees is an error
// that names the file and what to do. A file argument (…/model.safetensors) opens its folder.
// Fails: kNotFound, kCorrupt, kIo.
Result<std::unique_ptr<TensorSource>> open_checkpoint(const std::filesystem::path& path);

}  // namespace smoe
