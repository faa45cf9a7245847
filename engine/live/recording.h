// A recording as a sink of the hub. A dedicated thread writes its files, since a disk may block a
// writer for seconds. Events that do not fit into its queue meanwhile are lost to it, and counted.
#pragma once

#include "reader_queue.h"
#include "recorded_file.h"
#include "sink.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rpcrdma/live/hub.h>

namespace rpcrdma::trace {

class Recording final : public Sink {
 public:
  // `failed`: called once, by the writing thread, with the reason why nothing more can be written;
  // may be empty. `losing`: HubOptions::recording_losing.
  Recording(std::unique_ptr<RecordedFile> file, std::size_t most_bytes,
            std::function<void(const std::string& error)> failed,
            std::function<void(const std::string& file)> losing);
  ~Recording() override;

  void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) override;
  void take(const EventBatch& batch) override;
  [[nodiscard]] bool has_room() const override;
  void emit_sums(std::int64_t now) override;
  void end(std::int64_t now) override;
  [[nodiscard]] bool over() const override;

  // Called when there is no memory for events.
  void give_up() override;
  // Any thread. Waits until the file is complete.
  void finish();
  [[nodiscard]] RecordCounters counters() const;

 private:
  void run_or_give_up() noexcept;
  void run();
  void write(std::unique_lock<std::mutex>& lock, bool last);
  [[nodiscard]] base::Expected<void> write_waiting(bool last);

  const std::unique_ptr<RecordedFile> file_;  // used by its thread only
  const std::function<void(const std::string&)> failed_, losing_;
  std::vector<std::uint8_t> writing_;  // used by its thread only
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  ReaderQueue queue_;
  bool stop_ = false;
  bool out_of_memory_ = false;
  RecordCounters counters_;
  std::thread thread_;
};

}  // namespace rpcrdma::trace
