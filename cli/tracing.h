// What a command that is an endpoint tells of itself while it runs (engine/trace): by a socket that
// others of the user's can read, and with --record in a file.
#pragma once

#include "ring_options.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/metrics/snapshot.h>
#include <rpcrdma/soft/packet_log.h>

namespace rpcrdma::cli {

struct TracingOptions {
  std::optional<std::string> name;  // none: the command's
  bool no_live = false;
  std::string record;
  RingText ring;
};

// --name, --no-live, --record, --record-files, --record-size, --record-time.
void add_tracing_options(command_line::Command& command, TracingOptions& options);

// What became of a --pcapng file, of which threads tell that end before the command does.
struct PacketFile {
  std::string file;
  soft::PacketLogCounters counters;
};

// The options that were text.
struct TracingPlan {
  std::string name;
  bool live = true;
  bool packets = false;  // there is a live socket of packets too
  std::string record;    // empty: nothing is recorded
  base::RingOptions ring;
  bool emit = true;  // on stderr, at the end, what was recorded
  // Filled in by who opens the provider; null without --pcapng.
  std::shared_ptr<PacketFile> packet_file = {};
};
// On what makes no sense a line on stderr, which begins with the name of the command, and nothing.
[[nodiscard]] std::optional<TracingPlan> parse_tracing(const TracingOptions& options,
                                                       const char* command);

// Whoever has a Tracer of it ends before finish() is called.
class Tracing {
 public:
  // `role`: what the command does, for people. Without a socket, only a warning on stderr; a line
  // there and nothing, if it cannot be recorded. `command` outlives it.
  [[nodiscard]] static std::optional<Tracing> start(const TracingPlan& plan,
                                                    const std::string& role, const char* command);

  // For one thread of the endpoint; null when nobody is told.
  [[nodiscard]] trace::Tracer* add();

  // For metrics::Parts::trace, after all add(); empty when nobody is told. Outlived by this.
  [[nodiscard]] std::function<metrics::TraceFigures()> figures() const;

  // Ends sockets and files, and says on stderr what was recorded, and what of the packets was not.
  // Returns `status`, or what the command has to return as not all could be written.
  [[nodiscard]] int finish(int status);

 private:
  explicit Tracing(const char* command) : command_(command) {}

  [[nodiscard]] int finish_packets(int status) const;

  const char* command_;
  bool emit_ = true;
  std::shared_ptr<const PacketFile> packet_file_;
  std::unique_ptr<trace::Hub> hub_;  // null: nobody is told
  std::vector<trace::Tracer*> tracers_;
};

}  // namespace rpcrdma::cli
