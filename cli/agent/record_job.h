// A recording on request: writes the events of one endpoint to a temporary file for a limited time,
// then sends the file (rpcrdma/fleet/record.h). Works in a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <rpcrdma/agent/agent.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fleet/record.h>
#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::agent {

class RecordJob {
 public:
  struct Options {
    std::string host;
    std::string endpoint;  // its name
    fleet::RecordRequest request;
    std::string spool;
  };
  // `stream`: of the endpoint's events.
  RecordJob(Options options, base::FileDescriptor stream, fleet::Bus& bus, LogLine log);
  ~RecordJob();  // ends the recording at once
  RecordJob(const RecordJob&) = delete;
  RecordJob& operator=(const RecordJob&) = delete;

  [[nodiscard]] const std::string& id() const { return options_.request.id; }
  [[nodiscard]] const std::string& endpoint() const { return options_.endpoint; }
  [[nodiscard]] bool done() const { return done_.load(); }
  void acknowledge(std::uint64_t bytes);
  void stop();
  [[nodiscard]] fleet::RecordingSummary summary() const;

 private:
  struct Recorded {
    std::uint64_t events = 0, lost = 0;
    std::string ended_early;
  };
  void run(base::FileDescriptor stream);
  [[nodiscard]] base::Expected<void> record_and_send(base::FileDescriptor stream);
  void end(const base::Expected<void>& result);
  [[nodiscard]] base::Expected<Recorded> record(base::FileDescriptor stream,
                                                const std::string& file);
  [[nodiscard]] base::Expected<void> send(const std::string& file, const Recorded& recorded);
  [[nodiscard]] base::Expected<void> wait_for_room(std::uint64_t sent);
  [[nodiscard]] base::Expected<void> publish(const fleet::RecordMessage& message);

  const Options options_;
  fleet::Bus& bus_;
  LogLine log_;
  std::string subject_;
  std::string file_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t acknowledged_ = 0;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rpcrdma::agent
