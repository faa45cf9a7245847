// rpcrdma load: generates load and measures latency.
#include "commands.h"
#include "echo_option.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "load_output.h"
#include "load_worker.h"
#include "metrics_option.h"
#include "rpcbind_option.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rpcrdma/load/report.h>
#include <rpcrdma/load/threshold.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/service/callback.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

constexpr std::uint32_t kMostDepth = 1024;
constexpr std::uint32_t kMostLoadConnections = 1024;
constexpr std::uint32_t kMostThreads = 64;

struct LoadOptions {
  std::string host;
  std::string from;
  EndpointOptions endpoint;
  std::string procedures = "echo";
  std::string size = "4Ki";
  std::string sleep = "1ms";
  std::uint32_t depth = 1;
  std::uint32_t connections = 1;
  std::uint32_t threads = 1;
  std::uint64_t count = 0;
  std::string duration;
  double rate = 0;
  std::uint64_t seed = 1;
  std::string timeout = "10s";
  std::vector<std::string> limits;
  std::string metrics;
  bool rpcbind = false;
  bool reverse = false;
  bool no_offer = false;
  bool both = false;
  LoadOutputOptions output;
  bool json = false;
};

// The parsed options, shared by all threads.
struct LoadPlan {
  Peers peers;
  Endpoint endpoint;
  load::EchoRequests requests;
  load::Thresholds limits;
  load::PacerOptions pace;
  Time timeout = 0;
  std::optional<MetricsAddress> metrics;
};

std::optional<LoadPlan> parse(const LoadOptions& o) {
  auto endpoint = parse_endpoint(o.endpoint, "load");
  if (!endpoint) return std::nullopt;
  const auto peers = parse_peers(o.host, o.from, *endpoint, "load");
  if (!peers) return std::nullopt;
  const auto requests = parse_echo(o.procedures, o.size, o.sleep, "load");
  if (!requests) return std::nullopt;
  LoadPlan plan{*peers, *endpoint, *requests, {}, {}, 0, {}};
  for (const std::string& text : o.limits) {
    if (const auto added = plan.limits.add(text); !added) {
      complain(fmt::format("load: --fail-above: {}", added.error().message));
      return std::nullopt;
    }
  }
  plan.limits.allow_no_errors();
  if (o.no_offer && endpoint->profile != service::Profile::k5666) {
    complain("load: --no-offer requires --profile rfc5666");
    return std::nullopt;
  }
  if (!in_range(o.depth, 1, kMostDepth, "load", "--depth") ||
      !in_range(o.connections, 1, kMostLoadConnections, "load", "--connections") ||
      !in_range(o.threads, 1, kMostThreads, "load", "--threads")) {
    return std::nullopt;
  }
  const LoadOutputOptions& out = o.output;
  if (o.reverse && !(out.interval + out.json_stream + out.hgrm + out.hlog).empty()) {
    complain(
        "load: --reverse: --interval, --json-stream, --hgrm and --hlog show the client's own "
        "Calls, "
        "and there are none; --both has them");
    return std::nullopt;
  }
  if (o.threads > o.connections) {
    complain(
        fmt::format("load: --threads {}: each thread needs a connection, so --connections must be "
                    "at least as large",
                    o.threads));
    return std::nullopt;
  }
  // The program needs a session for each connection, and the server limits sessions per client
  // address.
  const service::callback::ProgramOptions takes;
  const std::uint32_t of_client = plan.endpoint.kind == ProviderKind::kSoft
                                      ? (o.connections + o.threads - 1) / o.threads
                                      : o.connections;
  if ((o.reverse || o.both) &&
      (of_client > takes.sessions_of_client || o.connections > takes.sessions)) {
    complain(
        fmt::format("load: --connections {}: for reverse Calls a server accepts at most {} from "
                    "one address (each of the --threads has its own), and {} in total",
                    o.connections, takes.sessions_of_client, takes.sessions));
    return std::nullopt;
  }
  // 127.0.0.2, 127.0.0.3, and so on: only the loopback network has addresses to spare.
  const fabric::Address& from = plan.peers.from;
  const bool soft = plan.endpoint.kind == ProviderKind::kSoft;
  if (soft && o.threads > 1 && (from.ipv6 || from.bytes[0] != 127)) {
    complain(
        fmt::format("load: --threads {}: without an RDMA device each thread needs its own address, "
                    "counted up from --from, which works in 127.0.0.0/8 only",
                    o.threads));
    return std::nullopt;
  }
  // The server's address may be among them; it is skipped.
  if (soft && o.threads > 1 && from.bytes[3] + o.threads > 254) {
    complain(
        fmt::format("load: --threads {}: without an RDMA device each thread needs its own address, "
                    "and there are too few after --from {}; give one that ends in {} at most",
                    o.threads, from.to_string(), 254 - o.threads));
    return std::nullopt;
  }
  if (o.threads > 1 && !o.endpoint.pcapng.empty()) {
    complain("load: --pcapng: can only write the packets of one thread; use --threads 1");
    return std::nullopt;
  }
  if (!(o.rate >= 0) || o.rate > 1e9) {
    complain(fmt::format("load: --rate {}: not a number of Calls per second", o.rate));
    return std::nullopt;
  }
  plan.pace.rate = o.rate;
  plan.pace.count = o.count;
  plan.pace.threads = o.threads;
  if (!o.duration.empty() || o.count == 0) {
    const auto duration =
        duration_option(o.duration.empty() ? "10s" : o.duration, "load", "--duration");
    if (!duration) return std::nullopt;
    plan.pace.duration = *duration;
  }
  const auto timeout = limit_option(o.timeout, "load", "--timeout");
  if (!timeout) return std::nullopt;
  plan.timeout = *timeout;
  if (!o.metrics.empty()) {
    plan.metrics = parse_metrics(o.metrics, "load");
    if (!plan.metrics) return std::nullopt;
  }
  if (o.rpcbind) {
    plan.endpoint.port =
        ask_rpcbind(plan.peers.server, service::echo::kProgram, service::echo::kVersion, "load");
  }
  return plan;
}

fabric::Address address_of(const LoadPlan& plan, std::uint32_t thread) {
  fabric::Address own = plan.peers.from;
  if (plan.endpoint.kind == ProviderKind::kVerbs) return own;
  for (std::uint32_t left = thread; left != 0;) {
    ++own.bytes[3];
    if (own != plan.peers.server) --left;
  }
  return own;
}

using Workers = std::vector<std::unique_ptr<LoadWorker>>;

std::optional<Workers> make_workers(const LoadOptions& o, const LoadPlan& plan, bool intervals,
                                    Tracing& tracing) {
  Workers workers;
  for (std::uint32_t i = 0; i < o.threads; ++i) {
    trace::Tracer* const tracer = tracing.add();
    auto provider = open_provider(plan.endpoint, address_of(plan, i), tracer, "load");
    if (!provider) return std::nullopt;
    WorkerOptions w;
    w.tracer = tracer;
    w.client.server = plan.peers.server;
    apply(plan.endpoint, w.client);
    w.client.connect_timeout = connect_timeout(plan.timeout);
    w.client.connections = o.connections / o.threads + (i < o.connections % o.threads ? 1 : 0);
    w.client.requester.credits = w.client.requester.max_calls = o.depth;
    w.client.requester.offer_nothing = o.no_offer;
    w.depth = o.depth;
    w.timeout = plan.timeout;
    w.spin = plan.endpoint.spin;
    w.pace = plan.pace;
    w.pace.thread = i;
    w.seed = o.seed + i * 0x632be59bd9b4e019U;
    w.forward = !o.reverse;
    w.intervals = intervals;
    const std::uint64_t share = o.count / o.threads + (i < o.count % o.threads ? 1 : 0);
    if ((o.reverse || o.both) && (o.count == 0 || share != 0)) {
      soft::Random random(w.seed);
      w.reverse = load::ReversePlan{share, plan.requests.next(random), o.depth, plan.timeout};
    }
    auto worker = LoadWorker::create(std::move(provider), w, plan.requests);
    if (!worker) {
      complain(fmt::format("load: {}", worker.error().message));
      return std::nullopt;
    }
    workers.push_back(std::move(*worker));
  }
  return workers;
}

load::Progress sum(const Workers& workers) {
  load::Progress all;
  for (const auto& w : workers) {
    const load::Progress p = w->progress();
    all.calls += p.calls;
    all.failed += p.failed;
    all.bytes += p.bytes;
  }
  return all;
}

load::Interval take_interval(const Workers& workers) {
  load::Interval all;
  for (const auto& w : workers) all.merge(w->take_interval());
  return all;
}

// Runs all workers, each in its own thread, and prints a line per second if stderr is a terminal.
// Returns false, after reporting the errors, if any worker failed.
bool run_all(const Workers& workers, LoadOutput& output) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  std::vector<std::string> problems;
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (const auto& w : workers) {
    threads.emplace_back([&, worker = w.get()] {
      const auto result = worker->run();
      const std::scoped_lock lock(mutex);
      // The same error from several workers is reported once.
      if (!result && std::ranges::find(problems, result.error().message) == problems.end()) {
        problems.push_back(result.error().message);
      }
      ++done;
      changed.notify_one();
    });
  }
  const bool terminal = !output.prints_lines() && ::isatty(fileno(stderr)) == 1;
  const auto interval = std::chrono::nanoseconds(output.interval());
  output.begin();
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start + interval;
  Clock::time_point last = start;
  load::Progress before;
  {
    std::unique_lock lock(mutex);
    const auto all_done = [&] { return done == workers.size(); };
    while (!changed.wait_until(lock, next, all_done)) {
      const Clock::time_point now = Clock::now();
      // After a pause of this process, the intervals that it missed are one.
      next += interval * ((now - next) / interval + 1);
      if (output.wants_intervals() && !output.add(take_interval(workers))) Interrupt::request();
      const load::Progress current = sum(workers);
      if (terminal) {
        fmt::print(stderr, "\r\033[K{}",
                   load::progress_line(before, current, (now - last) / std::chrono::nanoseconds(1),
                                       (now - start) / std::chrono::nanoseconds(1)));
      }
      before = current;
      last = now;
    }
  }
  if (terminal) std::fputs("\r\033[K", stderr);
  for (std::thread& t : threads) t.join();
  if (output.wants_intervals()) (void)output.add(take_interval(workers));
  for (const std::string& p : problems) complain(fmt::format("load: {}", p));
  return problems.empty();
}

Time as_time(const timeval& t) {
  return t.tv_sec * fabric::kSecond + t.tv_usec * fabric::kMicrosecond;
}

load::Result collect(const Workers& workers, const rusage& before, const rusage& after) {
  load::Result r;
  Time begun = fabric::kNever;
  Time ended = 0;
  Time planned = 0;
  for (const auto& w : workers) {
    r.tally.merge(w->tally());
    begun = std::min(begun, w->begun());
    ended = std::max(ended, w->ended());
    planned = std::max(planned, w->planned());
    r.down += w->down();
    if (w->down() != 0) r.why_down = plot::escape_terminal(w->why_down());
    r.not_begun += w->not_begun();
    r.abandoned += w->abandoned();
    if (const auto packets = w->packets()) {
      if (!r.packets) r.packets.emplace();
      r.packets->retransmitted += packets->retransmitted;
      r.packets->naks += packets->naks;
      r.packets->rnrs += packets->rnrs;
    }
    const service::ClientCounters counters = w->counters();
    r.lost += counters.lost;
    r.stalls += counters.requester.stalls;
    if (const auto reverse = w->reverse_result()) {
      if (!r.reverse) r.reverse.emplace();
      r.reverse->right += reverse->right;
      r.reverse->wrong += reverse->wrong;
      r.reverse->failed += reverse->failed;
      r.reverse->resent += reverse->resent;
    }
  }
  r.elapsed = std::max(ended - begun, planned);
  r.user = as_time(after.ru_utime) - as_time(before.ru_utime);
  r.system = as_time(after.ru_stime) - as_time(before.ru_stime);
  r.interrupted = Interrupt::came();
  return r;
}

int make_load(const LoadOptions& o, const LoadPlan& plan, Tracing& tracing) {
  auto output = LoadOutput::open(o.output, o.json);
  if (!output) return kUnreadable;
  auto workers = make_workers(o, plan, output->wants_intervals(), tracing);
  if (!workers) return kUnreadable;
  std::vector<service::Loop*> loops;
  for (const auto& w : *workers) loops.push_back(&w->loop());
  const Interrupt interrupt(loops);
  std::unique_ptr<Metrics> metrics;
  if (plan.metrics) {
    std::vector<metrics::Parts> parts;
    for (const auto& w : *workers) parts.push_back(w->metrics_parts());
    parts.front().trace = tracing.figures();
    metrics = Metrics::open(*plan.metrics, parts, "load");
    if (metrics == nullptr) return kUnreadable;
    tracing.announce_metrics(metrics->address());
    if (plan.metrics->port == 0) {
      complain(fmt::format("load: metrics at http://{}/metrics", metrics->address()));
    }
  }
  const std::string server = server_text(plan.peers.server, plan.endpoint.port);
  for (const auto& w : *workers) {
    if (const auto connected = w->connect(); !connected) {
      complain(fmt::format("load: {}: {}", server, connected.error().message));
      return kUnreadable;
    }
  }
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  const bool whole = run_all(*workers, *output);
  ::getrusage(RUSAGE_SELF, &after);
  load::Result result = collect(*workers, before, after);
  for (const auto& w : *workers) w->disconnect();

  load::Setup setup;
  setup.server = server;
  setup.from = plan.peers.from.to_string();
  setup.connections = o.connections;
  setup.depth = o.depth;
  setup.threads = o.threads;
  setup.rate = o.rate;
  setup.seed = o.seed;
  setup.procedures = load::echo_procedures();
  result.failed = plan.limits.passed(result.tally, {result.not_begun, result.abandoned});
  fmt::print("{}", o.json ? load::to_json(setup, result) + '\n' : load::to_text(setup, result));
  // If no Call succeeded, the reason was already reported.
  if (whole || result.tally.right() != 0) {
    for (const std::string& limit : result.failed) complain(fmt::format("load: {}", limit));
  }
  const bool written = output->finish();
  if (!whole || !written) return kUnreadable;
  if (result.down != 0) {
    complain(fmt::format(
        "load: {} not re-established: {}",
        result.down == 1 ? "a connection to the server was lost and"
                         : fmt::format("{} connections to the server were lost and", result.down),
        result.why_down));
  }
  // Ctrl-C abandons Calls, too, which is no fault of the server.
  const bool silent = result.abandoned != 0 && !result.interrupted;
  if (silent) {
    complain(fmt::format(
        "load: {} without an answer when the time was over",
        result.abandoned == 1 ? "1 Call was" : fmt::format("{} Calls were", result.abandoned)));
  }
  const bool wrong =
      silent || result.down != 0 || result.tally.mismatches() != 0 ||
      (!o.reverse && result.tally.right() == 0) ||
      (result.reverse &&
       (result.reverse->wrong != 0 || result.reverse->failed != 0 || result.reverse->right == 0));
  return wrong || !result.failed.empty() ? kFindings : kOk;
}

int run_load(const LoadOptions& o) {
  const auto plan = parse(o);
  if (!plan) return kUnreadable;
  auto tracing = Tracing::start(
      plan->endpoint.tracing,
      fmt::format("load of {}", server_text(plan->peers.server, plan->endpoint.port)), "load");
  if (!tracing) return kUnreadable;
  return tracing->finish(make_load(o, *plan, *tracing));
}

}  // namespace

Run add_load(command_line::Command& command) {
  auto options = std::make_shared<LoadOptions>();
  add_peers(command, options->host, options->from);
  command.group("Load");
  command
      .option("--procedure", options->procedures,
              "Procedures of the program ECHO: null, echo, sink, source, echo-bulk, list, sleep, "
              "count; several with weights: echo:8,source:2; mix: all except sleep "
              "and count, also in a list: mix,sleep:2")
      .value("NAMES")
      .show_default();
  command
      .option("--size", options->size,
              "Bytes of data: a size, a range, or a list of both: 4Ki, 512-64Ki, 0,4Ki,1Mi. k and "
              "M are "
              "powers of 1000 (64k: 64000), Ki and Mi of 1024 (64Ki: 65536). In a mix, "
              "echo uses at most 64Ki and list at most 1M")
      .value("SIZES")
      .show_default();
  command.option("--sleep", options->sleep, "How long the procedure sleep waits at the server")
      .value("DURATION")
      .show_default();
  command.option("--depth", options->depth, "Calls in flight per connection")
      .value("N")
      .show_default()
      .whole_number();
  command.option("--connections", options->connections, "Connections, over all threads")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--threads", options->threads,
              "Threads; without an RDMA device each uses its own address, counted up from --from")
      .value("N")
      .show_default()
      .whole_number();
  command.option("-c,--count", options->count, "Stop after this many Calls; 0: no limit")
      .value("N")
      .whole_number();
  command
      .option(
          "--duration", options->duration,
          "Stop after this time: seconds, or 500ms, 5m (10s, unless there is a count). Calls in "
          "flight then have 1s to be answered")
      .value("DURATION");
  command.flag("--no-offer", options->no_offer,
               "With --profile rfc5666: offer no memory for Replies, so that the client reads long "
               "ones by Read chunks");
  command.flag(
      "--reverse", options->reverse,
      "Let the server send the Calls over these connections (RFC 8167); --procedure, --size, "
      "--depth, --count and --duration then apply to its Calls, which are all alike");
  command.flag("--both", options->both, "Send Calls in both directions at once")
      .excludes("--reverse");
  command
      .option("--rate", options->rate,
              "Calls per second; latency is measured from when a Call was due (as fast as replies "
              "come)")
      .value("N");
  command
      .option("--seed", options->seed,
              "Seed of the random choices: the same seed gives the same Calls")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--timeout", options->timeout,
              "Timeout of a Call, after which its connection is closed and reconnected; 0: none. "
              "Connecting has the same timeout, but at most 10s")
      .value("DURATION")
      .show_default();
  command.group("Results");
  command
      .option("--fail-above", options->limits,
              "Exit with status 1 if p50, p90, p95, p99, p99.9, p99.99, mean or max is above this "
              "limit, "
              "or if there are more errors (0 by default), mismatches or Calls that could not be "
              "sent (not_begun): p99=200us, errors=10. A Call that failed or was not sent counts "
              "as slower than any limit")
      .value("LIMIT")
      .delimiter(',')
      .one_word();
  add_metrics_option(command, options->metrics);
  command.flag("--json", options->json, "Print one JSON object (docs/load.md)");
  add_load_output(command, options->output);
  add_endpoint_options(command, options->endpoint);
  add_ask_rpcbind(command, options->rpcbind);
  command.footer(
      "Calls the program ECHO of `rpcrdma serve` and verifies all data in the Replies. Lost "
      "connections are reestablished and their Calls resent.\n"
      "Ctrl-C stops it; results so far are still reported.\n"
      "Exit status: 0 success; 1 a Call was refused, failed or not answered before the end, a "
      "limit was exceeded, data was wrong, no Call was answered, or a connection was lost and not "
      "re-established; 2 the server cannot be reached or an "
      "argument is invalid, or a file cannot be written.");
  command.example("rpcrdma load 127.0.0.1 --procedure source --size 1Mi --depth 16 --duration 10s",
                  "Measure throughput in bytes per second.");
  command.example("rpcrdma load 127.0.0.1 --rate 1000 --count 10000 --fail-above p99=1ms,errors=0",
                  "Send a thousand Calls per second; exit with 1 if more than 1 % take longer than "
                  "1 ms or any fails.");
  return [options] { return run_load(*options); };
}

}  // namespace rpcrdma::cli
