// What a command was asked to do, after flags, environment and config file were merged. A value
// that is not set here comes from the model or is the engine's own choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/token.h"
#include "compute/tensor.h"
#include "devices/cpu/cpu_device.h"
#include "shatter/shatter.h"
#include "stream/streamer.h"

namespace smoe::cli {

enum class CommandId : uint8_t {
  kShatter,
  kRun,
  kInspect,
  kVerify,
  kEval,
  kLogits,
  kTokenize,
  kChat,
  kTemplate,
  kBench,
  kTrace,
  kOracle,
  kServe,
  kQuality,
  kDevices,
  kDoctor,
  kPlan
};
inline constexpr size_t kCommands = 17;

// What the field of an answer is called that has the model's thinking.
enum class ReasoningField : uint8_t { kReasoningContent, kReasoning };

struct Settings {
  CommandId command = CommandId::kRun;

  // Arguments without a name.
  std::string checkpoint;
  std::string model;  // or whatever the command looks at: inspect takes a checkpoint too
  std::optional<std::string> prompt;

  // What a single command does.
  Quant quant = Quant::kExact;
  std::optional<std::string> experts_format;  // shatter
  std::optional<std::string> calibration_file;
  std::optional<std::string> scout_format;  // shatter
  std::optional<std::string> text_file;     // eval, trace, quality
  uint64_t window_tokens = 512;             // eval, quality
  std::optional<std::string> against;       // quality
  std::vector<TokenId> tokens;              // logits
  std::optional<std::string> output;        // logits, trace, oracle
  bool hidden = false;                      // logits
  std::optional<std::string> input_file;    // tokenize
  bool decode = false;                      // tokenize
  std::optional<bool> special;              // tokenize; its default depends on the direction
  bool explain = false;                     // tokenize
  std::optional<std::string> variables;     // template
  std::optional<std::string> json_schema;   // run: a file
  std::optional<std::string> grammar;       // run: likewise
  bool raw = false;                         // run: the prompt as it is, without the chat template
  std::optional<std::string> system;        // run, chat
  std::optional<bool> think;                // run, chat: enable_thinking of the template
  bool history = true;                      // chat
  uint64_t prompt_tokens = 512;             // bench, plan
  uint64_t gen_tokens = 128;                // bench
  std::vector<std::string> depths;          // bench
  uint64_t repeat = 3;                      // bench
  bool markdown = false;                    // bench

  // serve.
  std::vector<std::string> models;  // model folders, or folders that hold some
  std::optional<std::string> host;
  uint64_t port = 7235;
  std::vector<std::string> api_keys;
  std::optional<std::string> api_key_file;
  bool allow_unauthenticated = false;
  std::vector<std::string> cors_origins;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> aliases;
  uint64_t parallel = 4;
  uint64_t max_queue = 64;
  uint64_t queue_timeout_s = 300;
  std::optional<std::string> kv_disk_dir;
  uint64_t kv_disk_space_mb = 8192;
  uint64_t kv_disk_day_mb = 16384;
  bool metrics = false;
  bool ui = true;
  ReasoningField reasoning_field = ReasoningField::kReasoningContent;

  // Generation: unset means the model's generation_config.json, then the built-in value.
  std::optional<uint64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<uint64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repeat_penalty;
  std::optional<uint64_t> repeat_last_n;
  std::optional<double> presence_penalty;
  std::optional<double> frequency_penalty;
  std::vector<std::string> stop;
  std::optional<uint64_t> seed;
  bool stats = false;

  // The engine.
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> ring_slots;
  std::optional<uint64_t> threads;
  std::optional<uint64_t> context_tokens;
  std::optional<uint64_t> prompt_chunk;
  Verify verify = Verify::kFirst;
  bool bets = false;
  KvType kv = KvType::kF32;
  Activations activations = Activations::kF32;
  bool elastic = true;
  bool claims = false;
  std::optional<std::string> mirror;
  IoEngine io = IoEngine::kAuto;
  std::optional<uint64_t> read_timeout_s;
  EvictionPolicy eviction = EvictionPolicy::kFitted;
  CpuKernels kernels = CpuKernels::kBest;
  std::optional<std::string> device;
  std::optional<uint64_t> vram_bytes;

  // What the environment says of the user: never flags.
  std::string state_folder;   // $XDG_STATE_HOME/smoe; empty without a home
  std::string cache_folder;   // $XDG_CACHE_HOME/smoe; empty without a home
  std::string notify_socket;  // $NOTIFY_SOCKET, where systemd listens; empty without it
  std::string editor;         // $VISUAL or $EDITOR

  // Output.
  bool json = false;
  bool quiet = false;
  log::Level log_level = log::Level::kInfo;
  std::optional<std::string> log_file;
  bool log_jsonl = false;
};

}  // namespace smoe::cli
