#include "devices/vulkan/kernels.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <system_error>

#include "base/checksum.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

namespace smoe::vulkan {
namespace {

constexpr uint32_t kPushBytes = 128;
constexpr uint64_t kMostCacheBytes = 64 * kMiB;

// A driver trusts the bytes that it is handed, so a checksum of ours stands in front of them.
std::string read_cache(const std::filesystem::path& file) {
  const auto text = read_text_file(file, kMostCacheBytes);
  uint64_t checksum = 0;
  if (!text || text->size() < sizeof checksum) return {};
  std::memcpy(&checksum, text->data(), sizeof checksum);
  std::string data = text->substr(sizeof checksum);
  return xxh3_64(data) == checksum ? data : std::string();
}

std::string cache_name(const VkPhysicalDeviceProperties& properties) {
  std::string name = fmt::format("vulkan-{:08x}-{:08x}-", properties.vendorID, properties.deviceID);
  for (const uint8_t byte : properties.pipelineCacheUUID) name += fmt::format("{:02x}", byte);
  return name + ".bin";
}

}  // namespace

Result<std::unique_ptr<Kernels>> Kernels::open(const Context& context,
                                               const std::filesystem::path& cache_folder) {
  std::unique_ptr<Kernels> kernels(new Kernels(context));
  SMOE_DO(kernels->create(cache_folder));
  return kernels;
}

Status Kernels::create(const std::filesystem::path& cache_folder) {
  const Api& api = context_.api();
  std::string known;
  if (!cache_folder.empty()) {
    cache_file_ = cache_folder / cache_name(context_.properties());
    known = read_cache(cache_file_);
  }
  cached_bytes_ = known.size();
  VkPipelineCacheCreateInfo cache{};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = known.size();
  cache.pInitialData = known.data();
  VkResult result = api.CreatePipelineCache(context_.device(), &cache, nullptr, &cache_);
  if (result != VK_SUCCESS) return context_.error_of(result, "the cache of compiled kernels");

  VkPushConstantRange push{};
  push.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  push.size = kPushBytes;
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  result = api.CreatePipelineLayout(context_.device(), &layout, nullptr, &layout_);
  if (result != VK_SUCCESS) return context_.error_of(result, "the kernels' layout");

  for (size_t i = 0; i < kKernels; ++i) {
    const Module& module = modules()[i];
    VkShaderModuleCreateInfo create{};
    create.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    create.codeSize = module.code.size_bytes();
    create.pCode = module.code.data();
    result = api.CreateShaderModule(context_.device(), &create, nullptr, &modules_[i]);
    if (result != VK_SUCCESS)
      return context_.error_of(result, "kernel " + std::string(module.name));
  }
  return {};
}

Kernels::~Kernels() {
  const Api& api = context_.api();
  save();
  for (const Made& made : made_) api.DestroyPipeline(context_.device(), made.pipeline, nullptr);
  for (VkShaderModule module : modules_)
    api.DestroyShaderModule(context_.device(), module, nullptr);
  api.DestroyPipelineLayout(context_.device(), layout_, nullptr);
  api.DestroyPipelineCache(context_.device(), cache_, nullptr);
}

Result<VkPipeline> Kernels::pipeline(Kernel kernel, const Constants& constants) {
  for (const Made& made : made_)
    if (made.kernel == kernel && made.constants == constants) return made.pipeline;

  std::array<VkSpecializationMapEntry, kMostConstants> entries{};
  for (uint32_t i = 0; i < kMostConstants; ++i)
    entries[i] = {i, static_cast<uint32_t>(i * sizeof(uint32_t)), sizeof(uint32_t)};
  VkSpecializationInfo specialization{};
  specialization.mapEntryCount = kMostConstants;
  specialization.pMapEntries = entries.data();
  specialization.dataSize = sizeof constants;
  specialization.pData = constants.data();
  VkComputePipelineCreateInfo create{};
  create.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = modules_[static_cast<size_t>(kernel)];
  create.stage.pName = "main";
  create.stage.pSpecializationInfo = &specialization;
  create.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = context_.api().CreateComputePipelines(context_.device(), cache_, 1,
                                                                &create, nullptr, &pipeline);
  if (result != VK_SUCCESS)
    return context_.error_of(
        result, fmt::format("compiling kernel {}", modules()[static_cast<size_t>(kernel)].name));
  made_.push_back({kernel, constants, pipeline});
  return pipeline;
}

// Losing the cache costs the next start a moment, nothing else.
void Kernels::save() const {
  if (cache_file_.empty() || made_.empty()) return;
  const Api& api = context_.api();
  size_t bytes = 0;
  if (api.GetPipelineCacheData(context_.device(), cache_, &bytes, nullptr) != VK_SUCCESS) return;
  if (bytes <= cached_bytes_ || bytes > kMostCacheBytes) return;
  std::string data(bytes, '\0');
  if (api.GetPipelineCacheData(context_.device(), cache_, &bytes, data.data()) != VK_SUCCESS)
    return;
  data.resize(bytes);
  const uint64_t checksum = xxh3_64(data);
  std::string content(sizeof checksum, '\0');
  std::memcpy(content.data(), &checksum, sizeof checksum);
  content += data;
  std::error_code failed;
  std::filesystem::create_directories(cache_file_.parent_path(), failed);
  if (const Status saved = replace_file(cache_file_, content); !saved)
    log::debug("compiled kernels are not kept: {}", saved.error().message);
}

}  // namespace smoe::vulkan
