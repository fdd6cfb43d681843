// What smoe bench measured, as a table, as Markdown and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smoe::cli {

// One test: a prompt or a generation at one depth.
struct BenchResult {
  std::string name;             // "pp512", "tg128", "tg128@4096"
  uint64_t tokens = 0;          // timed in each repetition
  std::vector<double> seconds;  // of each repetition
  // Of all repetitions together:
  uint64_t touched_bytes = 0;  // weights and KV cache that the arithmetic reads
  uint64_t disk_bytes = 0;
  double attention_seconds = 0;  // with its projections
  double routing_seconds = 0;
  double experts_seconds = 0;  // without the waits
  double head_seconds = 0;
  double wait_seconds = 0;  // for records from the disk

  double tokens_per_second() const;  // of the median repetition
  double touched_per_token() const;
};

struct BenchReport {
  std::string model;
  unsigned threads = 0;
  uint64_t ring_slots = 0;
  uint64_t records = 0;
  double memory_bytes_per_second = 0;  // the probe's
  std::vector<BenchResult> results;
};

std::string bench_table(const BenchReport& report, bool markdown);
std::string bench_json(const BenchReport& report);

}  // namespace smoe::cli
