// Runs shatters, in this process and in others, and compares what they leave.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shatter/shatter.h"
#include "shatter/verify.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace smoe::test {

// Every file below a folder with its content, folders with a '/' at the end.
using Snapshot = std::map<std::string, std::string>;
Snapshot snapshot(const std::filesystem::path& folder);
// The names only, for messages.
std::vector<std::string> names_of(const Snapshot& snapshot);

std::string content_of(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);

// Shatters; a failure fails the test.
ShatterReport shatter_folder(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& model, ShatterOptions options = {});
// "usage: …", or "done".
std::string shatter_outcome(const std::filesystem::path& checkpoint,
                            const std::filesystem::path& model, ShatterOptions options = {});

// The problems that verify finds; one line says so when it cannot examine the folder.
std::vector<std::string> problems_in(const std::filesystem::path& model);

// A small checkpoint with a tokenizer and a dense layer, and a folder to shatter into.
struct Workshop {
  explicit Workshop(const TinyShape& shape = {.layers = 3, .experts = 4, .dense_layers = {1}},
                    unsigned shards = 1);
  TempDir folder;
  std::filesystem::path checkpoint = folder / "checkpoint";
  std::filesystem::path model = folder / "model";
};

// shatter_program in a process of its own.
struct Run {
  int exit_code = -1;  // -1 when a signal ended it
  std::string out;
  std::string err;
};
Run run_shatter(const Workshop& workshop, const std::map<std::string, std::string>& environment,
                double kill_after_seconds = 0);

}  // namespace smoe::test
