#include "formats/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "formats/quantize_blocks.h"

namespace smoe {
namespace {

struct Quantizer {
  DType dtype;
  BlockQuantizer quantize;
  std::optional<DType> stand_in;  // for rows that do not fill its blocks
};

constexpr Quantizer kQuantizers[] = {
    {DType::kQ8_0, quantize_q8_0, std::nullopt},   {DType::kQ6_K, quantize_q6_k, DType::kQ8_0},
    {DType::kQ5_K, quantize_q5_k, DType::kQ5_1},   {DType::kQ4_K, quantize_q4_k, DType::kQ5_0},
    {DType::kQ3_K, quantize_q3_k, DType::kIQ4_NL}, {DType::kIQ4_NL, quantize_iq4_nl, std::nullopt},
    {DType::kQ5_1, quantize_q5_1, std::nullopt},   {DType::kQ5_0, quantize_q5_0, std::nullopt},
    {DType::kQ4_0, quantize_q4_0, std::nullopt},   {DType::kMXFP4, quantize_mxfp4, std::nullopt},
};

const Quantizer* quantizer_of(DType dtype) {
  const auto* const found =
      std::find_if(std::begin(kQuantizers), std::end(kQuantizers),
                   [&](const Quantizer& quantizer) { return quantizer.dtype == dtype; });
  return found != std::end(kQuantizers) ? found : nullptr;
}

Error at_column(size_t column, const std::string& fact) {
  return {Code::kNumeric, "column " + std::to_string(column) + ": " + fact};
}

std::string as_text(float value) {
  return std::isnan(value) ? "NaN" : std::isinf(value) ? "infinite" : std::to_string(value);
}

Status check_numbers(std::span<const float> row, std::span<const float> importance) {
  for (size_t k = 0; k < row.size(); ++k)
    if (!std::isfinite(row[k])) return at_column(k, "the weight is " + as_text(row[k]));
  for (size_t k = 0; k < importance.size(); ++k)
    if (!std::isfinite(importance[k]) || importance[k] < 0)
      return at_column(k, "the importance is " + as_text(importance[k]));
  return {};
}

constexpr size_t kLargestBlock = 256;
// Beyond what any fp16 scale reaches (65504 · 128 · 32 for Q6_K), and where sums of squares still
// fit a float.
constexpr float kLargestWeight = 1e9F;

// Columns that no activation met in a calibration may be met later: they count this little, so that
// they are not stored as zeros.
constexpr float kLeastImportance = 1e-5F;

// A block's importances, the largest one 1, so that no sum overflows; columns that count nothing
// at all count alike.
std::span<const float> counted(std::span<const float> importance, size_t size,
                               std::array<float, kLargestBlock>& to) {
  float largest = 0;
  for (const float value : importance) largest = std::max(largest, value);
  for (size_t k = 0; k < size; ++k)
    to[k] = largest > 0 ? std::max(importance[k] / largest, kLeastImportance) : 1.0F;
  return std::span<const float>(to).first(size);
}

bool fits(DType dtype, std::span<const float> weights) {
  return dtype == DType::kMXFP4 ||  // its scale reaches 2^127
         std::all_of(weights.begin(), weights.end(),
                     [](float weight) { return std::abs(weight) <= kLargestWeight; });
}

}  // namespace

bool can_quantize_to(DType dtype) { return quantizer_of(dtype) != nullptr; }

BlockChoice block_type_for(DType wanted, uint64_t cols) {
  const Quantizer* quantizer = quantizer_of(wanted);
  SMOE_CHECK(quantizer != nullptr);
  if (cols % block_of(wanted).weights == 0) return {wanted, ""};
  BlockChoice choice;
  choice.reason = "rows of " + std::to_string(cols) + " weights do not fill blocks of " +
                  std::to_string(block_of(wanted).weights) + " (" + std::string(name_of(wanted)) +
                  ")";
  if (quantizer->stand_in && cols % block_of(*quantizer->stand_in).weights == 0)
    choice.dtype = quantizer->stand_in;
  return choice;
}

Status quantize_row(DType dtype, std::span<const float> row, std::span<const float> importance,
                    std::span<std::byte> out) {
  const Quantizer* quantizer = quantizer_of(dtype);
  SMOE_CHECK(quantizer != nullptr && out.size() == row_bytes(dtype, row.size()));
  SMOE_CHECK(importance.empty() || importance.size() == row.size());
  SMOE_DO(check_numbers(row, importance));
  std::array<float, kLargestBlock> importances{};
  const Block block = block_of(dtype);
  std::fill(out.begin(), out.end(), std::byte{0});
  for (size_t k = 0; k < row.size(); k += block.weights) {
    const Weighted in{
        row.subspan(k, block.weights),
        counted(importance.empty() ? importance : importance.subspan(k, block.weights),
                block.weights, importances)};
    if (!fits(dtype, in.weights) ||
        !quantizer->quantize(in, out.data() + k / block.weights * block.bytes))
      return at_column(k, "a weight is too large for " + std::string(name_of(dtype)) +
                              " (its scale passes 65504)");
  }
  return {};
}

}  // namespace smoe
