#include "model/naming.h"

#include <gtest/gtest.h>

namespace smoe {
namespace {

constexpr TensorRule kRules[] = {
    {Role::kEmbedding, "embed.weight"},
    {Role::kQuery, "layers.{layer}.q.weight"},
    {Role::kExpertUp, "layers.{layer}.experts.{expert}.up.weight"},
};

Family family() {
  Family result;
  result.tensors = kRules;
  return result;
}

TEST(Naming, FindsTheRoleBehindAName) {
  EXPECT_EQ(place_of(family(), "embed.weight"), (TensorPlace{Role::kEmbedding, 0, 0}));
  EXPECT_EQ(place_of(family(), "layers.12.q.weight"), (TensorPlace{Role::kQuery, 12, 0}));
  EXPECT_EQ(place_of(family(), "layers.3.experts.117.up.weight"),
            (TensorPlace{Role::kExpertUp, 3, 117}));
}

TEST(Naming, FindsNothingBehindAnotherName) {
  for (const char* name :
       {"", "embed.weight2", "embed.weigh", "layers..q.weight", "layers.01.q.weight",
        "layers.-1.q.weight", "layers.+1.q.weight", "layers.99999999999.q.weight",
        "layers.1.experts.q.weight", "layers.1.q.weight_scale_inv", "model.embed.weight"})
    EXPECT_EQ(place_of(family(), name), std::nullopt) << name;
}

TEST(Naming, WritesTheNameThatItReads) {
  EXPECT_EQ(tensor_name(pattern_of(family(), Role::kExpertUp), 3, 117),
            "layers.3.experts.117.up.weight");
  EXPECT_EQ(tensor_name(pattern_of(family(), Role::kEmbedding), 3, 117), "embed.weight");
  EXPECT_EQ(pattern_of(family(), Role::kHead), "");
}

}  // namespace
}  // namespace smoe
