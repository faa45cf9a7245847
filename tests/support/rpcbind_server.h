// Answers over TCP with bytes that the test provides.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::rpcbind::testing {

inline void put_word(std::string& to, std::uint32_t word) {
  word = htonl(word);
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}
inline std::string words(std::initializer_list<std::uint32_t> all) {
  std::string bytes;
  for (const std::uint32_t word : all) put_word(bytes, word);
  return bytes;
}
inline std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t word = 0;
  if (at + sizeof word <= bytes.size()) bytes.copy(reinterpret_cast<char*>(&word), sizeof word, at);
  return ntohl(word);
}
inline std::string text(const std::string& t) {
  std::string bytes;
  put_word(bytes, static_cast<std::uint32_t>(t.size()));
  return bytes + t + std::string((4 - t.size() % 4) % 4, '\0');
}
// One entry of rpcblist_ptr, preceded by the word that announces it.
inline std::string entry(std::uint32_t program, std::uint32_t version, const std::string& netid,
                         const std::string& address, const std::string& owner = "superuser") {
  return words({1, program, version}) + text(netid) + text(address) + text(owner);
}
inline std::string record(const std::string& message) {
  return words({0x80000000U | static_cast<std::uint32_t>(message.size())}) + message;
}
// A successful Reply to this Call, as a record.
inline std::string reply(const std::string& call, const std::string& results) {
  return record(words({word_at(call, 0), 1, 0, 0, 0, 0}) + results);
}

class FakeServer {
 public:
  // Returns what to send for a Call; the connection stays open until the other end closes it.
  using Answer = std::function<std::string(const std::string& call)>;

  // At this port; 0: at a free one.
  explicit FakeServer(Answer answer, std::uint16_t wanted = 0) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(wanted);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    port = ntohs(own.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::uint16_t port = 0;

 private:
  static bool read_all(int fd, std::string& to) {
    for (std::size_t at = 0; at < to.size();) {
      const ssize_t n = ::read(fd, to.data() + at, to.size() - at);
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }
  void serve() {
    for (;;) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      std::string mark(4, '\0');
      while (read_all(fd, mark)) {
        std::string call(word_at(mark, 0) & 0x7fffffffU, '\0');
        if (!read_all(fd, call)) break;
        const std::string bytes = answer_(call);
        (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      ::close(fd);
    }
  }

  Answer answer_;
  int listener_ = -1;
  std::thread thread_;
};

}  // namespace rpcrdma::rpcbind::testing
