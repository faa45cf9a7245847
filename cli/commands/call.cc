// rpcrdma call
#include "call_view.h"
#include "commands.h"
#include "echo_option.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/split.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::cli {

namespace {

namespace echo = service::echo;
using fabric::Time;

// One Call is of one kind.
bool parse_one(const std::string& procedure, const std::string& size) {
  if (procedure == "mix" || procedure.find_first_of(":,") != std::string::npos) {
    complain(fmt::format(
        "call: --procedure {}: it is one Call; give one procedure, without a weight", procedure));
    return false;
  }
  if (size.find_first_of("-,") != std::string::npos) {
    complain(
        fmt::format("call: --size {}: it is one Call; give one size, such as 4k or 1Mi", size));
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
};

// A file that is gone at the end.
class TemporaryFile {
 public:
  // Its path is empty when there can be none; errno tells why.
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

// One connection and one Call on it.
class Caller : service::ClientObserver {
 public:
  Caller(service::Loop& loop, echo::EchoCall& call) : loop_(loop), call_(call) {}

  // Error: no connection can be had, or the provider is gone.
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
    result_ += version_hint((*client)->info(0));
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
  // One line.
  [[nodiscard]] const std::string& result() const { return result_; }

 private:
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) override {
    if (closing_) return;  // it was interrupted
    if (!connected_) {
      failure_ = "no connection in time";
      return;
    }
    done_ = true;
    const echo::Verdict verdict = call_.check(outcome);
    right_ = verdict == echo::Verdict::kRight;
    const auto& t = outcome.times;
    if (right_) {
      result_ = fmt::format(
          "answered right after {}: {} waiting for a connection and credit, {} from sending to the "
          "Reply{}, {} fencing memory",
          base::format_duration(t.ended - t.called), base::format_duration(t.sent - t.called),
          base::format_duration(t.replied - t.sent), server_part(t),
          base::format_duration(t.ended - t.replied));
    } else {
      result_ = verdict == echo::Verdict::kRpcError
                    ? service::describe(outcome, service::ReplyReader(outcome))
                    : echo::verdict_name(verdict);
    }
  }
  void on_connected(const service::ConnectionInfo& /*connection*/) override { connected_ = true; }
  void on_lost(std::uint32_t /*connection*/, std::string_view what, Time /*retry*/) override {
    if (!connected_) failure_ = what;
  }

  // What the server says of the time until the Reply, as far as that can be.
  [[nodiscard]] std::string server_part(const protocol::CallTimes& times) const {
    const auto said = call_.server_times();
    if (!said) return "";
    const load::Split split = load::split(times, load::ServerTimes{said->reading, said->working});
    return fmt::format(" (the server: {} reading, {} at work{})",
                       base::format_duration(*split.reading), base::format_duration(*split.working),
                       split.implausible ? ", cut from more" : "");
  }

  service::Loop& loop_;
  echo::EchoCall& call_;
  bool connected_ = false;
  bool closing_ = false;
  bool done_ = false;
  bool right_ = false;
  std::string result_ = "interrupted";
  std::string failure_;
};

struct Outcome {
  bool right = false;
  std::string result;
};

// All that holds packets back is gone at its end, so that the file of packets is whole.
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
  return Outcome{caller.right(), caller.result()};
}

int call(const CallOptions& o) {
  auto endpoint = parse_endpoint(o.endpoint, "call");
  if (!endpoint) return kUnreadable;
  const auto peers = parse_peers(o.host, o.from, *endpoint, "call");
  if (!peers) return kUnreadable;
  if (!parse_one(o.procedure, o.size)) return kUnreadable;
  const auto requests = parse_echo(o.procedure, o.size, o.sleep, "call");
  if (!requests) return kUnreadable;
  const auto timeout = duration_option(o.timeout, "call", "--timeout");
  if (!timeout) return kUnreadable;
  // What went over the wire is read again from the packets, or, where a device has those, from what
  // this end told of itself.
  const bool packets = endpoint->kind == ProviderKind::kSoft;
  std::string& file = packets ? endpoint->provider.pcapng : endpoint->tracing.record;
  if (!packets && endpoint->tracing.ring.on()) {
    complain("call: --record-size, --record-time: it is one Call, which needs one file");
    return kUnreadable;
  }
  const TemporaryFile temporary;
  if (file.empty()) {
    if (temporary.path().empty()) {
      complain(fmt::format("call: a temporary file: {}", std::strerror(errno)));
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
  fmt::print("{}, from {}\n{}\n{}\n", server_text(peers->server, endpoint->port),
             peers->from.to_string(), view.text(), outcome->result);
  if (recorded != kOk) return recorded;
  return outcome->right ? kOk : kFindings;
}

}  // namespace

Run add_call(command_line::Command& command) {
  auto options = std::make_shared<CallOptions>();
  add_peers(command, options->host, options->from);
  command
      .option("--procedure", options->procedure,
              "Of the program ECHO: null, echo, sink, source, echo-bulk, list or sleep")
      .value("NAMES")
      .show_default();
  command.option("--size", options->size, "Bytes of data").value("SIZE").show_default();
  command.option("--sleep", options->sleep, "How long sleep lets the server wait")
      .value("DURATION")
      .show_default();
  command
      .option("--timeout", options->timeout,
              "Of the Call, and of connecting, which takes 10s at most")
      .value("DURATION")
      .show_default();
  add_endpoint_options(command, options->endpoint);
  command.footer(
      "Makes one Call, and shows what went over the wire for it: how the connection was set up, "
      "headers with all fields, RDMA operations on the chunks, the Reply. Its own packets tell; of "
      "an RDMA device, which does not show them, what this end did itself.\n"
      "Exit status: 0 answered right, 1 any other answer, 2 the server cannot be reached, or an "
      "argument is wrong.");
  command.example("rpcrdma call 127.0.0.1 --procedure sink --size 64k",
                  "How does an argument travel by a Read chunk?");
  return [options] { return call(*options); };
}

}  // namespace rpcrdma::cli
