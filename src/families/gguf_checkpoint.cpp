#include "families/gguf_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "families/gguf_architecture.h"
#include "formats/companion.h"
#include "formats/gguf.h"
#include "model/inventory.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

// Where the bytes of a tensor lie, and how they are meant.
struct Slice {
  size_t file = 0;
  uint64_t begin = 0;
  TensorPlace place;
  uint32_t paired_heads = 0;  // not 0: rows lie in pairs, for so many heads
};

class GgufCheckpoint : public TensorSource {
 public:
  static Result<std::unique_ptr<TensorSource>> open(const fs::path& path) {
    auto source = std::make_unique<GgufCheckpoint>();
    source->path_ = path;
    SMOE_TRY(source->files_, open_gguf(path));
    if (Status status = source->understand(); !status)
      return std::move(status).error().in(path.string());
    return std::unique_ptr<TensorSource>(std::move(source));
  }

  const std::vector<Tensor>& tensors() const override { return tensors_; }
  const Json& config() const override { return config_; }
  std::string_view config_text() const override { return config_text_; }
  std::string name() const override { return path_.string(); }
  std::vector<std::string> notes() const override { return notes_; }

  Status deliver(const std::function<bool(const Tensor&)>& wanted,
                 const Receiver& receive) override {
    std::vector<size_t> order;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (wanted(tensors_[i])) order.push_back(i);
    // What is outside the experts first, as it lies; then expert by expert, since a record needs
    // an expert's three tensors and the file may have all experts' gates before the first up.
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    for (const size_t index : order) {
      SMOE_DO(check_unchanged(slices_[index].file));
      SMOE_DO(deliver_one(index, receive));
    }
    return {};
  }

  Result<std::vector<std::byte>> read(std::string_view name) override {
    const Tensor* tensor = find(name);
    if (tensor == nullptr)
      return Error{Code::kNotFound, path_.string() + ": has no tensor " + json_quote(name)};
    const auto index = static_cast<size_t>(tensor - tensors_.data());
    SMOE_DO(check_unchanged(slices_[index].file));
    const auto data = bytes_of(index);
    if (slices_[index].paired_heads != 0) return unpaired(index, data);
    return std::vector<std::byte>(data.begin(), data.end());
  }

  std::optional<Extent> extent_of(const Tensor& tensor) const override {
    const Slice& slice = slices_[static_cast<size_t>(&tensor - tensors_.data())];
    if (slice.paired_heads != 0) return std::nullopt;
    return Extent{files_[slice.file].path(), slice.begin};
  }

  std::string identity() const override {
    std::string text;
    for (const GgufFile& file : files_)
      text += file.path().filename().string() + " " + std::to_string(file.file_bytes()) + " " +
              checksum_text(xxh3_64(file.header_bytes())) + "\n";
    return text;
  }

  Result<std::optional<std::string>> companion(std::string_view file_name) const override {
    auto text = gguf_companion(header(), file_name);
    if (!text) return std::move(text).error().in(path_.string());
    return text;
  }

 private:
  const GgufHeader& header() const { return files_.front().header(); }

  Status understand() {
    SMOE_TRY(architecture_, gguf_architecture_of(header()));
    std::vector<TensorPlace> places;
    for (size_t file = 0; file < files_.size(); ++file)
      for (const GgufTensor& tensor : files_[file].header().tensors) {
        const auto place = gguf_place_of(tensor.name);
        if (place) places.push_back(*place);
        SMOE_DO(add(file, tensor, place));
      }
    notes_.emplace_back("a GGUF file carries no checksums: what is in it is taken as it is");
    SMOE_TRY(config_text_, gguf_config(*architecture_, header(), places, notes_));
    SMOE_TRY(config_, Json::parse(config_text_));
    sort_by_name();
    return check_names();
  }

  // A tensor that no role is known for keeps its name, and is refused by it.
  Status add(size_t file, const GgufTensor& tensor, const std::optional<TensorPlace>& place) {
    if (!place || pattern_of(*architecture_->family, place->role).empty()) {
      push({tensor.name, tensor.dtype, tensor.shape, tensor.bytes}, {file, tensor.begin, {}, 0});
      return {};
    }
    Slice slice{file, tensor.begin, *place, 0};
    std::vector<uint64_t> shape = tensor.shape;
    if (place->role == Role::kSharedRouter && shape.size() == 1) shape.insert(shape.begin(), 1);
    if (is_expert(place->role) && shape.size() == 3) return add_experts(slice, tensor);
    SMOE_TRY(slice.paired_heads, heads_of(place->role, tensor));
    push({name_of(*place), tensor.dtype, std::move(shape), tensor.bytes}, slice);
    return {};
  }

  Status add_experts(Slice slice, const GgufTensor& tensor) {
    const uint64_t experts = tensor.shape.front();
    constexpr uint64_t kMostExperts = 65535;  // as ModelSpec::check, before any is listed
    if (experts > kMostExperts)
      return Error{Code::kCorrupt, tensor.name + ": has " + std::to_string(experts) + " experts"};
    const uint64_t bytes = tensor.bytes / experts;
    for (uint64_t expert = 0; expert < experts; ++expert) {
      slice.place.expert = static_cast<uint32_t>(expert);
      push({name_of(slice.place), tensor.dtype, {tensor.shape[1], tensor.shape[2]}, bytes}, slice);
      slice.begin += bytes;
    }
    return {};
  }

  // For a tensor whose rows lie in pairs, the heads that they belong to; else 0.
  Result<uint32_t> heads_of(Role role, const GgufTensor& tensor) const {
    const bool query = role == Role::kQuery || role == Role::kQueryBias;
    const bool key = role == Role::kKey || role == Role::kKeyBias;
    if (!architecture_->paired_rope || (!query && !key)) return 0U;
    const std::string prefix = std::string(architecture_->name) + ".attention.head_count";
    const GgufValue* value = header().find(query ? prefix : prefix + "_kv");
    if (value == nullptr) value = header().find(prefix);
    const auto heads = value != nullptr ? value->as_uint() : std::nullopt;
    const uint64_t rows = tensor.shape.front();
    if (!heads || *heads == 0 || *heads > rows || rows % (2 * *heads) != 0)
      return Error{Code::kCorrupt, tensor.name + ": its " + std::to_string(rows) +
                                       " rows are no pairs for the heads that " + prefix +
                                       " states"};
    return static_cast<uint32_t>(*heads);
  }

  std::string name_of(const TensorPlace& place) const {
    return tensor_name(pattern_of(*architecture_->family, place.role), place.layer, place.expert);
  }

  void push(Tensor tensor, const Slice& slice) {
    tensors_.push_back(std::move(tensor));
    slices_.push_back(slice);
  }

  void sort_by_name() {
    std::vector<size_t> order(tensors_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return tensors_[a].name < tensors_[b].name; });
    std::vector<Tensor> tensors;
    std::vector<Slice> slices;
    for (const size_t i : order) {
      tensors.push_back(std::move(tensors_[i]));
      slices.push_back(slices_[i]);
    }
    tensors_ = std::move(tensors);
    slices_ = std::move(slices);
  }

  // An expert may lie in a tensor of all and in one of its own, too.
  Status check_names() const {
    const auto twice =
        std::adjacent_find(tensors_.begin(), tensors_.end(),
                           [](const Tensor& a, const Tensor& b) { return a.name == b.name; });
    if (twice == tensors_.end()) return {};
    return Error{Code::kCorrupt, "holds " + json_quote(twice->name) + " twice"};
  }

  using Key = std::tuple<bool, uint32_t, uint32_t, size_t, uint64_t>;
  Key key(size_t index) const {
    const Slice& slice = slices_[index];
    const bool expert = is_expert(slice.place.role);
    return {expert, expert ? slice.place.layer : 0, expert ? slice.place.expert : 0, slice.file,
            slice.begin};
  }

  std::span<const std::byte> bytes_of(size_t index) const {
    GgufTensor tensor;
    tensor.begin = slices_[index].begin;
    tensor.bytes = tensors_[index].bytes;
    return files_[slices_[index].file].data(tensor);
  }

  // A mapping of a file that shrinks raises SIGBUS, so its size is asked before every tensor.
  Status check_unchanged(size_t index) const {
    const GgufFile& mapped = files_[index];
    SMOE_TRY(const File file, File::open(mapped.path()));
    SMOE_TRY(const uint64_t bytes, file.size());
    if (bytes == mapped.file_bytes()) return {};
    return Error{Code::kCorrupt, mapped.path().string() + ": had " +
                                     std::to_string(mapped.file_bytes()) + " bytes and now has " +
                                     std::to_string(bytes) + "; it changed while it was read"};
  }

  Status deliver_one(size_t index, const Receiver& receive) const {
    const auto data = bytes_of(index);
    if (slices_[index].paired_heads != 0) {
      SMOE_DO(receive(tensors_[index], unpaired(index, data)));
    } else {
      SMOE_DO(receive(tensors_[index], data));
    }
    files_[slices_[index].file].drop(slices_[index].begin, data.size());
    return {};
  }

  // Row 2j + i of a head, where it was stored, is row i · (rows / 2) + j.
  std::vector<std::byte> unpaired(size_t index, std::span<const std::byte> data) const {
    const uint64_t rows = tensors_[index].shape.front();
    const uint64_t row_bytes = data.size() / rows;
    const uint64_t of_head = rows / slices_[index].paired_heads;
    std::vector<std::byte> result(data.size());
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t inside = row % of_head;
      const uint64_t from = row - inside + inside % (of_head / 2) * 2 + inside / (of_head / 2);
      std::memcpy(result.data() + row * row_bytes, data.data() + from * row_bytes, row_bytes);
    }
    return result;
  }

  fs::path path_;
  std::vector<GgufFile> files_;
  const GgufArchitecture* architecture_ = nullptr;
  std::string config_text_;
  Json config_;
  std::vector<std::string> notes_;
  std::vector<Tensor> tensors_;
  std::vector<Slice> slices_;  // of the tensor with the same index
};

// The first GGUF file of a folder that is no checkpoint itself; empty when there is none.
fs::path gguf_in(const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder / "config.json", failed)) return {};
  fs::path first;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
    if (entry->path().extension() == ".gguf" && (first.empty() || entry->path() < first))
      first = entry->path();
  return first;
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_gguf_checkpoint(const fs::path& path) {
  return GgufCheckpoint::open(path);
}

Result<std::unique_ptr<TensorSource>> open_source(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed))
    return path.extension() == ".gguf" ? open_gguf_checkpoint(path) : open_checkpoint(path);
  // A folder may hold one model in several types: which one is meant is for people to say.
  if (const fs::path found = gguf_in(path); !found.empty())
    return Error{Code::kUsage, path.string() +
                                   ": holds GGUF files and no config.json; name the "
                                   "file, for instance " +
                                   found.string()};
  return open_checkpoint(path);
}

}  // namespace smoe
