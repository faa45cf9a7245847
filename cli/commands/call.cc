// rpcrdma call: sends one Call and shows what crossed the wire.
#include "call_view.h"
#include "commands.h"
#include "echo_option.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "refusal_text.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/split.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::cli {

namespace {

namespace echo = service::echo;
using fabric::Time;

// call sends one Call, so it accepts neither mixes of procedures nor ranges of sizes.
bool parse_one(const std::string& procedure, const std::string& size) {
  if (procedure == "mix" || procedure.find_first_of(":,") != std::string::npos) {
    complain(fmt::format(
        "call: --procedure {}: call sends one Call; give one procedure without a weight",
        procedure));
    return false;
  }
  if (size.find_first_of("-,") != std::string::npos) {
    complain(fmt::format("call: --size {}: call sends one Call; give one size, such as 4k or 1Mi",
                         size));
    return false;
  }
  return true;
}

struct CallOptions {
  std::string host;
  std::string from;
  EndpointOptions endpoint;
  std::string procedure = "echo";
  std::string size = "4Ki";
  std::string sleep = "1ms";
  std::string timeout = "10s";
  bool json = false;
};

// A temporary file, deleted by the destructor.
class TemporaryFile {
 public:
  // If the file cannot be created, path() is empty and errno says why.
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-call-XXXXXX").string();
    const int fd = ::mkstemp(pattern.data());
    if (fd < 0) return;
    ::close(fd);
    path_ = pattern;
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Opens one connection and sends one Call on it.
class Caller : service::ClientObserver {
 public:
  Caller(service::Loop& loop, echo::EchoCall& call) : loop_(loop), call_(call) {}

  // Fails if no connection can be established or the provider fails.
  fabric::Expected<void> run(const service::ClientOptions& options, const echo::Request& request,
                             Time timeout) {
    auto client = service::Client::create(loop_, options, *this);
    if (!client) return tl::unexpected(client.error());
    auto spec = call_.begin(request);
    if (!spec) return tl::unexpected(spec.error());
    spec->timeout = timeout;
    if (const auto called = (*client)->call(*spec); !called) {
      return tl::unexpected(called.error());
    }
    while (!done_ && failure_.empty() && !Interrupt::came()) {
      if (const auto going = loop_.run_once(); !going) return tl::unexpected(going.error());
    }
    if (!failure_.empty()) return fabric::fail(fabric::Errc::kNotConnected, failure_);
    closing_ = true;
    const Time until = loop_.now() + fabric::kSecond;
    (*client)->close();
    while (!(*client)->closed() && loop_.now() < until) {
      if (const auto going = loop_.run_once(until - loop_.now()); !going) {
        return tl::unexpected(going.error());
      }
    }
    return {};
  }

  [[nodiscard]] bool right() const { return right_; }
  // Nothing without a correct Reply.
  [[nodiscard]] const std::optional<protocol::CallTimes>& times() const { return times_; }
  // Returns one line.
  [[nodiscard]] const std::string& result() const { return result_; }

 private:
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) override {
    if (closing_) return;  // interrupted
    if (!connected_) {
      failure_ = "no connection in time";
      return;
    }
    done_ = true;
    const echo::Verdict verdict = call_.check(outcome);
    right_ = verdict == echo::Verdict::kRight;
    const auto& t = outcome.times;
    if (right_) {
      times_ = t;
      result_ = fmt::format(
          "correct reply after {}: {} waiting for a connection and credit, {} from sending to the "
          "Reply{}, {} fencing memory",
          base::format_duration(t.ended - t.called), base::format_duration(t.sent - t.called),
          base::format_duration(t.replied - t.sent), server_part(t),
          base::format_duration(t.ended - t.replied));
      if (const auto count = call_.count()) result_ += fmt::format("; the count is {}", *count);
    } else {
      result_ = refusal_text(verdict, call_, outcome);
    }
  }
  void on_connected(const service::ConnectionInfo& /*connection*/) override { connected_ = true; }
  void on_lost(std::uint32_t /*connection*/, std::string_view what, Time /*retry*/) override {
    if (!connected_) failure_ = what;
  }

  // Returns the server's share of the time until the Reply; empty if the server reported none.
  [[nodiscard]] std::string server_part(const protocol::CallTimes& times) const {
    const auto said = call_.server_times();
    if (!said) return "";
    const load::Split split = load::split(times, load::ServerTimes{said->reading, said->working});
    return fmt::format(" (the server: {} reading, {} working{})",
                       base::format_duration(*split.reading), base::format_duration(*split.working),
                       split.implausible ? ", capped" : "");
  }

  service::Loop& loop_;
  echo::EchoCall& call_;
  bool connected_ = false;
  bool closing_ = false;
  bool done_ = false;
  bool right_ = false;
  std::optional<protocol::CallTimes> times_;
  std::string result_ = "interrupted";
  std::string failure_;
};

struct Outcome {
  bool right = false;
  std::string result;
  std::optional<protocol::CallTimes> times;
};

// One object: docs/load.md describes the keys.
void print_json(const Peers& peers, const Endpoint& endpoint, const CallOptions& o,
                const CallView& view, const Outcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json steps = Json::array();
  std::istringstream lines(view.text());
  for (std::string line; std::getline(lines, line);) steps.push_back(line);
  const auto us = [&](Time from, Time until) { return static_cast<double>(until - from) / 1e3; };
  Json latency;
  if (const auto& t = outcome.times) {
    latency = {{"total", us(t->called, t->ended)},
               {"credit", us(t->called, t->sent)},
               {"reply", us(t->sent, t->replied)},
               {"fence", us(t->replied, t->ended)}};
  }
  const Json out{{"server", peers.server.to_string()},
                 {"port", endpoint.port},
                 {"from", peers.from.to_string()},
                 {"procedure", o.procedure},
                 {"correct", outcome.right},
                 {"result", outcome.result},
                 {"latency_us", latency},
                 {"steps", steps}};
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Destroys everything that holds packets before it returns, so that the packet file is complete.
std::optional<Outcome> make_call(const Peers& peers, const Endpoint& endpoint,
                                 const load::EchoRequests& requests, Time timeout,
                                 trace::Tracer* tracer) {
  const auto refused = [](const fabric::Error& error) {
    complain(fmt::format("call: {}", error.message));
    return std::nullopt;
  };
  const auto provider = open_provider(endpoint, peers.from, tracer, "call");
  if (!provider) return std::nullopt;
  const auto loop = service::Loop::create(*provider.provider,
                                          {.memory = {}, .spin = endpoint.spin, .tracer = tracer});
  if (!loop) return refused(loop.error());
  auto pattern = echo::Pattern::create((*loop)->memory(), requests.longest());
  if (!pattern) return refused(pattern.error());
  auto call = echo::EchoCall::create((*loop)->memory(), *pattern, requests.longest_result());
  if (!call) return refused(call.error());
  const std::array<service::Loop*, 1> loops{loop->get()};
  const Interrupt interrupt(loops);

  service::ClientOptions client;
  client.server = peers.server;
  apply(endpoint, client);
  client.connect_timeout = connect_timeout(timeout);
  soft::Random random(1);
  Caller caller(**loop, *call);
  if (const auto made = caller.run(client, requests.next(random), timeout); !made) {
    complain(fmt::format("call: {}: {}", server_text(peers.server, endpoint.port),
                         made.error().message));
    return std::nullopt;
  }
  return Outcome{caller.right(), caller.result(), caller.times()};
}

int call(const CallOptions& o) {
  auto endpoint = parse_endpoint(o.endpoint, "call");
  if (!endpoint) return kUnreadable;
  const auto peers = parse_peers(o.host, o.from, *endpoint, "call");
  if (!peers) return kUnreadable;
  if (!parse_one(o.procedure, o.size)) return kUnreadable;
  const auto requests = parse_echo(o.procedure, o.size, o.sleep, "call");
  if (!requests) return kUnreadable;
  const auto timeout = limit_option(o.timeout, "call", "--timeout");
  if (!timeout) return kUnreadable;
  // Reads back what crossed the wire from the packets, or on an RDMA device, where packets are not
  // visible, from this endpoint's trace events.
  const bool packets = endpoint->kind == ProviderKind::kSoft;
  std::string& file = packets ? endpoint->provider.pcapng : endpoint->tracing.record;
  if (!packets && endpoint->tracing.ring.on()) {
    complain("call: --record-size, --record-time: call needs a single recording file, not a ring");
    return kUnreadable;
  }
  const TemporaryFile temporary;
  if (file.empty()) {
    if (temporary.path().empty()) {
      complain(fmt::format("call: cannot create a temporary file: {}", std::strerror(errno)));
      return kUnreadable;
    }
    file = temporary.path();
    endpoint->tracing.emit = packets;
  }
  auto tracing =
      Tracing::start(endpoint->tracing,
                     fmt::format("call of {}", server_text(peers->server, endpoint->port)), "call");
  if (!tracing) return kUnreadable;
  const auto outcome = make_call(*peers, *endpoint, *requests, *timeout, tracing->add());
  const int recorded = tracing->finish(kOk);
  if (!outcome) return kUnreadable;

  const std::vector<std::string> paths{file};
  CallView view;
  const auto source = open_input(paths);
  if (!source || !run_pipeline(view.pipeline(), *source, paths, 1)) return kUnreadable;
  if (o.json) {
    print_json(*peers, *endpoint, o, view, *outcome);
    if (recorded != kOk) return recorded;
    return outcome->right ? kOk : kFindings;
  }
  fmt::print("{}, from {}\n{}\n{}\n", server_text(peers->server, endpoint->port),
             peers->from.to_string(), view.text(), plot::escape_terminal(outcome->result));
  if (recorded != kOk) return recorded;
  return outcome->right ? kOk : kFindings;
}

}  // namespace

Run add_call(command_line::Command& command) {
  auto options = std::make_shared<CallOptions>();
  add_peers(command, options->host, options->from);
  command
      .option("--procedure", options->procedure,
              "Procedure of the program ECHO: null, echo, sink, source, echo-bulk, list, sleep or "
              "count")
      .value("NAMES")
      .show_default();
  command.option("--size", options->size, "Bytes of data").value("SIZE").show_default();
  command.option("--sleep", options->sleep, "How long the procedure sleep waits at the server")
      .value("DURATION")
      .show_default();
  command
      .option("--timeout", options->timeout,
              "Timeout of the Call, and of connecting (at most 10s); 0: none")
      .value("DURATION")
      .show_default();
  command.flag("--json", options->json, "Print one JSON object (docs/load.md)");
  add_endpoint_options(command, options->endpoint);
  command.footer(
      "Sends one Call and shows what crossed the wire for it: connection setup, headers with all "
      "fields, RDMA operations on chunks, and the Reply. The source is the packets it sent and "
      "received; on an RDMA device, where packets are not visible, its own trace events.\n"
      "Exit status: 0 correct reply, 1 any other reply, 2 the server cannot be reached or an "
      "argument is invalid.");
  command.example("rpcrdma call 127.0.0.1 --procedure sink --size 64k",
                  "See how an argument travels in a Read chunk.");
  return [options] { return call(*options); };
}

}  // namespace rpcrdma::cli
