// Ctrl-C and its kin. One thread waits for SIGINT, SIGTERM and changes of the terminal, so that
// nothing ever runs inside a signal handler; SIGPIPE is ignored, so that a write says EPIPE
// instead.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace smoe::cli {

class Signals {
 public:
  // Construct before any other thread exists: they inherit the blocked signals.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // True from the first SIGINT or SIGTERM on. The second one ends the process at once, with 130
  // (SIGINT) or 143 (SIGTERM).
  const std::atomic<bool>& cancelled() const { return cancelled_; }
  // The first signal's number, 0 before it came.
  int received() const { return received_.load(); }

  // While one of these lives, the first signal ends the process at once too: for work that leaves
  // nothing half-done and looks at no flag, such as waiting for stdin.
  class AtOnce {
   public:
    explicit AtOnce(Signals& signals) : signals_(signals) { ++signals_.at_once_; }
    ~AtOnce() { --signals_.at_once_; }
    AtOnce(const AtOnce&) = delete;
    AtOnce& operator=(const AtOnce&) = delete;

   private:
    Signals& signals_;
  };

  // While one of these lives, signals only make descriptor() readable: for a prompt that has the
  // terminal in a mode of its own and must put it back first.
  class Polled {
   public:
    explicit Polled(Signals& signals) : signals_(signals) { ++signals_.polled_; }
    ~Polled() { --signals_.polled_; }
    Polled(const Polled&) = delete;
    Polled& operator=(const Polled&) = delete;

   private:
    Signals& signals_;
  };

  // A conversation goes on after a Ctrl-C: forgets it, so that the next one is the first again.
  void forget();

  // Readable (an eventfd) after each signal, a change of the window's size and a return from the
  // background.
  int descriptor() const { return descriptor_; }

  // Calls `callback` once the first signal comes, on the waiting thread; at once when it has come
  // already. It must not block. nullptr takes the callback back: after that it is not running.
  void on_cancel(std::function<void()> callback);

 private:
  void wait();

  std::atomic<bool> cancelled_{false};
  std::atomic<int> received_{0};
  std::atomic<int> at_once_{0};
  std::atomic<int> polled_{0};
  int descriptor_ = -1;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards callback_
  std::function<void()> callback_;
  std::thread waiter_;
};

}  // namespace smoe::cli
