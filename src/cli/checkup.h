// What smoe doctor makes of a machine: each fact with a plain verdict and, where it could be
// better, what to do about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "devices/vulkan/gpu.h"
#include "stream/disk_probe.h"

namespace smoe::cli {

enum class Verdict : uint8_t {
  kGood,
  kFair,  // works, and could be faster or safer
  kBad,   // will be slow or fail
};

std::string_view name_of(Verdict verdict);

struct Finding {
  std::string name;
  Verdict verdict = Verdict::kGood;
  std::string fact;
  std::string remedy;  // empty where there is nothing to do
};

// What was found out about one machine and the disk under one path.
struct Examination {
  MachineFacts machine;
  FileSystemFacts file_system;
  std::string processor;               // "CPU, AVX2, 2 threads"
  double memory_bytes_per_second = 0;  // read by all threads
  std::filesystem::path probed;        // empty: there was nothing to read
  std::optional<DiskSpeed> disk;
  std::string disk_error;
  Status uring;
  std::vector<GpuFacts> gpus;
  std::string no_gpus;  // why none could be looked for
};

// One finding for each of: disk, file system, io_uring, locked memory, memory, memory speed, huge
// pages, swap, processor, GPU.
std::vector<Finding> findings_of(const Examination& examination);

// The largest regular file at or below `path`, of a few thousand that are looked at; empty when
// there is none. Other file systems below it, and links, are left out.
std::filesystem::path largest_file(const std::filesystem::path& path);

std::string findings_text(const std::vector<Finding>& findings);
std::string findings_json(const Examination& examination, const std::vector<Finding>& findings);

}  // namespace smoe::cli
