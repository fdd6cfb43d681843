#include <array>

#include "devices/vulkan/kernels.h"

namespace smoe::vulkan {
namespace {

// glslc writes each kernel as a list of numbers.
constexpr uint32_t kAccumulateCode[] = {
#include "devices/vulkan/accumulate.inc"
};
constexpr uint32_t kAttendCode[] = {
#include "devices/vulkan/attend.inc"
};
constexpr uint32_t kCombineCode[] = {
#include "devices/vulkan/combine.inc"
};
constexpr uint32_t kEmbedCode[] = {
#include "devices/vulkan/embed.inc"
};
constexpr uint32_t kHeadsCode[] = {
#include "devices/vulkan/heads.inc"
};
constexpr uint32_t kNormalizeCode[] = {
#include "devices/vulkan/normalize.inc"
};
constexpr uint32_t kProductCode[] = {
#include "devices/vulkan/product.inc"
};
constexpr uint32_t kProductLoopedCode[] = {
#include "devices/vulkan/product_looped.inc"
};
constexpr uint32_t kProductRoutedCode[] = {
#include "devices/vulkan/product_routed.inc"
};
constexpr uint32_t kProductRoutedLoopedCode[] = {
#include "devices/vulkan/product_routed_looped.inc"
};
constexpr uint32_t kRotateCode[] = {
#include "devices/vulkan/rotate.inc"
};
constexpr uint32_t kRouteCode[] = {
#include "devices/vulkan/route.inc"
};
constexpr uint32_t kStoreKvCode[] = {
#include "devices/vulkan/store_kv.inc"
};

// In the order of Kernel.
constexpr std::array<Module, kKernels> kModules = {
    Module{"accumulate", kAccumulateCode},
    Module{"attend", kAttendCode},
    Module{"combine", kCombineCode},
    Module{"embed", kEmbedCode},
    Module{"heads", kHeadsCode},
    Module{"normalize", kNormalizeCode},
    Module{"product", kProductCode},
    Module{"product_looped", kProductLoopedCode},
    Module{"product_routed", kProductRoutedCode},
    Module{"product_routed_looped", kProductRoutedLoopedCode},
    Module{"rotate", kRotateCode},
    Module{"route", kRouteCode},
    Module{"store_kv", kStoreKvCode}};

}  // namespace

std::span<const Module, kKernels> modules() { return kModules; }

}  // namespace smoe::vulkan
