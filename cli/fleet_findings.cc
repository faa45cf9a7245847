// rpcrdma fleet findings: prints what the endpoints of a fleet have found, from the stream.
#include "commands.h"
#include "fleet_command.h"
#include "fleet_json.h"
#include "fleet_watch.h"
#include "input.h"
#include "interrupt.h"
#include "output_file.h"

#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <poll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/parse.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::cli {

namespace {

constexpr std::int64_t kMostSince = 7 * 24 * 3600 * base::kSecond;

class FindingPrinter {
 public:
  explicit FindingPrinter(bool json) : json_(json) {}

  void print(const fleet::BusMessage& message) {
    const auto note = finding_of(message);
    if (!note) {
      // Forged ones may be many.
      if (refused_++ == 0) complain("fleet findings: " + note.error().message);
      return;
    }
    const top::FleetFinding f = shown_finding(*note);
    if (json_) {
      fmt::print("{}\n", finding_json(f));
      return;
    }
    std::string line = fmt::format(
        "{} {} {} {} {} x{} {}", report::format_time(f.wall_ns).substr(0, 19), f.host, f.endpoint,
        rules::severity_name(f.severity), f.rule.empty() ? "event" : f.rule, f.count, f.text);
    if (!f.peer.empty()) line += " (" + f.peer + ")";
    fmt::print("{}\n", plot::escape_terminal(line));
  }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  bool json_;
  std::uint64_t refused_ = 0;
};

int no_findings(const std::string& why) {
  complain("fleet findings: " + why);
  return kUnreadable;
}

}  // namespace

int fleet_findings(const FleetOptions& options, const fleet::BusOptions& bus_options) {
  const auto since = base::parse_duration(options.since);
  if (!since || *since > kMostSince) {
    return no_findings(
        fmt::format("--since {}: not a time of at most 7 days, such as 1h", options.since));
  }
  const auto bus = fleet::Bus::connect(bus_options);
  if (!bus) return no_findings(bus.error().message);
  const Interrupt interrupt({});
  std::unique_ptr<fleet::Subscription> live;
  if (options.follow) {
    const std::string subject =
        options.host.empty() ? fleet::kAllFindings : fleet::findings_subject(options.host);
    auto subscribed = (*bus)->subscribe(subject);
    if (!subscribed) return no_findings(subscribed.error().message);
    live = std::move(*subscribed);
  }
  FindingPrinter printer(options.json);
  const auto replayed = (*bus)->findings_since(
      base::wall_clock_ns() - *since, options.host, [&](const fleet::BusMessage& message) {
        printer.print(message);
        return !Interrupt::came() && std::ferror(stdout) == 0;
      });
  if (!replayed) return no_findings(replayed.error().message);
  flush_stdout();
  while (live != nullptr && !Interrupt::came() && std::ferror(stdout) == 0) {
    pollfd readable{live->fd(), POLLIN, 0};
    ::poll(&readable, 1, 250);
    while (const auto message = live->take()) printer.print(*message);
    flush_stdout();
  }
  if (live != nullptr && live->dropped() != 0) {
    inform(fmt::format("fleet findings: {} came too fast and are not shown", live->dropped()));
  }
  if (printer.refused() > 1) {
    inform(fmt::format("fleet findings: {} were refused", printer.refused()));
  }
  return kOk;
}

}  // namespace rpcrdma::cli
