// Operations allocate nothing after reserve(): counted by the program's own operator new.
#include "devices/counting_new.h"
#include "devices/rig.h"
#include "support/effort.h"

namespace smoe::test {
namespace {

TEST(Operations, AllocateNothingAfterReserve) {
  Rng rng(50);
  for (const CpuKernels kernels : usable_kernels()) {
    for (const unsigned threads : {1U, 2U}) {
      Rig rig(kernels, threads);
      Device& device = *rig.device;
      for (const Format format : kAllFormats) {
        const uint32_t width = whole_blocks(format, 64);
        const DeviceMatrix weight = upload(device, random_matrix(rng, format, width, width));
        for (const uint32_t count : ends_of({1U, 200U, 40U})) {
          const DeviceRows in =
              make_rows(device, count, width, random_values(rng, size_t{count} * width));
          const DeviceRows key = make_rows(device, count, 8, random_values(rng, size_t{count} * 8));
          const DeviceRows out = make_rows(device, count, width);
          const DeviceRows angles =
              make_rows(device, count, 8, random_values(rng, size_t{count} * 8));
          std::unique_ptr<Buffer> norm_buffer;
          const Vector norm = make_vector(device, norm_buffer, random_values(rng, width));
          std::vector<TokenPlace> places;
          std::vector<uint32_t> rows;
          std::vector<TokenId> tokens;
          for (uint32_t i = 0; i < count; ++i) {
            places.push_back({i, 0});
            rows.push_back(i);
            tokens.push_back(TokenId{i % 64});
          }
          std::vector<uint32_t> page_table = {7, 6, 5, 4, 3, 2, 1, 0};
          KvPages pages{{}, 1, 8};
          Buffer page_buffer = *device.allocate(8 * pages.page_bytes());
          pages.view = {&page_buffer, 0};
          std::vector<float> host(size_t{count} * width);
          const Matrix& m = weight.matrix;

          const size_t before = allocations();
          device.embed({m, tokens, in.rows});
          device.normalize({in.rows, norm, width, 1e-6F, out.rows});
          device.project({m, norm, in.rows, out.rows});
          device.rotate({in.rows, width / 8, 8, 8, angles.rows});
          device.store_kv({key.rows, key.rows, pages, places, page_table});
          device.attend({in.rows, pages, width / 8, 0.1F, places, page_table, out.rows});
          device.run_expert({m, m, m, in.rows, rows, out.rows});
          device.accumulate({in.rows, rows, {}, out.rows});
          device.gather({in.rows, rows, out.rows});
          device.zero(in.rows);
          device.write(in.rows.view, std::as_bytes(std::span(host)));
          EXPECT_TRUE(device.finished(device.submit()));
          EXPECT_TRUE(device.read(out.rows, host));
          EXPECT_EQ(allocations(), before) << info(format).name << ", " << count << " tokens";
        }
      }
    }
  }
}

TEST(Reserve, TakesWhatItAnnounced) {
  Rig rig(CpuKernels::kPortable);
  const Device::Limits small{1, 256, 100};
  const Device::Limits large{512, 4096, 100};
  EXPECT_LT(rig.device->scratch_bytes(small), rig.device->scratch_bytes(large));
  EXPECT_EQ(rig.device->scratch_bytes(large) % kPageBytes, 0U);
  EXPECT_LT(rig.device->scratch_bytes(large), 16 * kMiB);
  const size_t before = allocations();
  EXPECT_TRUE(rig.device->reserve(large));
  EXPECT_EQ(allocations(), before) << "all of it comes from one mapping";
}

TEST(Reserve, SaysWhenThereIsNoRoom) {
  Rig rig(CpuKernels::kPortable);
  const auto status = rig.device->reserve({~0U, ~0U, 1});
  // A kernel that overcommits grants any mapping.
  if (!status) {
    EXPECT_EQ(status.error().code, Code::kNoMemory);
  }
}

}  // namespace
}  // namespace smoe::test
