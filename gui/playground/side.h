// One end of the playground: a provider and its loop in a thread of its own. Other threads leave
// requests in a mailbox, which the thread reads once per turn; the thread publishes statistics from
// time to time.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <rpcrdma/playground/playground.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::playground {

class Side {
 public:
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Starts the thread. Error: kSystem.
  [[nodiscard]] fabric::Expected<void> start();
  // Ends its connections and its thread. Each destructor calls it before it destroys members that
  // the thread uses.
  void end();
  // Thread-safe: the latest request counts.
  void set_faults(soft::FaultPlan faults);
  [[nodiscard]] PlaygroundStats shown() const;  // the statistics of this end

 protected:
  explicit Side(std::unique_ptr<soft::SoftProvider> provider) : provider_(std::move(provider)) {}
  virtual ~Side() = default;
  [[nodiscard]] fabric::Expected<void> make_loop(trace::Tracer* tracer);

  // Thread-safe: wakes the thread after a request was left in the mailbox.
  void wake();
  [[nodiscard]] std::mutex& mailbox() { return mailbox_mutex_; }

  // Called by the thread with the mailbox locked.
  virtual void take_mail() = 0;
  // Does the work that is due; returns when it is due next.
  virtual fabric::Time work(fabric::Time now) = 0;
  virtual void show(PlaygroundStats& stats) = 0;
  virtual void begin_end() = 0;
  [[nodiscard]] virtual bool ended() const = 0;

  [[nodiscard]] bool ending() const { return ending_; }
  void emit(std::string problem) { problem_ = std::move(problem); }

  std::unique_ptr<soft::SoftProvider> provider_;
  std::unique_ptr<service::Loop> loop_;

 private:
  void run();
  void empty_mailbox();
  void show_now();

  std::thread thread_;
  std::atomic<bool> mail_{false};
  std::atomic<bool> stop_{false};
  std::mutex mailbox_mutex_;
  std::optional<soft::FaultPlan> faults_;  // in the mailbox

  bool ending_ = false;
  std::string problem_;

  mutable std::mutex shown_mutex_;
  PlaygroundStats shown_;
};

}  // namespace rpcrdma::playground
