// As much of HTTP as a scrape is.
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

// A connection that is gone at the end.
class TcpConnection {
 public:
  TcpConnection(const std::string& address, std::uint16_t port)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // A hang is a failure.
    const timeval patience{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
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
  // Until the other side ends it.
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

// What GET /metrics gives; empty for anything but all of it.
inline std::string scrape(const std::string& address, std::uint16_t port) {
  TcpConnection connection(address, port);
  if (!connection.up()) return {};
  connection.send("GET /metrics HTTP/1.1\r\nHost: metrics\r\nConnection: close\r\n\r\n");
  const std::string answer = connection.receive();
  const std::size_t body = answer.find("\r\n\r\n");
  const std::size_t length = answer.find("\r\nContent-Length: ");
  if (!answer.starts_with("HTTP/1.1 200 ") || body == std::string::npos || length >= body)
    return {};
  std::string text = answer.substr(body + 4);
  const auto told = std::strtoull(answer.c_str() + length + 18, nullptr, 10);
  return told == text.size() ? text : std::string();
}

}  // namespace rpcrdma::metrics::testing
