// Models for tests: shattered once for each program, and the reference outputs beside them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "base/token.h"
#include "compute/device.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "formats/safetensors.h"
#include "shatter/shatter.h"
#include "support/temp_dir.h"

namespace smoe::test {

std::filesystem::path source_dir();
// tests/data/golden/NAME
std::filesystem::path golden_dir(const std::string& name);
std::filesystem::path tales_dir();

// The model folder of a checkpoint, shattered on first use into a folder that lives as long as the
// program. Aborts when that fails.
std::filesystem::path shattered(const std::filesystem::path& checkpoint,
                                Quant quant = Quant::kExact);
// Likewise with experts and scout in that format.
std::filesystem::path shattered(const std::filesystem::path& checkpoint, Format format);

// A copy of a model folder that a test may damage.
void copy_model(const std::filesystem::path& from, const std::filesystem::path& to);

// The tensors of a reference file.
class Reference {
 public:
  explicit Reference(const std::filesystem::path& path);
  std::vector<float> floats(const std::string& name) const;
  std::vector<TokenId> tokens(const std::string& name) const;

 private:
  SafetensorsFile file_;
};

struct EngineSettings {
  EngineOptions options;
  unsigned threads = 2;
  bool portable = false;
  Device* device = nullptr;  // instead of a CPU of its own
};

// Device, pool and engine together, of a model folder or a GGUF file. Aborts when the model cannot
// be opened.
class OpenModel {
 public:
  OpenModel(const std::filesystem::path& path, const EngineSettings& settings);
  Engine& engine() { return *engine_; }
  Session session();

 private:
  ThreadPool pool_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Engine> engine_;
};

// Collects logits [tokens][vocabulary] and, if asked, hidden states by layer.
class Collector : public StepSink {
 public:
  explicit Collector(bool with_hidden = false) : with_hidden_(with_hidden) {}
  void logits(uint32_t index, std::span<const float> values) override;
  bool wants_hidden() const override { return with_hidden_; }
  void hidden(uint32_t layer, std::span<const float> values) override;

  std::vector<std::vector<float>> logits_of;         // by token
  std::map<uint32_t, std::vector<float>> hidden_of;  // by layer, chunks appended

 private:
  bool with_hidden_;
};

// All positions' logits of a fresh session. Aborts on failure.
std::vector<std::vector<float>> all_logits(Engine& engine, std::span<const TokenId> tokens);
// Greedy continuation. Aborts on failure.
std::vector<TokenId> greedy(Engine& engine, std::span<const TokenId> prompt, size_t count);

}  // namespace smoe::test
