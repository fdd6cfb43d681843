// Workers for data-parallel loops. One loop runs at a time; the caller works too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace smoe {

// A borrowed callable: no allocation, valid for the call only.
template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  // Lambdas are passed in place, so it converts; the constraint leaves copying alone, which the
  // linter does not see.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      FunctionRef(F&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args&&>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, static_cast<Args&&>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Threads: `run` is called by one thread at a time (the step's own).
// Cost: no allocation after construction. Workers spin for a bounded time (about 50 us), then sleep
// on an atomic, so that an idle engine and a CPU quota are both respected.
class ThreadPool {
 public:
  // `threads` counts the caller: 1 runs everything inline and creates no thread. Where the system
  // refuses a thread, the pool makes do with those it got.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // Calls body(task, worker) for every task in [0, tasks), tasks handed out in ascending order;
  // `worker` < threads() identifies the calling thread, for per-thread scratch. Returns when all
  // are done. Which worker gets a task is not fixed: a body's result may depend on `task` alone.
  void run(size_t tasks, FunctionRef<void(size_t task, unsigned worker)> body);

 private:
  void work(unsigned worker);
  void take_tasks(unsigned worker);

  std::vector<std::thread> workers_;
  FunctionRef<void(size_t, unsigned)>* body_ = nullptr;
  size_t tasks_ = 0;
  std::atomic<size_t> next_{0};        // next task to hand out
  std::atomic<unsigned> finished_{0};  // workers that have left the current loop
  std::atomic<uint32_t> loop_{0};      // number of the current loop; workers wait for it to change
  std::atomic<bool> stopping_{false};
};

}  // namespace smoe
