#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <numeric>
#include <vector>

namespace smoe {
namespace {

TEST(ThreadPool, RunsEveryTaskExactlyOnceWhateverTheCounts) {
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t tasks : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<int> runs(tasks);  // plain: TSan sees a task that two workers share
      pool.run(tasks, [&](size_t task, unsigned worker) {
        ASSERT_LT(worker, threads);
        ++runs[task];
      });
      EXPECT_EQ(runs, std::vector<int>(tasks, 1)) << threads << " threads, " << tasks << " tasks";
    }
  }
}

TEST(ThreadPool, GivesEachWorkerScratchOfItsOwn) {
  ThreadPool pool(4);
  std::vector<std::vector<size_t>> taken(pool.threads());
  pool.run(500, [&](size_t task, unsigned worker) { taken[worker].push_back(task); });
  size_t sum = 0;
  for (const auto& tasks : taken) {
    EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end()));  // handed out in ascending order
    sum = std::accumulate(tasks.begin(), tasks.end(), sum);
  }
  EXPECT_EQ(sum, size_t{500 * 499 / 2});
}

TEST(ThreadPool, PublishesWhatTasksWroteToTheCallerAndToTheNextLoop) {
  ThreadPool pool(3);
  std::vector<size_t> values(64, 0);
  for (size_t loop = 0; loop < 2000; ++loop) {
    pool.run(values.size(), [&](size_t task, unsigned) {
      values[task] += values[task] + 1 > loop ? 1 : 1000;  // reads the loop before
    });
    ASSERT_EQ(values[loop % values.size()], loop + 1);
  }
}

TEST(ThreadPool, WakesWorkersThatFellAsleep) {
  ThreadPool pool(3);
  std::atomic<int> runs{0};
  for (int loop = 0; loop < 5; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far beyond the spinning
    pool.run(30, [&](size_t, unsigned) { runs.fetch_add(1); });
  }
  EXPECT_EQ(runs.load(), 150);
}

// traps 38: a worker that spins for ever eats the CPU quota of those that work.
TEST(ThreadPool, UsesNoProcessorTimeWhileIdle) {
  ThreadPool pool(4);
  pool.run(8, [](size_t, unsigned) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();  // of all threads together
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}

}  // namespace
}  // namespace smoe
