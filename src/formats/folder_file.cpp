#include "formats/folder_file.h"

#include <charconv>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/units.h"
#include "formats/corrupt.h"
#include "formats/vault_file.h"

namespace smoe {
namespace {

constexpr std::string_view kKindKey = "smoe_file";
constexpr std::string_view kVersionKey = "smoe_version";
constexpr std::string_view kFingerprintKey = "fingerprint";
constexpr std::string_view kChecksumKey = "header_checksum";
constexpr uint64_t kMaxHeaderText = 128;

// Where the 16 digits stand. Inside other strings the key's quotes would carry a backslash.
std::optional<size_t> checksum_position(std::string_view header_bytes) {
  const std::string field = "\"" + std::string(kChecksumKey) + "\":\"";
  const size_t found = header_bytes.find(field);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t digits = found + field.size();
  if (header_bytes.size() < digits + kChecksumDigits + 1 ||
      header_bytes[digits + kChecksumDigits] != '"')
    return std::nullopt;
  return digits;
}

Status check_identity(const FolderHeader& header, std::string_view kind) {
  const auto found = header.text(kKindKey, kMaxHeaderText);
  if (!found || *found != kind)
    return Error{Code::kUnsupported, "is no " + std::string(kind) +
                                         " file of a model folder (metadata " +
                                         std::string(kKindKey) + " is " +
                                         (found ? json_quote(*found) : "missing") + ")"};
  SMOE_TRY(const std::string_view version, header.text(kVersionKey, kMaxHeaderText));
  if (version != std::to_string(kFolderVersion))
    return Error{Code::kUnsupported, std::string(kind) + " version " + std::string(version) +
                                         ", this build reads version " +
                                         std::to_string(kFolderVersion) +
                                         "; shatter the checkpoint again"};
  return {};
}

Result<FolderHeader> read_header(const File& file, std::string_view kind) {
  SMOE_TRY(const std::string head, read_safetensors_head(file));
  SMOE_TRY(const uint64_t file_bytes, file.size());
  FolderHeader header;
  const std::string name = file.path().string();
  SMOE_TRY(header.safetensors,
           SafetensorsHeader::parse(std::as_bytes(std::span(head)), file_bytes, name));
  const auto check = [&]() -> Status {
    SMOE_DO(check_identity(header, kind));
    SMOE_TRY(const std::string_view stored, header.text(kChecksumKey, kChecksumDigits));
    const auto computed = header_checksum(head);
    if (!computed || *computed != stored)
      return corrupt("header checksum " + computed.value_or("?") + ", the file says " +
                     std::string(stored) + "; the header is damaged");
    if (header.safetensors.data_begin % kPageBytes != 0)
      return corrupt("data begins at byte " + std::to_string(header.safetensors.data_begin) +
                     ", no multiple of " + std::to_string(kPageBytes));
    SMOE_TRY(const std::string_view fingerprint, header.text(kFingerprintKey, kMaxHeaderText));
    const auto value = parse_checksum(fingerprint);
    if (!value) return corrupt("fingerprint " + json_quote(fingerprint) + " is none");
    header.fingerprint = *value;
    return {};
  };
  if (Status status = check(); !status) return std::move(status).error().in(name);
  header.data_bytes = file_bytes - header.safetensors.data_begin;
  return header;
}

}  // namespace

Result<std::string_view> FolderHeader::text(std::string_view key, size_t max_bytes) const {
  const auto found = safetensors.metadata.find(std::string(key));
  if (found == safetensors.metadata.end())
    return corrupt("metadata \"" + std::string(key) + "\" is missing");
  if (found->second.size() > max_bytes)
    return corrupt("metadata \"" + std::string(key) + "\" is longer than " +
                   format_bytes(max_bytes));
  return std::string_view(found->second);
}

Result<uint32_t> FolderHeader::number(std::string_view key, uint32_t most) const {
  SMOE_TRY(const std::string_view digits, text(key, kMaxHeaderText));
  uint32_t value = 0;
  const auto [end, failed] = std::from_chars(digits.begin(), digits.end(), value);
  if (failed != std::errc{} || end != digits.end() || value > most)
    return corrupt("metadata \"" + std::string(key) + "\" is " + json_quote(digits) +
                   ", a number up to " + std::to_string(most) + " was expected");
  return value;
}

Result<FolderHeader> open_folder_file(const std::filesystem::path& path, std::string_view kind) {
  SMOE_TRY(const File file, File::open(path));
  return read_header(file, kind);
}

std::optional<std::string> header_checksum(std::string_view header_bytes) {
  const auto digits = checksum_position(header_bytes);
  if (!digits) return std::nullopt;
  constexpr std::string_view kBlank = "                ";
  static_assert(kBlank.size() == kChecksumDigits);
  Checksum checksum;
  checksum.add(header_bytes.substr(0, *digits));
  checksum.add(kBlank);
  checksum.add(header_bytes.substr(*digits + kChecksumDigits));
  return checksum_text(checksum.value());
}

Result<uint64_t> listed_checksum(std::string_view list, size_t index) {
  const std::string_view digits = list.substr(index * kChecksumDigits, kChecksumDigits);
  const auto value = parse_checksum(digits);
  if (!value) return corrupt("checksum " + json_quote(digits) + " is none");
  return *value;
}

Result<SafetensorsLayout> lay_out_folder_file(std::string_view kind, uint64_t fingerprint,
                                              std::vector<TensorInfo> tensors, Metadata metadata) {
  metadata.emplace(kKindKey, kind);
  metadata.emplace(kVersionKey, std::to_string(kFolderVersion));
  metadata.emplace(kFingerprintKey, checksum_text(fingerprint));
  metadata.emplace(kChecksumKey, std::string(kChecksumDigits, ' '));
  SMOE_TRY(SafetensorsLayout layout,
           lay_out_safetensors(std::move(tensors), std::move(metadata), kPageBytes));
  const auto checksum = header_checksum(layout.header_bytes);
  layout.header_bytes.replace(*checksum_position(layout.header_bytes), kChecksumDigits, *checksum);
  layout.header.metadata[std::string(kChecksumKey)] = *checksum;
  return layout;
}

}  // namespace smoe
