#include "formats/vault_file.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/units.h"
#include "formats/corrupt.h"
#include "formats/folder_file.h"

namespace smoe {
namespace {

constexpr uint32_t kMostIds = 65535;  // layers and experts are 16-bit ids
constexpr size_t kMaxRecordText = 64 * kKiB;

std::string record_name(uint32_t expert) { return "expert." + std::to_string(expert); }

// The file's tensors must be exactly the records, in order.
Status check_records(const SafetensorsHeader& header, const VaultInfo& info) {
  if (header.tensors.size() != info.experts)
    return corrupt(std::to_string(header.tensors.size()) + " tensors for " +
                   std::to_string(info.experts) + " experts");
  for (uint32_t expert = 0; expert < info.experts; ++expert) {
    const TensorInfo& tensor = header.tensors[expert];
    if (tensor.name != record_name(expert) || tensor.dtype != DType::kU8 ||
        tensor.shape != std::vector<uint64_t>{info.record.record_bytes})
      return corrupt("tensor " + json_quote(tensor.name) + " stands where a U8 tensor \"" +
                     record_name(expert) + "\" of " + std::to_string(info.record.record_bytes) +
                     " bytes was expected");
  }
  return {};
}

Result<VaultInfo> read_vault_info(const FolderHeader& header) {
  VaultInfo info;
  info.fingerprint = header.fingerprint;
  info.data_begin = header.safetensors.data_begin;
  SMOE_TRY(info.layer, header.number("layer", kMostIds));
  SMOE_TRY(info.experts, header.number("experts", kMostIds));
  if (info.experts == 0) return corrupt("holds no expert");
  SMOE_TRY(const std::string_view record, header.text("record", kMaxRecordText));
  SMOE_TRY(const Json json, Json::parse(record));
  SMOE_TRY(info.record, RecordLayout::read(json));
  SMOE_DO(check_records(header.safetensors, info));
  SMOE_TRY(const std::string_view checksums,
           header.text("record_checksums", kMostIds * kChecksumDigits));
  if (checksums.size() != info.experts * kChecksumDigits)
    return corrupt("record_checksums has " + std::to_string(checksums.size()) + " digits for " +
                   std::to_string(info.experts) + " experts");
  info.checksums.reserve(info.experts);
  for (uint32_t expert = 0; expert < info.experts; ++expert) {
    SMOE_TRY(const uint64_t checksum, listed_checksum(checksums, expert));
    info.checksums.push_back(checksum);
  }
  return info;
}

}  // namespace

std::string vault_file_name(uint32_t layer) {
  return fmt::format("layer-{:05}.safetensors", layer);
}

Result<VaultFile> VaultFile::open(const std::filesystem::path& path) {
  SMOE_TRY(const FolderHeader header, open_folder_file(path, "vault"));
  auto info = read_vault_info(header);
  if (!info) return std::move(info).error().in(path.string());
  VaultFile file;
  file.info_ = std::move(*info);
  file.path_ = path;
  return file;
}

VaultFile VaultFile::over(VaultInfo info, RowStore rows) {
  SMOE_CHECK(rows.slices.size() == size_t{info.experts} * info.record.segments.size());
  VaultFile file;
  file.info_ = std::move(info);
  file.info_.checksums.clear();
  file.path_ = rows.files[rows.slices.front().file];
  file.rows_ = std::move(rows);
  return file;
}

Result<std::string> vault_header(const VaultInfo& info) {
  if (info.experts == 0 || info.experts > kMostIds || info.layer > kMostIds ||
      info.checksums.size() != info.experts)
    return Error{Code::kUsage, "a vault file needs 1 to 65535 experts and a checksum for each"};
  std::vector<TensorInfo> tensors(info.experts);
  std::string checksums;
  for (uint32_t expert = 0; expert < info.experts; ++expert) {
    tensors[expert].name = record_name(expert);
    tensors[expert].shape = {info.record.record_bytes};
    checksums += checksum_text(info.checksums[expert]);
  }
  JsonWriter record;
  info.record.write(record);
  Metadata metadata = {{"layer", std::to_string(info.layer)},
                       {"experts", std::to_string(info.experts)},
                       {"record", record.take()},
                       {"record_checksums", std::move(checksums)}};
  SMOE_TRY(SafetensorsLayout layout,
           lay_out_folder_file("vault", info.fingerprint, std::move(tensors), std::move(metadata)));
  return std::move(layout.header_bytes);
}

}  // namespace smoe
