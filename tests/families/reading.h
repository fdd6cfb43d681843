// Reads a checkpoint folder, or says why not.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "families/find.h"
#include "formats/checkpoint.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace smoe::test {

inline Result<SourceModel> read_folder(const std::filesystem::path& folder) {
  auto source = open_checkpoint(folder);
  if (!source) return source.error();
  return read_source_model(**source);
}

inline Result<SourceModel> read_back(const TinyCheckpoint& checkpoint, unsigned shards = 1) {
  const TempDir folder;
  checkpoint.write(folder.path(), shards);
  auto model = read_folder(folder.path());
  if (model) return model;
  // The folder's name differs from run to run.
  Error error = model.error();
  const std::string prefix = folder.path().string();
  for (size_t at; (at = error.message.find(prefix)) != std::string::npos;)
    error.message.replace(at, prefix.size(), "F");
  return error;
}

inline ModelSpec spec_of(const TinyCheckpoint& checkpoint) {
  const auto model = read_back(checkpoint);
  EXPECT_TRUE(model) << model.error().message;
  return model ? model->spec : ModelSpec();
}

// The error's message, its code in front: "kCorrupt F: config.json: …".
inline std::string refusal(const TinyCheckpoint& checkpoint) {
  const auto model = read_back(checkpoint);
  if (model) return "accepted";
  return std::string(name_of(model.error().code)) + ": " + model.error().message;
}

}  // namespace smoe::test
