// rpcrdma ls: lists running endpoints.
#include "commands.h"
#include "input.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::cli {

namespace {

using trace::RunningEndpoint;

void print_json(const RunningEndpoint& e) {
  nlohmann::ordered_json json;
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
  std::size_t width = 4, user_width = 4;
  for (const RunningEndpoint& e : *endpoints) {
    width = std::max(width, decode::escape_text(e.name).size());
    user_width = std::max(user_width, decode::escape_text(e.user).size());
  }
  const auto print = [&](const std::string& name, const std::string& process,
                         const std::string& user, const std::string& begun,
                         const std::string& role) {
    fmt::print("{:<{}}  {:>7}  ", name, width, process);
    if (users) fmt::print("{:<{}}  ", user, user_width);
    fmt::print("{:<19}  {}\n", begun, role);
  };
  print("NAME", "PROCESS", "USER", "SINCE (UTC)", "ROLE");
  for (const RunningEndpoint& e : *endpoints) {
    print(decode::escape_text(e.name), std::to_string(e.process), decode::escape_text(e.user),
          since(e), e.since != 0 ? decode::escape_text(e.role) : "(" + e.fault + ")");
  }
  return kOk;
}

}  // namespace

Run add_ls(command_line::Command& command) {
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print one JSON object per line (docs/json.md)");
  command.footer(
      "Lists the endpoints of this user; for root those of all users, with their names.");
  return [json] { return list(*json); };
}

}  // namespace rpcrdma::cli
