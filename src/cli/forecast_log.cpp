#include "cli/forecast_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"

namespace smoe::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = kMiB;

uint64_t uint_of(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  return found == nullptr ? 0 : found->as_uint().value_or(0);
}

double double_of(const Json& json, std::string_view name) {
  const Json* found = json.find(name);
  return found == nullptr ? 0 : found->as_double().value_or(0);
}

ForecastEntry entry_of(const Json& json) {
  ForecastEntry entry;
  entry.key = {uint_of(json, "fingerprint"), uint_of(json, "ring_slots"),
               static_cast<unsigned>(uint_of(json, "threads"))};
  entry.prompt_tokens = uint_of(json, "prompt_tokens");
  entry.tokens_per_second = double_of(json, "tokens_per_second");
  entry.first_token_seconds = double_of(json, "first_token_seconds");
  if (const Json* runs = json.find("runs"); runs != nullptr)
    for (const Json& run : runs->items())
      entry.runs.push_back({uint_of(run, "prompt_tokens"), uint_of(run, "tokens"),
                            double_of(run, "tokens_per_second"),
                            double_of(run, "first_token_seconds"), double_of(run, "hit_rate")});
  return entry;
}

void write_entry(JsonWriter& json, const ForecastEntry& entry) {
  json.begin_object().member("fingerprint", entry.key.fingerprint);
  json.member("ring_slots", entry.key.ring_slots).member("threads", uint64_t{entry.key.threads});
  json.member("prompt_tokens", entry.prompt_tokens);
  json.member("tokens_per_second", entry.tokens_per_second);
  json.member("first_token_seconds", entry.first_token_seconds);
  json.key("runs").begin_array();
  for (const MeasuredRun& run : entry.runs) {
    json.begin_object().member("prompt_tokens", run.prompt_tokens).member("tokens", run.tokens);
    json.member("tokens_per_second", run.tokens_per_second);
    json.member("first_token_seconds", run.first_token_seconds);
    json.member("hit_rate", run.hit_rate).end_object();
  }
  json.end_array().end_object();
}

template <class T>
void keep_last(std::vector<T>& all, size_t most) {
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

ForecastLog::ForecastLog(const fs::path& state_folder) {
  if (state_folder.empty()) return;
  path_ = state_folder / "forecasts.json";
  const auto text = read_text_file(path_, kMostBytes);
  if (!text) return;
  const auto json = Json::parse(*text);
  if (!json) return;
  for (const Json& entry : json->items()) entries_.push_back(entry_of(entry));
  keep_last(entries_, kMostEntries);
}

const ForecastEntry* ForecastLog::find(const ForecastKey& key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ForecastEntry& entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

void ForecastLog::predict(ForecastEntry entry) {
  const auto old = std::find_if(entries_.begin(), entries_.end(),
                                [&](const ForecastEntry& one) { return one.key == entry.key; });
  if (old != entries_.end()) {
    entry.runs = std::move(old->runs);
    entries_.erase(old);
  }
  entries_.push_back(std::move(entry));
  keep_last(entries_, kMostEntries);
}

void ForecastLog::measure(const ForecastKey& key, const MeasuredRun& run) {
  for (ForecastEntry& entry : entries_) {
    if (entry.key != key) continue;
    entry.runs.push_back(run);
    keep_last(entry.runs, kMostRuns);
  }
}

Status ForecastLog::save() const {
  if (path_.empty()) return {};
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  JsonWriter json;
  json.begin_array();
  for (const ForecastEntry& entry : entries_) write_entry(json, entry);
  json.end_array();
  return replace_file(path_, json.text() + "\n");
}

}  // namespace smoe::cli
