#include "stream/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "base/file.h"
#include "base/units.h"

namespace smoe {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

constexpr std::string_view kMagic = "SMOETRC1";
constexpr uint64_t kMaxFileBytes = 64 * kGiB;
constexpr uint32_t kMaxLayers = 0xfffe;
constexpr uint32_t kMaxTracedExperts = 0xffff;

// ln(p) from 8 (a sum over three thousand tokens) down to -24, in steps of 1/2048.
constexpr float kGreatest = 8;
constexpr float kSteps = 2048;

uint16_t logarithm_of(float probability) {
  const float steps = (kGreatest - std::log(std::max(probability, 1e-30F))) * kSteps;
  return static_cast<uint16_t>(std::lround(std::clamp(steps, 0.0F, 65535.0F)));
}

float probability_of(uint16_t logarithm) {
  return std::exp(kGreatest - static_cast<float>(logarithm) / kSteps);
}

template <class Number>
void put(std::string& bytes, Number number) {
  std::array<char, sizeof(number)> raw{};
  std::memcpy(raw.data(), &number, sizeof(number));
  bytes.append(raw.data(), raw.size());
}

// Takes numbers off the front of a file's bytes; false when they have run out.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  template <class Number>
  bool take(Number& number) {
    if (left_.size() < sizeof(number)) return false;
    std::memcpy(&number, left_.data(), sizeof(number));
    left_.remove_prefix(sizeof(number));
    return true;
  }
  bool empty() const { return left_.empty(); }
  size_t size() const { return left_.size(); }

 private:
  std::string_view left_;
};

Error damaged(const std::filesystem::path& path, const std::string& what) {
  return {Code::kCorrupt, path.string() + ": " + what + "; record the trace again"};
}

Result<std::vector<TraceLayer>> take_layers(Bytes& bytes, const std::filesystem::path& path) {
  uint32_t count = 0;
  if (!bytes.take(count) || count == 0 || count > kMaxLayers)
    return damaged(path, "has " + std::to_string(count) + " layers");
  std::vector<TraceLayer> layers(count);
  uint32_t last = 0;
  for (TraceLayer& layer : layers) {
    uint32_t id = 0;
    if (!bytes.take(id) || !bytes.take(layer.experts) || !bytes.take(layer.record_bytes))
      return damaged(path, "ends in the table of layers");
    const bool ascending = &layer == layers.data() || id > last;
    if (!ascending || id >= kMaxLayers || layer.experts == 0 || layer.experts > kMaxTracedExperts)
      return damaged(path, "layer " + std::to_string(id) + " with " +
                               std::to_string(layer.experts) + " experts is out of order or range");
    layer.layer = static_cast<LayerId>(id);
    last = id;
  }
  return layers;
}

}  // namespace

Trace::Trace(std::vector<TraceLayer> layers) : layers_(std::move(layers)) {
  for (uint32_t place = 0; place < layers_.size(); ++place) {
    const auto id = static_cast<size_t>(layers_[place].layer);
    if (place_of_.size() <= id) place_of_.resize(id + 1);
    place_of_[id] = place;
  }
}

void Trace::append(const LayerVisit& visit) {
  const uint32_t place = place_of_[static_cast<size_t>(visit.layer)];
  Visit one;
  one.layer = place;
  one.tokens = visit.router.tokens;
  one.active = visit.router.active;
  one.demanded = static_cast<uint32_t>(visit.demanded.size());
  one.first_demanded = demanded_.size();
  one.first_logarithm = logarithms_.size();
  one.numbers = visit.router.probabilities.size() == layers_[place].experts;
  demanded_.insert(demanded_.end(), visit.demanded.begin(), visit.demanded.end());
  if (one.numbers)
    for (const float probability : visit.router.probabilities)
      logarithms_.push_back(logarithm_of(probability));
  visits_.push_back(one);
}

LayerVisit Trace::Cursor::visit(size_t index) {
  const Visit& one = trace_.visits_[index];
  const TraceLayer& layer = trace_.layers_[one.layer];
  LayerVisit visit;
  visit.layer = layer.layer;
  visit.demanded = std::span(trace_.demanded_).subspan(one.first_demanded, one.demanded);
  visit.router.tokens = one.tokens;
  visit.router.active = one.active;
  if (!one.numbers) return visit;
  probabilities_.resize(layer.experts);
  order_.resize(layer.experts);
  ranks_.resize(layer.experts);
  for (uint32_t i = 0; i < layer.experts; ++i)
    probabilities_[i] = probability_of(trace_.logarithms_[one.first_logarithm + i]);
  std::iota(order_.begin(), order_.end(), uint16_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint16_t a, uint16_t b) { return probabilities_[a] > probabilities_[b]; });
  for (uint32_t rank = 0; rank < layer.experts; ++rank)
    ranks_[order_[rank]] = static_cast<uint16_t>(rank);
  visit.router.probabilities = probabilities_;
  visit.router.ranks = ranks_;
  return visit;
}

Status Trace::write(const std::filesystem::path& path) const {
  std::string bytes(kMagic);
  put(bytes, static_cast<uint32_t>(layers_.size()));
  for (const TraceLayer& layer : layers_) {
    put(bytes, static_cast<uint32_t>(layer.layer));
    put(bytes, layer.experts);
    put(bytes, layer.record_bytes);
  }
  for (const Visit& visit : visits_) {
    put(bytes, visit.layer);
    put(bytes, visit.tokens);
    put(bytes, visit.active);
    put(bytes, visit.demanded);
    put(bytes, static_cast<uint32_t>(visit.numbers ? 1 : 0));
    for (uint32_t i = 0; i < visit.demanded; ++i)
      put(bytes, static_cast<uint16_t>(demanded_[visit.first_demanded + i].expert));
    for (uint32_t i = 0; visit.numbers && i < layers_[visit.layer].experts; ++i)
      put(bytes, logarithms_[visit.first_logarithm + i]);
  }
  return replace_file(path, bytes);
}

Result<Trace> Trace::read(const std::filesystem::path& path) {
  SMOE_TRY(const std::string content, read_text_file(path, kMaxFileBytes));
  if (!content.starts_with(kMagic)) return damaged(path, "is no trace");
  Bytes bytes(std::string_view(content).substr(kMagic.size()));
  SMOE_TRY(auto layers, take_layers(bytes, path));
  Trace trace(std::move(layers));
  while (!bytes.empty()) {
    Visit visit;
    uint32_t numbers = 0;
    const std::string name = "visit " + std::to_string(trace.visits());
    if (!bytes.take(visit.layer) || !bytes.take(visit.tokens) || !bytes.take(visit.active) ||
        !bytes.take(visit.demanded) || !bytes.take(numbers))
      return damaged(path, "ends in " + name);
    if (visit.layer >= trace.layers_.size() || visit.tokens == 0 || numbers > 1 ||
        visit.demanded > trace.layers_[visit.layer].experts)
      return damaged(path, name + " is out of range");
    const TraceLayer& layer = trace.layers_[visit.layer];
    const size_t values = visit.demanded + (numbers == 1 ? layer.experts : 0);
    if (bytes.size() / sizeof(uint16_t) < values) return damaged(path, "ends in " + name);
    visit.numbers = numbers == 1;
    visit.first_demanded = trace.demanded_.size();
    visit.first_logarithm = trace.logarithms_.size();
    uint16_t value = 0;
    for (uint32_t i = 0; i < visit.demanded && bytes.take(value); ++i) {
      const bool ascending = i == 0 || static_cast<uint16_t>(trace.demanded_.back().expert) < value;
      if (value >= layer.experts || !ascending)
        return damaged(
            path, name + " demands expert " + std::to_string(value) + ", out of order or range");
      trace.demanded_.push_back({layer.layer, static_cast<ExpertId>(value)});
    }
    for (size_t i = visit.demanded; i < values && bytes.take(value); ++i)
      trace.logarithms_.push_back(value);
    trace.visits_.push_back(visit);
  }
  return trace;
}

TraceRecorder::TraceRecorder(std::span<const VaultFile> layers) {
  std::vector<TraceLayer> table;
  for (const VaultFile& file : layers)
    table.push_back({static_cast<LayerId>(file.info().layer), file.info().experts,
                     file.info().record.record_bytes});
  std::ranges::sort(table, {}, &TraceLayer::layer);
  trace_ = Trace(std::move(table));
}

}  // namespace smoe
