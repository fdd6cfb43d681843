// The tokenizer of a GGUF file (keys tokenizer.*) as the files that a Hugging Face folder has.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "formats/gguf.h"

namespace smoe {

// A tokenizer.json that gives the same tokens: byte-level BPE ("gpt2") with the pre-tokenizer that
// tokenizer.ggml.pre names, and SentencePiece BPE ("llama"), whose merges follow from the pieces'
// scores. Tokens that are only there to fill up the vocabulary ("unused") are left out. Nothing
// when the file has no tokenizer. Fails: kUnsupported for another tokenizer.ggml.model or an
// unknown or missing tokenizer.ggml.pre, with the list that works (a guess would change tokens
// silently); kCorrupt naming the key.
Result<std::optional<std::string>> tokenizer_json_of(const GgufHeader& header);

// A tokenizer_config.json: the special tokens' texts, and whether BOS and EOS are added.
Result<std::optional<std::string>> tokenizer_config_of(const GgufHeader& header);

}  // namespace smoe
