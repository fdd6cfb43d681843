#include "stream/request_queue.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace smoe {
namespace {

TEST(RequestQueue, GivesItemsInTheOrderInWhichTheyCame) {
  RequestQueue<int> queue(4);
  int item = 0;
  for (int round = 0; round < 100; ++round) {  // many times around
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.push(3 * round + i));
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(queue.pop(item));
      EXPECT_EQ(item, 3 * round + i);
    }
  }
  EXPECT_FALSE(queue.pop(item));
}

TEST(RequestQueue, SaysThatItIsFullAndTakesMoreOnceItIsNot) {
  RequestQueue<int> queue(5);  // rounded up to 8
  int pushed = 0;
  while (queue.push(pushed)) ++pushed;
  EXPECT_EQ(pushed, 8);
  int item = -1;
  ASSERT_TRUE(queue.pop(item));
  EXPECT_EQ(item, 0);
  EXPECT_TRUE(queue.push(8));
  EXPECT_FALSE(queue.push(9));
}

TEST(RequestQueue, HasRoomForOne) {
  RequestQueue<int> queue(1);
  int item = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(queue.push(i));
    EXPECT_FALSE(queue.push(i));
    ASSERT_TRUE(queue.pop(item));
    EXPECT_EQ(item, i);
    EXPECT_FALSE(queue.pop(item));
  }
}

TEST(RequestQueue, LosesAndDoublesNothingAmongManyThreads) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 50'000;
  RequestQueue<uint64_t> queue(64);
  std::vector<std::thread> threads;
  std::vector<uint64_t> sums(kThreads), counts(kThreads);
  std::atomic<uint64_t> taken{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i)
        while (!queue.push(static_cast<uint64_t>(t) * kEach + i)) std::this_thread::yield();
    });
    threads.emplace_back([&, t] {
      while (taken.load() < kThreads * kEach) {
        uint64_t item = 0;
        if (!queue.pop(item)) {
          std::this_thread::yield();
          continue;
        }
        sums[static_cast<size_t>(t)] += item;
        ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr uint64_t kItems = kThreads * kEach;
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}), kItems * (kItems - 1) / 2);
}

TEST(Signal, EndsAWaitThatBeganBeforeIt) {
  Signal signal;
  std::atomic<bool> done{false};
  const uint32_t seen = signal.seen();
  std::thread waiter([&] {
    signal.wait(seen);
    done = true;
  });
  signal.raise();
  waiter.join();
  EXPECT_TRUE(done);
}

TEST(Signal, IsNotMissedBetweenTheLookAndTheWait) {
  Signal signal;
  const uint32_t seen = signal.seen();
  signal.raise_one();
  signal.wait(seen);  // returns at once
  EXPECT_NE(signal.seen(), seen);
}

}  // namespace
}  // namespace smoe
