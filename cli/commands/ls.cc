// rpcrdma ls: lists running endpoints, for people or for Prometheus.
#include "commands.h"
#include "endpoint.h"
#include "input.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/service_discovery/service_discovery.h>

namespace rpcrdma::cli {

namespace {

using trace::RunningEndpoint;

void print_json(const RunningEndpoint& e) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["name"] = decode::valid_utf8(e.name);
  json["process"] = e.process;
  json["user"] = decode::valid_utf8(e.user);
  json["since_ns"] = nullptr;
  json["role"] = nullptr;
  if (e.since != 0) {
    json["since_ns"] = e.since;
    json["role"] = decode::valid_utf8(e.role);
  }
  json["socket"] = decode::valid_utf8(e.path);
  json["metrics"] = nullptr;
  if (!e.metrics.empty()) json["metrics"] = e.metrics;
  fmt::print("{}\n", json.dump(-1, ' ', true));  // escapes all non-ASCII characters as \uNNNN
}

std::string since(const RunningEndpoint& e) {
  return e.since != 0 ? report::format_time(e.since).substr(0, 19) : "-";
}

int list(bool json) {
  const auto endpoints = trace::list_endpoints();
  if (!endpoints) {
    complain(endpoints.error().message);
    return kUnreadable;
  }
  if (json) {
    for (const RunningEndpoint& e : *endpoints) print_json(e);
    return kOk;
  }
  if (endpoints->empty()) {
    complain(::geteuid() == 0 ? "no endpoint is running" : "no endpoint of this user is running");
    return kOk;
  }
  // Only root sees those of others.
  const bool users = ::geteuid() == 0;
  std::size_t width = 4, user_width = 4, metrics_width = 0;
  for (const RunningEndpoint& e : *endpoints) {
    width = std::max(width, decode::escape_text(e.name).size());
    user_width = std::max(user_width, decode::escape_text(e.user).size());
    if (!e.metrics.empty()) {
      metrics_width =
          std::max({metrics_width, std::string_view("METRICS").size(), e.metrics.size()});
    }
  }
  const auto print = [&](const std::string& name, const std::string& process,
                         const std::string& user, const std::string& begun,
                         const std::string& metrics, const std::string& role) {
    fmt::print("{:<{}}  {:>7}  ", name, width, process);
    if (users) fmt::print("{:<{}}  ", user, user_width);
    fmt::print("{:<19}  ", begun);
    if (metrics_width != 0) fmt::print("{:<{}}  ", metrics, metrics_width);
    fmt::print("{}\n", role);
  };
  print("NAME", "PROCESS", "USER", "SINCE (UTC)", "METRICS", "ROLE");
  for (const RunningEndpoint& e : *endpoints) {
    print(decode::escape_text(e.name), std::to_string(e.process), decode::escape_text(e.user),
          since(e), e.metrics.empty() ? "-" : e.metrics,
          e.since != 0 ? decode::escape_text(e.role) : "(" + e.fault + ")");
  }
  return kOk;
}

// Writes the file for Prometheus once. Returns whether it is now as it should be.
bool update(service_discovery::File& file, bool first, std::string& failure) {
  const auto fail = [&](const std::string& why) {
    // Each failure once, not every few seconds.
    if (why != failure) complain("ls: --sd: " + why);
    failure = why;
    return false;
  };
  const auto endpoints = trace::list_endpoints();
  if (!endpoints) return fail(endpoints.error().message);
  const auto updated = file.update(*endpoints);
  if (!updated) return fail(updated.error().message);
  for (const std::string& line : updated->left_out) complain("ls: --sd: " + line);
  if (first || updated->written || !failure.empty()) {
    inform(fmt::format("ls: --sd: {} target{}{}", updated->targets,
                       updated->targets == 1 ? "" : "s",
                       updated->written ? "" : ", as in the file before"));
  }
  failure.clear();
  return true;
}

// `every`: seconds between updates, until a signal comes; nothing: a single one.
int discover(const service_discovery::Options& options, std::optional<std::int64_t> every) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  if (every) ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  service_discovery::File file(options);
  std::string failure;
  bool is_written = update(file, true, failure);
  if (!every) return is_written ? kOk : kUnreadable;
  const timespec pause{*every / fabric::kSecond, *every % fabric::kSecond};
  while (::sigtimedwait(&ends, nullptr, &pause) < 0) is_written = update(file, false, failure);
  return is_written ? kOk : kUnreadable;
}

// Each time, all endpoints are queried.
constexpr fabric::Time kLeastEvery = 100 * fabric::kMillisecond;

struct LsOptions {
  bool json = false;
  service_discovery::Options sd;
  std::string every;
};

int ls(LsOptions options) {
  const auto refuse = [](const std::string& why) {
    complain("ls: " + why);
    return kUnreadable;
  };
  if (options.sd.file.empty()) {
    if (!options.every.empty()) return refuse("--every: needs --sd");
    if (!options.sd.reached_as.empty()) return refuse("--sd-host: needs --sd");
    return list(options.json);
  }
  if (options.json) return refuse("--json: not with --sd, which writes a file");
  options.sd.machine = service_discovery::machine_name();
  if (const auto checked = service_discovery::check(options.sd); !checked) {
    return refuse("--sd: " + checked.error().message);
  }
  std::optional<std::int64_t> every;
  if (!options.every.empty()) {
    every = duration_option(options.every, "ls", "--every");
    if (!every) return kUnreadable;
    if (*every < kLeastEvery) return refuse("--every: at least 100ms");
  }
  return discover(options.sd, every);
}

}  // namespace

Run add_ls(command_line::Command& command) {
  auto options = std::make_shared<LsOptions>();
  command.flag("--json", options->json, "Print one JSON object per line (docs/json.md)");
  command.group("Service discovery for Prometheus");
  command
      .option("--sd", options->sd.file,
              "Write the endpoints that serve metrics to this JSON file, for file_sd_configs "
              "(docs/metrics.md)")
      .value("FILE");
  command
      .option("--every", options->every,
              "With --sd: look again at this interval, until a signal, and write what has changed")
      .value("TIME");
  command
      .option("--sd-host", options->sd.reached_as,
              "With --sd, for a Prometheus on another machine: name or address at which it reaches "
              "this one, in place of addresses such as 0.0.0.0 (this machine's name)")
      .value("HOST");
  command.footer(
      "Lists the endpoints of this user; for root those of all users, with their names.");
  command.example("rpcrdma ls --sd /etc/prometheus/rpcrdma/host1.json --every 5s",
                  "Keep Prometheus's list of targets current");
  return [options] { return ls(*options); };
}

}  // namespace rpcrdma::cli
