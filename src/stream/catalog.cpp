#include "stream/catalog.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/units.h"
#include "stream/slot.h"

namespace smoe {
namespace {

// One below kNoKey's, which names no record.
constexpr uint32_t kMaxLayer = 0xfffe;
constexpr uint32_t kMaxLayerExperts = 0xffff;

Status check(const VaultFile& file) {
  const VaultInfo& info = file.info();
  const uint64_t bytes = info.record.record_bytes;
  if (bytes == 0 || bytes % kPageBytes != 0 || info.data_begin % kPageBytes != 0)
    return Error{Code::kCorrupt, file.path().string() + ": records of " + std::to_string(bytes) +
                                     " bytes from byte " + std::to_string(info.data_begin) +
                                     " are not on 16 KiB boundaries"};
  if (info.layer > kMaxLayer || info.experts == 0 || info.experts > kMaxLayerExperts)
    return Error{Code::kCorrupt, file.path().string() + ": layer " + std::to_string(info.layer) +
                                     " with " + std::to_string(info.experts) +
                                     " experts is out of range"};
  if (info.checksums.size() != info.experts)
    return Error{Code::kCorrupt, file.path().string() + ": " +
                                     std::to_string(info.checksums.size()) + " checksums for " +
                                     std::to_string(info.experts) + " experts"};
  return {};
}

}  // namespace

std::vector<RecordClass> record_classes(std::span<const VaultFile> layers) {
  std::map<uint64_t, uint64_t> records;
  for (const VaultFile& file : layers)
    records[file.info().record.record_bytes] += file.info().experts;
  std::vector<RecordClass> classes;
  classes.reserve(records.size());
  for (const auto& [bytes, count] : records) classes.push_back({bytes, count});
  return classes;
}

Result<Catalog> Catalog::of(std::span<const VaultFile> layers) {
  if (layers.empty()) return Error{Code::kUsage, "the vault has no layer"};
  Catalog catalog;
  catalog.classes_ = record_classes(layers);
  for (const VaultFile& file : layers) {
    SMOE_DO(check(file));
    const VaultInfo& info = file.info();
    if (info.layer >= catalog.layer_of_.size()) catalog.layer_of_.resize(info.layer + 1);
    Layer& layer = catalog.layer_of_[info.layer];
    if (layer.experts != 0)
      return Error{Code::kUsage, file.path().string() + ": layer " + std::to_string(info.layer) +
                                     " is already in " + catalog.files_[layer.file].path.string()};
    layer = {catalog.records(), info.experts, static_cast<uint32_t>(catalog.files_.size())};
    for (uint32_t expert = 0; expert < info.experts; ++expert)
      catalog.keys_.push_back({static_cast<LayerId>(info.layer), static_cast<ExpertId>(expert)});
    const auto found = std::find_if(
        catalog.classes_.begin(), catalog.classes_.end(),
        [&](const RecordClass& one) { return one.record_bytes == info.record.record_bytes; });
    catalog.files_.push_back(
        {file.path(), info, static_cast<uint32_t>(found - catalog.classes_.begin())});
  }
  return catalog;
}

uint32_t Catalog::find(ExpertKey key) const {
  const auto layer = static_cast<size_t>(key.layer);
  const auto expert = static_cast<uint32_t>(key.expert);
  SMOE_CHECK(layer < layer_of_.size() && expert < layer_of_[layer].experts);
  return layer_of_[layer].first_record + expert;
}

uint64_t Catalog::offset(uint32_t record) const {
  return files_[file(record)].info.offset_of(static_cast<uint32_t>(keys_[record].expert));
}

uint64_t Catalog::checksum(uint32_t record) const {
  return files_[file(record)].info.checksums[static_cast<size_t>(keys_[record].expert)];
}

std::string Catalog::name(uint32_t record) const {
  return files_[file(record)].path.string() + ": layer " +
         std::to_string(static_cast<uint32_t>(keys_[record].layer)) + ", expert " +
         std::to_string(static_cast<uint32_t>(keys_[record].expert));
}

std::vector<std::filesystem::path> Catalog::paths() const {
  std::vector<std::filesystem::path> paths;
  for (const LayerFile& file : files_) paths.push_back(file.path);
  return paths;
}

}  // namespace smoe
