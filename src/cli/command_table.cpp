#include "cli/command_table.h"

#include <string>
#include <utility>

namespace smoe::cli {
namespace {

void set_checkpoint(Settings& settings, std::string value) {
  settings.checkpoint = std::move(value);
}
void set_model(Settings& settings, std::string value) { settings.model = std::move(value); }
void set_prompt(Settings& settings, std::string value) { settings.prompt = std::move(value); }

constexpr std::string_view kModelHelp = "folder that smoe shatter wrote, or a GGUF file";
constexpr Argument kModel{"MODEL", kModelHelp, set_model};

constexpr std::array kShatterArguments{
    Argument{"CHECKPOINT",
             "Hugging Face folder (config.json, safetensors, tokenizer), or a GGUF file",
             set_checkpoint},
    Argument{"MODEL", "folder to write; it is made when it is not there", set_model},
};
constexpr std::array kShatterExamples{
    Example{"smoe shatter Qwen3-30B-A3B models/qwen3", "keep every weight as it is"},
    Example{"smoe shatter Qwen3-30B-A3B models/qwen3-q8 --quant quality", "half the bytes to read"},
    Example{"smoe shatter Qwen3-30B-A3B-Q8_0.gguf models/qwen3-q8", "blocks stay as they are"},
};

constexpr std::array kRunArguments{
    kModel,
    Argument{"PROMPT", "what to say to the model (default: read from stdin)", set_prompt, false},
};
constexpr std::array kRunExamples{
    Example{"smoe run models/qwen3 \"Why is the sky blue?\" --memory 8G --stats",
            "within 8 GiB, speeds at the end"},
    Example{"smoe run Qwen3-30B-A3B-Q4_0.gguf \"Why is the sky blue?\"",
            "at once, nothing is converted"},
    Example{"smoe run models/qwen3 --raw --temperature 0 --max-tokens 100 <prompt.txt",
            "the likeliest continuation of a file"},
};

constexpr std::array kInspectArguments{
    Argument{"MODEL|CHECKPOINT", "a folder that smoe shatter wrote, or one that it could read",
             set_model},
};
constexpr std::array kInspectExamples{
    Example{"smoe inspect models/qwen3", "architecture, sizes, what fits in which memory"},
    Example{"smoe inspect models/qwen3 --memory 12G --ctx 32768 --json",
            "the plan for one machine, for a script"},
};

constexpr std::array kServeArguments{
    Argument{
        "MODEL|DIR", "model folders, or folders that have some below them",
        [](Settings& settings, std::string value) { settings.models.push_back(std::move(value)); },
        true, true},
};
constexpr std::array kServeExamples{
    Example{
        "smoe serve models/qwen3 --memory 12G",
        "then point a client at http://127.0.0.1:7235/v1, or a browser at http://127.0.0.1:7235"},
    Example{"smoe serve models --ctx 32768 --parallel 8",
            "every model below the folder; requests choose by name, one is open at a time"},
    Example{"smoe serve models/qwen3 --host 0.0.0.0 --api-key-file keys.txt",
            "for a whole network, with keys"},
};

constexpr std::array kVerifyArguments{kModel};
constexpr std::array kVerifyExamples{
    Example{"smoe verify models/qwen3", "read every byte, check every checksum"},
};

constexpr std::array kEvalArguments{kModel};
constexpr std::array kEvalExamples{
    Example{"smoe eval models/qwen3 --text wiki.txt", "perplexity in windows of 512 tokens"},
};

constexpr std::array kLogitsArguments{kModel};
constexpr std::array kLogitsExamples{
    Example{"smoe logits models/qwen3 --tokens 1,2,3 --output logits.safetensors --hidden",
            "every position's logits and every layer's input"},
};

constexpr std::array kTokenizeArguments{
    Argument{"MODEL|TOKENIZER_DIR", "a folder with a tokenizer.json, that file, or a GGUF file",
             set_model},
};
constexpr std::array kTokenizeExamples{
    Example{"echo -n \"Once upon a time\" | smoe tokenize models/qwen3", "text to ids"},
    Example{"echo 1 2 3 | smoe tokenize models/qwen3 --decode", "ids to text"},
    Example{"smoe tokenize models/qwen3 --explain --file prompt.txt", "piece by piece"},
};

constexpr std::array kChatArguments{kModel};
constexpr std::array kChatExamples{
    Example{"smoe chat models/qwen3 --memory 8G", "talk, in 8 GiB"},
    Example{"smoe chat models/qwen3 --system \"Answer in one sentence.\" <questions.txt",
            "every line a message"},
};

constexpr std::array kTemplateArguments{
    Argument{"MODEL|TOKENIZER_DIR",
             "a folder with a chat template and a tokenizer.json, or a GGUF file", set_model},
};
constexpr std::array kTemplateExamples{
    Example{"smoe template models/qwen3 --variables chat.json", "the prompt that a request makes"},
    Example{"smoe template models/qwen3 --variables chat.json --json",
            "with its token ids, and which of them the template wrote"},
};

constexpr std::array kBenchArguments{kModel};
constexpr std::array kBenchExamples{
    Example{"smoe bench models/qwen3 --memory 8G", "pp512 and tg128, as llama-bench names them"},
    Example{"smoe bench models/qwen3 --prompt-tokens 0 --depth 0 --depth 4096 --json",
            "generation alone, at two depths, for a script"},
};

constexpr std::array kTraceArguments{kModel};
constexpr std::array kTraceExamples{
    Example{"smoe trace models/qwen3 --text chat.txt --output chat.trace",
            "what each token of the text demands of each layer"},
};

constexpr std::array kOracleArguments{
    Argument{"TRACE", "file that smoe trace wrote", set_model},
};
constexpr std::array kOracleExamples{
    Example{"smoe oracle chat.trace --output chat.svg",
            "hit rate against ring size, as a table and as a chart"},
};

constexpr std::array kDevicesExamples{
    Example{"smoe devices", "the names that --device takes"},
};

constexpr std::array kQualityArguments{kModel};
constexpr std::array kQualityExamples{
    Example{"smoe quality models/qwen3-q4 --against models/qwen3 --text wiki.txt",
            "what the smaller weights cost"},
};

constexpr std::array kDoctorArguments{
    Argument{"PATH", "a model, or a folder on the disk to examine (default: this one)", set_model,
             false},
};
constexpr std::array kDoctorExamples{
    Example{"smoe doctor models/qwen3", "the disk under a model, and the machine"},
    Example{"smoe doctor /mnt/ssd --json", "another disk, for a script"},
};

constexpr std::array kPlanArguments{
    Argument{"MODEL|CHECKPOINT",
             "a folder that smoe shatter wrote, a GGUF file, or what smoe shatter would read",
             set_model},
};
constexpr std::array kPlanExamples{
    Example{"smoe plan Qwen3-30B-A3B --memory 8G --quant balanced",
            "how fast it would be here, before it is shattered"},
    Example{"smoe plan models/qwen3 --json", "in all memory that is free, for a script"},
};

constexpr std::array<Command, kCommands> kTable{
    Command{CommandId::kShatter, "shatter", "Turn a checkpoint into a model folder, once",
            "Splits a checkpoint into the scout, which stays in memory, and the vault, whose "
            "experts are read as they are needed. It can be interrupted at any time: the same "
            "command goes on where it stopped, and does nothing once the model is whole.",
            kShatterArguments, kShatterExamples},
    Command{CommandId::kRun, "run", "Answer one prompt",
            "Hands the prompt to the model in its chat template, or as it is with --raw and for "
            "models without one, and streams the answer to stdout. Ctrl-C ends the answer, a "
            "second one the program.",
            kRunArguments, kRunExamples},
    Command{CommandId::kInspect, "inspect", "Show what a model is and what fits in which memory",
            "Reads headers only, never weights.", kInspectArguments, kInspectExamples},
    Command{CommandId::kVerify, "verify", "Check every byte of a model",
            "Compares every record, tensor and header with its checksum, and lists what differs. A "
            "GGUF file has no checksums: its weights are read and their numbers checked.",
            kVerifyArguments, kVerifyExamples},
    Command{CommandId::kEval, "eval", "Measure the perplexity of a text",
            "Cuts the text into windows and scores every token of a window but its first, given "
            "those before it in the same window.",
            kEvalArguments, kEvalExamples},
    Command{CommandId::kLogits, "logits", "Write the logits of a token sequence to a file",
            "One forward pass over the sequence, for comparing with other implementations. Writes "
            "safetensors: f32 [tokens, vocabulary], named logits.",
            kLogitsArguments, kLogitsExamples},
    Command{CommandId::kTokenize, "tokenize", "Turn text into token ids, or back",
            "Prints {\"ids\":[...]}. Special tokens written in the text are recognised. Reads at "
            "most 32 MiB at once, which takes some 600 MiB of memory, with --explain 1.3 GiB.",
            kTokenizeArguments, kTokenizeExamples},
    Command{CommandId::kChat, "chat", "Talk with a model",
            "Keeps the conversation in its context: only what is new is computed. At a terminal "
            "lines can be edited and /help lists what else can be done; from a pipe every line is "
            "a message.",
            kChatArguments, kChatExamples},
    Command{CommandId::kTemplate, "template", "Show the prompt that a chat template makes",
            "Renders the model's chat template with the given variables. Messages may have "
            "content as text, as null or as parts of text, and the arguments of tool calls as an "
            "object or as JSON text. What a message, a tool or a name spells out never becomes a "
            "special token.",
            kTemplateArguments, kTemplateExamples},
    Command{CommandId::kBench, "bench", "Measure the speed of prompts and of generation",
            "Times prompts (pp) and generation (tg) of random tokens at the chosen depths of "
            "context, and shows where the time goes and how near it is to the speed of memory.",
            kBenchArguments, kBenchExamples},
    Command{CommandId::kTrace, "trace", "Record which experts a text demands",
            "Runs the text through the model token by token, or in chunks of --prompt-chunk, and "
            "writes down what each step demands of each layer.",
            kTraceArguments, kTraceExamples},
    Command{CommandId::kOracle, "oracle", "Show what each eviction policy would make of a trace",
            "Simulates rings of several sizes: the share of demands that each policy finds in the "
            "ring, that of the best there can be (Belady), and what another GiB would bring. "
            "--output draws it, as SVG.",
            kOracleArguments, kOracleExamples},
    Command{CommandId::kServe, "serve", "Answer over HTTP as OpenAI's and Anthropic's services do",
            "Speaks /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages and "
            "llama-server's helpers, and shows a web page. Prints one line on stdout when it is "
            "ready. Ctrl-C or SIGTERM lets answers end for up to 30 seconds. docs/server.md tells "
            "the rest.",
            kServeArguments, kServeExamples},
    Command{CommandId::kQuality, "quality", "Measure what a conversion of the weights costs",
            "Runs a text through a model and through the one that it is compared with, and tells "
            "the perplexity of both, how far the predictions are apart (KL divergence), and how "
            "often both think the same token the likeliest.",
            kQualityArguments, kQualityExamples},
    Command{CommandId::kDevices,
            "devices",
            "List what can compute: the processor and the GPUs",
            "Shows the memory of each GPU, and what it lacks where it cannot be used.",
            {},
            kDevicesExamples},
    Command{
        CommandId::kDoctor, "doctor", "Examine the machine, and say what would make it faster",
        "Reads for a few seconds from the disk under PATH and from memory, and looks at limits, "
        "pages, swap and file system: each with a verdict, and a remedy where there is one. "
        "Never writes. Ends with 1 when something is bad.",
        kDoctorArguments, kDoctorExamples},
    Command{
        CommandId::kPlan, "plan", "Predict the memory and speed of a model on this machine",
        "Measures disk and arithmetic for at most ten seconds, with weights that are all zero: a "
        "checkpoint need not be shattered for it. Remembers the prediction in the state "
        "folder, where smoe run writes what came of it; the next prediction knows both.",
        kPlanArguments, kPlanExamples},
};

}  // namespace

std::span<const Command> commands() { return kTable; }

const Command& command_of(CommandId id) { return kTable[static_cast<size_t>(id)]; }

const Command* command_named(std::string_view name) {
  for (const Command& command : kTable)
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace smoe::cli
