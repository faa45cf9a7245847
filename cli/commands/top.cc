// rpcrdma top: watches running endpoints on the whole terminal.
#include "commands.h"
#include "endpoint_reader.h"
#include "input.h"
#include "screen.h"
#include "terminal.h"
#include "terminal_signals.h"
#include "top_fleet.h"
#include "top_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/host/device_counters.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/top/draw.h>
#include <rpcrdma/top/gather.h>
#include <rpcrdma/top/json.h>
#include <rpcrdma/top/keys.h>

namespace rpcrdma::cli {

namespace {

struct TopOptions {
  std::vector<std::string> endpoints;
  bool once = false;
  std::optional<double> seconds;
  rules::Profile profile = rules::Profile::k8166;
  kernel_endpoint::FilterText kernel;
  bool kernel_events = false;
  bool json = false;
  RemoteOptions remote;
  std::string sys = "/sys";
  BusText bus;  // without a URL: endpoints of this machine
};

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kFrame = 100 * kMillisecond;  // time between redraws
constexpr std::int64_t kLook = 250 * kMillisecond;   // interval of searches for new endpoints
constexpr double kOnceSeconds = 2;
std::int64_t in_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

// Reads trace events of endpoints and shows them.
class Top {
 public:
  // `all`: all running endpoints, and those that start later. `sys`: where sysfs is.
  Top(rules::Profile profile, bool all, std::string sys)
      : gather_(profile, top::Follow::kCalls),
        utf8_(utf8_wanted()),
        all_(all),
        sys_(std::move(sys)) {}

  void add(TopSource source) {
    gather_.add(source.name(), source.host());
    sources_.push_back(std::move(source));
  }
  // Adds endpoints that have appeared. Fails if the search itself fails.
  capture::Expected<void> look();
  [[nodiscard]] bool empty() const { return sources_.empty(); }
  // Returns why an endpoint that look() found could not be read, or nothing.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  // Runs for `seconds`, or until the user quits.
  void run_live(std::optional<double> seconds);
  void run_once(double seconds, bool json);
  // Why a source that was named ended without any event, or nothing: then it shows nothing.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  // Searches for new endpoints if the interval has passed.
  void look(std::int64_t now_ns);
  // Advances the time, and reads the devices' counters if a second has passed.
  void tick(std::int64_t now_ns);
  void read(std::uint32_t number, bool readable);
  // Waits for events, signals, and keys if `screen` is not null; reads what comes first.
  void wait(std::int64_t until_ns, Screen* screen);
  void signal(int number, Screen* screen);
  void keys();
  [[nodiscard]] bool listening() const;
  // All sources that were named have sent something, or have ended.
  [[nodiscard]] bool begun() const;

  std::vector<TopSource> sources_;
  std::string refusal_, failure_;
  top::Gather gather_;
  bool utf8_;
  top::View view_;
  top::Shown shown_;
  top::KeyReader reader_;
  bool changed_ = true;  // set by user input
  bool stopped_ = false;
  bool all_;
  std::int64_t look_at_ = 0;
  std::string sys_;
  std::int64_t devices_at_ = 0;
};

capture::Expected<void> Top::look() {
  const auto there = trace::find_endpoints();
  if (!there) return tl::unexpected(there.error());
  // The path of an endpoint that ended may be used again by a new one.
  for (TopSource& s : sources_) {
    const auto stands = [&](const trace::RunningEndpoint& one) { return one.path == s.path(); };
    if (s.stream().fd() < 0 && std::ranges::none_of(*there, stands)) s.forget_path();
  }
  // All new endpoints share one deadline, since some may be silent.
  const std::int64_t deadline = base::monotonic_ns() + trace::kEndpointPatience.count();
  for (const trace::RunningEndpoint& one : *there) {
    if (sources_.size() == top::Gather::kMostEndpoints) break;
    const auto same = [&](const TopSource& s) { return s.path() == one.path; };
    if (std::ranges::any_of(sources_, same)) continue;
    const std::chrono::nanoseconds patience(
        std::max<std::int64_t>(deadline - base::monotonic_ns(), 0));
    if (auto fd = trace::connect_running(one, patience)) {
      add(TopSource(one.name, one.path, std::move(*fd)));
    } else {
      // It has just ended or was killed, or it has too many readers.
      refusal_ = fd.error().message;
    }
  }
  return {};
}

void Top::look(std::int64_t now_ns) {
  if (!all_ || now_ns < look_at_) return;
  look_at_ = now_ns + kLook;
  (void)look();  // an error may be gone at the next search
}

bool Top::listening() const {
  return std::ranges::any_of(sources_, [](const TopSource& s) { return s.stream().fd() >= 0; });
}

bool Top::begun() const {
  return all_ || std::ranges::all_of(sources_, [](const TopSource& s) {
           return s.stream().fd() < 0 || s.stream().frames() != 0;
         });
}

void Top::tick(std::int64_t now_ns) {
  constexpr std::int64_t kSecond = 1000 * kMillisecond;
  if (now_ns >= devices_at_) {
    devices_at_ = now_ns + kSecond;
    // Most machines have none.
    if (const auto devices = host::read_devices(sys_)) gather_.devices(*devices);
  }
  gather_.tick(now_ns);
}

void Top::signal(int number, Screen* screen) {
  if (number == SIGTSTP) {
    if (screen != nullptr) screen->leave();
    ::raise(SIGSTOP);
    if (screen != nullptr) screen->enter();
    changed_ = true;
  } else if (number == SIGWINCH) {
    if (screen != nullptr) screen->forget();
    changed_ = true;
  } else {
    stopped_ = true;
  }
}

void Top::keys() {
  std::array<char, 256> bytes;
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  // The terminal is gone.
  if (n <= 0) {
    stopped_ = true;
    return;
  }
  for (const top::Key key : reader_.add({bytes.data(), static_cast<std::size_t>(n)})) {
    top::press(view_, key, shown_);
    changed_ = true;
  }
}

void Top::wait(std::int64_t until_ns, Screen* screen) {
  std::vector<pollfd> fds;
  fds.push_back({TerminalSignals::fd(), POLLIN, 0});
  fds.push_back({screen != nullptr ? STDIN_FILENO : -1, POLLIN, 0});
  for (const TopSource& s : sources_) {
    fds.push_back({s.stream().fd(), POLLIN, 0});
    fds.push_back({s.errors(), POLLIN, 0});
  }
  const std::int64_t left = until_ns - base::monotonic_ns();
  const int timeout = left <= 0 ? 0 : static_cast<int>((left + kMillisecond - 1) / kMillisecond);
  if (::poll(fds.data(), fds.size(), timeout) < 0) return;
  if (fds[0].revents != 0) {
    while (const int number = TerminalSignals::take()) signal(number, screen);
  }
  if (fds[1].revents != 0) keys();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (fds[2 * i + 3].revents != 0) sources_[i].read_errors();
    read(static_cast<std::uint32_t>(i), fds[2 * i + 2].revents != 0);
  }
}

void Top::read(std::uint32_t number, bool readable) {
  TopSource& source = sources_[number];
  capture::LiveStream& stream = source.stream();
  if (stream.fd() < 0) return;
  if (readable) {
    stream.read([&](const capture::Frame& frame) { gather_.frame(number, frame); });
  } else {
    stream.expire();
  }
  if (stream.fd() >= 0) return;
  const std::string why = source.why();
  gather_.ended(number, why, base::wall_clock_ns());
  if (stream.frames() == 0 && !all_ && failure_.empty()) {
    failure_ = fmt::format("top: {}: {}", source.name(),
                           why.empty() ? "it sent nothing" : decode::escape_text(why));
  }
}

void Top::run_live(std::optional<double> seconds) {
  const TerminalSignals signals;
  Screen screen;
  const std::int64_t begin = base::monotonic_ns();
  const std::int64_t end =
      seconds ? begin + in_ns(*seconds) : std::numeric_limits<std::int64_t>::max();
  tick(begin);
  std::int64_t next = 0;
  while (!view_.quit && !stopped_ && failure_.empty()) {
    const std::int64_t now = base::monotonic_ns();
    if (now >= end) break;
    look(now);
    tick(now);
    if (changed_ || now >= next) {
      const top::Size size = Screen::size();
      if (!view_.paused) {
        shown_ = gather_.show(view_, top::table_rows(size, shown_), base::wall_clock_ns());
      } else {
        top::move_within(view_, shown_);
      }
      changed_ = false;
      // While the terminal accepts no output, the user may want to quit.
      if (!screen.show(top::draw(shown_, view_, size, utf8_)) && errno != EINTR) break;
      next = now + kFrame;
    }
    wait(std::min(next, end), &screen);
  }
}

void Top::run_once(double seconds, bool json) {
  const TerminalSignals signals;
  // Other hosts may take some seconds.
  while (!stopped_ && failure_.empty() && !begun()) {
    wait(base::monotonic_ns() + kFrame, nullptr);
  }
  const std::int64_t begin = base::monotonic_ns();
  const std::int64_t end = begin + in_ns(seconds);
  tick(begin);
  while (!stopped_ && failure_.empty() && listening() && base::monotonic_ns() < end) {
    look(base::monotonic_ns());
    wait(std::min(end, base::monotonic_ns() + kFrame), nullptr);
    tick(base::monotonic_ns());
  }
  if (!failure_.empty()) return;
  view_.sort = top::Sort::kId;
  shown_ = gather_.show(view_, 0, base::wall_clock_ns());
  if (!shown_.measured) gather_.tick(base::monotonic_ns(), true);
  shown_ = gather_.show(view_, shown_.connections, base::wall_clock_ns());
  if (json) {
    fmt::print("{}\n", top::to_json(shown_));
    return;
  }
  for (const top::Line& line : top::draw_plain(shown_, terminal_width(), utf8_)) {
    fmt::print("{}\n", top::plain(line));
  }
}

int give_up(const std::string& why) {
  complain(why);
  return kUnreadable;
}

// Keys come from the terminal when standard input is a stream.
void read_keys_from_terminal() {
  const base::FileDescriptor terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (terminal.get() >= 0) ::dup2(terminal.get(), STDIN_FILENO);
}

int run(const TopOptions& options) {
  if (!options.bus.url.empty()) {
    if (!options.endpoints.empty()) {
      return give_up("top: --fleet shows the endpoints of all hosts, so name no ENDPOINT");
    }
    return run_top_fleet({options.bus, options.once, options.json, options.seconds});
  }
  const bool once = options.once || options.json;
  const auto standard_input =
      std::ranges::count_if(options.endpoints, TopSource::is_standard_input);
  if (standard_input > 1) return give_up("top: standard input can be read only once");
  base::FileDescriptor piped;
  if (standard_input != 0) {
    piped.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!once) read_keys_from_terminal();
  }
  if (!once) {
    if (const char* why = why_no_screen()) {
      return give_up(fmt::format("top: {}; use --once to print the display once", why));
    }
  }
  const bool all = options.endpoints.empty();
  Top top(options.profile, all, options.sys);
  // Calls that are only counted have no ends to join.
  const bool sums = !options.kernel_events && options.endpoints.size() < 2 &&
                    options.kernel.slower.empty() && !options.kernel.errors &&
                    !options.kernel.tracefs;
  if (const auto plan = kernel_endpoint::parse({.filter = options.kernel, .sums = sums}); !plan) {
    return give_up("top: " + plan.error().message);
  }
  EndpointReader reader(options.kernel, sums);
  for (const std::string& name : options.endpoints) {
    auto source = TopSource::open(name, reader, options.remote, piped);
    if (!source) return give_up(source.error().message);
    top.add(std::move(*source));
  }
  if (all) {
    if (const auto looked = top.look(); !looked) return give_up(looked.error().message);
    if (once && top.empty()) {
      return give_up(top.refusal().empty() ? ::geteuid() == 0
                                                 ? "top: no endpoint is running"
                                                 : "top: no endpoint of this user is running"
                                           : top.refusal());
    }
  }
  if (once) {
    top.run_once(options.seconds.value_or(kOnceSeconds), options.json);
  } else {
    top.run_live(options.seconds);
  }
  reader.end(true);
  return top.failure().empty() ? kOk : give_up(top.failure());
}

}  // namespace

Run add_top(command_line::Command& command) {
  auto options = std::make_shared<TopOptions>();
  command
      .argument(
          "ENDPOINT", options->endpoints,
          "Names or process IDs as listed by `rpcrdma ls`, paths of sockets, ssh:HOST or "
          "ssh:HOST/ENDPOINT, FIFOs or - with what `attach -w -` writes (none: all endpoints, "
          "and those that start later)")
      .value("ENDPOINT");
  command.flag("--once", options->once, "Print the display once and exit");
  command
      .option("--seconds", options->seconds,
              "Stop after this many seconds; with --once, print then (2; with --fleet 3)")
      .range(0.1, 86400.0)
      .value("N");
  command
      .option("--fleet", options->bus.url,
              "Watch the hosts of a fleet, whose agents report to this bus: nats://host:4222 "
              "(docs/fleet.md)")
      .value("URL");
  command.flag("--json", options->json, "Print the display once, as JSON (docs/json.md)");
  command
      .option("--ssh", options->remote.ssh,
              "The command that runs a command at a host; the host and that command follow")
      .value("COMMAND")
      .show_default();
  command
      .option("--remote", options->remote.command,
              "rpcrdma at the hosts of ssh:HOST, such as \"sudo -n rpcrdma\"")
      .value("COMMAND")
      .show_default();
  command.option("--sys", options->sys, "Where sysfs is, for the counters of RDMA devices")
      .value("FOLDER")
      .show_default();
  add_profile(command, options->profile);
  command.flag("--events", options->kernel_events,
               "Endpoint kernel, if started: copy all events, so that Calls are judged, instead of "
               "counting in the kernel");
  kernel_endpoint::add_filter_options(command, options->kernel, "Endpoint kernel, if started: ");
  add_bus_options(command, options->bus);
  command.footer(
      "Shows connections with their Call rates, latency and credits, bytes in chunks, findings, "
      "and whether any trace events were lost. Press ? for keys and columns.");
  command.example("rpcrdma top", "Watch all endpoints, including those that start later.");
  command.example("rpcrdma top server", "Watch the endpoint \"server\".");
  command.example("sudo rpcrdma top kernel",
                  "Watch this machine's own NFS/RDMA client and server (docs/kernel.md).");
  command.example("rpcrdma top ssh:client1 ssh:server1 --remote \"sudo -n rpcrdma\"",
                  "Join both ends of each Call, and name the side that is slow now "
                  "(docs/ends.md).");
  command.example("rpcrdma top --once --seconds 10",
                  "Report what all endpoints did in ten seconds, for scripts.");
  command.example("rpcrdma top --fleet nats://bus:4222", "Watch all hosts of a fleet.");
  return [options] { return run(*options); };
}

}  // namespace rpcrdma::cli
