// Answers HTTP requests on one address, by civetweb.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/error.h>

namespace rpcrdma::metrics {

// A peer's request: arbitrary bytes, of a total length that civetweb bounds.
struct HttpRequest {
  std::string_view method;
  std::string_view path;  // decoded, without a query
  std::string_view accept;
};

class HttpServer {
 public:
  // Returns the whole answer including the status line; the connection ends with it. Called by
  // several threads concurrently. Exceptions are answered with 500.
  using Handler = std::function<std::string(const HttpRequest&)>;

  // Listens at once. Its threads receive no signals of the process. Errors: kBadArgument for an
  // address that is not IPv4; kSystem if it cannot be listened on.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<HttpServer>> open(
      const fabric::Address& address, std::uint16_t port, Handler handler);
  // Waits for clients that are connected and send nothing, at most two seconds.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::metrics
