// rpcrdma exporter: serves this host's NFS/RDMA numbers for Prometheus.
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "log.h"
#include "metrics_option.h"
#include "service_manager.h"
#include "service_signals.h"

#include <csignal>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/command_line/config_file.h>
#include <rpcrdma/exporter/exporter.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/program/privileges.h>

namespace rpcrdma::cli {

namespace {

struct ExporterText {
  MetricsText metrics{"9466", ""};
  bool once = false;
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string user;
  std::string config;
  LogText log;
};

int exporter_refused(const std::string& why) {
  complain("exporter: " + why);
  return kUnreadable;
}

exporter::Options sources_of(const ExporterText& text) {
  exporter::Options options;
  options.proc = text.proc;
  options.sys = text.sys;
  return options;
}

// One scrape, for people and for the textfile collector of node_exporter.
int print_once(const ExporterText& text) {
  exporter::Options options = sources_of(text);
  options.log = [](const std::string& line) { complain("exporter: " + line); };
  metrics::TextWriter writer(metrics::TextFormat::kText);
  exporter::Exporter(std::move(options)).write(writer);
  write_stdout(writer.take());
  return kOk;
}

// Files of the host need no right of root, only its user.
base::Expected<void> give_up_rights(const std::string& user) {
  const auto identity = identity_after_opening(user);
  if (!identity) return tl::unexpected(identity.error());
  if (user.empty()) {
    return ::geteuid() == 0 ? limit_root(KeptRights::kNone) : base::Expected<void>();
  }
  return give_up_privileges(*identity);
}

int serve_exporter(const ExporterText& text, const MetricsAddress& where, Log& log) {
  auto manager = ServiceManager::from_environment();
  if (!manager) return exporter_refused(manager.error().message);
  exporter::Options options = sources_of(text);
  options.log = [&log](const std::string& line) { log.info(plot::escape_terminal(line)); };
  exporter::Exporter exporter(std::move(options));
  // What cannot be read is in the log before the first scrape.
  metrics::TextWriter unread(metrics::TextFormat::kText);
  exporter.write(unread);
  const Interrupt interrupt({});
  const ServiceSignals signals({}, false);
  auto exposer = metrics::Exposer::open_text(
      where.host, where.port, [&exporter](metrics::TextWriter& to) { exporter.write(to); },
      where.web);
  if (!exposer) {
    return exporter_refused(
        fmt::format("--listen {}: {}", to_text(where), exposer.error().message));
  }
  log.take_complaints();
  const std::string at = "metrics at " + metrics_url(where, (*exposer)->address());
  log.info(plot::escape_terminal(at));
  const auto notified = manager->ready(at);
  if (!notified) complain("exporter: warning: " + notified.error().message);
  while (!Interrupt::came()) {
    // A signal ends the pause; one that came just before is seen after it.
    const timespec pause{0, 200'000'000};
    ::nanosleep(&pause, nullptr);
    if (ServiceSignals::take_rotate()) {
      if (const auto opened = log.reopen(); !opened) log.error(opened.error().message);
    }
  }
  if (const auto sent = manager->stopping("closing connections"); !sent) {
    complain("exporter: warning: " + sent.error().message);
  }
  exposer->reset();
  log.info("stopped");
  return kOk;
}

int run_exporter(const ExporterText& text) {
  if (text.once) return print_once(text);
  const auto where = parse_metrics_address(text.metrics.address, text.metrics.config);
  if (!where) {
    // It is named as the option of the endpoints is.
    constexpr std::string_view kOfEndpoints = "--metrics ";
    std::string why = where.error().message;
    if (why.starts_with(kOfEndpoints)) why.replace(0, kOfEndpoints.size(), "--listen ");
    return exporter_refused(why);
  }
  if (const auto given_up = give_up_rights(text.user); !given_up) {
    return exporter_refused(given_up.error().message);
  }
  // Nobody has to read the log.
  std::signal(SIGPIPE, SIG_IGN);
  const auto log = Log::open(parse_log(text.log));
  if (!log) return exporter_refused(log.error().message);
  const int status = serve_exporter(text, *where, **log);
  return (*log)->finish() ? status : kUnreadable;
}

}  // namespace

Run add_exporter(command_line::Command& command) {
  auto text = std::make_shared<ExporterText>();
  command
      .option("--listen", text->metrics.address,
              "Serve at this address or name of this machine: 10.0.0.1:9466, [::1]:9466, 9466 for "
              "the loopback address, or :9466 for all addresses; port 0: any that is free")
      .value("HOST:PORT")
      .show_default();
  command
      .option("--metrics-config", text->metrics.config,
              "TLS and users, in the format of Prometheus's --web.config.file (docs/metrics.md)")
      .value("FILE");
  command.flag("--once", text->once, "Print the metrics once, and exit");
  command.option("--user", text->user, "Run as this user, if started by root").value("NAME");
  command.group("Sources");
  command.option("--proc", text->proc, "Where procfs of the host is mounted")
      .value("DIR")
      .show_default();
  command.option("--sys", text->sys, "Where sysfs of the host is mounted")
      .value("DIR")
      .show_default();
  add_log_options(command, text->log);
  command.group("Configuration");
  command.config_file(text->config);
  command.footer(
      "Each scrape reads mountstats, /sys/kernel/sunrpc, svcrdma's and nfsd's counters and those "
      "of "
      "the RDMA devices anew. A source that is absent is named in rpcrdma_exporter_source_up and "
      "in "
      "one line of the log (docs/exporter.md).\n"
      "Ctrl-C or SIGTERM ends it. SIGUSR1 opens the file of --log-file again.");
  command.example("rpcrdma exporter --listen :9466", "Serve at all addresses.");
  command.example("rpcrdma exporter --once | grep fallback",
                  "Find mounts that do not use RDMA although they should.");
  return [text] { return run_exporter(*text); };
}

}  // namespace rpcrdma::cli
