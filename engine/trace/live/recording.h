// A recording as a hub's sink: its files are written by a thread of its own, since a disk may let a
// writer wait for seconds. What does not fit into its outlet meanwhile is lost to it, and counted.
#pragma once

#include "outlet.h"
#include "recorded_file.h"
#include "sink.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rpcrdma/trace_live/hub.h>

namespace rpcrdma::trace {

class Recording final : public Sink {
 public:
  Recording(std::unique_ptr<RecordedFile> file, std::size_t most_bytes);
  ~Recording() override;

  void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) override;
  void take(const EventBatch& batch) override;
  void tell_sums(std::int64_t now) override;
  void end(std::int64_t now) override;
  [[nodiscard]] bool over() const override;

  // Any thread. Waits until the file is whole.
  void finish();
  [[nodiscard]] RecordCounters counters() const;

 private:
  void run();
  void write(std::unique_lock<std::mutex>& lock, bool last);

  const std::unique_ptr<RecordedFile> file_;  // the thread's
  std::vector<std::uint8_t> writing_;         // the thread's
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Outlet outlet_;
  bool stop_ = false;
  RecordCounters counters_;
  std::thread thread_;
};

}  // namespace rpcrdma::trace
