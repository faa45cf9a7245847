// rpcrdma serve: serves the program ECHO.
#include "commands.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "line_limit.h"
#include "metrics_option.h"
#include "rpc_program.h"
#include "rpcbind_option.h"
#include "service_manager.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/protocol/time_echo.h>
#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::cli {

namespace {

constexpr std::uint32_t kMostCredits = 1024;
constexpr std::uint32_t kMostServedConnections = 16384;
constexpr std::uint32_t kMostCalls = 1U << 20;
// The program's own data takes two of them, and Calls need memory for other things, too.
constexpr std::uint64_t kBulksInMemory = 8;
constexpr std::size_t kMostNullPrograms = 64;

struct ServeOptions {
  std::string listen;
  EndpointOptions endpoint;
  std::uint32_t credits = 32;
  std::uint32_t max_connections = 256;
  std::uint32_t max_calls = 4096;
  std::string max_bulk = "16Mi";
  std::string idle;
  std::vector<std::string> null_programs;
  std::string metrics;
  std::uint32_t reverse_credits = 8;
  bool reverse_inline_only = false;
  std::uint32_t align = 64;
  bool rpcbind = false;
  bool quiet = false;
};

// Logs connections and disconnections.
class Doorkeeper : public service::ServerObserver {
 public:
  explicit Doorkeeper(bool quiet) : quiet_(quiet) {}

  void on_connected(const service::ConnectionInfo& c) override {
    if (quiet_) return;
    fmt::print("connection {}: {} connected, {} bytes inline from it, {} to it{}\n", c.number,
               c.peer.to_string(), c.thresholds.receive, c.thresholds.send,
               private_data_note(c.thresholds));
  }
  void on_configured(const service::ConnectionInfo& c) override {
    if (quiet_) return;
    fmt::print("connection {}: {} configured, {} bytes inline from it, {} to it\n", c.number,
               c.peer.to_string(), c.thresholds.receive, c.thresholds.send);
  }
  void on_closed(const service::ConnectionInfo& c, service::CloseReason reason,
                 std::string_view what) override {
    if (quiet_) return;
    fmt::print("connection {}: {} closed ({}){}{}\n", c.number, c.peer.to_string(),
               service::close_reason_name(reason), what.empty() ? "" : ": ",
               plot::escape_terminal(what));
  }
  void on_rejected(const fabric::Address& peer, std::string_view what) override {
    if (quiet_) return;
    const fabric::Time now = service::Loop::read_clock();
    if (rejections_.starts_new_interval(now)) log_suppressed(rejections_.left_out());
    if (rejections_.may_print(now))
      fmt::print("{} rejected: {}\n", peer.to_string(), plot::escape_terminal(what));
  }

  // Called at the end.
  void finish() const { log_suppressed(rejections_.left_out()); }

 private:
  static void log_suppressed(std::uint64_t lines) {
    if (lines != 0) fmt::print("{} more rejected\n", lines);
  }
  static const char* private_data_note(const service::Thresholds& agreed) {
    if (agreed.peer) return "";
    return agreed.peer_sent_other ? " (its private data is of another format or version)"
                                  : " (it sent no private data)";
  }

  bool quiet_;
  LineLimit rejections_{10};
};

void print_summary(const service::ServerCounters& c, const OpenProvider& provider) {
  const auto& calls = c.calls;
  fmt::print("{} connection{}, {} Calls: {} answered with success, {} with an error\n", c.accepted,
             c.accepted == 1 ? "" : "s", calls.calls, calls.success,
             calls.calls - calls.success - calls.cancelled);
  fmt::print("{} read from clients, {} written to them; {} RDMA_ERRORs sent\n",
             base::format_bytes(c.responder.bytes.read()),
             base::format_bytes(c.responder.bytes.written()),
             c.responder.error_version + c.responder.error_chunk);
  if (c.responder.unacknowledged != 0) {
    fmt::print(
        "{} of the answers, with {} written, were not acknowledged before the connection ended\n",
        c.responder.unacknowledged, base::format_bytes(c.responder.unacknowledged_bytes));
  }
  if (provider.soft == nullptr) return;
  const soft::ProviderCounters packets = provider.soft->counters();
  fmt::print("{} packets sent, {} received\n", packets.udp.sent_packets,
             packets.udp.received_packets);
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
      !in_range(options.max_calls, 1, kMostCalls, "serve", "--max-calls")) {
    return std::nullopt;
  }
  const auto bulk = size_option(options.max_bulk, "serve", "--max-bulk", service::echo::kMaxBulk);
  if (!bulk) return std::nullopt;
  const auto address = fabric::parse_address(options.listen);
  if (!address) {
    complain(fmt::format("serve: --listen: {}", address.error().message));
    return std::nullopt;
  }
  if (!choose_provider(*endpoint, *address, "serve")) return std::nullopt;
  std::optional<MetricsAddress> metrics_address;
  if (!options.metrics.empty()) {
    metrics_address = parse_metrics(options.metrics, "serve");
    if (!metrics_address) return std::nullopt;
  }
  auto null_programs = parse_null_programs(options.null_programs);
  if (!null_programs) return std::nullopt;
  service::ServerOptions server_options;
  if (!options.idle.empty()) {
    const auto idle = duration_option(options.idle, "serve", "--idle");
    if (!idle) return std::nullopt;
    server_options.idle = *idle;
  }
  apply(*endpoint, server_options);
  server_options.config.align = options.align;
  server_options.responder.credits = options.credits;
  server_options.reverse_credits = options.reverse_credits;
  server_options.responder.max_chunk_bytes = *bulk;
  server_options.max_connections = options.max_connections;
  server_options.max_calls = options.max_calls;
  return ServePlan{*endpoint,      *address, *bulk, server_options, std::move(*null_programs),
                   metrics_address};
}

// Serving does not depend on the service manager: a failed notification is only reported.
template <typename T>
void complain_of(const capture::Expected<T>& notified) {
  if (!notified) complain(fmt::format("serve: {}", notified.error().message));
}

int serve(const ServeOptions& options, const ServePlan& plan, Tracing& tracing) {
  trace::Tracer* const tracer = tracing.add();
  const auto refused = [](const fabric::Error& error) {
    complain(fmt::format("serve: {}", error.message));
    return kUnreadable;
  };
  const auto provider = open_provider(plan.endpoint, plan.address, tracer, "serve");
  if (!provider) return kUnreadable;
  protocol::MemoryPool::Options memory;
  memory.limit = std::max(memory.limit, kBulksInMemory * plan.max_bulk);
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
  Doorkeeper doorkeeper(options.quiet);
  const auto server = service::Server::create(**loop, programs, server_options, &doorkeeper);
  if (!server) return refused(server.error());
  std::unique_ptr<Metrics> metrics;
  if (plan.metrics) {
    const auto more = [&echo](metrics::Snapshot& snapshot) {
      for (std::uint32_t i = 0; i < service::echo::kProcedures; ++i) {
        add_echo_calls(snapshot, service::echo::Proc{i}, (*echo)->counters().calls[i]);
      }
    };
    metrics = Metrics::open(
        *plan.metrics,
        {{loop->get(), provider.soft, server->get(), nullptr, more, tracing.figures()}}, "serve");
    if (metrics == nullptr) return kUnreadable;
  }

  const std::array<service::Loop*, 1> loops{loop->get()};
  const Interrupt interrupt(loops);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto announcement = options.rpcbind
                          ? announce(programs, {plan.address, plan.endpoint.port}, "serve")
                          : std::nullopt;
  if (options.rpcbind && !announcement) return kUnreadable;
  for (const service::Program* p : programs) {
    fmt::print("listening on {}{}: {} (program {:#x} version {}), {} credits, {} bytes inline\n",
               server_text(plan.address, plan.endpoint.port),
               provider.soft != nullptr ? "" : fmt::format(" ({})", provider.device), p->name(),
               p->number(), p->version(), options.credits,
               options.endpoint.no_private_data ? 1024 : plan.endpoint.inline_threshold);
  }
  if (plan.metrics) {
    fmt::print("metrics at http://{}:{}/metrics\n", plan.metrics->address.to_string(),
               plan.metrics->port);
  }
  const auto manager = ServiceManager::from_environment();
  complain_of(manager);
  if (manager) {
    complain_of(manager->ready(
        fmt::format("listening on {}", server_text(plan.address, plan.endpoint.port))));
  }
  fabric::Expected<void> result;
  while (result && !Interrupt::came()) {
    const auto going = (*loop)->run_once();
    if (!going) result = tl::unexpected(going.error());
  }
  if (manager) complain_of(manager->stopping());
  // Unregistered first, so that rpcbind sends no more clients to a server that is closing.
  if (announcement) {
    if (const auto gone = announcement->unregister(); !gone) {
      complain(fmt::format("serve: --rpcbind: {}", gone.error().message));
    }
  }
  if (result) result = close_all(**loop, **server);
  doorkeeper.finish();
  print_summary((*server)->counters(), provider);
  return result ? kOk : refused(result.error());
}

int run_server(const ServeOptions& options) {
  const auto plan = parse(options);
  if (!plan) return kUnreadable;
  auto tracing = Tracing::start(
      plan->endpoint.tracing,
      fmt::format("server on {}", server_text(plan->address, plan->endpoint.port)), "serve");
  if (!tracing) return kUnreadable;
  return tracing->finish(serve(options, *plan, *tracing));
}

}  // namespace

Run add_serve(command_line::Command& command) {
  auto options = std::make_shared<ServeOptions>();
  options->endpoint.versions = "1-2";
  command.option("-l,--listen", options->listen, "Local address to serve on")
      .value("ADDRESS")
      .required();
  add_endpoint_options(command, options->endpoint);
  command.option("--credits", options->credits, "Maximum credits granted per connection")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option(
          "--max-connections", options->max_connections,
          "Maximum concurrent connections. Up to 1/8 more are reserved for addresses that have no "
          "connection yet; all others are rejected")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option(
          "--max-calls", options->max_calls,
          "Maximum concurrent Calls on all connections together; credits are granted accordingly")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--max-bulk", options->max_bulk,
              "Maximum bytes of one Call's Read chunks, and of one bulk result")
      .value("SIZE")
      .show_default();
  command
      .option("--reverse-credits", options->reverse_credits,
              "Calls in flight to a client that asks for reverse Calls (`rpcrdma load --reverse`); "
              "0: none")
      .value("N")
      .show_default()
      .whole_number();
  command.flag(
      "--reverse-inline-only", options->reverse_inline_only,
      "Use no chunks for reverse Calls: do not send Calls that exceed the inline threshold");
  command
      .option(
          "--align", options->align,
          "With --profile rfc5666: alignment to announce to clients, which pad opaque data to it "
          "(RDMA_MSGP); 0: none")
      .value("BYTES")
      .show_default()
      .whole_number();
  command.option("--idle", options->idle, "Close connections without Calls after this time (never)")
      .value("DURATION");
  command
      .option("--null-program", options->null_programs,
              "Also answer procedure 0 of this program and version, and PROC_UNAVAIL to its other "
              "procedures; separate several with commas, such as nfs:3,nfs:4")
      .value("PROGRAM:VERSION")
      .delimiter(',')
      .one_word();
  add_metrics_option(command, options->metrics);
  command.flag("--rpcbind", options->rpcbind,
               "Register with this machine's rpcbind, for netid rdma or rdma6, while serving");
  command.flag("-q,--quiet", options->quiet, "Do not log connections and disconnections");
  command.footer(
      "Serves the program ECHO (engine/service/echo.x) over RPC-over-RDMA, on the RDMA device that "
      "owns ADDRESS (docs/verbs.md), or otherwise over the soft fabric: RoCEv2 over UDP port 4791 "
      "in user space, without privileges and without an RNIC.\n"
      "NFS is not served. With --null-program nfs:4, NFS clients find a server that answers NULL "
      "and nothing else.\n"
      "Prints a line when it is listening, and notifies systemd or another service manager named "
      "by NOTIFY_SOCKET. Ctrl-C stops it and prints a summary.");
  command.example("rpcrdma serve --listen 127.0.0.1", "Serve clients on this machine.");
  command.example("rpcrdma serve --listen 10.0.0.1 --fault 'drop dir=out rate=0.01 seed=7'",
                  "Drop every hundredth packet sent.");
  return [options] { return run_server(*options); };
}

}  // namespace rpcrdma::cli
