#include <charconv>
#include <map>
#include <utility>

#include "base/json.h"
#include "formats/gguf.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxParts = 99'999;  // five digits

// NAME-00002-of-00003.gguf
struct PartName {
  std::string stem;
  uint32_t part = 0;  // from 1
  uint32_t parts = 0;

  fs::path path_of(const fs::path& folder, uint32_t number) const {
    return folder / (stem + "-" + digits(number) + "-of-" + digits(parts) + ".gguf");
  }
  static std::string digits(uint32_t number) {
    const std::string text = std::to_string(number);
    return std::string(5 - text.size(), '0') + text;
  }
};

std::optional<uint32_t> five_digits(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 5)
    return std::nullopt;
  return number;
}

std::optional<PartName> part_name(std::string_view file) {
  constexpr std::string_view kShape = "-00001-of-00001.gguf";
  if (file.size() <= kShape.size() || !file.ends_with(".gguf")) return std::nullopt;
  const std::string_view tail = file.substr(file.size() - kShape.size());
  const auto part = five_digits(tail.substr(1, 5));
  const auto parts = five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !part || !parts) return std::nullopt;
  return PartName{std::string(file.substr(0, file.size() - kShape.size())), *part, *parts};
}

Error gguf_file_corrupt(const fs::path& path, std::string_view fact) {
  return {Code::kCorrupt, path.string() + ": " + std::string(fact)};
}

uint64_t number_or(const GgufHeader& header, std::string_view key, uint64_t otherwise) {
  const GgufValue* value = header.find(key);
  return value != nullptr ? value->as_uint().value_or(otherwise) : otherwise;
}

// A file says itself which part it is: a renamed one must not pass for another.
Status check_part(const GgufFile& file, uint32_t part, uint32_t parts) {
  const uint64_t number = number_or(file.header(), "split.no", 0);
  const uint64_t count = number_or(file.header(), "split.count", 1);
  if (number + 1 == part && count == parts) return {};
  return gguf_file_corrupt(file.path(), "says that it is part " + std::to_string(number + 1) +
                                            " of " + std::to_string(count) + ", its name says " +
                                            std::to_string(part) + " of " + std::to_string(parts));
}

Status check_tensors(const std::vector<GgufFile>& files) {
  std::map<std::string_view, const GgufFile*> holders;
  for (const GgufFile& file : files)
    for (const GgufTensor& tensor : file.header().tensors) {
      const auto [holder, first] = holders.emplace(tensor.name, &file);
      if (!first)
        return gguf_file_corrupt(file.path(), "holds tensor " + json_quote(tensor.name) +
                                                  ", which " +
                                                  holder->second->path().filename().string() +
                                                  " holds, too; fetch both files again");
    }
  const uint64_t wanted = number_or(files.front().header(), "split.tensors.count", holders.size());
  if (wanted == holders.size()) return {};
  return gguf_file_corrupt(files.front().path(), "announces " + std::to_string(wanted) +
                                                     " tensors in all parts, they hold " +
                                                     std::to_string(holders.size()) +
                                                     "; fetch the files again");
}

}  // namespace

Result<GgufFile> GgufFile::open(const fs::path& path) {
  GgufFile result;
  SMOE_TRY(result.file_, MappedFile::open(path));
  SMOE_TRY(result.header_, GgufHeader::parse(result.file_.bytes(), path.string()));
  return result;
}

std::span<const std::byte> GgufFile::header_bytes() const {
  return file_.bytes().first(std::min<uint64_t>(header_.data_begin, file_bytes()));
}

std::span<const std::byte> GgufFile::data(const GgufTensor& tensor) const {
  return file_.bytes().subspan(tensor.begin, tensor.bytes);
}

Result<std::vector<GgufFile>> open_gguf(const fs::path& path) {
  std::vector<GgufFile> files;
  SMOE_TRY(GgufFile given, GgufFile::open(path));
  const uint64_t count = number_or(given.header(), "split.count", 1);
  if (count <= 1) {
    files.push_back(std::move(given));
    return files;
  }
  const auto name = part_name(path.filename().string());
  if (!name || name->parts != count || count > kMaxParts)
    return gguf_file_corrupt(
        path, "is one of " + std::to_string(count) +
                  " parts; keep the names NAME-00001-of-0000N.gguf that they came with");
  for (uint32_t part = 1; part <= name->parts; ++part) {
    const fs::path part_path = name->path_of(path.parent_path(), part);
    auto file = GgufFile::open(part_path);
    if (!file && file.error().code == Code::kNotFound)
      return Error{Code::kNotFound, part_path.string() + ": is missing, but " +
                                        path.filename().string() +
                                        " needs it; fetch it from where that one came from"};
    if (!file) return std::move(file).error();
    SMOE_DO(check_part(*file, part, name->parts));
    files.push_back(std::move(*file));
  }
  SMOE_DO(check_tensors(files));
  return files;
}

}  // namespace smoe
