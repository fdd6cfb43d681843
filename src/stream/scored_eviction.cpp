#include "stream/scored_eviction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "stream/slot.h"

namespace smoe {
namespace {

// What an exponential average moves by at each step.
float rate_of_half_life(float visits) { return 1.0F - std::exp2(-1.0F / visits); }

// Keeps the chances and the offered slots; a policy says what the chances are.
class ScoredEviction : public Eviction {
 public:
  explicit ScoredEviction(const RingShape& shape)
      : slots_(std::accumulate(shape.slots.begin(), shape.slots.end(), size_t{0})),
        nearness_(shape.layers.size(), 1.0F) {
    uint32_t begin = 0;
    for (const uint32_t count : shape.slots) {
      classes_.push_back({begin, begin + count});
      begin += count;
    }
    for (const RingShape::Layer& layer : shape.layers) {
      const auto id = static_cast<size_t>(layer.layer);
      if (layer_of_.size() <= id) layer_of_.resize(id + 1);
      layer_of_[id] = {static_cast<uint32_t>(chances_.size()), layer.experts,
                       static_cast<uint32_t>(&layer - shape.layers.data())};
      chances_.resize(chances_.size() + layer.experts);
      wanted_.resize(std::max<size_t>(wanted_.size(), layer.experts));
    }
  }

  void visit(const LayerVisit& visit) final {
    const Layer& layer = layer_of_[static_cast<size_t>(visit.layer)];
    SMOE_CHECK(layer.experts > 0);
    std::fill_n(wanted_.begin(), layer.experts, 0.0F);
    for (const ExpertKey key : visit.demanded) wanted_[static_cast<size_t>(key.expert)] = 1.0F;
    move_to(layer.place);
    estimate(visit, layer.first, std::span(wanted_).first(layer.experts));
  }

  void offer(uint32_t slot, ExpertKey key) final {
    const Layer& layer = layer_of_[static_cast<size_t>(key.layer)];
    slots_[slot] = {layer.first + static_cast<uint32_t>(key.expert), layer.place, ++offers_};
  }
  void withdraw(uint32_t slot) final { slots_[slot].offered = 0; }

  // A heap would have to be rebuilt at every visit, because the distances change.
  uint32_t victim(uint32_t size_class) final {
    uint32_t best = kNoSlot;
    float least = std::numeric_limits<float>::infinity();
    for (uint32_t slot = classes_[size_class].begin; slot < classes_[size_class].end; ++slot) {
      const Offered& one = slots_[slot];
      if (one.offered == 0) continue;
      const float score = chances_[one.expert] * nearness_[one.layer];
      if (score > least || (score == least && one.offered > slots_[best].offered)) continue;
      least = score;
      best = slot;
    }
    return best;
  }

 protected:
  // Sets the chances of a layer's experts, which are numbered from `first` on, after a visit that
  // wanted those with 1 in `wanted`.
  virtual void estimate(const LayerVisit& visit, uint32_t first, std::span<float> wanted) = 0;

  size_t experts() const { return chances_.size(); }
  float& chance(uint32_t expert) { return chances_[expert]; }

 private:
  struct Layer {
    uint32_t first = 0;  // of its experts
    uint32_t experts = 0;
    uint32_t place = 0;  // in the order of visits
  };
  struct Offered {
    uint32_t expert = 0;
    uint32_t layer = 0;    // its place
    uint64_t offered = 0;  // number of the offer; 0 when it is not offered
  };
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // Of two records that are equally likely wanted, the one whose layer comes sooner stays.
  void move_to(uint32_t current) {
    const auto layers = static_cast<uint32_t>(nearness_.size());
    for (uint32_t layer = 0; layer < layers; ++layer) {
      const uint32_t distance = (layer + layers - current) % layers;
      nearness_[layer] = 1.0F / static_cast<float>(distance == 0 ? layers : distance);
    }
  }

  std::vector<Offered> slots_;
  std::vector<Range> classes_;
  std::vector<Layer> layer_of_;  // by LayerId
  std::vector<float> chances_;   // by expert
  std::vector<float> nearness_;  // by layer
  std::vector<float> wanted_;
  uint64_t offers_ = 0;
};

class Rates final : public ScoredEviction {
 public:
  explicit Rates(const RingShape& shape) : ScoredEviction(shape), averages_(experts()) {}
  std::string_view name() const override { return "rates"; }

 private:
  struct Averages {
    float recent = 0, middle = 0, lasting = 0;
  };

  void estimate(const LayerVisit& /*visit*/, uint32_t first, std::span<float> wanted) override {
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      Averages& average = averages_[first + i];
      average.recent += recent_rate_ * (wanted[i] - average.recent);
      average.middle += middle_rate_ * (wanted[i] - average.middle);
      average.lasting += lasting_rate_ * (wanted[i] - average.lasting);
      chance(first + i) = 0.2F * average.recent + 0.4F * average.middle + 0.4F * average.lasting;
    }
  }

  const float recent_rate_ = rate_of_half_life(1);
  const float middle_rate_ = rate_of_half_life(8);
  const float lasting_rate_ = rate_of_half_life(128);
  std::vector<Averages> averages_;
};

class Fitted final : public ScoredEviction {
 public:
  explicit Fitted(const RingShape& shape)
      : ScoredEviction(shape), inputs_(experts(), Inputs{}), lasting_(experts()) {}
  std::string_view name() const override { return "fitted"; }
  bool wants_router() const override { return true; }

 private:
  static constexpr size_t kInputs = 8;
  using Inputs = std::array<float, kInputs>;

  void estimate(const LayerVisit& visit, uint32_t first, std::span<float> wanted) override {
    // A long prompt wants nearly every expert of a layer, which says little about the next token:
    // nothing is learnt from it, and an expert counts by the share of tokens that it expects.
    if (visit.router.tokens > 1 && 2 * visit.demanded.size() > wanted.size()) {
      if (!visit.router.probabilities.empty()) expect(visit, wanted);
    } else {
      learn(first, wanted);
    }
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      Inputs& input = inputs_[first + i];
      count(input, lasting_[first + i], wanted[i]);
      if (!visit.router.probabilities.empty()) weigh(input, visit.router, i);
      const float sum = std::inner_product(weights_.begin(), weights_.end(), input.begin(), 0.0F);
      chance(first + i) = 1.0F / (1.0F + std::exp(-sum));
    }
  }

  static void expect(const LayerVisit& visit, std::span<float> wanted) {
    const float scale =
        static_cast<float>(visit.router.active) / static_cast<float>(visit.router.tokens);
    for (uint32_t i = 0; i < wanted.size(); ++i)
      wanted[i] = std::min(1.0F, scale * visit.router.probabilities[i]);
  }

  // One step down the gradient of the logistic loss of the last estimates.
  void learn(uint32_t first, std::span<const float> wanted) {
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      const Inputs& input = inputs_[first + i];
      if (input[0] == 0) continue;  // never estimated
      const float step = kLearningRate * (wanted[i] - chance(first + i));
      for (size_t k = 0; k < kInputs; ++k) weights_[k] += step * input[k];
    }
  }

  void count(Inputs& input, float& lasting, float wanted) const {
    input[0] = 1;
    input[1] += recent_rate_ * (wanted - input[1]);
    input[2] += middle_rate_ * (wanted - input[2]);
    lasting += lasting_rate_ * (wanted - lasting);
    input[3] = (std::log(lasting + 0.01F) + 2) / 2;
  }

  static void weigh(Inputs& input, const RouterNumbers& router, uint32_t expert) {
    const float likely = (std::log(router.probabilities[expert] + 1e-6F) + 4) / 2;
    input[4] = std::exp(-static_cast<float>(router.ranks[expert]) / 8);
    input[5] = likely;
    input[6] += 0.1F * (likely - input[6]);
    input[7] += 0.005F * (likely - input[7]);
  }

  static constexpr float kLearningRate = 0.002F;

  const float recent_rate_ = rate_of_half_life(2);
  const float middle_rate_ = rate_of_half_life(8);
  const float lasting_rate_ = rate_of_half_life(128);
  // Where the fit ends on most models; it is off by little on any.
  Inputs weights_{-3, 0.6F, 1, 0.7F, 0.4F, 0.3F, 0.3F, 0.1F};
  std::vector<Inputs> inputs_;
  std::vector<float> lasting_;
};

}  // namespace

std::unique_ptr<Eviction> make_rates_eviction(const RingShape& shape) {
  return std::make_unique<Rates>(shape);
}

std::unique_ptr<Eviction> make_fitted_eviction(const RingShape& shape) {
  return std::make_unique<Fitted>(shape);
}

}  // namespace smoe
