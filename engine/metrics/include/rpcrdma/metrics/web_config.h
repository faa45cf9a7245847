// TLS and basic authentication of the metrics port, as the file --web.config.file of Prometheus and
// its exporters describes them (exporter-toolkit, web-configuration.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::metrics {

// Whether a client has to show a certificate, named as in the file.
enum class ClientAuth : std::uint8_t {
  kNoClientCert,
  kRequestClientCert,
  kRequireAnyClientCert,
  kVerifyClientCertIfGiven,
  kRequireAndVerifyClientCert,
};

struct WebConfig {
  struct Tls {
    std::string certificate;  // PEM, the server's first
    std::string key;          // PEM
    std::string client_ca;    // PEM; empty if no client's certificate is verified
    ClientAuth client_auth = ClientAuth::kNoClientCert;
    int min_version = 12;  // 10 to 13: TLS 1.0 to TLS 1.3
    int max_version = 13;
  };
  std::optional<Tls> tls;
  std::map<std::string, std::string> users;  // name to bcrypt hash; empty: no authentication

  [[nodiscard]] bool is_plain() const { return !tls && users.empty(); }
};

// Reads the file, and the certificates and keys that it names: relative to its own folder. What it
// cannot honour is an error, never ignored. Error: one sentence with the path, and the line if one
// is at fault; in a build without metrics: always.
[[nodiscard]] fabric::Expected<WebConfig> read_web_config(const std::string& path);

}  // namespace rpcrdma::metrics
