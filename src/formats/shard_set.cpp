#include "formats/shard_set.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/checksum.h"
#include "base/json.h"
#include "base/units.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxIndexBytes = 128 * kMiB;
constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

using FileOfTensor = std::map<std::string, std::string, std::less<>>;

std::string fetch_advice(const fs::path& folder, std::string_view file) {
  return "; fetch it with: hf download REPOSITORY " + std::string(file) + " --local-dir " +
         folder.string();
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos && name.ends_with(".safetensors");
}

Result<FileOfTensor> read_index(const fs::path& path) {
  SMOE_TRY(const std::string text, read_text_file(path, kMaxIndexBytes));
  const auto json = Json::parse(text);
  if (!json) return Error(json.error()).in(path.string());
  const Json* map = json->find("weight_map");
  if (map == nullptr || map->members().empty())
    return Error{Code::kCorrupt, path.string() + ": has no \"weight_map\""};
  FileOfTensor files;
  for (const auto& [tensor, file] : map->members()) {
    const auto name = file.as_string();
    if (!name || !is_plain_name(*name))
      return Error{Code::kCorrupt, path.string() + ": tensor " + json_quote(tensor) +
                                       " must lie in a .safetensors file of this folder" +
                                       (name ? ", not in " + json_quote(*name) : "")};
    files.emplace(tensor, *name);
  }
  return files;
}

Result<Shard> read_shard(const fs::path& path) {
  Shard shard;
  shard.path = path;
  SMOE_TRY(const File file, File::open(path));
  SMOE_TRY(shard.file_bytes, file.size());
  SMOE_TRY(const std::string head, read_safetensors_head(file));
  shard.header_checksum = xxh3_64(head);
  SMOE_TRY(shard.header, SafetensorsHeader::parse(std::as_bytes(std::span(head)), shard.file_bytes,
                                                  path.string()));
  return shard;
}

// Every tensor of the shard must be where the index says, and nothing that it says may be missing.
Status check_shard(const Shard& shard, const FileOfTensor& index, const fs::path& index_path) {
  const std::string file = shard.path.filename().string();
  std::vector<std::string_view> present;
  for (const TensorInfo& tensor : shard.header.tensors) {
    present.push_back(tensor.name);
    const auto named = index.find(tensor.name);
    if (named != index.end() && named->second == file) continue;
    const std::string claim =
        named == index.end() ? "does not name it" : "says that it lies in " + named->second;
    return Error{Code::kCorrupt, shard.path.string() + ": holds tensor " + json_quote(tensor.name) +
                                     ", but " + index_path.string() + " " + claim +
                                     "; fetch both files again"};
  }
  std::sort(present.begin(), present.end());
  for (const auto& [tensor, named] : index)
    if (named == file && !std::binary_search(present.begin(), present.end(), tensor))
      return Error{Code::kCorrupt, shard.path.string() + ": has no tensor " + json_quote(tensor) +
                                       ", but " + index_path.string() +
                                       " says that it lies there; fetch both files again"};
  return {};
}

// A single file beside an index is harmless only when it holds the very same tensors.
Status check_stray_single(const fs::path& single, const std::vector<Shard>& shards,
                          const fs::path& index_path) {
  SMOE_TRY(const Shard stray, read_shard(single));
  const auto signature = [](const TensorInfo& tensor) {
    std::string text = std::string(name_of(tensor.dtype));
    for (const uint64_t extent : tensor.shape) text += " " + std::to_string(extent);
    return text;
  };
  std::map<std::string_view, std::string> wanted;
  for (const Shard& shard : shards)
    for (const TensorInfo& tensor : shard.header.tensors)
      wanted.emplace(tensor.name, signature(tensor));
  bool same = wanted.size() == stray.header.tensors.size();
  for (const TensorInfo& tensor : stray.header.tensors) {
    const auto found = wanted.find(tensor.name);
    same = same && found != wanted.end() && found->second == signature(tensor);
  }
  if (same) return {};
  return Error{Code::kCorrupt, single.string() + ": does not hold the tensors that " +
                                   index_path.string() +
                                   " names; remove one of the two, they are different models"};
}

Result<std::vector<Shard>> read_sharded(const fs::path& folder) {
  const fs::path index_path = folder / kIndex;
  SMOE_TRY(const FileOfTensor index, read_index(index_path));
  std::vector<std::string> files;
  for (const auto& [tensor, file] : index) files.push_back(file);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::vector<Shard> shards;
  for (const std::string& file : files) {
    auto shard = read_shard(folder / file);
    if (!shard && shard.error().code == Code::kNotFound)
      return Error{Code::kNotFound, (folder / file).string() + ": is missing, but " +
                                        index_path.string() + " names it" +
                                        fetch_advice(folder, file)};
    if (!shard) return std::move(shard).error();
    shards.push_back(std::move(*shard));
  }
  for (const Shard& shard : shards) SMOE_DO(check_shard(shard, index, index_path));
  const bool single_is_shard = std::binary_search(files.begin(), files.end(), kSingle);
  if (std::error_code ignored; !single_is_shard && fs::exists(folder / kSingle, ignored))
    SMOE_DO(check_stray_single(folder / kSingle, shards, index_path));
  return shards;
}

Error nothing_there(const fs::path& folder) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model-") && name.ends_with(".safetensors"))
      return {Code::kNotFound, (folder / kIndex).string() + ": is missing, but " + name +
                                   " is one of several shards" + fetch_advice(folder, kIndex)};
  }
  return {Code::kNotFound, folder.string() + ": holds neither " + std::string(kSingle) + " nor " +
                               std::string(kIndex) + fetch_advice(folder, kSingle)};
}

}  // namespace

Result<std::vector<Shard>> find_shards(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / kIndex, ignored)) return read_sharded(folder);
  if (!fs::exists(folder / kSingle, ignored)) return nothing_there(folder);
  SMOE_TRY(Shard shard, read_shard(folder / kSingle));
  std::vector<Shard> shards;
  shards.push_back(std::move(shard));
  return shards;
}

Status check_unchanged(const Shard& shard, const File& file) {
  SMOE_TRY(const uint64_t bytes, file.size());
  if (bytes != shard.file_bytes)
    return Error{Code::kCorrupt, shard.path.string() + ": had " + std::to_string(shard.file_bytes) +
                                     " bytes and now has " + std::to_string(bytes) +
                                     "; it changed while it was read"};
  return {};
}

}  // namespace smoe
