#include "echo_option.h"

#include "endpoint.h"
#include "input.h"

#include <fmt/core.h>

namespace rpcrdma::cli {

std::optional<load::EchoRequests> parse_echo(const std::string& procedures,
                                             const std::string& sizes, const std::string& sleep,
                                             const char* command) {
  const auto pause = duration_option(sleep, command, "--sleep");
  if (!pause) return std::nullopt;
  if (*pause / fabric::kMicrosecond > service::echo::kMaxSleep) {
    complain(fmt::format("{}: --sleep {}: more than a minute", command, sleep));
    return std::nullopt;
  }
  auto requests = load::EchoRequests::parse(procedures, sizes, *pause);
  if (requests) return std::move(*requests);
  const load::RequestError& error = requests.error();
  if (error.of_sizes) {
    complain(fmt::format("{}: --size: {}", command, error.message));
  } else {
    complain(fmt::format("{}: --procedure: {} (see `rpcrdma {} --help`)", command, error.message,
                         command));
  }
  return std::nullopt;
}

}  // namespace rpcrdma::cli
