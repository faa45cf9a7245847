#include "bus_option.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

namespace rpcrdma::cli {

namespace {

// The first line, without its end.
base::Expected<std::string> read_password(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!in) return base::fail(fmt::format("--password-file {}: {}", file, std::strerror(errno)));
  std::getline(in, line);
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty()) return base::fail(fmt::format("--password-file {}: it is empty", file));
  return line;
}

}  // namespace

void add_bus_options(command_line::Command& command, BusText& text) {
  command.group("Bus");
  command
      .option("--tls-ca", text.tls_ca,
              "Connect by TLS, and accept certificates of the CAs in this PEM file")
      .value("FILE");
  command.option("--tls-cert", text.tls_cert, "Certificate of this client, PEM").value("FILE");
  command.option("--tls-key", text.tls_key, "Its private key, PEM")
      .value("FILE")
      .needs("--tls-cert");
  command.option("--user", text.user, "User of the bus").value("NAME");
  command
      .option("--password-file", text.password_file, "File whose first line is the user's password")
      .value("FILE")
      .needs("--user");
  command
      .option("--nkey", text.nkey,
              "File with the seed and the public key of an nkey, as `nk -gen user -pubout` prints "
              "them")
      .value("FILE")
      .excludes("--user");
  command.option("--creds", text.credentials, "Credentials file of a decentralized account (JWT)")
      .value("FILE")
      .excludes("--user")
      .excludes("--nkey");
}

base::Expected<fleet::BusOptions> parse_bus(const BusText& text, const std::string& client) {
  fleet::BusOptions options;
  options.url = text.url;
  // As with other clients of NATS, a host is enough.
  if (options.url.find("://") == std::string::npos) options.url = "nats://" + options.url;
  options.name = client;
  options.tls_ca = text.tls_ca;
  options.tls_cert = text.tls_cert;
  options.tls_key = text.tls_key;
  options.user = text.user;
  options.nkey_file = text.nkey;
  options.credentials_file = text.credentials;
  if (!text.password_file.empty()) {
    auto password = read_password(text.password_file);
    if (!password) return tl::unexpected(password.error());
    options.password = std::move(*password);
  }
  return options;
}

}  // namespace rpcrdma::cli
