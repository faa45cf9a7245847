#include "reader_group.h"

#include "clock.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

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

bool may_read(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

void ReaderGroup::add_to(std::vector<pollfd>& watched) {
  watched.push_back({may_accept_ ? socket_.fd() : -1, POLLIN, 0});
  for (const auto& reader : readers_) {
    // poll(2) reports a disconnect without being asked to.
    watched.push_back({reader->fd(), static_cast<short>(reader->waits() ? POLLOUT : 0), 0});
  }
}

bool ReaderGroup::on_poll(std::span<const pollfd> watched, std::int64_t now) {
  for (std::size_t i = 1; i < watched.size(); ++i) {
    const short events = watched[i].revents;
    if (events != 0) readers_[i - 1]->on_poll((events & (POLLHUP | POLLERR)) != 0, now);
  }
  return watched.front().revents != 0;
}

void ReaderGroup::accept(const std::function<void(LiveReader&)>& welcome) {
  for (std::size_t i = 0; i < kMostReaders; ++i) {
    base::FileDescriptor fd(
        ::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      may_accept_ = errno == EAGAIN || errno == EWOULDBLOCK;
      return;
    }
    if (!may_read(fd.get()) || readers_.size() >= kMostReaders) continue;
    readers_.push_back(
        std::make_unique<LiveReader>(std::move(fd), interface_, reader_bytes_, lost_, content_));
    welcome(*readers_.back());
  }
}

void ReaderGroup::sweep() {
  std::erase_if(readers_, [](const auto& reader) { return reader->over(); });
}

void ReaderGroup::wait_for_all(std::int64_t deadline) {
  may_accept_ = false;
  std::vector<pollfd> watched;
  for (std::int64_t now = monotonic_ns();
       now < deadline && std::any_of(readers_.begin(), readers_.end(),
                                     [](const auto& reader) { return reader->waits(); });
       now = monotonic_ns()) {
    watched.clear();
    add_to(watched);
    const timespec timeout{0, deadline - now};
    if (::ppoll(watched.data(), watched.size(), &timeout, nullptr) > 0) {
      [[maybe_unused]] const bool knocks = on_poll(watched, now);
      sweep();
    }
  }
}

}  // namespace rpcrdma::trace
