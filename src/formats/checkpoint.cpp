#include "formats/checkpoint.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/checksum.h"
#include "base/units.h"
#include "formats/safetensors.h"
#include "formats/shard_set.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 16 * kMiB;
constexpr uint64_t kMaxCompanionBytes = 256 * kMiB;
constexpr std::array<std::string_view, 5> kCompanions = {
    "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json",
    "special_tokens_map.json"};

// A Hugging Face folder. Headers are read once at the start; a shard is mapped only while its
// tensors are delivered.
class SafetensorsFolder : public TensorSource {
 public:
  static Result<std::unique_ptr<TensorSource>> open(const fs::path& folder) {
    auto source = std::make_unique<SafetensorsFolder>();
    source->folder_ = folder;
    const fs::path config = folder / "config.json";
    SMOE_TRY(source->config_text_, read_text_file(config, kMaxConfigBytes));
    auto parsed = Json::parse(source->config_text_);
    if (!parsed) return std::move(parsed).error().in(config.string());
    if (!parsed->is_object()) return Error{Code::kCorrupt, config.string() + ": is no JSON object"};
    source->config_ = std::move(*parsed);
    SMOE_TRY(source->shards_, find_shards(folder));
    source->list_tensors();
    return std::unique_ptr<TensorSource>(std::move(source));
  }

  const std::vector<Tensor>& tensors() const override { return tensors_; }
  const Json& config() const override { return config_; }
  std::string_view config_text() const override { return config_text_; }
  std::string name() const override { return folder_.string(); }

  Status deliver(const std::function<bool(const Tensor&)>& wanted,
                 const Receiver& receive) override {
    for (const Shard& shard : shards_) {
      std::vector<const TensorInfo*> here;
      for (const TensorInfo& info : shard.header.tensors)
        if (wanted(*find(info.name))) here.push_back(&info);
      if (!here.empty()) SMOE_DO(deliver_shard(shard, here, receive));
    }
    return {};
  }

  Result<std::vector<std::byte>> read(std::string_view name) override {
    const Tensor* tensor = find(name);
    if (tensor == nullptr)
      return Error{Code::kNotFound, folder_.string() + ": has no tensor " + json_quote(name)};
    const Shard& shard = shards_[places_[static_cast<size_t>(tensor - tensors_.data())].shard];
    SMOE_TRY(const File file, File::open(shard.path));
    SMOE_DO(check_unchanged(shard, file));
    std::vector<std::byte> data(static_cast<size_t>(tensor->bytes));
    SMOE_DO(file.read_at(places_[static_cast<size_t>(tensor - tensors_.data())].begin, data));
    return data;
  }

  // FP8 means nothing without its scales, which lie elsewhere.
  std::optional<Extent> extent_of(const Tensor& tensor) const override {
    if (tensor.dtype == DType::kF8E4M3) return {};
    const Place& place = places_[static_cast<size_t>(&tensor - tensors_.data())];
    return Extent{shards_[place.shard].path, place.begin};
  }

  std::string identity() const override {
    std::string text = "config " + checksum_text(xxh3_64(config_text_)) + "\n";
    for (const Shard& shard : shards_)
      text += shard.path.filename().string() + " " + std::to_string(shard.file_bytes) + " " +
              checksum_text(shard.header_checksum) + "\n";
    return text;
  }

  Result<std::optional<std::string>> companion(std::string_view file_name) const override {
    if (std::find(kCompanions.begin(), kCompanions.end(), file_name) == kCompanions.end())
      return Error{Code::kUsage, json_quote(file_name) + " is no file of a model folder"};
    auto text = read_text_file(folder_ / file_name, kMaxCompanionBytes);
    if (text) return std::optional<std::string>(std::move(*text));
    if (text.error().code == Code::kNotFound) return std::optional<std::string>();
    return std::move(text).error();
  }

 private:
  struct Place {
    size_t shard;
    uint64_t begin;
  };

  void list_tensors() {
    std::vector<std::pair<Tensor, Place>> all;
    for (size_t shard = 0; shard < shards_.size(); ++shard)
      for (const TensorInfo& info : shards_[shard].header.tensors)
        all.push_back({{info.name, info.dtype, info.shape, info.bytes}, {shard, info.begin}});
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first.name < b.first.name; });
    for (auto& [tensor, place] : all) {
      tensors_.push_back(std::move(tensor));
      places_.push_back(place);
    }
  }

  // A mapping of a file that shrinks raises SIGBUS, so its size is asked before every tensor.
  Status deliver_shard(const Shard& shard, const std::vector<const TensorInfo*>& here,
                       const Receiver& receive) const {
    SMOE_TRY(const File file, File::open(shard.path));
    SMOE_DO(check_unchanged(shard, file));
    SMOE_TRY(const SafetensorsFile mapped, SafetensorsFile::open(shard.path));
    for (const TensorInfo* info : here) {
      SMOE_DO(check_unchanged(shard, file));
      SMOE_DO(receive(*find(info->name), mapped.data(*info)));
      mapped.drop(*info);
    }
    return {};
  }

  fs::path folder_;
  std::string config_text_;
  Json config_;
  std::vector<Shard> shards_;
  std::vector<Tensor> tensors_;
  std::vector<Place> places_;  // of the tensor with the same index
};

}  // namespace

const TensorSource::Tensor* TensorSource::find(std::string_view name) const {
  const std::vector<Tensor>& all = tensors();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const Tensor& tensor, std::string_view key) { return tensor.name < key; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

Result<std::unique_ptr<TensorSource>> open_checkpoint(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status))
    return Error{Code::kNotFound, path.string() + ": no such file or folder"};
  if (fs::is_directory(status)) return SafetensorsFolder::open(path);
  const std::string name = path.filename().string();
  if (!name.ends_with(".safetensors") && !name.ends_with(".safetensors.index.json"))
    return Error{Code::kUnsupported,
                 path.string() + ": is neither a checkpoint folder nor a safetensors or GGUF file"};
  return SafetensorsFolder::open(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace smoe
