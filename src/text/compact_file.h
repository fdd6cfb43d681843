// The compact form of a tokenizer.json, tokenizer.bin: its tables as they are in memory, so that a
// start takes milliseconds. docs/tokenizers.md has the layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "text/tokenizer_file.h"

namespace smoe {

inline constexpr std::string_view kTokenizerName = "tokenizer.json";
inline constexpr std::string_view kCompactName = "tokenizer.bin";
// The largest released file has 33 MB.
inline constexpr uint64_t kMaxTokenizerFileBytes = 256 * kMiB;

// The compact form of a tokenizer.json. Fails: as Tokenizer::parse().
Result<std::string> compact_tokenizer(std::string_view tokenizer_json);

// Writes FOLDER/tokenizer.bin for the tokenizer.json that is there; crash-safe.
// Fails: as Tokenizer::load(), kNoSpace, kIo.
Status write_compact_file(const std::filesystem::path& folder);

// What a compact file holds that was made from `tokenizer_json`.
// Fails: kCorrupt when it was made from another one or is damaged, kNotFound, kIo.
Result<TokenizerFile> read_compact_file(const std::filesystem::path& compact,
                                        const std::filesystem::path& tokenizer_json);

// Fails: kCorrupt for any bytes that are no compact form, whatever their checksum says;
// kUnsupported for what read_tokenizer_file() refuses.
Result<TokenizerFile> read_compact(std::string_view compact);

}  // namespace smoe
