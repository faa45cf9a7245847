// TLS of the HTTP server, by the GnuTLS that libmicrohttpd has.
#pragma once

#include <string>
#include <vector>

#include <microhttpd.h>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {

// The options of MHD_start_daemon() for this configuration, which has to outlive the daemon.
class TlsOptions {
 public:
  // Error: kSystem if a certificate or key is invalid, or the key is another certificate's.
  [[nodiscard]] static fabric::Expected<TlsOptions> create(const WebConfig::Tls& tls);

  void add_to(std::vector<MHD_OptionItem>& options) const;
  // For each connection, before its handshake.
  void prepare(MHD_Connection* connection) const;

 private:
  explicit TlsOptions(const WebConfig::Tls& tls) : tls_(&tls) {}

  const WebConfig::Tls* tls_;
  std::string priorities_;
};

}  // namespace rpcrdma::metrics
