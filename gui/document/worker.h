// A thread that runs tasks in order and passes each result to the interface's thread. Tasks that
// wait when the worker ends are dropped.
#pragma once

#include <QCoreApplication>
#include <QMetaObject>
#include <QPointer>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::gui {

class Worker {
 public:
  Worker() {
    if (auto thread = base::start_thread([this] { run(); })) thread_ = std::move(*thread);
  }
  ~Worker() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      waiting_.clear();
    }
    woken_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `work()` returns a value for `done`, which is called in the thread of `receiver`, unless
  // `receiver` is gone.
  template <typename Work, typename Done>
  void post(QObject* receiver, Work work, Done done) {
    auto task = [receiver, w = std::move(work), d = std::move(done)]() mutable {
      auto result = std::make_shared<decltype(w())>(w());
      QMetaObject::invokeMethod(
          receiver, [d = std::move(d), result]() mutable { d(std::move(*result)); },
          Qt::QueuedConnection);
    };
    // Where the system has no thread left, the interface waits.
    if (!thread_.joinable()) return task();
    {
      const std::scoped_lock lock(mutex_);
      waiting_.emplace_back(std::move(task));
    }
    woken_.notify_one();
  }
  // Drops tasks that have not started.
  void drop_waiting() {
    const std::scoped_lock lock(mutex_);
    waiting_.clear();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      woken_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      auto work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rpcrdma::gui
