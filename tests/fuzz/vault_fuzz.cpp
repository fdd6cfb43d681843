// F4: any bytes as a vault or a scout, with the checksum of the header put right or left as it is,
// and a record fetched where the header says that it lies. First byte: bit 0 chooses the kind, bit
// 1 seals the header. The next three bytes are the size of the data in 64 bytes; the rest is the
// header's text, which is padded to the page that the format wants.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/check.h"
#include "base/units.h"
#include "formats/folder_file.h"
#include "formats/scout_file.h"
#include "formats/vault_file.h"
#include "fuzz/field_mutator.h"

namespace smoe {
namespace {

constexpr size_t kFixedBytes = 4;

// A file that exists in memory only; sparse, so that its size costs nothing.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("input", MFD_CLOEXEC)) { SMOE_CHECK(descriptor_ >= 0); }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void fill(const std::string& head, uint64_t bytes) const {
    SMOE_CHECK(::ftruncate(descriptor_, 0) == 0);
    SMOE_CHECK(::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0);
    SMOE_CHECK(::pwrite(descriptor_, head.data(), head.size(), 0) ==
               static_cast<ssize_t>(head.size()));
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string head_of(std::string_view text, bool seal) {
  const size_t bytes = align_up(8 + text.size(), kPageBytes);
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>((bytes - 8) >> (8 * i) & 0xffU);
  head += text;
  head.resize(bytes, ' ');
  const auto checksum = header_checksum(head);
  constexpr std::string_view kKey = "\"header_checksum\":\"";
  if (seal && checksum) head.replace(head.find(kKey) + kKey.size(), 16, *checksum);
  return head;
}

void try_vault(const std::filesystem::path& path, uint64_t file_bytes) {
  const auto vault = VaultFile::open(path);
  if (!vault) return;
  const VaultInfo& info = vault->info();
  SMOE_CHECK(info.checksums.size() == info.experts);
  SMOE_CHECK(info.offset_of(info.experts) == file_bytes);
  for (const Segment& segment : info.record.segments) {
    const uint64_t tiles = ceil_div(segment.rows, kTileRows);
    SMOE_CHECK(segment.offset + (tiles - 1) * segment.tile_stride +
                   tile_bytes(segment.format, segment.cols) <=
               info.record.record_bytes);
  }
  const auto file = File::open(path);
  std::byte last{};
  SMOE_CHECK(file && file->read_at(info.offset_of(info.experts) - 1, {&last, 1}));
  SMOE_CHECK(vault_header(info).has_value());
}

void try_scout(const std::filesystem::path& path, uint64_t file_bytes) {
  const auto scout = ScoutFile::open(path);
  if (!scout) return;
  uint64_t end = scout->data_begin();
  for (const ScoutTensor& tensor : scout->info().tensors) {
    SMOE_CHECK(tensor.offset == end && tensor.bytes % 64 == 0);
    SMOE_CHECK(tensor.bytes >= (tensor.layout == Layout::kRows
                                    ? uint64_t{tensor.cols} * 4
                                    : matrix_bytes(tensor.format, tensor.rows, tensor.cols)));
    end += tensor.bytes;
  }
  SMOE_CHECK(end == file_bytes);
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < smoe::kFixedBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string head = smoe::head_of(text.substr(smoe::kFixedBytes), (data[0] & 2U) != 0);
  const uint64_t data_bytes = 64 * (data[1] | uint64_t{data[2]} << 8 | uint64_t{data[3]} << 16);
  static const smoe::MemoryFile file;
  file.fill(head, head.size() + data_bytes);
  if ((data[0] & 1U) == 0) smoe::try_vault(file.path(), head.size() + data_bytes);
  if ((data[0] & 1U) != 0) smoe::try_scout(file.path(), head.size() + data_bytes);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::string_view> words = {"\\\"q8_0\\\"",    "\\\"bf16\\\"",
                                                      "\\\"f32\\\"",     "\\\"f8_e4m3\\\"",
                                                      "\\\"tiles16\\\"", "\\\"rows\\\":1",
                                                      "\\\"up\\\"",      "\"U8\"",
                                                      "\"F32\"",         "\"smoe_version\":\"1\"",
                                                      "\"experts\":\"",  "\"layer\":\"",
                                                      "\"vault\"",       "\"scout\"",
                                                      "padding.",        "expert.1",
                                                      "[0,0]",           "0000000000000000"};
  return smoe::fuzz::mutate(data, size, max_size, seed, smoe::kFixedBytes, words);
}
