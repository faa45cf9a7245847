// One thread of a load: its own address, provider, loop and connections, and the Calls on them.
#pragma once

#include "endpoint.h"
#include "load/options.h"
#include "load/over_time.h"
#include "load/raw_file.h"

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/load/interval.h>
#include <rpcrdma/load/pacer.h>
#include <rpcrdma/load/report.h>
#include <rpcrdma/load/reverse_load.h>
#include <rpcrdma/load/tally.h>
#include <rpcrdma/metrics/source.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

struct WorkerOptions {
  service::ClientOptions client;    // connections of this thread to each server
  std::vector<LoadServer> servers;  // at least one; several have no reverse Calls
  std::uint32_t depth = 1;          // Calls in flight on each connection
  fabric::Time timeout = 0;         // of a Call, from when it is due
  fabric::Time spin = 0;
  trace::Tracer* tracer = nullptr;  // tracer of the loop
  load::PacerOptions pace;
  std::uint64_t seed = 0;
  bool forward = true;                       // send Calls
  std::optional<load::ReversePlan> reverse;  // request reverse Calls
  bool intervals = false;                    // keep results for take_interval()
  bool series = false;                       // keep results over time
  RawFile* raw = nullptr;                    // receives each latency; null: none does
};

class LoadWorker {
 public:
  // `requests` outlives it.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<LoadWorker>> create(
      OpenProvider provider, const WorkerOptions& options, const load::EchoRequests& requests);
  ~LoadWorker();

  [[nodiscard]] service::Loop& loop() { return *loop_; }
  [[nodiscard]] metrics::Parts metrics_parts();

  // Returns when all connections are established or the command was interrupted. Fails if one
  // cannot be established.
  [[nodiscard]] fabric::Expected<void> connect();
  // Waits until `start` by CLOCK_MONOTONIC and generates the load; returns after the outcome of the
  // last Call, or soon after an interruption. Fails if the provider fails or a Call cannot be sent.
  // `since_first`: of this start since that of the first round.
  [[nodiscard]] fabric::Expected<void> run(fabric::Time start, fabric::Time since_first = 0);
  // Closes the connections cleanly.
  void disconnect();

  // Thread-safe, while run() is running.
  [[nodiscard]] load::Progress progress() const;
  // Returns what happened since the last time. Thread-safe.
  [[nodiscard]] load::Interval take_interval();

  // Call after run().
  [[nodiscard]] const load::Tally& tally() const { return tally_; }
  [[nodiscard]] fabric::Time begun() const { return begun_; }
  [[nodiscard]] fabric::Time ended() const { return ended_; }
  // How long the load takes at its rate; 0: without a rate.
  [[nodiscard]] fabric::Time planned() const { return pacer_.planned(); }
  [[nodiscard]] std::uint64_t not_begun() const { return pacer_.missed(); }
  [[nodiscard]] std::uint64_t abandoned() const { return slots_.size() - free_.size(); }
  // Connections that were lost and not re-established, and why the last of them was lost.
  [[nodiscard]] std::uint32_t down() const { return down_; }
  [[nodiscard]] const std::string& why_down() const { return loss_; }
  [[nodiscard]] std::uint64_t lost() const;    // connections
  [[nodiscard]] std::uint64_t stalls() const;  // Calls that waited for a credit
  // With WorkerOptions::series: since the start, and since that of the first round.
  [[nodiscard]] const load_ranks::Series& series() const { return over_time_.series(); }
  [[nodiscard]] const load_ranks::LatencySeries& latency_over_time() const {
    return over_time_.latency();
  }
  [[nodiscard]] const load::HdrHistogram& latency() const { return over_time_.whole(); }
  // Returns nothing on an RDMA device, which sends the packets itself.
  [[nodiscard]] std::optional<load::Packets> packets() const;
  // Returns nothing without an RDMA device.
  [[nodiscard]] std::optional<load::DeviceWork> device_work() const;
  // Returns the results of the reverse Calls requested; nothing if none were.
  [[nodiscard]] std::optional<service::callback::Result> reverse_result() const;

 private:
  // The connections to one server.
  class Link : public service::ClientObserver {
   public:
    Link(LoadWorker& worker, std::uint32_t number) : worker_(worker), number_(number) {}

    std::unique_ptr<service::Client> client;

   private:
    void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override {
      worker_.on_outcome(number_, outcome, connection);
    }
    void on_connected(const service::ConnectionInfo& info) override {
      worker_.on_connected(number_, info);
    }
    void on_lost(std::uint32_t connection, std::string_view what, fabric::Time retry) override {
      worker_.on_lost(number_, connection, what, retry);
    }

    LoadWorker& worker_;
    std::uint32_t number_;
  };

  // A slot for one Call: there are `depth` slots for each connection.
  struct Slot {
    service::echo::EchoCall call;
    std::uint32_t link = 0;
    std::uint32_t connection = 0;  // of the link
    fabric::Time due = 0;
  };

  static constexpr std::size_t kRpcStatuses =
      static_cast<std::size_t>(service::RpcStatus::kNoReply) + 1;

  LoadWorker(OpenProvider provider, const WorkerOptions& options,
             const load::EchoRequests& requests);

  void report(metrics::Snapshot& snapshot) const;
  void on_outcome(std::uint32_t link, const protocol::CallOutcome& outcome,
                  std::uint32_t connection);
  void on_connected(std::uint32_t link, const service::ConnectionInfo& info);
  void on_lost(std::uint32_t link, std::uint32_t connection, std::string_view what,
               fabric::Time retry);

  [[nodiscard]] std::uint32_t up() const;           // established connections, to all servers
  [[nodiscard]] std::uint32_t connections() const;  // that there should be
  // The number of a connection among those to all servers.
  [[nodiscard]] std::uint32_t place(std::uint32_t link, std::uint32_t connection) const {
    return link * options_.client.connections + connection;
  }
  // Names the server that is concerned, if there are several: "10.0.0.1 port 20049: ".
  [[nodiscard]] std::string which(std::uint32_t link) const;

  // Explains why there is not enough memory for the Calls.
  [[nodiscard]] fabric::Error without_memory(const fabric::Error& error) const;

  // Returns the number of reverse Calls served.
  [[nodiscard]] std::uint64_t served() const;

  // Sends Calls that are due while there are free slots.
  void begin_due();
  void begin(std::uint32_t slot, fabric::Time due);
  [[nodiscard]] fabric::Time wait_until(fabric::Time give_up) const;
  [[nodiscard]] fabric::Expected<void> wait_for(fabric::Time start);
  // Generates the load; run() notes the connections that are down at its end.
  [[nodiscard]] fabric::Expected<void> generate();
  // When the server counts as dead; kNever: it does not. Only a load without a duration ends then.
  [[nodiscard]] fabric::Time dead_at() const;
  void note_in_interval(const load::Sample& sample, std::uint32_t link, std::uint32_t connection);

  WorkerOptions options_;
  const load::EchoRequests& requests_;
  OpenProvider provider_;
  verbs::WorkCounters worked_before_;  // the first Call
  std::unique_ptr<service::Loop> loop_;
  std::unique_ptr<service::echo::Pattern> pattern_;
  std::vector<Slot> slots_;
  std::deque<std::uint32_t> free_;  // the one that has been free for longest first
  // The program that serves the reverse Calls, and the load that requests them.
  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::vector<service::Program*> programs_;
  std::optional<load::ReverseLoad> reverse_;
  std::vector<std::unique_ptr<Link>> links_;
  load::Pacer pacer_;
  soft::Random random_;
  load::Tally tally_;
  OverTime over_time_;
  fabric::Time begun_ = 0;
  fabric::Time ended_ = 0;
  bool running_ = false;
  bool reverse_stopped_ = false;
  std::string failure_;
  std::uint32_t down_ = 0;
  std::string loss_;                              // why the latest connection was lost
  fabric::Time all_down_since_ = fabric::kNever;  // while run() is running
  std::mutex interval_mutex_;
  load::Interval interval_;
  std::vector<std::uint32_t> granted_;  // credits by place(); 0: not established
  // Error Replies, by service::RpcStatus; and by the program's own status.
  std::array<std::uint64_t, kRpcStatuses> rpc_errors_{};
  std::uint64_t bad_status_ = 0;
  // By service::echo::Proc, of Calls with a Reply.
  std::array<protocol::Durations, service::echo::kProcedures> durations_;
  struct alignas(64) Shown {
    std::atomic<std::uint64_t> calls{0}, failed{0}, bytes{0};
  };
  Shown shown_;
};

}  // namespace rpcrdma::cli
