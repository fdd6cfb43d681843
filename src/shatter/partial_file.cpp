#include "shatter/partial_file.h"

#include <string>
#include <utility>

namespace smoe {

namespace fs = std::filesystem;

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      file_(std::move(other.file_)),
      open_(std::exchange(other.open_, false)) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(partial_, other.partial_);
  std::swap(file_, other.file_);
  std::swap(open_, other.open_);
  return *this;
}

PartialFile::~PartialFile() {
  std::error_code ignored;
  if (open_) fs::remove(partial_, ignored);
}

Result<PartialFile> PartialFile::create(const fs::path& path) {
  PartialFile result;
  result.path_ = path;
  result.partial_ = path;
  result.partial_ += kPartialSuffix;
  SMOE_TRY(result.file_, File::create(result.partial_));
  result.open_ = true;
  return result;
}

Status PartialFile::write_at(uint64_t offset, std::span<const std::byte> data) {
  return file_.write_at(offset, data);
}

Status PartialFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  return file_.read_at(offset, out);
}

Status PartialFile::commit() {
  SMOE_DO(file_.sync());
  SMOE_DO(file_.close());
  std::error_code failed;
  fs::rename(partial_, path_, failed);
  if (failed)
    return Error{Code::kIo, partial_.string() + ": cannot rename to " + path_.filename().string() +
                                ": " + failed.message()};
  open_ = false;
  return sync_directory(path_.parent_path());
}

}  // namespace smoe
