#include "engine/scout.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/units.h"
#include "model/inventory.h"

namespace smoe {
namespace {

// Small enough that a stop is prompt, large enough for sequential speed.
constexpr size_t kReadBytes = 8 * kMiB;

Vector* vector_slot(LayerWeights& layer, Role role) {
  switch (role) {
    case Role::kAttentionNorm:
      return &layer.attention_norm;
    case Role::kQueryBias:
      return &layer.query_bias;
    case Role::kKeyBias:
      return &layer.key_bias;
    case Role::kValueBias:
      return &layer.value_bias;
    case Role::kOutputBias:
      return &layer.output_bias;
    case Role::kQueryNorm:
      return &layer.query_norm;
    case Role::kKeyNorm:
      return &layer.key_norm;
    case Role::kFfnNorm:
      return &layer.ffn_norm;
    default:
      return nullptr;
  }
}

Matrix* matrix_slot(LayerWeights& layer, Role role) {
  switch (role) {
    case Role::kQuery:
      return &layer.query;
    case Role::kKey:
      return &layer.key;
    case Role::kValue:
      return &layer.value;
    case Role::kOutput:
      return &layer.output;
    case Role::kDenseGate:
      return &layer.dense_gate;
    case Role::kDenseUp:
      return &layer.dense_up;
    case Role::kDenseDown:
      return &layer.dense_down;
    case Role::kRouter:
      return &layer.router;
    case Role::kSharedGate:
      return &layer.shared_gate;
    case Role::kSharedUp:
      return &layer.shared_up;
    case Role::kSharedDown:
      return &layer.shared_down;
    case Role::kSharedRouter:
      return &layer.shared_router;
    default:
      return nullptr;
  }
}

Status check_shape(const ScoutFile& file, const ScoutTensor& tensor, const TensorNeed& need) {
  const bool is_vector = tensor.layout == Layout::kRows;
  if (tensor.rows == need.rows && tensor.cols == need.cols && is_vector == need.vector) return {};
  return Error{Code::kCorrupt, fmt::format("{}: tensor {} is [{}, {}], the model needs [{}, {}]",
                                           file.path().string(), tensor.name, tensor.rows,
                                           tensor.cols, need.rows, need.cols)};
}

}  // namespace

Result<std::unique_ptr<Scout>> Scout::open(const ScoutFile& file, const ModelSpec& spec,
                                           Device& device, std::shared_ptr<ScoutReader> reader,
                                           const std::filesystem::path& mirror) {
  std::unique_ptr<Scout> scout(new Scout(file, spec, std::move(reader)));
  scout->mirror_ = mirror;
  SMOE_DO(scout->bind(device));
  scout->reader_ = std::thread([raw = scout.get()] { raw->read_all(); });
  return scout;
}

Scout::Scout(const ScoutFile& file, const ModelSpec& spec, std::shared_ptr<ScoutReader> reader)
    : file_(file), spec_(spec), tensors_(std::move(reader)) {}

Scout::~Scout() {
  stopping_.store(true, std::memory_order_relaxed);
  if (reader_.joinable()) reader_.join();
}

Status Scout::bind(Device& device) {
  SMOE_TRY(memory_, AlignedBuffer::allocate(file_.data_bytes()));
  device_ = &device;
  SMOE_TRY(buffer_, device.adopt(memory_.bytes()));

  const std::vector<ScoutTensor>& tensors = file_.info().tensors;
  std::unordered_map<std::string_view, uint32_t> index_of_name;
  for (uint32_t i = 0; i < tensors.size(); ++i) index_of_name.emplace(tensors[i].name, i);

  step_bytes_ = file_.data_bytes();
  layers_.resize(spec_.layers.size());
  layer_ends_.assign(spec_.layers.size(), 0);
  for (const TensorNeed& need : scout_needs(spec_)) {
    const std::string name = scout_name(need.role, need.layer);
    const auto found = index_of_name.find(name);
    if (found == index_of_name.end())
      return Error{Code::kNotFound, file_.path().string() + ": tensor " + name + " is missing"};
    const ScoutTensor& tensor = tensors[found->second];
    SMOE_DO(check_shape(file_, tensor, need));

    const View view{&buffer_, tensor.offset - file_.data_begin()};
    const Vector vector{view, tensor.cols};
    const Matrix matrix{view, tensor.format, tensor.rows, tensor.cols,
                        tile_bytes(tensor.format, tensor.cols)};
    const uint32_t end = found->second + 1;
    if (need.role == Role::kEmbedding) {
      embedding_ = matrix;
      embedding_end_ = end;
      if (!spec_.tied_head) step_bytes_ -= tensor.bytes;
    } else if (need.role == Role::kFinalNorm) {
      final_norm_ = vector;
    } else if (need.role == Role::kHead) {
      head_ = matrix;
    } else {
      LayerWeights& layer = layers_[need.layer];
      if (need.vector) {
        *vector_slot(layer, need.role) = vector;
      } else {
        *matrix_slot(layer, need.role) = matrix;
      }
      layer_ends_[need.layer] = std::max(layer_ends_[need.layer], end);
    }
  }
  if (spec_.tied_head) head_ = embedding_;
  return {};
}

Status Scout::wait_for(uint32_t tensors) const {
  for (;;) {
    const uint32_t now = progress_.load(std::memory_order_acquire);  // pairs with read_all()
    if (now == kFailed) return error_;
    if (now >= tensors) return {};
    progress_.wait(now, std::memory_order_acquire);
  }
}

Status Scout::bring(uint32_t tensors) {
  SMOE_DO(wait_for(tensors));
  if (tensors <= brought_) return {};
  const std::vector<ScoutTensor>& all = file_.info().tensors;
  const uint64_t begin = all[brought_].offset - file_.data_begin();
  const uint64_t end = all[tensors - 1].offset + all[tensors - 1].bytes - file_.data_begin();
  device_->refresh({&buffer_, begin}, end - begin);
  brought_ = tensors;
  return {};
}

void Scout::publish(uint32_t value) {
  progress_.store(value, std::memory_order_release);  // publishes the bytes, or error_
  progress_.notify_all();
}

void Scout::read_all() {
  if (Status status = guarded([&] { return tensors_ ? read_from_reader() : read_file(); });
      !status) {
    error_ = std::move(status).error();
    publish(kFailed);
  }
}

Status Scout::read_file() {
  SMOE_TRY(const File file, File::open(file_.path()));
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  uint32_t done = 0;
  for (const ScoutTensor& tensor : file_.info().tensors) {
    if (Status status = read_tensor(file, tensor); !status)
      SMOE_DO(read_from_mirror(tensor, std::move(status).error()));
    publish(++done);
  }
  return {};
}

Status Scout::read_from_mirror(const ScoutTensor& tensor, Error found) {
  if (mirror_.empty() || found.code == Code::kCancelled) return found;
  log::warn("{}; the mirror is read instead", found.message);
  SMOE_TRY(const File file, File::open(mirror_));
  return read_tensor(file, tensor);
}

Status Scout::read_from_reader() {
  const std::vector<ScoutTensor>& tensors = file_.info().tensors;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    const uint64_t begin = tensors[i].offset - file_.data_begin();
    SMOE_DO(tensors_->read(i, memory_.bytes().subspan(begin, tensors[i].bytes), stopping_));
    publish(i + 1);
  }
  return {};
}

Status Scout::read_tensor(const File& file, const ScoutTensor& tensor) {
  std::span<std::byte> out =
      memory_.bytes().subspan(tensor.offset - file_.data_begin(), tensor.bytes);
  Checksum checksum;
  for (size_t done = 0; done < out.size(); done += kReadBytes) {
    if (stopping_.load(std::memory_order_relaxed))
      return Error{Code::kCancelled, "stopped while the scout was being read"};
    const auto piece = out.subspan(done, std::min(kReadBytes, out.size() - done));
    SMOE_DO(file.read_at(tensor.offset + done, piece));
    // The bytes now live in our own memory: a second copy in the page cache would count against the
    // cgroup's limit for nothing.
    ::posix_fadvise(file.descriptor(), static_cast<off_t>(tensor.offset + done),
                    static_cast<off_t>(piece.size()), POSIX_FADV_DONTNEED);
    checksum.add(piece);
  }
  if (checksum.value() != tensor.checksum)
    return Error{Code::kCorrupt,
                 fmt::format("{}: tensor {} does not match its checksum ({} found, {} expected); "
                             "shatter the checkpoint again",
                             file_.path().string(), tensor.name, checksum_text(checksum.value()),
                             checksum_text(tensor.checksum))};
  return {};
}

}  // namespace smoe
