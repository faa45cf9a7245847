// Sockets in the endpoints' folder that send what no endpoint sends.
#pragma once

#include "../../engine/live/make_event.h"
#include "../../engine/live/socket_file.h"

#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {

// Sends `first` to each reader, then `endless` over and over until the reader hangs up.
class Sender {
 public:
  Sender(const std::string& name, std::vector<std::uint8_t> first,
         std::vector<std::uint8_t> endless)
      : socket_(ListeningSocket::open(make_runtime_folder().value(), {name, 7}).value()),
        first_(std::move(first)),
        endless_(std::move(endless)),
        thread_([this] { run(); }) {}
  ~Sender() {
    ::shutdown(socket_.fd(), SHUT_RDWR);
    thread_.join();
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

 private:
  void run() const {
    for (;;) {
      pollfd knock{socket_.fd(), POLLIN, 0};
      ::poll(&knock, 1, -1);
      const base::FileDescriptor reader(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (reader.get() < 0) return;
      if (!send(reader, first_)) continue;
      while (!endless_.empty() && send(reader, endless_)) {
      }
      // Until the other end hangs up.
      char byte = 0;
      while (::recv(reader.get(), &byte, 1, 0) > 0) {
      }
    }
  }
  static bool send(const base::FileDescriptor& to, std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }

  const ListeningSocket socket_;
  const std::vector<std::uint8_t> first_, endless_;
  std::thread thread_;
};

inline const base::Interface kInterface = [] {
  base::Interface interface;
  interface.name = "evil";
  interface.link = base::LinkType::kUpperPdu;
  return interface;
}();

inline std::vector<std::uint8_t> head() {
  base::PcapngBlocks blocks;
  blocks.section();
  blocks.interface(kInterface);
  return blocks.bytes();
}

inline std::vector<std::uint8_t> interface_again() {
  base::PcapngBlocks blocks;
  blocks.interface(kInterface);
  return blocks.bytes();
}

inline std::vector<std::uint8_t> event_block(std::span<const std::uint8_t> event) {
  base::PcapngBlocks blocks;
  blocks.packet(1, kUpperPduTags, event);
  return blocks.bytes();
}

inline std::vector<std::uint8_t> joined(std::vector<std::uint8_t> a,
                                        const std::vector<std::uint8_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace rpcrdma::trace
