// The small texts beside a model's weights (tokenizer.json, tokenizer_config.json …), whether the
// model is a folder or a GGUF file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/gguf.h"

namespace smoe {

// A path that names a GGUF file and not a folder: "….gguf".
bool is_gguf_path(const std::filesystem::path& path);

// The text MODEL/NAME of a folder, or what the keys of a GGUF file say in its place: a
// tokenizer.json, a tokenizer_config.json, a chat_template.jinja. Nothing where there is none.
// Fails: kIo; kCorrupt when longer than max_bytes; as open_gguf and tokenizer_json_of.
Result<std::optional<std::string>> read_companion(const std::filesystem::path& model,
                                                  std::string_view name, uint64_t max_bytes);

// The same of a header that was read. The caller adds the file's name.
Result<std::optional<std::string>> gguf_companion(const GgufHeader& header, std::string_view name);

// What errors call it: "MODEL/tokenizer.json", or the GGUF file.
std::filesystem::path companion_path(const std::filesystem::path& model, std::string_view name);

}  // namespace smoe
