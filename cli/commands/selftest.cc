// rpcrdma selftest: tests all kinds of Calls between two ends.
#include "commands.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/thread.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/selftest/client_half.h>
#include <rpcrdma/selftest/matrix.h>
#include <rpcrdma/selftest/recorder.h>
#include <rpcrdma/selftest/server_half.h>
#include <rpcrdma/selftest/table.h>

namespace rpcrdma::cli {

namespace {

using fabric::Expected;

constexpr const char* kCommand = "selftest";
constexpr const char* kLoss = "drop rate=0.01 seed=1";
// In the form that needs no address, these avoid any address where a server may run, since a server
// needs the UDP port, too.
constexpr const char* kServer = "127.82.80.1";
constexpr const char* kClient = "127.82.80.2";

struct SelftestOptions {
  std::string host;
  std::string from;
  std::string listen;
  std::vector<std::string> only;
  std::uint32_t calls = 0;
  std::string record;
  std::string damage = "none";
  bool json = false;
  EndpointOptions endpoint;
};

selftest::Damage damage_of(const SelftestOptions& o) {
  if (o.damage == "byte") return selftest::Damage::kByte;
  return o.damage == "length" ? selftest::Damage::kLength : selftest::Damage::kNone;
}

tl::unexpected<fabric::Error> recorded() {
  return fabric::fail(fabric::Errc::kSystem);  // on stderr already
}

// One end and the objects that it depends on.
template <typename Half>
struct End {
  std::unique_ptr<selftest::Recorder> recorder;
  OpenProvider provider;
  std::unique_ptr<Half> half;  // destroyed first
};

template <typename Half, typename HalfOptions>
Expected<End<Half>> open_end(const char* name, const SelftestOptions& o, const Endpoint& endpoint,
                             const fabric::Address& address, HalfOptions options) {
  End<Half> end;
  auto recorder = selftest::Recorder::create(name, o.record);
  if (!recorder) return tl::unexpected(recorder.error());
  end.recorder = std::move(*recorder);
  end.provider = open_provider(endpoint, address, end.recorder->tracer(), kCommand);
  if (!end.provider) return recorded();
  if constexpr (requires { options.lost; }) {
    if (const soft::SoftProvider* const soft = end.provider.soft; soft != nullptr) {
      options.lost = [soft] { return soft->counters().faults; };
    }
  }
  auto half = Half::create(*end.provider.provider, *end.recorder, std::move(options));
  if (!half) return tl::unexpected(half.error());
  end.half = std::move(*half);
  return end;
}
using ServerEnd = End<selftest::ServerHalf>;
using ClientEnd = End<selftest::ClientHalf>;

Expected<ServerEnd> open_server(const SelftestOptions& o, const Endpoint& endpoint,
                                const fabric::Address& address) {
  selftest::ServerHalfOptions options;
  options.port = endpoint.port;
  options.damage = damage_of(o);
  return open_end<selftest::ServerHalf>("server", o, endpoint, address, options);
}

// Runs the server's end in a thread of its own.
class Running {
 public:
  explicit Running(service::Loop& loop) : loop_(loop) {}
  ~Running() {
    if (!thread_.joinable()) return;
    over_ = true;
    loop_.wake();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] base::Expected<void> start() {
    auto thread = base::start_thread([this] { run(); });
    if (!thread) return tl::unexpected(thread.error());
    thread_ = std::move(*thread);
    return {};
  }

 private:
  void run() {
    while (!over_) {
      // No exception may leave the thread.
      const auto going = fabric::or_out_of_memory([&] { return loop_.run_once(); });
      if (!going) {
        complain(fmt::format("{}: the server: {}", kCommand, going.error().message));
        return;
      }
    }
  }

  service::Loop& loop_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

std::string ports_text(const fabric::Address& address, std::uint16_t first) {
  return fmt::format("{} ports {} to {}", address.to_string(), first,
                     first + selftest::combinations().size() - 1);
}

// Runs the cells of the plan that lose packets, or those that do not.
Expected<void> run_cells(const SelftestOptions& o, Endpoint endpoint, const Peers& peers,
                         bool lossy, const std::vector<selftest::Cell>& cells,
                         selftest::Setup& setup, std::vector<selftest::Done>& done) {
  if (lossy) endpoint.provider.faults = soft::parse_faults(kLoss).value();
  selftest::ClientHalfOptions options;
  options.server = peers.server;
  options.port = endpoint.port;
  options.calls = o.calls;
  options.damage = damage_of(o);
  options.interrupted = [] { return Interrupt::came(); };
  auto client = open_end<selftest::ClientHalf>("client", o, endpoint, peers.from, options);
  if (!client) return tl::unexpected(client.error());
  setup.provider = client->provider.soft != nullptr ? "soft" : client->provider.device;
  const std::array<service::Loop*, 1> loops{&client->half->loop()};
  const Interrupt interrupt(loops);
  const bool terminal = ::isatty(fileno(stderr)) == 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].lossy != lossy) continue;
    if (terminal) {
      fmt::print(stderr, "\r\033[K{} of {}: {}", i + 1, cells.size(),
                 selftest::cell_name(cells[i]));
    }
    const fabric::Time begun = service::Loop::read_clock();
    auto result = client->half->run(cells[i], static_cast<std::uint32_t>(i + 1));
    if (terminal) std::fputs("\r\033[K", stderr);
    if (!result) {
      if (Interrupt::came()) return fabric::fail(result.error().code, "interrupted");
      return fabric::fail(result.error().code, fmt::format("{}: {}", selftest::cell_name(cells[i]),
                                                           result.error().message));
    }
    done.push_back({cells[i], std::move(*result), service::Loop::read_clock() - begun});
  }
  return {};
}

int run_client(const SelftestOptions& o, const Endpoint& endpoint, const Peers& peers,
               const std::vector<selftest::Cell>& cells) {
  selftest::Setup setup{ports_text(peers.server, endpoint.port), peers.from.to_string(), {}};
  std::vector<selftest::Done> done;
  Expected<void> result;
  for (const bool lossy : {false, true}) {
    const auto wanted = [lossy](const selftest::Cell& cell) { return cell.lossy == lossy; };
    if (!result || std::ranges::none_of(cells, wanted)) continue;
    result = run_cells(o, endpoint, peers, lossy, cells, setup, done);
  }
  if (!done.empty()) {
    fmt::print("{}",
               o.json ? selftest::to_json(setup, done) + '\n' : selftest::to_text(setup, done));
  }
  if (!result) {
    if (!result.error().message.empty()) {
      complain(fmt::format("{}: {}", kCommand, result.error().message));
    }
    return kUnreadable;
  }
  return std::ranges::all_of(done, &selftest::Done::passed) ? kOk : kFindings;
}

int refused(const fabric::Error& error) {
  if (!error.message.empty()) complain(fmt::format("{}: {}", kCommand, error.message));
  return kUnreadable;
}

// Serves until interrupted.
int run_server(const SelftestOptions& o, const Endpoint& endpoint, const fabric::Address& address) {
  auto server = open_server(o, endpoint, address);
  if (!server) return refused(server.error());
  service::Loop& loop = server->half->loop();
  const std::array<service::Loop*, 1> loops{&loop};
  const Interrupt interrupt(loops);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  fmt::print("listening on {} ({})\n", ports_text(address, endpoint.port),
             server->provider.soft != nullptr ? "soft" : server->provider.device);
  while (!Interrupt::came()) {
    if (const auto going = loop.run_once(); !going) return refused(going.error());
  }
  fmt::print("{} cells, {} of them with errors in the server's recording\n", server->half->cells(),
             server->half->bad_cells());
  return server->half->bad_cells() == 0 ? kOk : kFindings;
}

int run_both(const SelftestOptions& o, const Endpoint& endpoint, const Peers& peers,
             const std::vector<selftest::Cell>& cells) {
  auto server = open_server(o, endpoint, peers.server);
  if (!server) return refused(server.error());
  Running running(server->half->loop());
  if (const auto started = running.start(); !started) {
    complain(fmt::format("{}: {}", kCommand, started.error().message));
    return kUnreadable;
  }
  return run_client(o, endpoint, peers, cells);
}

std::optional<std::vector<selftest::Cell>> parse_cells(const SelftestOptions& o,
                                                       const Endpoint& endpoint) {
  std::vector<std::string> words = o.only;
  const bool verbs = endpoint.kind == ProviderKind::kVerbs;
  const bool lossy = std::ranges::find(words, "loss") != words.end();
  if (verbs && lossy) {
    complain(
        fmt::format("{}: --only loss: an RDMA device cannot drop packets on purpose; let the "
                    "network drop some (tc netem) and run the clean cells",
                    kCommand));
    return std::nullopt;
  }
  if (verbs) words.emplace_back("clean");
  auto cells = selftest::cells_of(words);
  if (!cells) {
    complain(fmt::format("{}: --only: {}", kCommand, cells.error().message));
    return std::nullopt;
  }
  return std::move(*cells);
}

int run_selftest(SelftestOptions o) {
  auto endpoint = parse_endpoint(o.endpoint, kCommand);
  if (!endpoint) return kUnreadable;
  if (!o.host.empty() && !o.listen.empty()) {
    complain(
        fmt::format("{}: HOST is where the other end listens; --listen is for that end", kCommand));
    return kUnreadable;
  }
  const bool serves = !o.listen.empty();
  const bool calls = !o.host.empty() || !o.from.empty();
  if (serves && !calls) {
    const auto address = parse_listen(o.listen, *endpoint, kCommand);
    if (!address) return kUnreadable;
    if (!choose_provider(*endpoint, *address, kCommand)) return kUnreadable;
    return run_server(o, *endpoint, *address);
  }
  const bool both = o.host.empty();
  if (both && !serves) o.listen = kServer;
  if (both && o.from.empty()) o.from = kClient;
  const auto peers = parse_peers(both ? o.listen : o.host, o.from, *endpoint, kCommand);
  if (!peers) return kUnreadable;
  const auto cells = parse_cells(o, *endpoint);
  if (!cells) return kUnreadable;
  return both ? run_both(o, *endpoint, *peers, *cells) : run_client(o, *endpoint, *peers, *cells);
}

}  // namespace

Run add_selftest(command_line::Command& command) {
  auto options = std::make_shared<SelftestOptions>();
  command.argument("HOST", options->host,
                   "Where the other end listens: a name or an address (run both ends here)");
  command.option("--from", options->from, "Own address of the calling end").value("ADDRESS");
  command
      .option("-l,--listen", options->listen,
              "Be the end that listens on this address; with --from, be both")
      .value("ADDRESS");
  command
      .option("--only", options->only,
              "Run only these kinds of cells: " + selftest::all_words() +
                  "; separate several with commas")
      .value("WORDS")
      .delimiter(',')
      .one_word();
  command
      .option(
          "--calls", options->calls,
          "Minimum number of Calls per cell and direction (8, and one of each kind in its shape)")
      .value("N");
  command.option("--record", options->record, "Keep the recordings of all cells in this directory")
      .value("DIR");
  command.flag("--json", options->json, "Print one JSON object (docs/selftest.md)");
  command
      .option("--damage", options->damage,
              "Corrupt replies (a wrong byte, or one byte short), to check that this is detected")
      .value("KIND")
      .one_of({"none", "byte", "length"})
      .show_default();
  command
      .option("-p,--port", options->endpoint.port,
              "First of the server's ports, one for each combination of versions and profiles")
      .value("PORT")
      .show_default();
  add_provider_options(command, options->endpoint);
  command.group("");
  command.footer(
      "Runs Calls of every shape (forward, reverse and both at once) between ends of both versions "
      "and different profiles, with and without packet loss. It compares every byte and lets the "
      "analyzer judge the recordings that both ends make of each cell (docs/selftest.md).\n"
      "Without arguments both ends run here, on 127.82.80.1 and 127.82.80.2, over the soft "
      "fabric (RDMA in user space).\n"
      "Exit status: 0 every cell passed; 1 a cell failed; 2 the other end cannot be reached or an "
      "argument is invalid.");
  command.example("rpcrdma selftest", "Run both ends here, over the soft fabric.");
  command.example("rpcrdma selftest 10.0.0.1 --only v2,both",
                  "With `rpcrdma selftest --listen 10.0.0.1` there: run the version 2 cells in "
                  "both directions.");
  return [options] { return run_selftest(*options); };
}

}  // namespace rpcrdma::cli
