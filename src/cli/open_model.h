// From the settings of a command to an open engine.
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "compute/device.h"
#include "engine/engine.h"
#include "text/tokenizer.h"

namespace smoe::cli {

// For chat templates that tell the model the date.
std::tm local_time();

struct OpenModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Device> device;
  std::unique_ptr<Engine> engine;
};

// Fails: kNotFound without a tokenizer.json, and as Tokenizer::load.
Result<Tokenizer> load_tokenizer(const std::filesystem::path& model);

// What a command wants where no flag says otherwise.
struct OpenWishes {
  std::optional<uint32_t> positions = {};           // of the context
  std::optional<uint32_t> prompt_chunk = {};        // tokens
  std::optional<uint32_t> sequences = {};           // open at once
  VisitObserver* observer = nullptr;                // outlives the engine
  std::optional<std::filesystem::path> model = {};  // another one than the command's
  std::optional<uint64_t> memory_bytes = {};        // over --memory
  bool unrounded = false;  // over --kv and --activations: as exact as it can be
};

// Fails: as Engine::open.
Result<OpenModel> open_model(const Context& context, const OpenWishes& wishes);

// While one of these lives, the first Ctrl-C makes the engine's running step fail with kCancelled.
class CancelOnSignal {
 public:
  CancelOnSignal(Signals& signals, Engine& engine);
  ~CancelOnSignal() { signals_.on_cancel(nullptr); }
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

 private:
  Signals& signals_;
};

}  // namespace smoe::cli
