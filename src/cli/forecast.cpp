#include "cli/forecast.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"

namespace smoe::cli {
namespace {

// Of the shorter of computing and reading, what the longer one does not hide: the first demands of
// a layer wait for its routing, and the last record for the disk.
constexpr double kExposed = 0.3;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

struct Vault {
  double bytes = 0;
  double records = 0;
  double mean_record() const { return ratio(bytes, records); }
};

Vault vault_of(const ModelSizes& sizes) {
  Vault vault;
  for (const RecordSize& size : sizes.records) {
    vault.bytes += static_cast<double>(size.record_bytes) * static_cast<double>(size.records);
    vault.records += static_cast<double>(size.records);
  }
  return vault;
}

// Distinct records that so many tokens of a prompt want, of all layers.
double wanted_records(const ModelSpec& spec, uint64_t tokens) {
  double records = 0;
  for (const LayerSpec& layer : spec.layers)
    if (layer.ffn.kind == FfnKind::kExperts) records += expected_union(layer.ffn, tokens);
  return records;
}

double overlapped(double compute, double disk) {
  return std::max(compute, disk) + kExposed * std::min(compute, disk);
}

}  // namespace

// The default policy on prose, token by token (docs/benchmarks.md).
double typical_hit_rate(double share) {
  struct Point {
    double share, hits;
  };
  constexpr std::array<Point, 8> kCurve{{{0, 0},
                                         {0.06, 0.115},
                                         {0.13, 0.227},
                                         {0.17, 0.279},
                                         {0.26, 0.388},
                                         {0.5, 0.628},
                                         {0.75, 0.83},
                                         {1, 1}}};
  for (size_t i = 1; i < kCurve.size(); ++i) {
    if (share > kCurve[i].share) continue;
    const double part = (share - kCurve[i - 1].share) / (kCurve[i].share - kCurve[i - 1].share);
    return std::lerp(kCurve[i - 1].hits, kCurve[i].hits, part);
  }
  return 1;
}

Forecast forecast_of(const ModelSpec& spec, const ModelSizes& sizes, const MemoryPlan& plan,
                     const Measurements& measured, uint32_t prompt_tokens) {
  const Vault vault = vault_of(sizes);
  const DiskSpeed& disk = measured.disk;
  Forecast forecast;
  if (vault.records > 0)
    forecast.resident_share = std::min(1.0, static_cast<double>(plan.ring_slots()) / vault.records);
  forecast.hit_rate = measured.hit_rate.value_or(typical_hit_rate(forecast.resident_share));
  forecast.token_bytes = wanted_records(spec, 1) * vault.mean_record() * (1 - forecast.hit_rate);
  forecast.compute_seconds = static_cast<double>(measured.rehearsal.token_ns) * 1e-9;
  forecast.disk_seconds = ratio(forecast.token_bytes, disk.random_bytes_per_second);
  forecast.token_seconds = overlapped(forecast.compute_seconds, forecast.disk_seconds);
  if (forecast.disk_seconds > forecast.compute_seconds) forecast.limit = Limit::kDisk;

  // Every chunk sweeps what it wants and the ring no longer has.
  const uint32_t chunk = std::min(std::max(plan.prompt_chunk, 1U), prompt_tokens);
  const uint32_t chunks = ceil_div(prompt_tokens, chunk);
  const double first = wanted_records(spec, chunk);
  const double later = first * (1 - forecast.resident_share);
  forecast.prompt_bytes = std::max(wanted_records(spec, prompt_tokens),
                                   first + (static_cast<double>(chunks) - 1) * later) *
                          vault.mean_record();
  const double chunk_share = ratio(static_cast<double>(measured.rehearsal.chunk_ns) * 1e-9,
                                   static_cast<double>(measured.rehearsal.chunk_tokens));
  const double scout =
      ratio(static_cast<double>(sizes.scout_bytes), disk.sequential_bytes_per_second);
  forecast.first_token_seconds =
      scout + overlapped(chunk_share * static_cast<double>(prompt_tokens),
                         ratio(forecast.prompt_bytes, disk.sequential_bytes_per_second));
  return forecast;
}

}  // namespace smoe::cli
