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

// What a peer says: bounded in all by civetweb, and of any bytes.
struct HttpRequest {
  std::string_view method;
  std::string_view path;  // decoded, without a query
  std::string_view accept;
};

class HttpServer {
 public:
  // Gives the whole answer, status line and all; the connection ends with it. By several threads at
  // a time. What it throws is told as 500.
  using Handler = std::function<std::string(const HttpRequest&)>;

  // Listens at once. Signals of the process go to none of its threads. Errors: kBadArgument for an
  // address that is not IPv4's; kSystem when it cannot be listened on.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<HttpServer>> open(
      const fabric::Address& address, std::uint16_t port, Handler handler);
  // Whoever is connected and says nothing is waited for, two seconds at most.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::metrics
