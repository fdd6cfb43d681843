#include "formats/companion.h"

#include "base/file.h"
#include "formats/gguf_tokenizer.h"

namespace smoe {

namespace fs = std::filesystem;

bool is_gguf_path(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".gguf" && !fs::is_directory(path, ignored);
}

fs::path companion_path(const fs::path& model, std::string_view name) {
  return is_gguf_path(model) ? model : model / name;
}

Result<std::optional<std::string>> gguf_companion(const GgufHeader& header, std::string_view name) {
  if (name == "tokenizer.json") return tokenizer_json_of(header);
  if (name == "tokenizer_config.json") return tokenizer_config_of(header);
  if (name != "chat_template.jinja") return std::optional<std::string>();
  const GgufValue* value = header.find("tokenizer.chat_template");
  if (value == nullptr) return std::optional<std::string>();
  const auto text = value->as_string();
  if (!text) return Error{Code::kCorrupt, "tokenizer.chat_template must be a string"};
  return std::optional<std::string>(*text);
}

Result<std::optional<std::string>> read_companion(const fs::path& model, std::string_view name,
                                                  uint64_t max_bytes) {
  if (!is_gguf_path(model)) {
    std::error_code ignored;
    if (!fs::exists(model / name, ignored)) return std::optional<std::string>();
    SMOE_TRY(std::string text, read_text_file(model / name, max_bytes));
    return std::optional<std::string>(std::move(text));
  }
  SMOE_TRY(const std::vector<GgufFile> files, open_gguf(model));
  auto text = gguf_companion(files.front().header(), name);
  if (!text) return std::move(text).error().in(model.string());
  return text;
}

}  // namespace smoe
