// The loop of the kernel endpoint, in the program's first thread. It sleeps until the source has
// events, or a second passes, and costs nothing in between.
#include "figures.h"
#include "tracer_sink.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/kernel_endpoint/run.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/metrics/exposer.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/program/privileges.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::kernel_endpoint {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 2;

// Time between two readings of the source while events arrive: a source that wakes its reader for
// each event would cost the kernel more. The hub polls at the same rate.
constexpr std::int64_t kBetweenReads = base::kMillisecond;
constexpr std::int64_t kBetweenSums = base::kSecond;
// Without events the source is still asked whether it has ended.
constexpr std::int64_t kBetweenLooks = base::kSecond;
// At the end: readings of what waits in the source, each a bounded number of events.
constexpr int kLastReads = 1000;
constexpr int kLastWaitMs = 50;

void complain(const std::string& text) {
  fmt::print(stderr, "rpcrdma-kernel: {}\n", plot::escape_terminal(text));
}

int refused(const std::string& why) {
  complain(why);
  return kFailed;
}

// Set by the first signal; a second one ends the program.
std::atomic<bool> stopped{false};
const base::Wakeup* wakeup_of_signals = nullptr;

void on_signal(int) {
  stopped.store(true);
  if (wakeup_of_signals != nullptr) wakeup_of_signals->notify();
}

class StopBySignal {
 public:
  explicit StopBySignal(const base::Wakeup& wakeup) {
    wakeup_of_signals = &wakeup;
    set(on_signal);
  }
  ~StopBySignal() {
    set(SIG_DFL);
    wakeup_of_signals = nullptr;
  }
  StopBySignal(const StopBySignal&) = delete;
  StopBySignal& operator=(const StopBySignal&) = delete;

 private:
  static void set(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  }
};

class Loop {
 public:
  Loop(kernel::Source& source, trace::Tracer& tracer, const base::Wakeup& wakeup, int input)
      : source_(source), sink_(tracer), wakeup_(wakeup), input_(input) {}

  // May be called by any thread: whether anybody reads.
  void want(bool events) {
    wanted_.store(events);
    wakeup_.notify();
  }

  // Returns why the source ended; nothing if the user or the caller ended the loop.
  base::Expected<void> run() {
    base::Expected<void> alive;
    while (alive && !stopped.load() && input_open_) {
      listen();
      wait();
      alive = read();
    }
    source_.listen(false);
    if (alive) alive = read_rest();
    sink_.close_all(base::monotonic_ns(), alive ? "the trace ends here; the connection may continue"
                                                : "the source ended");
    return alive;
  }

  [[nodiscard]] TracerSink& sink() { return sink_; }

 private:
  [[nodiscard]] bool counts() const { return source_.fd() < 0; }

  void listen() {
    const bool on = wanted_.load();
    if (on != listening_) source_.listen(on);
    // A new reader should not wait a second for its first sums.
    if (on && !listening_) sums_at_ = 0;
    listening_ = on;
  }

  void wait() {
    std::array<pollfd, 3> watched{
        pollfd{wakeup_.fd(), POLLIN, 0},
        pollfd{input_, POLLIN, 0},
        pollfd{source_.fd(), POLLIN, 0},
    };
    // First for all but the source, whose events gather in the meantime.
    if (counts() || !poll_until(watched, 2, read_at_)) {
      poll_until(watched, 3, counts() ? sums_at_ : look_at_);
    }
    ready_ = watched[2].revents != 0 || base::monotonic_ns() >= look_at_;
    if (watched[0].revents != 0) wakeup_.clear();
    if (watched[1].revents != 0) read_input();
  }

  // Returns whether one of the first `count` descriptors is ready.
  static bool poll_until(std::array<pollfd, 3>& watched, nfds_t count, std::int64_t until) {
    for (pollfd& each : watched) each.revents = 0;
    const std::int64_t ns = std::max<std::int64_t>(until - base::monotonic_ns(), 0);
    const timespec left{ns / base::kSecond, ns % base::kSecond};
    return ::ppoll(watched.data(), count, &left, nullptr) > 0;
  }

  void read_input() {
    std::array<char, 256> ignored;
    const ssize_t n = ::read(input_, ignored.data(), ignored.size());
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) input_open_ = false;
  }

  base::Expected<void> read() {
    const std::int64_t now = base::monotonic_ns();
    if (counts()) {
      if (now < sums_at_) return {};
      sums_at_ = now + kBetweenSums;
      return source_.sums(sink_, now);
    }
    if (!ready_) return {};
    read_at_ = now + kBetweenReads;
    look_at_ = now + kBetweenLooks;
    return source_.drain(sink_);
  }

  base::Expected<void> read_rest() {
    if (counts()) return source_.sums(sink_, base::monotonic_ns());
    for (int i = 0; i < kLastReads; ++i) {
      if (const auto read = source_.drain(sink_); !read) return read;
      // A source may need a moment before it is readable again.
      pollfd source{source_.fd(), POLLIN, 0};
      if (::poll(&source, 1, kLastWaitMs) <= 0) break;
    }
    return {};
  }

  kernel::Source& source_;
  TracerSink sink_;
  const base::Wakeup& wakeup_;
  const int input_;  // -1: none
  bool input_open_ = true;
  std::atomic<bool> wanted_{false};
  bool listening_ = false;
  bool ready_ = false;
  std::int64_t read_at_ = 0;
  std::int64_t look_at_ = 0;
  std::int64_t sums_at_ = 0;
};

// Prints what was traced and recorded. Returns the exit status.
int report(const TracerSink& sink, const trace::Hub& hub, int status) {
  complain(fmt::format("{} events, {} lost in the kernel, {} lost to readers", sink.events(),
                       sink.lost(), hub.lost_to_readers()));
  for (const trace::RecordCounters& r : hub.recordings()) {
    if (!r.error.empty() || r.not_taken != 0) status = kFailed;
    complain(fmt::format("{} events recorded{}, {} lost: {}", r.events,
                         r.error.empty() ? "" : " before that", r.lost, r.file));
  }
  return status;
}

std::string as_whom(const std::optional<cli::Identity>& identity) {
  return identity ? fmt::format(
                        " (as user {} after root privileges were dropped; --user root "
                        "keeps them)",
                        identity->user)
                  : std::string();
}

// Serves the sums as metrics while it exists.
class Metrics {
 public:
  // `hub` and `tracer` outlive it.
  base::Expected<void> open(const cli::MetricsAddress& where, TracerSink& sink,
                            const trace::Hub& hub, trace::Tracer& tracer) {
    sink.watch(
        [this](const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
               std::span<const std::uint8_t> payload) { figures_.take(header, fixed, payload); });
    auto exposer = metrics::Exposer::open_figures(
        where.host, where.port, [this, &sink, &hub, &tracer] { return take(sink, hub, tracer); },
        where.web);
    if (!exposer) {
      return base::fail(
          fmt::format("--metrics {}: {}", cli::to_text(where), exposer.error().message));
    }
    exposer_ = std::move(*exposer);
    return {};
  }
  [[nodiscard]] std::string address() const { return exposer_->address(); }
  // Before the hub stops.
  void close() { exposer_.reset(); }

 private:
  metrics::Snapshot take(const TracerSink& sink, const trace::Hub& hub, trace::Tracer& tracer) {
    metrics::Snapshot s;
    s.taken = base::monotonic_ns();
    s.kernel = figures_.figures();
    metrics::TraceFigures& f = s.trace.emplace();
    const std::uint64_t in_kernel = sink.lost();
    f.emitted = tracer.ring().emitted() - in_kernel;
    f.lost_in_rings = tracer.ring().lost() - in_kernel;
    f.lost_in_kernel = in_kernel;
    for (const trace::RecordCounters& r : hub.recordings()) f.lost_by_recording += r.not_taken;
    f.lost_by_readers = hub.lost_to_readers();
    return s;
  }

  Figures figures_;
  std::unique_ptr<metrics::Exposer> exposer_;  // destroyed first
};

std::string role_of(const Plan& plan, const kernel::Source& source) {
  return plan.filter.empty() ? source.role()
                             : fmt::format("{}; only {}", source.role(), plan.filter);
}

// Conditions on Calls leave events of a connection out, whose absence is no evidence then. Those on
// connections leave whole connections out.
std::uint64_t left_out_by(const kernel::Filter& filter) {
  if (!filter.program && !filter.procedure && filter.slower_than_ns == 0 && !filter.only_errors) {
    return 0;
  }
  using trace::EventType;
  std::uint64_t types = 0;
  for (const EventType type :
       {EventType::kMessage, EventType::kOperation, EventType::kOperationEnd, EventType::kCredits,
        EventType::kCreditWait, EventType::kCall, EventType::kCallEnd}) {
    types |= trace::type_bit(type);
  }
  return types;
}

int run_opened(const Plan& plan, kernel::Source& source,
               const std::optional<cli::Identity>& identity) {
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return refused(wakeup.error().message);
  trace::HubOptions options;
  options.name = plan.name;
  options.role = role_of(plan, source);
  options.left_out = left_out_by(plan.source.filter);
  options.source = source.kind();
  std::unique_ptr<Loop> loop;
  // There is no reader before the socket is open, and the loop is made before that.
  options.listening = [&loop](bool on) { loop->want(on); };
  options.recording_failed = [](const std::string& error) { complain("--record: " + error); };
  options.recording_losing = [](const std::string& file) {
    complain(fmt::format(
        "--record: {} is slower than the events: what it has no room for is lost and counted",
        file));
  };
  auto hub = trace::Hub::start(std::move(options));
  if (!hub) return refused(hub.error().message);
  trace::Tracer& tracer = *(*hub)->add();
  loop = std::make_unique<Loop>(source, tracer, *wakeup, plan.until_input_ends ? STDIN_FILENO : -1);
  const StopBySignal stop(*wakeup);
  if (const auto opened = (*hub)->open_socket(); !opened) {
    return refused("no live socket: " + opened.error().message + as_whom(identity));
  }
  if (!plan.record.empty()) {
    if (const auto begun = (*hub)->record(plan.record, plan.ring); !begun) {
      return refused("--record: " + begun.error().message + as_whom(identity));
    }
  }
  Metrics metrics;
  if (plan.metrics) {
    if (source.kind() != trace::EventSource::kKernelSums) {
      return refused("--metrics: this kernel cannot count: " + source.missing());
    }
    if (const auto served = metrics.open(*plan.metrics, loop->sink(), **hub, tracer); !served) {
      return refused(served.error().message);
    }
    complain("metrics at " + cli::metrics_url(*plan.metrics, metrics.address()));
    if (const auto announced = (*hub)->announce_metrics(metrics.address()); !announced) {
      complain("warning: `rpcrdma ls` does not list the metrics: " + announced.error().message);
    }
  }
  complain(fmt::format("tracing the {}; `rpcrdma attach {}` and `rpcrdma top {}` read it",
                       role_of(plan, source), plan.name, plan.name));
  if (const std::string missing = source.missing(); !missing.empty()) complain(missing);
  if (plan.until_input_ends) {
    fmt::print("{}\n", (*hub)->socket_path());
    std::fflush(stdout);
  }
  const auto ended = loop->run();
  metrics.close();
  (*hub)->stop();
  if (!ended) complain("the trace has ended: " + ended.error().message);
  return report(loop->sink(), **hub, ended ? kDone : kFailed);
}

}  // namespace

int run(const Plan& plan, const Opener& open) {
  const auto identity = cli::identity_after_opening(plan.user);
  if (!identity) return refused(identity.error().message);
  Opening opening;
  const auto source = open(plan, opening);
  const std::string& log = opening.log;
  if (plan.verbose && !log.empty()) fmt::print(stderr, "{}\n", log);
  if (!source) {
    return refused(source.error().message +
                   (!plan.verbose && !log.empty() ? " (-v prints the verifier's log)" : ""));
  }
  if (!opening.why_no_bpf.empty()) complain("without BPF: " + opening.why_no_bpf);
  if (const auto given_up = cli::give_up_privileges(*identity); !given_up) {
    return refused(given_up.error().message);
  }
  // Root itself, whose other programs look for the live socket in its own folder, stays.
  if (::geteuid() == 0 && plan.user.empty()) {
    if (const auto limited = cli::limit_root(cli::KeptRights::kFiles); !limited) {
      return refused(limited.error().message);
    }
  }
  return run_opened(plan, **source, *identity);
}

int main_of(int argc, const char* const* argv, const Opener& open) {
  // Exceeding the file size limit (ulimit -f) is a write error, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    command_line::Command program("rpcrdma-kernel",
                                  "Trace Linux's own NFS/RDMA client and server live");
    program.version(fmt::format("rpcrdma-kernel {}", version::text()));
    OptionText text;
    add_options(program, text);
    const command_line::Parsed parsed = command_line::parse(program, argc, argv);
    if (parsed.outcome == command_line::Parsed::Outcome::kShow) {
      std::fwrite(parsed.text.data(), 1, parsed.text.size(), stdout);
      return std::fflush(stdout) == 0 ? kDone : kFailed;
    }
    if (parsed.outcome == command_line::Parsed::Outcome::kRefused) return refused(parsed.text);
    const auto plan = parse(text);
    if (!plan) return refused(plan.error().message);
    return run(*plan, open);
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

}  // namespace rpcrdma::kernel_endpoint
