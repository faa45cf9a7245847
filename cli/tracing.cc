#include "tracing.h"

#include "commands.h"
#include "input.h"

#include <fmt/core.h>
#include <unistd.h>

namespace rpcrdma::cli {

void add_tracing_options(command_line::Command& command, TracingOptions& options) {
  command.group("Trace events");
  // Set by a function, since an optional target with an empty argument would look as if the option
  // were absent.
  command
      .option(
          "--name", [&options](const std::string& name) { options.name = name; },
          "Name of the live socket (the command's name)")
      .value("NAME");
  command.flag("--no-live", options.no_live,
               "Open no socket for other processes of this user to read trace events from");
  command.option("--record", options.record, "Record trace events in this pcapng file")
      .value("FILE");
  add_ring_options(command, options.ring, kRecordedRing);
  command
      .option("--sample", options.sample,
              "Trace one connection in N: of the others, only beginning and end are recorded and "
              "shown, and what is recorded says so")
      .value("N")
      .show_default()
      .whole_number();
}

std::optional<TracingPlan> parse_tracing(const TracingOptions& options, const char* command) {
  const auto refuse = [&](const std::string& why) {
    complain(fmt::format("{}: {}", command, why));
    return std::nullopt;
  };
  TracingPlan plan;
  plan.name = options.name.value_or(command);
  // attach treats a name with a slash as the path of a socket.
  if (plan.name.empty()) return refuse("--name: empty");
  if (plan.name.find('/') != std::string::npos) {
    return refuse(fmt::format("--name {}: contains a slash, which only paths do", plan.name));
  }
  // A tracer's connections have numbers of 24 bits.
  constexpr std::uint64_t kMost = 0xffffff;
  if (options.sample < 1 || options.sample > kMost) {
    return refuse(fmt::format("--sample {}: not from 1 to {}", options.sample, kMost));
  }
  plan.one_in = static_cast<std::uint32_t>(options.sample);
  plan.live = !options.no_live;
  plan.record = options.record;
  const auto ring = parse_ring(options.ring, kRecordedRing, !plan.record.empty());
  if (!ring) return refuse(ring.error());
  plan.ring = *ring;
  if (plan.record == "-") return refuse("--record -: standard output carries other output");
  return plan;
}

std::optional<Tracing> Tracing::start(const TracingPlan& plan, const std::string& role,
                                      const char* command) {
  Tracing tracing(command);
  tracing.emit_ = plan.emit;
  tracing.packet_file_ = plan.packet_file;
  if (!plan.live && plan.record.empty()) return tracing;
  trace::HubOptions options;
  options.name = plan.name;
  options.one_in = plan.one_in;
  // Readers of any version show the role.
  options.role =
      plan.one_in == 1 ? role : fmt::format("{}, 1 connection in {} traced", role, plan.one_in);
  options.recording_failed = [command](const std::string& error) {
    complain(fmt::format("{}: --record: {}", command, error));
  };
  options.recording_losing = [command](const std::string& file) {
    complain(fmt::format(
        "{}: --record: {} is slower than the events: what it has no room for is lost and counted",
        command, file));
  };
  auto hub = trace::Hub::start(options);
  if (!hub) {
    complain(fmt::format("{}: {}", command, hub.error().message));
    return std::nullopt;
  }
  if (plan.live) {
    if (const auto open = (*hub)->open_socket(); !open) {
      complain(fmt::format("{}: warning: no live socket: {}", command, open.error().message));
    } else if (const auto packets = plan.packets ? (*hub)->open_packet_socket() : open; !packets) {
      complain(fmt::format("{}: warning: no live packets: {}", command, packets.error().message));
    }
  }
  if (!plan.ring.on()) tracing.record_ = plan.record;
  if (!plan.record.empty()) {
    if (const auto begun = (*hub)->record(plan.record, plan.ring); !begun) {
      complain(fmt::format("{}: --record: {}", command, begun.error().message));
      return std::nullopt;
    }
  }
  tracing.hub_ = std::move(*hub);
  return tracing;
}

trace::Tracer* Tracing::add() {
  trace::Tracer* const tracer = hub_ != nullptr ? hub_->add() : nullptr;
  if (tracer != nullptr) tracers_.push_back(tracer);
  return tracer;
}

std::function<metrics::TraceFigures()> Tracing::figures() const {
  if (hub_ == nullptr) return {};
  return [hub = hub_.get(), tracers = tracers_] {
    metrics::TraceFigures f;
    for (trace::Tracer* const tracer : tracers) {
      f.emitted += tracer->ring().emitted();
      f.lost_in_rings += tracer->ring().lost();
    }
    for (const trace::RecordCounters& r : hub->recordings()) f.lost_by_recording += r.not_taken;
    f.lost_by_readers = hub->lost_to_readers();
    return f;
  };
}

void Tracing::announce_metrics(const std::string& address) const {
  if (hub_ == nullptr) return;
  if (const auto announced = hub_->announce_metrics(address); !announced) {
    complain(fmt::format("{}: warning: `rpcrdma ls` does not list the metrics: {}", command_,
                         announced.error().message));
  }
}

void Tracing::rotate() const {
  if (hub_ == nullptr || record_.empty()) return;
  if (::access(record_.c_str(), F_OK) == 0) {
    return complain(fmt::format(
        "{}: warning: --record {}: the file has not been renamed, so it is not begun again",
        command_, record_));
  }
  const std::size_t before = hub_->recordings().size();
  if (const auto begun = hub_->record(record_); !begun) {
    return complain(fmt::format("{}: --record: {}", command_, begun.error().message));
  }
  for (const trace::RecordCounters& r : hub_->end_recordings(before)) {
    inform(fmt::format("{}: {} events recorded, {} lost, in the file that was {}", command_,
                       r.events, r.lost, r.file));
    if (!r.error.empty() || r.not_taken != 0) *incomplete_ = true;
  }
}

int Tracing::finish_packets(int status) const {
  if (packet_file_ == nullptr) return status;
  const soft::PacketLogCounters& c = packet_file_->counters;
  if (c.lost != 0) {
    complain(fmt::format("{}: --pcapng: {} of {} packets were not written to {}", command_, c.lost,
                         c.written + c.lost, packet_file_->file));
  }
  return c.lost == 0 && c.error.empty() ? status : kUnreadable;
}

int Tracing::finish(int status) {
  status = finish_packets(status);
  if (*incomplete_) status = kUnreadable;
  if (hub_ == nullptr) return status;
  hub_->stop();
  for (const trace::RecordCounters& r : hub_->recordings()) {
    if (!r.error.empty() || r.not_taken != 0) status = kUnreadable;
    if (!emit_ && r.error.empty()) continue;
    inform(fmt::format("{} events recorded{}, {} lost: {}", r.events,
                       r.error.empty() ? "" : " before that", r.lost, r.file));
  }
  return status;
}

}  // namespace rpcrdma::cli
