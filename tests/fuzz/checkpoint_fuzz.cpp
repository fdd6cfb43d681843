// F2: an index and two shards that need not agree. The input is three texts, divided by a byte 0:
// the index, and the headers of shards "a" and "b", each behind its data's size as one digit.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "formats/checkpoint.h"
#include "fuzz/field_mutator.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_("/dev/shm/smoe-checkpoint-fuzz-" + std::to_string(::getpid())) {
    fs::create_directories(path_);
    put("config.json", "{}");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void put(const std::string& name, std::string_view text) const {
    auto file = File::create(path_ / name);
    SMOE_CHECK(file && file->write_at(0, std::as_bytes(std::span(text.data(), text.size()))));
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string shard(std::string_view text) {
  const size_t data_bytes = text.empty() ? 0 : static_cast<unsigned char>(text.front()) % 16;
  const std::string_view header = text.substr(std::min<size_t>(text.size(), 1));
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xffU);
  return file.append(header).append(data_bytes, 'd');
}

void try_folder(const fs::path& path) {
  const auto source = open_checkpoint(path);
  if (!source) {
    SMOE_CHECK(source.error().message.find('\n') == std::string::npos);
    return;
  }
  std::set<std::string> seen;
  const Status status = (*source)->deliver(
      [](const TensorSource::Tensor&) { return true; },
      [&](const TensorSource::Tensor& tensor, std::span<const std::byte> data) -> Status {
        SMOE_CHECK(seen.insert(tensor.name).second);
        const auto copy = (*source)->read(tensor.name);
        SMOE_CHECK(copy && std::equal(copy->begin(), copy->end(), data.begin(), data.end()));
        return {};
      });
  SMOE_CHECK(status && seen.size() == (*source)->tensors().size());
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = std::min(text.find('\0'), size);
  const size_t second = std::min(text.find('\0', std::min(first + 1, size)), size);
  static const smoe::Folder folder;
  folder.put("model.safetensors.index.json", text.substr(0, first));
  folder.put("a.safetensors", smoe::shard(text.substr(std::min(first + 1, size), second - first)));
  folder.put("b.safetensors", smoe::shard(text.substr(std::min(second + 1, size))));
  smoe::try_folder(folder.path());
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  static const std::vector<std::string_view> words = {"\"a.safetensors\"",
                                                      "\"b.safetensors\"",
                                                      "\"weight_map\":{",
                                                      "\"x\":",
                                                      "\"y\":",
                                                      "\"dtype\":\"U8\"",
                                                      "[0,1]",
                                                      "[1]",
                                                      "},"};
  return smoe::fuzz::mutate(data, size, max_size, seed, 0, words);
}
