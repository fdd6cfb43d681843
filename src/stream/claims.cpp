#include "stream/claims.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "base/file.h"
#include "base/units.h"

namespace smoe {
namespace {

// Little-endian, as the processors are that this runs on: "SMOECLM1", the model's fingerprint, the
// number of layers, for each its number and its experts, then a float for each expert, then the
// XXH3-64 of all that.
constexpr std::string_view kClaimsMagic = "SMOECLM1";
constexpr uint64_t kMostClaimsBytes = 64 * kMiB;

template <class T>
void append_value(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Error claims_damaged(const std::filesystem::path& path, const char* what) {
  return {Code::kCorrupt, path.string() + ": " + what};
}

}  // namespace

Claims::Claims(std::span<const VaultFile> layers) {
  for (const VaultFile& file : layers) {
    const VaultInfo& info = file.info();
    fingerprint_ = info.fingerprint;
    layers_.push_back({info.layer, info.experts});
    for (uint32_t expert = 0; expert < info.experts; ++expert)
      keys_.push_back({static_cast<LayerId>(info.layer), static_cast<ExpertId>(expert)});
  }
  shares_.resize(keys_.size());
}

std::vector<std::byte> Claims::header() const {
  std::vector<std::byte> bytes;
  const auto magic = std::as_bytes(std::span(kClaimsMagic));
  bytes.insert(bytes.end(), magic.begin(), magic.end());
  append_value(bytes, fingerprint_);
  append_value(bytes, static_cast<uint64_t>(layers_.size()));
  for (const Layer& layer : layers_) {
    append_value(bytes, layer.layer);
    append_value(bytes, layer.experts);
  }
  return bytes;
}

Status Claims::read(const std::filesystem::path& path) {
  SMOE_TRY(const std::string text, read_text_file(path, kMostClaimsBytes));
  const auto bytes = std::as_bytes(std::span(text));
  const std::vector<std::byte> expected = header();
  const size_t shares_bytes = shares_.size() * sizeof(float);
  if (bytes.size() != expected.size() + shares_bytes + sizeof(uint64_t))
    return claims_damaged(path, "is not of this model, or cut short");
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.last(sizeof checksum).data(), sizeof checksum);
  if (checksum != xxh3_64(bytes.first(bytes.size() - sizeof checksum)))
    return claims_damaged(path, "does not match its checksum");
  if (!std::ranges::equal(bytes.first(expected.size()), expected))
    return claims_damaged(path, "is of another model");
  std::vector<float> shares(shares_.size());
  std::memcpy(shares.data(), bytes.subspan(expected.size()).data(), shares_bytes);
  for (const float share : shares)
    if (!std::isfinite(share) || share < 0)
      return claims_damaged(path, "has numbers that are none");
  shares_ = std::move(shares);
  return {};
}

Status Claims::write(const std::filesystem::path& path) const {
  std::vector<std::byte> bytes = header();
  const auto shares = std::as_bytes(std::span(shares_));
  bytes.insert(bytes.end(), shares.begin(), shares.end());
  append_value(bytes, xxh3_64(bytes));
  return replace_file(path, [&](File& file) { return file.write_at(0, bytes); });
}

void Claims::add(FunctionRef<uint32_t(ExpertKey key)> claims) {
  std::vector<float> counts;
  counts.reserve(keys_.size());
  for (const ExpertKey key : keys_) counts.push_back(static_cast<float>(claims(key)));
  const float sum = std::accumulate(counts.begin(), counts.end(), 0.0F);
  if (sum <= 0) return;
  const bool first = std::all_of(shares_.begin(), shares_.end(), [](float s) { return s == 0; });
  const float weight = first ? 1.0F : 0.5F;
  for (size_t i = 0; i < shares_.size(); ++i)
    shares_[i] = (1 - weight) * shares_[i] + weight * counts[i] / sum;
}

std::vector<ExpertKey> Claims::most_wanted(size_t count) const {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < keys_.size(); ++i)
    if (shares_[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return shares_[a] > shares_[b]; });
  std::vector<ExpertKey> keys;
  for (const uint32_t index : std::span(order).first(std::min(count, order.size())))
    keys.push_back(keys_[index]);
  return keys;
}

}  // namespace smoe
