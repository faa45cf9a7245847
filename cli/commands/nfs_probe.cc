// rpcrdma nfs-probe: tests an NFS server step by step.
#include "commands.h"
#include "endpoint.h"
#include "input.h"
#include "interrupt.h"
#include "last_words.h"
#include "parse.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/nfs_probe/mount.h>
#include <rpcrdma/nfs_probe/probe.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

using json = nlohmann::ordered_json;
using service::nfs3::Handle;

// The timeout of the whole run, as a multiple of the timeout of one Call.
constexpr int kRunTimeouts = 20;

struct NfsProbeOptions {
  std::string target;
  std::string from;
  EndpointOptions endpoint;
  std::uint32_t mount_port = 0;
  std::string handle;
  std::vector<std::string> sizes;
  std::string timeout = "10s";
  bool json = false;
};

// HOST:/export, HOST:PORT:/export
struct Target {
  std::string host, path;
};
std::optional<Target> parse_target(const std::string& text) {
  const std::size_t at = text.find(":/");
  if (at == std::string::npos || at == 0) {
    complain(fmt::format("nfs-probe: {}: give HOST:/DIRECTORY, as the server exports it", text));
    return std::nullopt;
  }
  return Target{text.substr(0, at), text.substr(at + 1)};
}

std::optional<Handle> parse_handle(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  bool good = hex.size() % 2 == 0;
  for (std::size_t i = 0; good && i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    good = high >= 0 && low >= 0;
    if (good) bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  const auto handle = good ? service::nfs3::make_handle(bytes) : std::nullopt;
  if (!handle) {
    complain(fmt::format("nfs-probe: --handle {}: give 1 to {} bytes in hexadecimal", hex,
                         Handle::kMost));
  }
  return handle;
}

std::string own_file_name() {
  std::random_device random;
  return fmt::format(".rpcrdma-probe-{}-{:08x}", ::getpid(), random());
}

std::string threshold_text(const service::Thresholds& t) {
  return fmt::format("{} bytes inline to it, {} from it", t.send, t.receive);
}

std::string private_data_text(const service::Thresholds& t) {
  if (!t.peer) return "no valid private data: default inline thresholds apply";
  return fmt::format("private data: sends {}, receives {}, {} Send With Invalidate",
                     t.peer->send_size(), t.peer->recv_size(),
                     t.peer->remote_invalidation() ? "supports" : "does not support");
}

std::string invalidation_text(const nfs_probe::Server& s) {
  return s.invalidated == 0
             ? std::string("invalidated no memory by its Replies")
             : fmt::format("invalidated memory by {} of {} Replies", s.invalidated, s.replies);
}

// Prints each step when it is done.
class StepPrinter {
 public:
  explicit StepPrinter(bool as_json) : json_(as_json) {}

  void step(const nfs_probe::Step& s) {
    if (!s.good && failed_.empty()) failed_ = s.name;
    if (json_) {
      steps_.push_back({{"step", s.name}, {"good", s.good}, {"detail", s.detail}, {"ns", s.took}});
      return;
    }
    write_out(fmt::format("{:<7} {:<32} {:>9}  {}\n", s.good ? "ok" : "FAILED", s.name,
                          base::format_duration(s.took), plot::escape_terminal(s.detail)));
  }

  // Reports that not all was printed; returns the exit status. A reader that has exited is no
  // fault.
  [[nodiscard]] int finish(int status) const {
    if (error_ == 0) return status;
    std::clearerr(stdout);
    if (error_ == EPIPE) return status;
    complain(fmt::format("standard output: {}", std::strerror(error_)));
    return kUnreadable;
  }

  void end(const nfs_probe::Verdict& v, const std::string& file) {
    const service::Thresholds& t = v.server.connection.thresholds;
    if (json_) {
      json out = {{"good", v.good},
                  {"interrupted", v.interrupted},
                  {"steps", steps_},
                  {"server",
                   {{"inline_send", t.send},
                    {"inline_receive", t.receive},
                    {"private_data", t.peer.has_value()},
                    {"takes_invalidation", t.peer && t.peer->remote_invalidation()},
                    {"granted", v.server.granted},
                    {"read_max", v.server.read_most},
                    {"write_max", v.server.write_most},
                    {"replies", v.server.replies},
                    {"invalidated", v.server.invalidated}}}};
      if (v.left_behind) out["left_behind"] = file;
      write_out(out.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
      return;
    }
    write_out(fmt::format("\nthe server: {}; {}; grants {} credits; {}\n", threshold_text(t),
                          private_data_text(t), v.server.granted, invalidation_text(v.server)));
    if (v.interrupted) {
      write_out("interrupted\n");
    } else if (v.good) {
      write_out("NFS version 3 over RPC-over-RDMA works\n");
    } else {
      write_out(fmt::format("NFS version 3 over RPC-over-RDMA does not work: {} failed{}\n",
                            failed_, plot::escape_terminal(version_hint(v.server.connection))));
    }
  }

 private:
  // The disk of standard output may be full, or its reader gone: the steps continue all the same.
  void write_out(const std::string& text) {
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if ((std::fflush(stdout) != 0 || !written) && error_ == 0) error_ = errno != 0 ? errno : EIO;
  }

  const bool json_;
  int error_ = 0;  // of the first text that was not written
  json steps_ = json::array();
  std::string failed_;
};

// Runs every step except MOUNT, which supplies the file handle.
int probe(const Peers& peers, const Endpoint& endpoint, nfs_probe::Plan& plan, StepPrinter& printer,
          trace::Tracer* tracer) {
  const auto provider = open_provider(endpoint, peers.from, tracer, "nfs-probe");
  if (!provider) return kUnreadable;
  const auto loop = service::Loop::create(*provider.provider,
                                          {.memory = {}, .spin = endpoint.spin, .tracer = tracer});
  if (!loop) {
    complain(fmt::format("nfs-probe: {}", loop.error().message));
    return kUnreadable;
  }
  const std::array<service::Loop*, 1> loops{loop->get()};
  const Interrupt interrupt(loops);
  plan.client.server = peers.server;
  apply(endpoint, plan.client);
  plan.client.requester.credits = 128;  // as Linux requests
  plan.interrupted = &Interrupt::came;
  // It prints when the program ends in whatever way, except by SIGKILL.
  LastWords last_words(
      fmt::format("nfs-probe: {} may still exist in the directory: it was not removed", plan.file));
  plan.may_exist = &last_words.pending;
  const auto verdict =
      nfs_probe::probe(**loop, plan, [&](const nfs_probe::Step& s) { printer.step(s); });
  if (!verdict) {
    complain(fmt::format("nfs-probe: {}: {}", server_text(peers.server, endpoint.port),
                         verdict.error().message));
    return kUnreadable;
  }
  printer.end(*verdict, plan.file);
  return verdict->good ? kOk : kFindings;
}

// Asks MOUNT to forget this client when the program ends in an orderly way or by an exception.
class Unmount {
 public:
  Unmount(const nfs_probe::MountServer& server, std::string path)
      : server_(server), path_(std::move(path)) {}
  ~Unmount() {
    try {
      if (const auto done = nfs_probe::unmount(server_, path_); !done) {
        complain(fmt::format("nfs-probe: MOUNT may still list this client for {}: {}", path_,
                             done.error().message));
      }
    } catch (const std::exception&) {
      std::fputs("rpcrdma: nfs-probe: MOUNT may still list this client\n", stderr);
    }
  }
  Unmount(const Unmount&) = delete;
  Unmount& operator=(const Unmount&) = delete;

 private:
  const nfs_probe::MountServer server_;
  const std::string path_;
};

int run_nfs_probe(const NfsProbeOptions& o) {
  const auto target = parse_target(o.target);
  if (!target) return kUnreadable;
  auto endpoint = parse_endpoint(o.endpoint, "nfs-probe");
  if (!endpoint) return kUnreadable;
  const auto peers = parse_peers(target->host, o.from, *endpoint, "nfs-probe");
  if (!peers) return kUnreadable;
  const auto timeout = duration_option(o.timeout, "nfs-probe", "--timeout");
  if (!timeout || !in_range(o.mount_port, 0, UINT16_MAX, "nfs-probe", "--mount-port")) {
    return kUnreadable;
  }
  nfs_probe::Plan plan;
  plan.timeout = *timeout;
  plan.whole = *timeout < fabric::kNever / kRunTimeouts ? kRunTimeouts * *timeout : fabric::kNever;
  plan.file = own_file_name();
  for (const std::string& text : o.sizes) {
    const auto size = size_option(text, "nfs-probe", "--sizes");
    constexpr std::uint32_t kMost = 16U << 20;
    if (!size || !in_range(*size, 1, kMost, "nfs-probe", "--sizes")) return kUnreadable;
    plan.sizes.push_back(*size);
  }

  // The file is removed although nobody reads the output.
  std::signal(SIGPIPE, SIG_IGN);
  StepPrinter printer(o.json);
  nfs_probe::MountServer mount_server{peers->server, static_cast<std::uint16_t>(o.mount_port),
                                      *timeout};
  const fabric::Time begun = service::Loop::read_clock();
  std::optional<Unmount> unmount;
  if (!o.handle.empty()) {
    const auto handle = parse_handle(o.handle);
    if (!handle) return kUnreadable;
    plan.folder = *handle;
  } else {
    const auto mounted = nfs_probe::mount(mount_server, target->path);
    if (!mounted) {
      complain(fmt::format("nfs-probe: {}: {}", o.target, mounted.error().message));
      return kUnreadable;
    }
    plan.folder = mounted->handle;
    mount_server.port = mounted->port;
    unmount.emplace(mount_server, target->path);
    printer.step(
        {"MOUNT", true,
         fmt::format("TCP port {}, a handle of {} bytes", mounted->port, mounted->handle.size),
         service::Loop::read_clock() - begun});
  }
  if (plan.whole != fabric::kNever) plan.whole -= service::Loop::read_clock() - begun;
  auto tracing = Tracing::start(
      endpoint->tracing, fmt::format("nfs-probe of {}", server_text(peers->server, endpoint->port)),
      "nfs-probe");
  int status = kUnreadable;
  if (tracing) {
    status = tracing->finish(probe(*peers, *endpoint, plan, printer, tracing->add()));
    status = printer.finish(status);
  }
  return status;
}

}  // namespace

Run add_nfs_probe(command_line::Command& command) {
  auto options = std::make_shared<NfsProbeOptions>();
  command
      .argument("TARGET", options->target,
                "The server (a name or an address) and the directory that it exports")
      .value("HOST:/FOLDER")
      .required();
  command.option("--from", options->from, "Own address or its name").value("ADDRESS");
  command.option("--mount-port", options->mount_port, "TCP port of MOUNT (ask rpcbind)").value("N");
  command
      .option("--handle", options->handle,
              "The directory's file handle, in hexadecimal; MOUNT is then not used")
      .value("HEX");
  command
      .option("--sizes", options->sizes,
              "Bytes to write and read (sizes around all thresholds, up to 1 MiB)")
      .value("SIZE,...")
      .delimiter(',');
  command
      .option("--timeout", options->timeout,
              "Timeout of each Call; all steps together are limited to 20 times this, and removing "
              "the file to once more")
      .value("DURATION")
      .show_default();
  command.flag("--json", options->json, "Print one JSON object at the end");
  add_endpoint_options(command, options->endpoint);
  command.footer(
      "Tests an NFS version 3 server: MOUNT over TCP, then over RPC-over-RDMA NULL, GETATTR, "
      "FSINFO, and READDIRPLUS with a Reply chunk. It then creates a file of its own in the "
      "directory, writes it with Read chunks and inline, reads it with Write chunks and inline, "
      "compares the data, commits, and removes the file, also after Ctrl-C. Whatever it could not "
      "remove it names on standard error.\n"
      "Exit status: 0 success, 1 a step failed, 2 the server cannot be reached or an argument is "
      "invalid.");
  return [options] { return run_nfs_probe(*options); };
}

}  // namespace rpcrdma::cli
