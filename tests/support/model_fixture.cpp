#include "support/model_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "devices/cpu/cpu_device.h"
#include "shatter/unshattered.h"

namespace smoe::test {
namespace {

namespace fs = std::filesystem;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "test set-up failed: %s\n", result.error().message.c_str());
  std::abort();
}

void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "test set-up failed: %s\n", status.error().message.c_str());
  std::abort();
}

constexpr auto no_progress = [](size_t, size_t) {};

fs::path shattered_once(const fs::path& checkpoint, const std::string& suffix,
                        const ShatterOptions& options) {
  static TempDir home;
  static std::map<std::string, fs::path> done;
  const std::string name = checkpoint.filename().string() + suffix;
  if (const auto found = done.find(name); found != done.end()) return found->second;
  must(shatter(checkpoint, home / name, options));
  return done[name] = home / name;
}

}  // namespace

fs::path source_dir() { return SMOE_SOURCE_DIR; }

fs::path golden_dir(const std::string& name) { return source_dir() / "tests/data/golden" / name; }

fs::path tales_dir() { return source_dir() / "models/tales"; }

fs::path shattered(const fs::path& checkpoint, Quant quant) {
  return shattered_once(checkpoint, quant == Quant::kExact ? "-exact" : "-quality",
                        {.quant = quant});
}

fs::path shattered(const fs::path& checkpoint, Format format) {
  return shattered_once(checkpoint, "-" + std::string(info(format).name),
                        {.experts = format, .scout = format});
}

void copy_model(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
}

Reference::Reference(const fs::path& path) : file_(must(SafetensorsFile::open(path))) {}

std::vector<float> Reference::floats(const std::string& name) const {
  const TensorInfo* tensor = file_.header().find(name);
  if (tensor == nullptr || tensor->dtype != DType::kF32) must(Status(Error{Code::kNotFound, name}));
  const auto bytes = file_.data(*tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<TokenId> Reference::tokens(const std::string& name) const {
  const TensorInfo* tensor = file_.header().find(name);
  if (tensor == nullptr) must(Status(Error{Code::kNotFound, name}));
  const auto bytes = file_.data(*tensor);
  std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::vector<TokenId> tokens;
  for (const int64_t value : values) tokens.push_back(TokenId{static_cast<uint32_t>(value)});
  return tokens;
}

OpenModel::OpenModel(const fs::path& path, const EngineSettings& settings)
    : pool_(settings.threads),
      device_(must(
          make_cpu_device(pool_, settings.portable ? CpuKernels::kPortable : CpuKernels::kBest))),
      engine_(must(Engine::open(must(open_model_files(path)), settings.options,
                                settings.device == nullptr ? *device_ : *settings.device))) {}

Session OpenModel::session() { return must(Session::open(*engine_)); }

void Collector::logits(uint32_t index, std::span<const float> values) {
  if (logits_of.size() <= index) logits_of.resize(index + 1);
  logits_of[index].assign(values.begin(), values.end());
}

void Collector::hidden(uint32_t layer, std::span<const float> values) {
  std::vector<float>& all = hidden_of[layer];
  all.insert(all.end(), values.begin(), values.end());
}

std::vector<std::vector<float>> all_logits(Engine& engine, std::span<const TokenId> tokens) {
  Session session = must(Session::open(engine));
  Collector collector;
  must(session.score(tokens, collector, no_progress));
  return std::move(collector.logits_of);
}

std::vector<TokenId> greedy(Engine& engine, std::span<const TokenId> prompt, size_t count) {
  Session session = must(Session::open(engine));
  must(session.append(prompt, no_progress));
  std::vector<TokenId> tokens;
  for (;;) {
    const auto best = std::max_element(session.logits().begin(), session.logits().end());
    tokens.push_back(TokenId{static_cast<uint32_t>(best - session.logits().begin())});
    if (tokens.size() == count) return tokens;
    must(session.append(tokens.back()));
  }
}

}  // namespace smoe::test
