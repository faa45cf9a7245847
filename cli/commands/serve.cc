// rpcrdma serve: serves the program ECHO.
#include "commands.h"
#include "device_work.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "line_limit.h"
#include "log.h"
#include "memory_option.h"
#include "metrics_option.h"
#include "rpc_program.h"
#include "rpcbind_option.h"
#include "service_manager.h"
#include "service_signals.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/command_line/config_file.h>
#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/protocol/refusal_reasons.h>
#include <rpcrdma/protocol/time_echo.h>
#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::cli {

namespace {

constexpr std::uint32_t kMostCredits = 1024;
constexpr std::uint32_t kMostServedConnections = 16384;
constexpr std::uint32_t kMostCalls = 1U << 20;
constexpr std::size_t kMostNullPrograms = 64;
// More than a header of the longest Send can list.
constexpr std::uint32_t kMostSegments = 1U << 16;
constexpr std::uint32_t kMostDrcEntries = 1U << 24;
constexpr std::uint32_t kLeastDrcBytes = 64U << 10;
constexpr std::uint32_t kMostDrcBytes = 1U << 30;

struct ServeOptions {
  std::string listen;
  EndpointOptions endpoint;
  std::uint32_t credits = 32;
  std::uint32_t max_connections = 256;
  std::uint32_t max_calls = 4096;
  std::string max_bulk = "16Mi";
  std::string max_memory;
  std::uint32_t max_segments = protocol::kAcceptedSegments;
  std::uint32_t max_write_chunks = protocol::kAcceptedWriteChunks;
  std::string idle;
  std::vector<std::string> null_programs;
  MetricsText metrics;
  std::uint32_t drc_entries = service::DuplicateCacheOptions{}.entries;
  std::string drc_bytes = "16Mi";
  std::uint32_t reverse_credits = 8;
  bool reverse_inline_only = false;
  std::uint32_t align = 64;
  bool rpcbind = false;
  bool quiet = false;
  std::string config;
  bool print_config = false;
  std::string write_config;
  LogText log;
  bool json = false;
};

// Returns the option whose limit caused a refusal, with its value: " (--max-bulk 16 MiB)". Empty:
// no limit of ours did.
std::string limit_text(std::string_view why, const protocol::ResponderOptions& limits) {
  if (why == protocol::kReadsTooLong) {
    return fmt::format(" (--max-bulk {})", base::format_bytes(limits.max_chunk_bytes));
  }
  if (why == protocol::kTooManySegments) {
    return fmt::format(" (--max-segments {})", limits.max_segments);
  }
  if (why == protocol::kTooManyWriteChunks) {
    return fmt::format(" (--max-write-chunks {})", limits.max_write_chunks);
  }
  return {};
}

// Logs connections, disconnections and refused Calls.
class Doorkeeper : public service::ServerObserver {
 public:
  Doorkeeper(Log& log, bool quiet, const protocol::ResponderOptions& limits)
      : log_(log), quiet_(quiet), limits_(limits) {}

  void set_quiet(bool quiet) { quiet_ = quiet; }

  void on_connected(const service::ConnectionInfo& c) override {
    if (quiet_) return;
    say(c, fmt::format("connected, {} bytes inline from it, {} to it{}", c.thresholds.receive,
                       c.thresholds.send, private_data_note(c.thresholds)));
  }
  void on_configured(const service::ConnectionInfo& c) override {
    if (quiet_) return;
    say(c, fmt::format("configured, {} bytes inline from it, {} to it", c.thresholds.receive,
                       c.thresholds.send));
  }
  void on_closed(const service::ConnectionInfo& c, service::CloseReason reason,
                 std::string_view what) override {
    if (quiet_) return;
    using service::CloseReason;
    const bool usual = reason == CloseReason::kPeer || reason == CloseReason::kIdle ||
                       reason == CloseReason::kStopped;
    say(c,
        fmt::format("closed ({}){}{}", service::close_reason_name(reason), what.empty() ? "" : ": ",
                    plot::escape_terminal(what)),
        usual ? LogLevel::kInfo : LogLevel::kWarning);
  }
  void on_refused(const service::ConnectionInfo& c, const protocol::RefusedCall& call) override {
    if (quiet_) return;
    const fabric::Time now = service::Loop::read_clock();
    if (refusals_.starts_new_interval(now)) log_suppressed(refusals_.left_out(), kRefused);
    if (refusals_.may_print(now)) {
      log_.write(
          LogLevel::kWarning,
          fmt::format("connection {}: Call {:#010x} of {} refused, {}: {}{}", c.number, call.xid,
                      c.peer.to_string(), call.error, call.why, limit_text(call.why, limits_)),
          {{"connection", c.number}, {"peer", c.peer.to_string()}, {"xid", call.xid}});
    }
  }
  void on_too_long(const service::Call& call, std::uint64_t bytes) {
    if (quiet_) return;
    const fabric::Time now = service::Loop::read_clock();
    if (refusals_.starts_new_interval(now)) log_suppressed(refusals_.left_out(), kRefused);
    if (refusals_.may_print(now)) {
      log_.write(LogLevel::kWarning,
                 fmt::format("Call {:#010x} of {} refused: a result of {} is above --max-bulk {}",
                             call.xid(), call.peer().to_string(), base::format_bytes(bytes),
                             base::format_bytes(limits_.max_chunk_bytes)),
                 {{"peer", call.peer().to_string()}, {"xid", call.xid()}});
    }
  }
  void on_rejected(const fabric::Address& peer, std::string_view what) override {
    if (quiet_) return;
    const fabric::Time now = service::Loop::read_clock();
    if (rejections_.starts_new_interval(now)) log_suppressed(rejections_.left_out(), kRejected);
    if (rejections_.may_print(now)) {
      log_.write(LogLevel::kWarning,
                 fmt::format("{} rejected: {}", peer.to_string(), plot::escape_terminal(what)),
                 {{"peer", peer.to_string()}});
    }
  }

  // Called at the end.
  void finish() const {
    log_suppressed(rejections_.left_out(), kRejected);
    log_suppressed(refusals_.left_out(), kRefused);
  }

 private:
  static constexpr const char* kRejected = "rejected";
  static constexpr const char* kRefused = "Calls refused";
  void say(const service::ConnectionInfo& c, const std::string& what,
           LogLevel level = LogLevel::kInfo) const {
    log_.write(level, fmt::format("connection {}: {} {}", c.number, c.peer.to_string(), what),
               {{"connection", c.number}, {"peer", c.peer.to_string()}});
  }
  void log_suppressed(std::uint64_t lines, const char* what) const {
    if (lines != 0) log_.warn(fmt::format("{} more {}", lines, what));
  }
  static const char* private_data_note(const service::Thresholds& agreed) {
    if (agreed.peer) return "";
    return agreed.peer_sent_other ? " (its private data is of another format or version)"
                                  : " (it sent no private data)";
  }

  Log& log_;
  bool quiet_;
  protocol::ResponderOptions limits_;
  LineLimit rejections_{10};
  LineLimit refusals_{10};
};

void log_summary(Log& log, const service::ServerCounters& c,
                 const service::echo::EchoCounters& echo, const protocol::ResponderOptions& limits,
                 const OpenProvider& provider) {
  const auto& calls = c.calls;
  log.info(fmt::format("{} connection{}, {} Calls: {} answered with success, {} with an error",
                       c.accepted, c.accepted == 1 ? "" : "s", calls.calls, calls.success,
                       calls.calls - calls.success - calls.cancelled - calls.replayed -
                           calls.duplicates_dropped - calls.one_way));
  log.info(fmt::format(
      "{} read from clients, {} written to them; {} RDMA_ERRORs sent",
      base::format_bytes(c.responder.bytes.read()), base::format_bytes(c.responder.bytes.written()),
      c.responder.error_version + c.responder.error_chunk + c.responder.error_proc +
          c.responder.error_option + c.responder.cant_reply));
  for (const protocol::Refusals::Reason& r : c.responder.refusals.reasons()) {
    log.info(fmt::format("  {} {}: {}{}", r.count, r.error, r.why, limit_text(r.why, limits)));
  }
  if (echo.too_long != 0) {
    log.info(fmt::format("{} of the Calls asked for a result above --max-bulk {}", echo.too_long,
                         base::format_bytes(limits.max_chunk_bytes)));
  }
  if (calls.one_way != 0) log.info(fmt::format("{} without a Reply", calls.one_way));
  if (const auto& d = c.duplicates; d.replayed + d.dropped + d.unprotected != 0) {
    log.info(fmt::format(
        "{} of the Calls had been sent before: {} answered with the kept Reply, {} dropped",
        calls.replayed + calls.duplicates_dropped, calls.replayed, calls.duplicates_dropped));
    if (d.unprotected != 0) {
      log.info(
          fmt::format("{} executed without room in the duplicate request cache", d.unprotected));
    }
  }
  if (c.responder.unacknowledged != 0) {
    log.info(fmt::format(
        "{} of the answers, with {} written, were not acknowledged before the connection ended",
        c.responder.unacknowledged, base::format_bytes(c.responder.unacknowledged_bytes)));
  }
  if (provider.verbs != nullptr) {
    std::string line = load::to_text(device_work({}, provider.verbs->counters()), calls.calls);
    line.pop_back();
    log.info(line);
  }
  if (provider.soft == nullptr) return;
  const soft::ProviderCounters packets = provider.soft->counters();
  log.info(fmt::format("{} packets sent, {} received", packets.udp.sent_packets,
                       packets.udp.received_packets));
  if (packets.udp.forwarded + packets.udp.forward_dropped != 0) {
    log.info(fmt::format("{} packets forwarded to other endpoints at this address, {} dropped",
                         packets.udp.forwarded, packets.udp.forward_dropped));
  }
}

// One line: docs/load.md describes the keys.
void print_json(const service::ServerCounters& c, const service::echo::EchoCounters& echo,
                const OpenProvider& provider) {
  using Json = nlohmann::ordered_json;
  const auto& calls = c.calls;
  Json refusals = Json::array();
  for (const protocol::Refusals::Reason& r : c.responder.refusals.reasons()) {
    refusals.push_back({{"error", r.error}, {"why", r.why}, {"calls", r.count}});
  }
  Json packets;
  if (provider.soft != nullptr) {
    const soft::ProviderCounters counters = provider.soft->counters();
    packets = {{"sent", counters.udp.sent_packets},
               {"received", counters.udp.received_packets},
               {"retransmitted", counters.queue_pairs.retransmitted},
               {"forwarded", counters.udp.forwarded},
               {"forward_dropped", counters.udp.forward_dropped}};
  }
  const Json work = provider.verbs == nullptr
                        ? Json()
                        : load::to_json(device_work({}, provider.verbs->counters()));
  const Json out{{"connections", c.accepted},
                 {"calls", calls.calls},
                 {"success", calls.success},
                 {"errors", calls.calls - calls.success - calls.cancelled - calls.replayed -
                                calls.duplicates_dropped - calls.one_way},
                 {"replayed", calls.replayed},
                 {"duplicates_dropped", calls.duplicates_dropped},
                 {"bytes_read", c.responder.bytes.read()},
                 {"bytes_written", c.responder.bytes.written()},
                 {"refusals", refusals},
                 {"results_too_long", echo.too_long},
                 {"unacknowledged", c.responder.unacknowledged},
                 {"packets", packets},
                 {"device_work", work}};
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Disconnects all clients and waits a moment for them; abandons those that do not respond.
fabric::Expected<void> close_all(service::Loop& loop, service::Server& server) {
  constexpr fabric::Time kPatience = 2 * fabric::kSecond;
  server.close();
  const fabric::Time until = loop.now() + kPatience;
  while (server.connections() != 0 && loop.now() < until) {
    const auto going = loop.run_once(until - loop.now());
    if (!going) return tl::unexpected(going.error());
    if (!*going) break;
  }
  return {};
}

// The parsed options.
struct ServePlan {
  Endpoint endpoint;
  fabric::Address address;
  std::uint32_t max_bulk = 0;
  std::uint64_t pool_limit = 0;  // bytes
  service::ServerOptions server;
  std::vector<RpcProgram> null_programs;
  std::optional<MetricsAddress> metrics;
};

// Parses "PROGRAM:VERSION". Only its NULL procedure is served: enough for a client that checks with
// NULL whether a server is there.
std::optional<RpcProgram> parse_null_program(const std::string& text) {
  const std::size_t colon = text.find(':');
  auto program = parse_program(std::string_view(text).substr(0, colon));
  const auto version = colon == std::string::npos
                           ? std::nullopt
                           : base::parse_u32(std::string_view(text).substr(colon + 1));
  if (!program || !version) {
    complain(
        fmt::format("serve: --null-program {}: give PROGRAM:VERSION, such as nfs:4; PROGRAM is {}",
                    text, kProgramNames));
    return std::nullopt;
  }
  if (program->number == service::echo::kProgram) {
    complain(fmt::format("serve: --null-program {}: echo is always served", text));
    return std::nullopt;
  }
  program->version = *version;
  return program;
}

std::optional<std::vector<RpcProgram>> parse_null_programs(const std::vector<std::string>& texts) {
  if (texts.size() > kMostNullPrograms) {
    complain(fmt::format("serve: --null-program: more than {}", kMostNullPrograms));
    return std::nullopt;
  }
  std::vector<RpcProgram> programs;
  for (const std::string& text : texts) {
    const auto program = parse_null_program(text);
    if (!program) return std::nullopt;
    programs.push_back(*program);
  }
  return programs;
}

std::optional<ServePlan> parse(const ServeOptions& options) {
  auto endpoint = parse_endpoint(options.endpoint, "serve");
  if (!endpoint) return std::nullopt;
  if (!in_range(options.credits, 1, kMostCredits, "serve", "--credits") ||
      !in_range(options.reverse_credits, 0, kMostCredits, "serve", "--reverse-credits") ||
      !in_range(options.align, 0, protocol::kMaxAlign, "serve", "--align") ||
      !in_range(options.max_connections, 1, kMostServedConnections, "serve", "--max-connections") ||
      !in_range(options.max_calls, 1, kMostCalls, "serve", "--max-calls") ||
      !in_range(options.max_segments, 1, kMostSegments, "serve", "--max-segments") ||
      !in_range(options.max_write_chunks, 0, kMostSegments, "serve", "--max-write-chunks") ||
      !in_range(options.drc_entries, 0, kMostDrcEntries, "serve", "--drc-entries")) {
    return std::nullopt;
  }
  const auto bulk = size_option(options.max_bulk, "serve", "--max-bulk", service::echo::kMaxBulk);
  if (!bulk) return std::nullopt;
  const auto drc_bytes = size_option(options.drc_bytes, "serve", "--drc-bytes", kMostDrcBytes);
  if (!drc_bytes) return std::nullopt;
  if (*drc_bytes < kLeastDrcBytes) {
    complain(fmt::format("serve: --drc-bytes {}: give at least {}", options.drc_bytes,
                         base::format_bytes(kLeastDrcBytes)));
    return std::nullopt;
  }
  const auto memory = pool_limit(options.max_memory,
                                 {*bulk, service::accepted_connections(options.max_connections),
                                  options.drc_entries != 0 ? *drc_bytes : 0},
                                 "serve");
  if (!memory) return std::nullopt;
  const auto address = parse_listen(options.listen, *endpoint, "serve");
  if (!address) return std::nullopt;
  if (!choose_provider(*endpoint, *address, "serve")) return std::nullopt;
  std::optional<MetricsAddress> metrics_address;
  if (!options.metrics.address.empty()) {
    metrics_address = parse_metrics(options.metrics, "serve");
    if (!metrics_address) return std::nullopt;
  }
  auto null_programs = parse_null_programs(options.null_programs);
  if (!null_programs) return std::nullopt;
  service::ServerOptions server_options;
  if (!options.idle.empty()) {
    const auto idle = limit_option(options.idle, "serve", "--idle");
    if (!idle) return std::nullopt;
    server_options.idle = *idle;
  }
  apply(*endpoint, server_options);
  server_options.config.align = options.align;
  server_options.responder.credits = options.credits;
  server_options.reverse_credits = options.reverse_credits;
  server_options.responder.max_chunk_bytes = *bulk;
  server_options.responder.max_segments = options.max_segments;
  server_options.responder.max_write_chunks = options.max_write_chunks;
  server_options.max_connections = options.max_connections;
  server_options.max_calls = options.max_calls;
  server_options.duplicates.entries = options.drc_entries;
  server_options.duplicates.bytes = *drc_bytes;
  return ServePlan{*endpoint,
                   *address,
                   *bulk,
                   *memory,
                   server_options,
                   std::move(*null_programs),
                   std::move(metrics_address)};
}

// Serving does not depend on the service manager: a failed notification is only reported.
template <typename T>
void complain_of(const capture::Expected<T>& notified) {
  if (!notified) complain(fmt::format("serve: warning: {}", notified.error().message));
}

void describe(command_line::Command& command, ServeOptions& options);

// Options whose new values are in use at once when the configuration is read again.
constexpr std::array<std::string_view, 6> kLive{"credits",         "idle", "log-level", "max-calls",
                                                "max-connections", "quiet"};

bool is_live(const command_line::Option& option) {
  return std::ranges::find(kLive, option.spec().long_names.front()) != kLive.end();
}

// A server with all that an operator can ask of it while it runs.
class RunningServer {
 public:
  RunningServer(const ServeOptions& options, const ServePlan& plan,
                const command_line::Command& command, const Tracing& tracing,
                const OpenProvider& provider, service::Server& server, Doorkeeper& doorkeeper,
                Log& log)
      : plan_(plan),
        credits_(options.credits),
        command_(command),
        tracing_(tracing),
        provider_(provider),
        server_(server),
        doorkeeper_(doorkeeper),
        log_(log),
        manager_(ServiceManager::from_environment()) {
    complain_of(manager_);
    for (const command_line::EffectiveValue& v : command_line::effective_values(command)) {
      values_[v.option->name()] = v.values;
    }
  }
  ~RunningServer() {
    if (rotation_.joinable()) rotation_.join();
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // The service answers now.
  void ready() {
    status_ = status();
    if (manager_) complain_of(manager_->ready(status_));
  }
  void stopping() const {
    if (manager_) complain_of(manager_->stopping());
  }

  // Does what is due, and returns when it must be called again.
  fabric::Time turn(fabric::Time now) {
    if (ServiceSignals::take_rotate()) rotate();
    if (ServiceSignals::take_reload()) reload();
    if (!manager_ || !manager_->listens()) return fabric::kNever;
    if (now < notify_at_) return notify_at_;
    // Twice in the time after which a silent service counts as hung.
    const auto watchdog = manager_->watchdog();
    notify_at_ = now + std::min(kStatusInterval, watchdog ? *watchdog / 2 : fabric::kNever);
    if (watchdog) complain_of(manager_->alive());
    if (std::string text = status(); text != status_) {
      complain_of(manager_->status(text));
      status_ = std::move(text);
    }
    return notify_at_;
  }

 private:
  static constexpr fabric::Time kStatusInterval = 10 * fabric::kSecond;

  [[nodiscard]] std::string status() const {
    const std::uint32_t n = server_.connections();
    return fmt::format("listening on {}{}", server_text(plan_.address, plan_.endpoint.port),
                       n == 0 ? "" : fmt::format(", {} connection{}", n, n == 1 ? "" : "s"));
  }

  // Opens files again that another program has renamed.
  void rotate() {
    if (const auto opened = log_.reopen(); !opened) return log_.error(opened.error().message);
    log_.info("files are opened again");
    std::shared_ptr<soft::PacketLog> packets = rotate_packets(plan_.endpoint, provider_, "serve");
    if (rotation_.joinable()) rotation_.join();
    // Ending files waits for the disk: the Calls do not, unless there is no thread.
    auto thread = base::start_thread([this, packets = std::move(packets)]() mutable {
      packets.reset();
      begin_recordings_again();
    });
    if (thread) {
      rotation_ = std::move(*thread);
    } else {
      log_.warn(thread.error().message);
      begin_recordings_again();
    }
  }

  void begin_recordings_again() noexcept {
    try {
      tracing_.rotate();
    } catch (const std::bad_alloc&) {
      std::fputs("rpcrdma: serve: out of memory: recordings are not begun again\n", stderr);
    }
  }

  // Reads the configuration file again.
  void reload() {
    if (manager_) complain_of(manager_->reloading());
    command_line::Command program("rpcrdma", "");
    command_line::Command& again = program.command(command_.name(), "");
    ServeOptions options;
    options.endpoint.versions = "1-2";
    describe(again, options);
    const command_line::Parsed parsed = command_line::parse(program, command_.command_line());
    if (parsed.outcome == command_line::Parsed::Outcome::kRun) {
      if (const auto plan = parse(options)) {
        apply(options, *plan, again);
      } else {
        log_.error("the configuration is not changed");
      }
    } else {
      log_.error(fmt::format("the configuration is not changed: {}", parsed.text));
    }
    ready();
  }

  void apply(const ServeOptions& options, const ServePlan& plan,
             const command_line::Command& again) {
    std::vector<std::string> changed, later;
    for (const command_line::EffectiveValue& v : command_line::effective_values(again)) {
      std::vector<std::string>& before = values_[v.option->name()];
      if (before == v.values) continue;
      const bool live =
          is_live(*v.option) && (v.option->name() != "--credits" || options.credits <= credits_);
      (live ? changed : later).push_back(v.option->name());
      if (live) before = v.values;
    }
    log_.set_level(parse_log(options.log).level);
    doorkeeper_.set_quiet(options.quiet);
    server_.grant(options.credits);
    const service::ServerOptions& limits = plan.server;
    if (const auto limited = server_.limit(limits.max_connections, limits.max_calls, limits.idle);
        !limited) {
      log_.error(limited.error().message);
    }
    log_.info(changed.empty()
                  ? "configuration read again: nothing has changed"
                  : fmt::format("configuration read again: {} changed", fmt::join(changed, ", ")));
    if (!later.empty()) {
      log_.warn(fmt::format("a restart is needed for {}", fmt::join(later, ", ")));
    }
  }

  const ServePlan& plan_;
  const std::uint32_t credits_;  // for which Receives are posted
  const command_line::Command& command_;
  const Tracing& tracing_;
  const OpenProvider& provider_;
  service::Server& server_;
  Doorkeeper& doorkeeper_;
  Log& log_;
  capture::Expected<ServiceManager> manager_;
  std::map<std::string, std::vector<std::string>> values_;  // by the option's name, as in use
  fabric::Time notify_at_ = 0;
  std::string status_;
  std::thread rotation_;
};

int serve(const ServeOptions& options, const ServePlan& plan, Tracing& tracing, Log& log,
          const command_line::Command& command) {
  trace::Tracer* const tracer = tracing.add();
  const auto refused = [](const fabric::Error& error) {
    complain(fmt::format("serve: {}", error.message));
    return kUnreadable;
  };
  const auto provider = open_provider(plan.endpoint, plan.address, tracer, "serve");
  if (!provider) return kUnreadable;
  protocol::MemoryPool::Options memory;
  memory.limit = plan.pool_limit;
  const auto loop = service::Loop::create(
      *provider.provider, {.memory = memory, .spin = plan.endpoint.spin, .tracer = tracer});
  if (!loop) return refused(loop.error());
  const auto echo = service::echo::EchoProgram::create((*loop)->memory(), plan.max_bulk,
                                                       &service::Loop::read_clock);
  if (!echo) return refused(echo.error());
  std::vector<service::Program*> programs{echo->get()};
  service::callback::ProgramOptions callbacks;
  callbacks.depth = options.reverse_credits;
  callbacks.inline_only = options.reverse_inline_only;
  std::unique_ptr<service::callback::CallbackProgram> callback;
  if (options.reverse_credits != 0) {
    auto made =
        service::callback::CallbackProgram::create((*loop)->memory(), (*loop)->clock(), callbacks);
    if (!made) return refused(made.error());
    callback = std::move(*made);
    programs.push_back(callback.get());
  }
  std::vector<std::unique_ptr<service::Program>> null_programs;
  for (const RpcProgram& p : plan.null_programs) {
    const char* const name = decode::program_name(p.number, p.version, 0);
    null_programs.push_back(std::make_unique<service::Program>(
        p.number, p.version, fmt::format("NULL of {}", name != nullptr ? name : "another"),
        std::vector<service::Procedure>{}));
    programs.push_back(null_programs.back().get());
  }
  protocol::OptionRegistry version_two;
  protocol::add_time_echo(version_two);
  service::ServerOptions server_options = plan.server;
  server_options.responder.options = &version_two;
  Doorkeeper doorkeeper(log, options.quiet, plan.server.responder);
  (*echo)->on_too_long([&doorkeeper](const service::Call& call, std::uint64_t bytes) {
    doorkeeper.on_too_long(call, bytes);
  });
  const auto server = service::Server::create(**loop, programs, server_options, &doorkeeper);
  if (!server) return refused(server.error());
  std::unique_ptr<Metrics> metrics;
  if (plan.metrics) {
    const auto more = [&echo](metrics::Snapshot& snapshot) {
      for (std::uint32_t i = 0; i < service::echo::kProcedures; ++i) {
        add_echo_calls(snapshot, service::echo::Proc{i}, (*echo)->counters().calls[i],
                       (*echo)->durations(i));
      }
    };
    metrics = Metrics::open(
        *plan.metrics,
        {{loop->get(), provider.soft, server->get(), nullptr, more, tracing.figures()}}, "serve");
    if (metrics == nullptr) return kUnreadable;
    tracing.announce_metrics(metrics->address());
  }

  const std::array<service::Loop*, 1> loops{loop->get()};
  const Interrupt interrupt(loops);
  // Without a file to read again, a hangup ends the server, as closing its terminal does.
  const ServiceSignals signals(loops, !options.config.empty());
  auto announcement = options.rpcbind
                          ? announce(programs, {plan.address, plan.endpoint.port}, "serve")
                          : std::nullopt;
  if (options.rpcbind && !announcement) return kUnreadable;
  log.take_complaints();
  for (const service::Program* p : programs) {
    log.info(
        fmt::format("listening on {}{}: {} (program {:#x} version {}), {} credits, {} bytes inline",
                    server_text(plan.address, plan.endpoint.port),
                    provider.soft != nullptr ? "" : fmt::format(" ({})", provider.device),
                    p->name(), p->number(), p->version(), options.credits,
                    options.endpoint.no_private_data ? 1024 : plan.endpoint.inline_threshold));
  }
  if (metrics) log.info("metrics at " + metrics_url(*plan.metrics, metrics->address()));
  RunningServer running(options, plan, command, tracing, provider, **server, doorkeeper, log);
  running.ready();
  fabric::Expected<void> result;
  while (result && !Interrupt::came()) {
    const fabric::Time next = running.turn((*loop)->now());
    const auto going = (*loop)->run_once(std::max<fabric::Time>(next - (*loop)->now(), 0));
    if (!going) result = tl::unexpected(going.error());
  }
  running.stopping();
  // Unregistered first, so that rpcbind sends no more clients to a server that is closing.
  if (announcement) {
    if (const auto gone = announcement->unregister(); !gone) {
      complain(fmt::format("serve: --rpcbind: {}", gone.error().message));
    }
  }
  if (result) result = close_all(**loop, **server);
  doorkeeper.finish();
  if (options.json) {
    print_json((*server)->counters(), (*echo)->counters(), provider);
  } else {
    log_summary(log, (*server)->counters(), (*echo)->counters(), plan.server.responder, provider);
  }
  return result ? kOk : refused(result.error());
}

int show_config(const ServeOptions& options, const command_line::Command& command) {
  const std::string text = command_line::config_text(command);
  if (options.print_config) {
    fmt::print("{}", text);
    return kOk;
  }
  const auto written =
      base::write_whole(options.write_config, [&](const base::Write& write) { write(text); },
                        {.existing = base::Existing::kRefuse});
  if (written) return kOk;
  complain(fmt::format("serve: --write-config {}", written.error().message));
  return kUnreadable;
}

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

int run_server(const ServeOptions& options, const command_line::Command& command) {
  const auto plan = parse(options);
  if (!plan) return kUnreadable;
  if (options.print_config || !options.write_config.empty()) return show_config(options, command);
  // Nobody has to read the log.
  std::signal(SIGPIPE, SIG_IGN);
  const auto log = Log::open(parse_log(options.log));
  if (!log) {
    complain(fmt::format("serve: {}", log.error().message));
    return kUnreadable;
  }
  auto tracing = Tracing::start(
      plan->endpoint.tracing,
      fmt::format("server on {}", server_text(plan->address, plan->endpoint.port)), "serve");
  if (!tracing) return kUnreadable;
  int status = tracing->finish(serve(options, *plan, *tracing, **log, command));
  if (!(*log)->finish()) status = kUnreadable;
  // A reader of the log may have exited, which is no failure of the server.
  if (is_pipe(STDOUT_FILENO)) std::clearerr(stdout);
  return status;
}

void describe(command_line::Command& command, ServeOptions& options) {
  command
      .option("-l,--listen", options.listen,
              "Local address to serve on, or its name; also ADDRESS:PORT")
      .value("ADDRESS")
      .required();
  add_endpoint_options(command, options.endpoint);
  command.group("Limits");
  command.option("--credits", options.credits, "Maximum credits granted per connection")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option(
          "--max-connections", options.max_connections,
          "Maximum concurrent connections. Up to 1/8 more are reserved for addresses that have no "
          "connection yet; all others are rejected")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option(
          "--max-calls", options.max_calls,
          "Maximum concurrent Calls on all connections together; credits are granted accordingly")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--max-bulk", options.max_bulk,
              "Maximum bytes of one Call's Read chunks, and of one bulk result")
      .value("SIZE")
      .show_default();
  command
      .option("--max-memory", options.max_memory,
              "Maximum memory that clients can make the server use, shared fairly by their "
              "addresses and connections: docs/security.md (a quarter of the memory of the machine "
              "or its cgroup, at most 4 GiB)")
      .value("SIZE");
  command
      .option("--max-segments", options.max_segments,
              "Maximum segments of all chunks of one Call; a Call with more is refused (ERR_CHUNK)")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--max-write-chunks", options.max_write_chunks,
              "Maximum Write chunks of one Call; a Call with more is refused (ERR_CHUNK); 0: none")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--idle", options.idle,
              "Close connections without Calls after this time; 0: never (never)")
      .value("DURATION");
  command.group("Duplicate request cache");
  command
      .option(
          "--drc-entries", options.drc_entries,
          "Duplicate request cache: maximum of Calls whose Replies are kept, so that a Call that "
          "is not idempotent is executed once; 0: no cache")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--drc-bytes", options.drc_bytes,
              "Duplicate request cache: maximum bytes of the kept Replies")
      .value("SIZE")
      .show_default();
  command.group("Protocol");
  command
      .option("--reverse-credits", options.reverse_credits,
              "Calls in flight to a client that asks for reverse Calls (`rpcrdma load --reverse`); "
              "0: none")
      .value("N")
      .show_default()
      .whole_number();
  command.flag(
      "--reverse-inline-only", options.reverse_inline_only,
      "Use no chunks for reverse Calls: do not send Calls that exceed the inline threshold");
  command
      .option(
          "--align", options.align,
          "With --profile rfc5666: alignment to announce to clients, which pad opaque data to it "
          "(RDMA_MSGP); 0: none")
      .value("BYTES")
      .show_default()
      .whole_number();
  command.group("Service");
  command
      .option("--null-program", options.null_programs,
              "Also answer procedure 0 of this program and version, and PROC_UNAVAIL to its other "
              "procedures; separate several with commas, such as nfs:3,nfs:4")
      .value("PROGRAM:VERSION")
      .delimiter(',')
      .one_word();
  add_metrics_options(command, options.metrics);
  command.flag("--rpcbind", options.rpcbind,
               "Register with this machine's rpcbind, for netid rdma or rdma6, while serving");
  add_log_options(command, options.log);
  command.flag("-q,--quiet", options.quiet, "Do not log connections and disconnections");
  command.flag("--json", options.json,
               "Print the summary at the end as one JSON object (docs/load.md)");
  command.group("Configuration");
  command.config_file(options.config);
  command
      .flag("--print-config", options.print_config,
            "Print all options with the values in use, as a configuration file, and exit")
      .meta();
  command.option("--write-config", options.write_config, "Write the same to a new file, and exit")
      .value("FILE")
      .meta();
}

}  // namespace

Run add_serve(command_line::Command& command) {
  auto options = std::make_shared<ServeOptions>();
  options->endpoint.versions = "1-2";
  describe(command, *options);
  command.footer(
      "Serves the program ECHO (engine/service/echo.x) over RPC-over-RDMA, on the RDMA device that "
      "owns ADDRESS (docs/verbs.md), or otherwise over the soft fabric: RoCEv2 over UDP port 4791 "
      "in user space, without privileges and without an RNIC.\n"
      "NFS is not served. With --null-program nfs:4, NFS clients find a server that answers NULL "
      "and nothing else.\n"
      "Prints a line when it is listening, and notifies systemd or another service manager named "
      "by NOTIFY_SOCKET. Ctrl-C stops it and prints a summary. SIGHUP reads the file of --config "
      "again, and names the options that need a restart; without --config it ends the server. "
      "SIGUSR1 opens the files of --log-file, --record and --pcapng again after another program "
      "has "
      "renamed them (docs/operate.md).");
  command.example("rpcrdma serve --listen 127.0.0.1", "Serve clients on this machine.");
  command.example("rpcrdma serve --listen 10.0.0.1 --fault 'drop dir=out rate=0.01 seed=7'",
                  "Drop every hundredth packet sent.");
  return [options, &command] { return run_server(*options, command); };
}

}  // namespace rpcrdma::cli
