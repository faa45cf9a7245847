// rpcrdma ping: checks whether a server answers.
#include "commands.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "latencies.h"
#include "rpc_program.h"
#include "rpcbind_option.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/protocol/time_echo.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

struct PingOptions {
  std::string host;
  std::string from;
  EndpointOptions endpoint;
  std::string program;
  std::string version;
  std::uint32_t count = 0;
  std::string interval = "1s";
  std::string wait = "2s";
  bool rpcbind = false;
  bool quiet = false;
  bool json = false;
  bool time_echo = false;
};

std::optional<RpcProgram> parse_target(const PingOptions& o) {
  auto target = parse_program(o.program.empty() ? "echo" : o.program);
  if (!target) {
    complain(fmt::format("ping: --program {}: give {}", o.program, kProgramNames));
    return std::nullopt;
  }
  if (o.version.empty()) return target;
  const auto version = base::parse_u32(o.version);
  if (!version) {
    complain(fmt::format("ping: --version {}: not a 32-bit number", o.version));
    return std::nullopt;
  }
  target->version = *version;
  return target;
}

class Pinger : service::ClientObserver {
 public:
  struct Plan {
    Peers peers;
    std::uint16_t port = 0;
    RpcProgram target;
    std::uint32_t count = 0;  // 0: no limit
    Time interval = 0;
    Time wait = 0;
    bool quiet = false;
    bool json = false;       // print nothing but one object at the end
    bool time_echo = false;  // instead of Calls
  };
  Pinger(const Plan& plan, service::Loop& loop)
      : plan_(plan), loop_(loop), header_(plan.target.number, plan.target.version, 0) {}

  // Fails if no connection was ever established or the provider fails.
  fabric::Expected<void> run(const service::ClientOptions& options) {
    auto client = service::Client::create(loop_, options, *this);
    if (!client) return tl::unexpected(client.error());
    client_ = std::move(*client);
    started_ = loop_.now();
    if (!plan_.json) {
      fmt::print("PING {}, program {:#x} version {}, from {}: connecting\n",
                 server_text(plan_.peers.server, plan_.port), plan_.target.number,
                 plan_.target.version, plan_.peers.from.to_string());
    }
    fabric::Expected<void> result = connect();
    if (connected_) started_ = loop_.now();
    while (result && connected_ && !Interrupt::came() && !over()) {
      result = turn();
    }
    ended_ = loop_.now();
    const service::ConnectionInfo& info = client_->info(0);
    // The refusal can end all Calls, and with them the loop, before turn() sees it.
    if (result && info.refused) {
      result = fabric::fail(fabric::Errc::kNotConnected,
                            !failure_.empty()
                                ? failure_
                                : "the peer supports none of our versions" + version_hint(info));
    }
    if (connected_) result = result.and_then([&] { return disconnect(); });
    client_.reset();
    return result;
  }

  [[nodiscard]] std::uint64_t answered() const { return latency_.count() + (first_ ? 1 : 0); }
  // One object: docs/load.md describes the keys. `error`: why the run failed; empty: it did not.
  void print_json(const std::string& error) const {
    using Json = nlohmann::ordered_json;
    const auto us = [&](auto ns) {
      return latency_.count() == 0 ? Json() : Json(static_cast<double>(ns) / 1e3);
    };
    const auto text = [](const std::string& s) { return s.empty() ? Json() : Json(s); };
    const Json out{{"server", plan_.peers.server.to_string()},
                   {"port", plan_.port},
                   {"from", plan_.peers.from.to_string()},
                   {"program", plan_.target.number},
                   {"version", plan_.target.version},
                   {"connected", connected_},
                   {"sent", sent_},
                   {"answered", answered()},
                   {"refused", refused_},
                   {"refusal", text(refusal_)},
                   {"lost", sent_ - answered()},
                   {"seconds", static_cast<double>(ended_ - started_) / 1e9},
                   {"first_us", first_ ? Json(static_cast<double>(*first_) / 1e3) : Json()},
                   {"latency_us",
                    {{"min", us(latency_.min())},
                     {"median", us(latency_.median())},
                     {"mean", us(latency_.mean())},
                     {"max", us(latency_.max())}}},
                   {"error", text(error)}};
    fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  // Returns how many Replies refused the Call: program, version or procedure not served, or Call
  // not accepted.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  void print_statistics() const {
    fmt::print("\n--- {} statistics ---\n{} sent, {} answered, {}{}, time {}\n",
               plan_.peers.server.to_string(), sent_, answered(), refused_text(),
               connected_ ? lost_text() : "never connected",
               base::format_duration(ended_ - started_));
    if (latency_.count() == 0) {
      if (first_) fmt::print("first {} (the connection was new)\n", base::format_duration(*first_));
      return;
    }
    fmt::print(
        "first {} (the connection was new); of the others: min {}, median {}, mean {}, max {}\n",
        base::format_duration(*first_), base::format_duration(latency_.min()),
        base::format_duration(latency_.median()),
        base::format_duration(static_cast<Time>(latency_.mean())),
        base::format_duration(latency_.max()));
  }

 private:
  [[nodiscard]] std::string lost_text() const {
    const auto lost = static_cast<double>(sent_ - answered());
    return fmt::format("{:.3g} % lost", sent_ == 0 ? 0 : 100 * lost / static_cast<double>(sent_));
  }
  [[nodiscard]] std::string refused_text() const {
    return refused_ == 0 ? std::string() : fmt::format("{} refused ({}), ", refused_, refusal_);
  }
  [[nodiscard]] bool all_sent() const { return plan_.count != 0 && sent_ == plan_.count; }
  [[nodiscard]] bool over() const { return all_sent() && ended_calls_ == sent_; }

  fabric::Expected<void> connect() {
    while (!connected_ && failure_.empty() && !Interrupt::came()) {
      const auto going = loop_.run_once();
      if (!going) return tl::unexpected(going.error());
    }
    return failure_.empty() ? fabric::Expected<void>()
                            : fabric::fail(fabric::Errc::kNotConnected, failure_);
  }

  fabric::Expected<void> turn() {
    if (!failure_.empty()) return fabric::fail(fabric::Errc::kNotConnected, failure_);
    const Time next = started_ + static_cast<Time>(sent_) * plan_.interval;
    if (!all_sent() && next <= loop_.now()) return send();
    const auto going = loop_.run_once(all_sent() ? fabric::kNever : next - loop_.now());
    return going.map([](bool) {});
  }

  fabric::Expected<void> send_option() {
    const auto info = protocol::encode_time_echo(service::Loop::read_clock());
    return client_->option({protocol::kTimeEchoOption, info, plan_.wait, ++sent_})
        .map([](std::uint32_t) {});
  }

  fabric::Expected<void> send() {
    if (plan_.time_echo) return send_option();
    const std::array<protocol::Piece, 1> message{header_.piece()};
    protocol::CallSpec spec;
    spec.message = message;
    spec.max_reply = service::kReplyHeaderBytes;
    spec.timeout = plan_.wait;
    spec.cookie = ++sent_;
    return client_->call(spec).map([](std::uint32_t) {});
  }

  fabric::Expected<void> disconnect() {
    constexpr Time kPatience = fabric::kSecond;
    const std::uint64_t answers = ended_calls_;
    client_->close();
    const Time until = loop_.now() + kPatience;
    while (!client_->closed() && loop_.now() < until) {
      const auto going = loop_.run_once(until - loop_.now());
      if (!going) return tl::unexpected(going.error());
    }
    // Calls that failed with the connection get no Reply.
    ended_calls_ = answers;
    return {};
  }

  void on_connected(const service::ConnectionInfo& c) override {
    if (connected_ && !plan_.quiet) fmt::print("reconnected\n");
    if (!connected_ && !plan_.json) {
      fmt::print("connected: {} bytes inline to it, {} from it\n", c.thresholds.send,
                 c.thresholds.receive);
    }
    connected_ = true;
  }

  void on_lost(std::uint32_t connection, std::string_view what, Time /*retry*/) override {
    const service::ConnectionInfo& info = client_->info(connection);
    if (!connected_ || info.refused) {
      failure_ = fmt::format("{}{}", what, version_hint(info));
    } else if (!closing() && !plan_.json) {
      fmt::print("connection lost: {}\n", plot::escape_terminal(what));
    }
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override {
    ++ended_calls_;
    if (plan_.time_echo && outcome.status == protocol::CallStatus::kReplied) {
      return on_echo(outcome);
    }
    const service::ReplyReader reply(outcome);
    const bool answered = outcome.status == protocol::CallStatus::kReplied &&
                          reply.status() != service::RpcStatus::kMalformed;
    if (answered) {
      add_latency(outcome.times.ended - outcome.times.called);
      std::string refusal;
      if (reply.status() != service::RpcStatus::kSuccess) {
        ++refused_;
        refusal_ = service::describe(outcome, reply);
        refusal = fmt::format(" ({})", refusal_);
      }
      if (plan_.quiet) return;
      fmt::print("answer from {}: seq={} xid={:#010x} credits={} time={}{}\n",
                 plan_.peers.server.to_string(), outcome.cookie, outcome.xid,
                 client_->requester(connection).granted(),
                 base::format_duration(outcome.times.ended - outcome.times.called), refusal);
    } else if (!plan_.quiet && outcome.status != protocol::CallStatus::kClosed) {
      fmt::print("no answer to seq={}: {}\n", outcome.cookie, service::describe(outcome, reply));
    }
  }

  void on_echo(const protocol::CallOutcome& outcome) {
    const auto echo = protocol::decode_time_echo(outcome.reply);
    if (!echo) {
      if (!plan_.json) fmt::print("answer to seq={}: unexpected content\n", outcome.cookie);
      return;
    }
    add_latency(outcome.times.ended - outcome.times.called);
    if (plan_.quiet) return;
    fmt::print("time from {}: seq={} xid={:#010x} sent={} answered={} time={}\n",
               plan_.peers.server.to_string(), outcome.cookie, outcome.xid, echo->sent,
               echo->answered, base::format_duration(outcome.times.ended - outcome.times.called));
  }

  // The first Call finds cold caches at both ends, and memory that was never touched: it would
  // dominate the mean of a few Calls.
  void add_latency(Time ns) {
    if (first_) {
      latency_.add(ns);
    } else {
      first_ = ns;
    }
  }

  [[nodiscard]] bool closing() const { return over() || Interrupt::came(); }

  const Plan& plan_;
  service::Loop& loop_;
  service::CallHeader header_;
  std::unique_ptr<service::Client> client_;
  std::optional<Time> first_;  // of the first answer
  Latencies latency_;          // of the others
  std::uint64_t sent_ = 0;
  std::uint64_t refused_ = 0;
  std::string refusal_;  // the latest
  std::uint64_t ended_calls_ = 0;
  Time started_ = 0;
  Time ended_ = 0;
  bool connected_ = false;
  std::string failure_;
};

int ping(const Endpoint& endpoint, const Pinger::Plan& plan, trace::Tracer* tracer) {
  const auto provider = open_provider(endpoint, plan.peers.from, tracer, "ping");
  if (!provider) return kUnreadable;
  const auto loop = service::Loop::create(*provider.provider,
                                          {.memory = {}, .spin = endpoint.spin, .tracer = tracer});
  if (!loop) {
    complain(fmt::format("ping: {}", loop.error().message));
    return kUnreadable;
  }
  const std::array<service::Loop*, 1> loops{loop->get()};
  const Interrupt interrupt(loops);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  service::ClientOptions client;
  client.server = plan.peers.server;
  apply(endpoint, client);
  client.connect_timeout = connect_timeout(plan.wait);
  Pinger pinger(plan, **loop);
  const auto result = pinger.run(client);
  if (!result) {
    complain(fmt::format("ping: {}: {}", server_text(plan.peers.server, endpoint.port),
                         result.error().message));
  }
  if (plan.json) {
    pinger.print_json(result ? std::string() : result.error().message);
  } else {
    pinger.print_statistics();
  }
  return pinger.answered() != 0 && pinger.refused() == 0 ? kOk : kFindings;
}

int run_ping(const PingOptions& o) {
  auto endpoint = parse_endpoint(o.endpoint, "ping");
  if (!endpoint) return kUnreadable;
  const auto peers = parse_peers(o.host, o.from, *endpoint, "ping");
  if (!peers) return kUnreadable;
  const auto target = parse_target(o);
  if (!target) return kUnreadable;
  const auto interval = duration_option(o.interval, "ping", "--interval");
  if (!interval) return kUnreadable;
  const auto wait = limit_option(o.wait, "ping", "--wait");
  if (!wait) return kUnreadable;
  if (o.rpcbind && !peers->port_was_given) {
    endpoint->port = ask_rpcbind(peers->server, target->number, target->version, "ping");
  }
  const Pinger::Plan plan{*peers, endpoint->port,    *target, o.count,    *interval,
                          *wait,  o.quiet || o.json, o.json,  o.time_echo};
  auto tracing =
      Tracing::start(endpoint->tracing,
                     fmt::format("ping of {}", server_text(peers->server, endpoint->port)), "ping");
  if (!tracing) return kUnreadable;
  return tracing->finish(ping(*endpoint, plan, tracing->add()));
}

}  // namespace

Run add_ping(command_line::Command& command) {
  auto options = std::make_shared<PingOptions>();
  add_peers(command, options->host, options->from);
  command.option("-c,--count", options->count, "Stop after this many Calls; 0: no limit")
      .value("N")
      .whole_number();
  command.option("-i,--interval", options->interval, "Time between Calls")
      .value("DURATION")
      .show_default();
  command
      .option("-W,--wait", options->wait,
              "Timeout of a Call, after which its connection is closed and reconnected; 0: none. "
              "Connecting has the same timeout, but at most 10s")
      .value("DURATION")
      .show_default();
  command
      .option(
          "--program", options->program,
          fmt::format("{} (echo if none is given); without --port, rpcbind is asked for its port",
                      kProgramNames))
      .value("PROGRAM");
  command.option("--version", options->version, "Version of the program (nfs: 4; others: 1)")
      .value("N");
  command.flag("--time-echo", options->time_echo,
               "Ask for the server's time with RDMA2_OPTIONAL messages (docs/versions.md) instead "
               "of sending Calls; requires --rdma-version 2");
  command.flag("-q,--quiet", options->quiet, "Print only the statistics");
  command.flag("--json", options->json, "Print only one JSON object at the end (docs/load.md)");
  add_endpoint_options(command, options->endpoint);
  add_ask_rpcbind(command, options->rpcbind);
  command.footer(
      "Calls procedure 0 (NULL) of any program over RPC-over-RDMA. An RPC error such as "
      "PROG_UNAVAIL counts as an answer: the server is alive but does not serve the program.\n"
      "If rpcbind cannot be reached or does not know the program, ping says so and tries port "
      "20049.\n"
      "Exit status: 0 answers received, 1 no answers or some Calls refused, 2 an argument is "
      "invalid.");
  command.example("rpcrdma ping 10.0.0.1 -c 5 --program nfs",
                  "Check that an NFS/RDMA server answers.");
  return [options, port = command.find_option("--port")] {
    options->rpcbind |= !options->program.empty() && !port->given();
    return run_ping(*options);
  };
}

}  // namespace rpcrdma::cli
