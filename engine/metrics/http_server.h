// Answers HTTP requests on one address, by libmicrohttpd. Clients that are silent, slow or deaf
// delay nobody (door.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/metrics/web_config.h>

namespace rpcrdma::metrics {

// A peer's request: arbitrary bytes, of a total length that libmicrohttpd bounds.
struct HttpRequest {
  std::string method;
  std::string path;    // decoded, without a query
  std::string accept;  // all header fields of that name, which form one list
};

struct HttpResponse {
  unsigned status = 200;
  std::string type;  // Content-Type
  std::string body;  // not sent in an answer to HEAD
  std::vector<std::pair<const char*, const char*>> fields;
};

class HttpServer {
 public:
  // Returns the answer; the connection ends with it. Exceptions are answered with 500.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // Makes a handler for the requests that wait. One thread calls it, and then the handler for each
  // of them; it may take its time.
  using MakeHandler = std::function<Handler()>;

  // Listens at once. `host`: an address of this machine, IPv4 or IPv6, or a name of it; empty: all
  // its addresses. `port`: 0: one that is free. Its threads receive no signals of the process.
  // Error: kSystem if it cannot be listened on, or a certificate of `web` is invalid.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<HttpServer>> open(const std::string& host,
                                                                          std::uint16_t port,
                                                                          const WebConfig& web,
                                                                          MakeHandler make);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, as in a URL: "127.0.0.1:9464", "[::1]:9464".
  [[nodiscard]] std::string address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::metrics
