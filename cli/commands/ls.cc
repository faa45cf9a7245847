// rpcrdma ls: lists running endpoints.
#include "commands.h"
#include "input.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

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
    complain("no endpoint of this user is running");
    return kOk;
  }
  std::size_t width = 4;
  for (const RunningEndpoint& e : *endpoints) {
    width = std::max(width, decode::escape_text(e.name).size());
  }
  fmt::print("{:<{}}  {:>7}  {:<19}  {}\n", "NAME", width, "PROCESS", "SINCE (UTC)", "ROLE");
  for (const RunningEndpoint& e : *endpoints) {
    fmt::print("{:<{}}  {:>7}  {:<19}  {}\n", decode::escape_text(e.name), width, e.process,
               since(e), e.since != 0 ? decode::escape_text(e.role) : "(" + e.fault + ")");
  }
  return kOk;
}

}  // namespace

Run add_ls(command_line::Command& command) {
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print one JSON object per line (docs/json.md)");
  return [json] { return list(*json); };
}

}  // namespace rpcrdma::cli
