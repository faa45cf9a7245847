// The part of HTTP that a scrape needs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::metrics::testing {

// A connection that is closed by the destructor.
class TcpConnection {
 public:
  // `from`: the own address; empty: any. `receive_buffer`: its size; 0: the system's choice.
  TcpConnection(const std::string& address, std::uint16_t port, const std::string& from = {},
                int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Turns a hang into a failure.
    const timeval patience{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in own{};
    own.sin_family = AF_INET;
    if (!from.empty()) {
      ::inet_pton(AF_INET, from.c_str(), &own.sin_addr);
      if (::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) return;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    up_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~TcpConnection() { ::close(fd_); }
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  [[nodiscard]] bool up() const { return up_; }
  bool send(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Until the other side closes it.
  std::string receive() {
    std::string all;
    char some[4096];
    for (ssize_t n = 0; (n = ::recv(fd_, some, sizeof some, 0)) > 0;) {
      all.append(some, static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int fd_;
  bool up_ = false;
};

struct HttpAnswer {
  explicit HttpAnswer(const std::string& all) {
    const std::size_t end = all.find("\r\n\r\n");
    if (!all.starts_with("HTTP/1.1 ") || end == std::string::npos) return;
    status = std::atoi(all.c_str() + 9);
    fields = all.substr(0, end + 2);
    body = all.substr(end + 4);
  }
  // The value of a header field; empty if it is not there.
  [[nodiscard]] std::string field(const std::string& name) const {
    const std::size_t at = fields.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return fields.substr(begin, fields.find("\r\n", begin) - begin);
  }

  int status = 0;  // 0: not a valid answer
  std::string fields;
  std::string body;
};

// `more`: header fields, each with its line end.
inline HttpAnswer ask(const std::string& address, std::uint16_t port, const std::string& what,
                      const std::string& more = {}) {
  TcpConnection connection(address, port);
  if (!connection.up()) return HttpAnswer({});
  connection.send(what + " HTTP/1.1\r\nHost: metrics\r\nConnection: close\r\n" + more + "\r\n");
  return HttpAnswer(connection.receive());
}

inline constexpr const char* kOpenMetricsMedia =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
inline constexpr const char* kPlainText = "text/plain; version=0.0.4; charset=utf-8";

// The body of GET /metrics in this format; empty if the answer is incomplete or another one.
inline std::string scrape(const std::string& address, std::uint16_t port,
                          const std::string& fields = "Accept: application/openmetrics-text\r\n",
                          const std::string& type = kOpenMetricsMedia) {
  const HttpAnswer answer = ask(address, port, "GET /metrics", fields);
  if (answer.status != 200 || answer.field("Content-Type") != type) return {};
  return answer.field("Content-Length") == std::to_string(answer.body.size()) ? answer.body
                                                                              : std::string();
}

}  // namespace rpcrdma::metrics::testing
