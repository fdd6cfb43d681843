#include "stream/catalog.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/units.h"
#include "stream/arrivals.h"
#include "stream/slot.h"

namespace smoe {
namespace {

// One below kNoKey's, which names no record.
constexpr uint32_t kMaxLayer = 0xfffe;
constexpr uint32_t kMaxLayerExperts = 0xffff;

Status check(const VaultFile& file) {
  const VaultInfo& info = file.info();
  const uint64_t bytes = info.record.record_bytes;
  const bool stored = file.rows().empty();
  if (bytes == 0 || bytes % kPageBytes != 0 || (stored && info.data_begin % kPageBytes != 0))
    return Error{Code::kCorrupt, file.path().string() + ": records of " + std::to_string(bytes) +
                                     " bytes from byte " + std::to_string(info.data_begin) +
                                     " are not on 16 KiB boundaries"};
  if (info.layer > kMaxLayer || info.experts == 0 || info.experts > kMaxLayerExperts)
    return Error{Code::kCorrupt, file.path().string() + ": layer " + std::to_string(info.layer) +
                                     " with " + std::to_string(info.experts) +
                                     " experts is out of range"};
  if (stored && info.checksums.size() != info.experts)
    return Error{Code::kCorrupt, file.path().string() + ": " +
                                     std::to_string(info.checksums.size()) + " checksums for " +
                                     std::to_string(info.experts) + " experts"};
  return {};
}

uint64_t device_of(const std::filesystem::path& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_dev) : 0;
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

uint64_t arrival_bytes(std::span<const VaultFile> layers, unsigned readers) {
  uint64_t largest = 0;
  for (const VaultFile& file : layers)
    if (!file.rows().empty())
      largest = std::max(largest, largest_read_bytes(file.info().record, file.rows()));
  return Arrivals::bytes_for(largest, readers);
}

Result<Catalog> Catalog::of(std::span<const VaultFile> layers, std::span<const VaultFile> mirror) {
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
                                     " is already in " +
                                     catalog.paths_[catalog.files_[layer.file].file].string()};
    layer = {catalog.records(), info.experts, static_cast<uint32_t>(catalog.files_.size())};
    for (uint32_t expert = 0; expert < info.experts; ++expert)
      catalog.keys_.push_back({static_cast<LayerId>(info.layer), static_cast<ExpertId>(expert)});
    const auto found = std::find_if(
        catalog.classes_.begin(), catalog.classes_.end(),
        [&](const RecordClass& one) { return one.record_bytes == info.record.record_bytes; });
    LayerFile& entry = catalog.files_.emplace_back();
    entry.info = info;
    entry.size_class = static_cast<uint32_t>(found - catalog.classes_.begin());
    entry.file = catalog.number_of(file.path());
    if (file.rows().empty()) continue;
    entry.rows = file.rows();
    catalog.largest_read_bytes_ =
        std::max(catalog.largest_read_bytes_, smoe::largest_read_bytes(info.record, entry.rows));
    std::vector<uint32_t> numbers;
    for (const std::filesystem::path& path : entry.rows.files)
      numbers.push_back(catalog.number_of(path));
    for (RowSlice& slice : entry.rows.slices) slice.file = numbers[slice.file];
  }
  if (!mirror.empty()) SMOE_DO(catalog.add_mirror(mirror));
  return catalog;
}

// A file that is the same down to its checksums holds the same records at the same places.
Status Catalog::add_mirror(std::span<const VaultFile> mirror) {
  std::vector<std::filesystem::path> copies;
  for (const LayerFile& own : files_) {
    const std::filesystem::path& path = paths_[own.file];
    if (!own.rows.empty())
      return Error{Code::kUsage, path.string() +
                                     ": a mirror needs a model folder that smoe "
                                     "shatter wrote"};
    const auto copy = std::find_if(mirror.begin(), mirror.end(), [&](const VaultFile& file) {
      return file.info().layer == own.info.layer;
    });
    if (copy == mirror.end())
      return Error{Code::kUsage, "the mirror has no layer " + std::to_string(own.info.layer)};
    const VaultInfo& info = copy->info();
    if (info.fingerprint != own.info.fingerprint || info.data_begin != own.info.data_begin ||
        info.experts != own.info.experts || info.checksums != own.info.checksums)
      return Error{Code::kCorrupt, copy->path().string() + ": is not the same file as " +
                                       path.string() + "; copy the model folder again"};
    copies.push_back(copy->path());
  }
  mirror_apart_ = device_of(paths_.front()) != device_of(copies.front());
  mirrored_files_ = static_cast<uint32_t>(paths_.size());
  paths_.insert(paths_.end(), copies.begin(), copies.end());
  return {};
}

unsigned Catalog::drives() const {
  std::set<uint64_t> drives;
  const size_t read = mirror_apart_ ? paths_.size() : paths_.size() - mirrored_files_;
  for (size_t i = 0; i < read; ++i) drives.insert(device_of(paths_[i]));
  return static_cast<unsigned>(std::clamp<size_t>(drives.size(), 1, 4));
}

uint32_t Catalog::find(ExpertKey key) const {
  const auto layer = static_cast<size_t>(key.layer);
  const auto expert = static_cast<uint32_t>(key.expert);
  SMOE_CHECK(layer < layer_of_.size() && expert < layer_of_[layer].experts);
  return layer_of_[layer].first_record + expert;
}

// Layers of a model folder have a file each, those of a GGUF file share all of its parts.
uint32_t Catalog::number_of(const std::filesystem::path& path) {
  const auto number = std::find(paths_.begin(), paths_.end(), path) - paths_.begin();
  if (static_cast<size_t>(number) == paths_.size()) paths_.push_back(path);
  return static_cast<uint32_t>(number);
}

uint64_t Catalog::offset(uint32_t record) const {
  return layer_file(record).info.offset_of(static_cast<uint32_t>(keys_[record].expert));
}

uint64_t Catalog::checksum(uint32_t record) const {
  return layer_file(record).info.checksums[static_cast<size_t>(keys_[record].expert)];
}

std::span<const RowSlice> Catalog::slices(uint32_t record) const {
  const LayerFile& layer = layer_file(record);
  const size_t segments = layer.info.record.segments.size();
  return std::span(layer.rows.slices)
      .subspan(static_cast<size_t>(keys_[record].expert) * segments, segments);
}

uint32_t Catalog::first_file(uint32_t record) const {
  return is_stored(record) ? file(record) : slices(record).front().file;
}

std::string Catalog::name(uint32_t record, uint32_t file) const {
  return paths_[file].string() + ": layer " +
         std::to_string(static_cast<uint32_t>(keys_[record].layer)) + ", expert " +
         std::to_string(static_cast<uint32_t>(keys_[record].expert));
}

}  // namespace smoe
