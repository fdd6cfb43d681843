#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace smoe::cli {
namespace {

sigset_t waited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGWINCH);
  sigaddset(&set, SIGCONT);
  return set;
}

}  // namespace

Signals::Signals() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  SMOE_CHECK(descriptor_ >= 0);
  const sigset_t set = waited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  waiter_ = std::thread([this] { wait(); });
}

Signals::~Signals() {
  stopping_.store(true);
  // The thread waits for the signal, which ends nothing there.
  pthread_kill(waiter_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  waiter_.join();
  ::close(descriptor_);
}

void Signals::forget() {
  const std::lock_guard lock(mutex_);
  cancelled_.store(false);
  received_.store(0);
}

void Signals::on_cancel(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
  if (cancelled_.load() && callback_) callback_();
}

void Signals::wait() {
  const sigset_t set = waited_signals();
  while (true) {
    int number = 0;
    if (sigwait(&set, &number) != 0) continue;
    if (stopping_.load()) return;
    if (number == SIGWINCH || number == SIGCONT) {
      static_cast<void>(eventfd_write(descriptor_, 1));
      continue;
    }
    // The second signal must work whatever state the program is in, so nothing is torn down.
    const bool ends = cancelled_.load() || at_once_.load() > 0;
    if (ends && polled_.load() == 0) _exit(128 + number);

    const std::lock_guard lock(mutex_);
    received_.store(number);
    cancelled_.store(true);
    if (callback_) callback_();
    // Last, or whoever wakes up would look at the flag before it is set.
    static_cast<void>(eventfd_write(descriptor_, 1));
  }
}

}  // namespace smoe::cli
