// Trace events of a command that is an endpoint (engine/trace): served on a socket that other
// processes of this user can read, and with --record written to a file.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/metrics/snapshot.h>
#include <rpcrdma/program/ring_options.h>
#include <rpcrdma/soft/packet_log.h>

namespace rpcrdma::cli {

struct TracingOptions {
  std::optional<std::string> name;  // nothing: the command's name
  bool no_live = false;
  std::string record;
  RingText ring;
  std::uint64_t sample = 1;
};

// --name, --no-live, --record, --record-files, --record-size, --record-time, --sample.
void add_tracing_options(command_line::Command& command, TracingOptions& options);

// The result of writing a --pcapng file. Its writer thread fills this in and ends before the
// command does.
struct PacketFile {
  std::string file;
  soft::PacketLogCounters counters;
};

// The parsed options.
struct TracingPlan {
  std::string name;
  bool live = true;
  bool packets = false;  // also serve packets on a live socket
  std::string record;    // empty: no recording
  base::RingOptions ring;
  std::uint32_t one_in = 1;  // connections of which one is traced
  bool emit = true;          // report on stderr at the end what was recorded
  // Filled in when the provider is opened; null without --pcapng.
  std::shared_ptr<PacketFile> packet_file = {};
};
// Returns nothing if options are invalid, after a line on stderr that starts with the name of the
// command.
[[nodiscard]] std::optional<TracingPlan> parse_tracing(const TracingOptions& options,
                                                       const char* command);

// Everything that uses one of its Tracers must end before finish() is called.
class Tracing {
 public:
  // `role`: what the command does, for people. If there can be no socket, only warns on stderr; if
  // recording is impossible, prints a line there and returns nothing. `command` must outlive it.
  [[nodiscard]] static std::optional<Tracing> start(const TracingPlan& plan,
                                                    const std::string& role, const char* command);

  // Returns a tracer for one thread of the endpoint; null if tracing is off.
  [[nodiscard]] trace::Tracer* add();

  // For metrics::Parts::trace, after all calls of add(); empty if tracing is off. The function must
  // not outlive this object.
  [[nodiscard]] std::function<metrics::TraceFigures()> figures() const;

  // Lets `rpcrdma ls` show where the metrics are served; warns on stderr if it cannot.
  void announce_metrics(const std::string& address) const;

  // Records in a new file of the same name from now on, and ends the old one: for --record without
  // a ring, once another program has renamed the file. Waits for the disk; for any thread, until
  // finish(). Reports on stderr what was recorded, or why it could not be done.
  void rotate() const;

  // Closes sockets and files, and reports on stderr what was recorded, and how many packets were
  // not. Returns `status`, or an error status if not all could be written.
  [[nodiscard]] int finish(int status);

 private:
  explicit Tracing(const char* command) : command_(command) {}

  [[nodiscard]] int finish_packets(int status) const;

  const char* command_;
  std::string record_;  // empty: no recording, or a ring, which has no end
  bool emit_ = true;
  std::shared_ptr<const PacketFile> packet_file_;
  // A recording that rotate() ended is.
  std::unique_ptr<std::atomic<bool>> incomplete_ = std::make_unique<std::atomic<bool>>(false);
  std::unique_ptr<trace::Hub> hub_;  // null: tracing is off
  std::vector<trace::Tracer*> tracers_;
};

}  // namespace rpcrdma::cli
