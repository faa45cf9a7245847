#include "live_reader.h"

#include <cerrno>

#include <sys/socket.h>

namespace rpcrdma::trace {

LiveReader::LiveReader(base::FileDescriptor fd, std::string interface, std::size_t most_bytes,
                       std::atomic<std::uint64_t>& lost, Content content)
    : fd_(std::move(fd)),
      interface_(std::move(interface)),
      content_(content),
      lost_(lost),
      queue_(most_bytes, content) {
  // Readers send nothing; anything they send is discarded.
  ::shutdown(fd_.get(), SHUT_RD);
}

void LiveReader::begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) {
  base::PcapngBlocks head;
  head.section();
  const bool packets = content_ == Content::kPackets;
  head.interface({.name = interface_,
                  .filter = {},
                  .link = packets ? base::LinkType::kEthernet : base::LinkType::kUpperPdu});
  queue_.begin(head.bytes(), wall_offset);
  queue_.begin(endpoint, wall_offset);
  send();
}

void LiveReader::take(const EventBatch& batch) {
  lost_.fetch_add(queue_.add(batch), std::memory_order_relaxed);
  send();
}

void LiveReader::emit_sums(std::int64_t now) {
  queue_.emit_sums(now);
  send();
}

void LiveReader::end(std::int64_t now) {
  queue_.emit_sums(now, true);
  send();
}

void LiveReader::on_poll(bool hung_up, std::int64_t now) {
  if (hung_up) gone_ = true;
  send();
  queue_.emit_losses(now);
  send();
}

void LiveReader::send() {
  while (waits()) {
    const auto bytes = queue_.waiting();
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      queue_.went(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      gone_ = errno != EAGAIN && errno != EWOULDBLOCK;
      return;
    }
  }
}

}  // namespace rpcrdma::trace
