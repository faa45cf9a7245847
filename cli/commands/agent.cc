// rpcrdma agent: publishes what this host's endpoints do.
#include "bus_option.h"
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "log.h"
#include "service_manager.h"
#include "service_signals.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/agent/agent.h>
#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/parse.h>
#include <rpcrdma/command_line/config_file.h>
#include <rpcrdma/fleet/record.h>
#include <rpcrdma/kernel_endpoint/options.h>
#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

struct AgentText {
  BusText bus;
  std::string host;
  bool kernel = false;
  bool no_record = false;
  std::string most_record = "256Mi";
  std::string spool;
  rules::Profile profile = rules::Profile::k8166;
  std::string config;
  LogText log;
};

int failed(const std::string& why) {
  complain("agent: " + why);
  return kUnreadable;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

LogLevel level_of(agent::Level level) {
  switch (level) {
    case agent::Level::kInfo:
      return LogLevel::kInfo;
    case agent::Level::kWarning:
      return LogLevel::kWarning;
    case agent::Level::kError:
      break;
  }
  return LogLevel::kError;
}

// Reports to the service manager, if there is one. Publishing does not depend on it.
class Reporter {
 public:
  explicit Reporter(ServiceManager manager) : manager_(std::move(manager)) {}

  void ready(const std::string& status) {
    status_ = status;
    note(manager_.ready(status));
  }
  void turn(const std::string& status, std::int64_t now_ns) {
    if (!manager_.listens() || now_ns < at_) return;
    // Twice in the time after which a silent service counts as hung.
    const auto watchdog = manager_.watchdog();
    at_ = now_ns + std::min(kInterval, watchdog ? *watchdog / 2 : kInterval);
    if (watchdog) note(manager_.alive());
    if (status != status_) note(manager_.status(status_ = status));
  }
  void stopping() const { note(manager_.stopping("publishing the last state")); }

 private:
  static constexpr std::int64_t kInterval = 10 * base::kSecond;
  static void note(const capture::Expected<void>& notified) {
    if (!notified) complain("agent: warning: " + notified.error().message);
  }

  ServiceManager manager_;
  std::string status_;
  std::int64_t at_ = 0;
};

int publish(const AgentText& text, const agent::AgentOptions& options,
            const fleet::BusOptions& bus_options, Log& log) {
  auto manager = ServiceManager::from_environment();
  if (!manager) return failed(manager.error().message);
  const auto bus = fleet::Bus::connect(bus_options);
  if (!bus) return failed(bus.error().message);
  const auto agent =
      agent::Agent::start(options, **bus, [&](agent::Level level, const std::string& line) {
        log.write(level_of(level), plot::escape_terminal(line));
      });
  if (!agent) return failed(agent.error().message);
  // The agent finds it as it finds other endpoints.
  std::optional<kernel::Launched> traced;
  if (text.kernel) {
    auto started = kernel::Launched::start({"--sums"});
    if (!started) return failed(started.error().message);
    traced = std::move(*started);
  }
  const Interrupt interrupt({});
  const ServiceSignals signals({}, false);
  log.take_complaints();
  log.info(plot::escape_terminal(
      fmt::format("publishes as host {} on {}", options.host, (*bus)->state().server)));
  Reporter reporter(std::move(*manager));
  reporter.ready((*agent)->status());
  base::Expected<void> result;
  while (result && !Interrupt::came()) {
    const std::int64_t now = base::monotonic_ns();
    if (ServiceSignals::take_rotate()) {
      if (const auto opened = log.reopen(); !opened) log.error(opened.error().message);
    }
    reporter.turn((*agent)->status(), now);
    result = (*agent)->run(now + base::kSecond);
  }
  reporter.stopping();
  if (!result) return failed(result.error().message);
  (*agent)->goodbye();
  log.info("stopped");
  return kOk;
}

int run_agent(const AgentText& text) {
  const auto bus = parse_bus(text.bus, "rpcrdma agent");
  if (!bus) return failed(bus.error().message);
  agent::AgentOptions options;
  options.host = text.host.empty() ? own_host_name() : text.host;
  options.profile = text.profile;
  options.record = !text.no_record;
  options.spool = text.spool;
  const auto size = base::parse_size(text.most_record);
  if (!size || *size > fleet::kMostRecordBytes) {
    return failed(fmt::format("--record-max {}: not a size of at most 1Gi", text.most_record));
  }
  options.most_record = *size;
  // Nobody has to read the log.
  std::signal(SIGPIPE, SIG_IGN);
  const auto log = Log::open(parse_log(text.log));
  if (!log) return failed(log.error().message);
  fleet::BusOptions named = *bus;
  named.name = "rpcrdma agent on " + options.host;
  const int status = publish(text, options, named, **log);
  return (*log)->finish() ? status : kUnreadable;
}

}  // namespace

Run add_agent(command_line::Command& command) {
  auto text = std::make_shared<AgentText>();
  command
      .option("--bus", text->bus.url,
              "The fleet's bus: nats://host:4222, tls://host:4222; several: separated by commas")
      .value("URL")
      .required();
  command.option("--host", text->host, "Name of this host in the fleet (its host name)")
      .value("NAME");
  command.flag("--kernel", text->kernel,
               "Also count Calls of Linux's own NFS/RDMA client and server (docs/kernel.md)");
  add_profile(command, text->profile);
  add_bus_options(command, text->bus);
  command.group("Recordings on request");
  command.flag("--no-record", text->no_record, "Refuse requests of `rpcrdma fleet record`");
  command.option("--record-max", text->most_record, "Maximum size of one recording")
      .value("SIZE")
      .show_default();
  command
      .option("--spool", text->spool,
              "Folder for a recording until it has been sent (the system's temporary folder)")
      .value("DIR");
  add_log_options(command, text->log);
  command.group("Configuration");
  command.config_file(text->config);
  command.footer(
      "Follows all endpoints of this user, for root those of all users, as `rpcrdma top` does, and "
      "publishes a summary of each once a second, and findings as they come, on NATS JetStream. "
      "Without the bus it keeps the latest summary and some thousand findings, and counts the "
      "rest.\n"
      "Ctrl-C or SIGTERM ends it. SIGUSR1 opens the file of --log-file again (docs/agent.md).");
  command.example("rpcrdma agent --bus nats://bus:4222", "Publish this host's endpoints.");
  command.example("rpcrdma agent --bus tls://bus:4222 --tls-ca ca.pem --nkey agent.nk --host node7",
                  "Publish over TLS, as the user of an nkey.");
  return [text] { return run_agent(*text); };
}

}  // namespace rpcrdma::cli
