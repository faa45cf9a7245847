// The options of commands that connect to a fleet's bus.
#pragma once

#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::cli {

struct BusText {
  std::string url;
  std::string tls_ca, tls_cert, tls_key;
  std::string user, password_file;
  std::string nkey, credentials;
};

// Adds TLS, user and key options; the URL is an option or argument of each command's own.
void add_bus_options(command_line::Command& command, BusText& text);

// `client`: of this connection, for the bus's operator. Error: options that exclude each other; the
// password file cannot be read.
[[nodiscard]] base::Expected<fleet::BusOptions> parse_bus(const BusText& text,
                                                          const std::string& client);

}  // namespace rpcrdma::cli
