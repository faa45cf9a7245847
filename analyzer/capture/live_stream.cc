#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/capture/live_stream.h>

namespace rpcrdma::capture {

namespace pcapng = base::pcapng;

namespace {

constexpr std::size_t kAtOnce = std::size_t{256} << 10;

}  // namespace

LiveStream::LiveStream(base::FileDescriptor fd, Check check, base::LivePatience patience,
                       Clock::time_point now)
    : fd_(std::move(fd)), check_(std::move(check)), blocks_(patience, now) {}

void LiveStream::end(std::string why) {
  why_ = std::move(why);
  fd_.reset();
}

void LiveStream::read(const std::function<void(const Frame&)>& take, Clock::time_point now) {
  buffer_.resize(kAtOnce);
  ssize_t n = ::recv(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  // A pipe, such as that of an ssh client.
  if (n < 0 && errno == ENOTSOCK) n = ::read(fd_.get(), buffer_.data(), buffer_.size());
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) end(std::strerror(errno));
    return;
  }
  if (n == 0) return end({});
  add(std::span(buffer_).first(static_cast<std::size_t>(n)), take, now);
}

void LiveStream::add(std::span<const std::uint8_t> bytes,
                     const std::function<void(const Frame&)>& take, Clock::time_point now) {
  while (fd_.get() >= 0 && !bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kAtOnce));  // stays in the cache
    bytes = bytes.subspan(part.size());
    parse(blocks_.add(part, now), take);
  }
  if (fd_.get() >= 0) expire(now);
}

void LiveStream::expire(Clock::time_point now) {
  if (fd_.get() < 0) return;
  blocks_.expire(now);
  if (blocks_.broken()) end(blocks_.why());
}

std::optional<LiveStream::Clock::time_point> LiveStream::deadline() const {
  return fd_.get() < 0 ? std::nullopt : blocks_.deadline();
}

void LiveStream::parse(std::span<const std::uint8_t> blocks,
                       const std::function<void(const Frame&)>& take) {
  while (!head_whole_ && !blocks.empty()) {
    auto rest = blocks;
    const pcapng::Block block = pcapng::take_block(rest);
    head_whole_ =
        block.type != pcapng::kSectionHeader && block.type != pcapng::kInterfaceDescription;
    if (head_whole_) break;
    capture_.insert(capture_.end(), block.bytes.begin(), block.bytes.end());
    head_ += block.bytes.size();
    blocks = rest;
  }
  if (blocks.empty()) return;
  capture_.resize(head_);
  capture_.insert(capture_.end(), blocks.begin(), blocks.end());
  const auto source = open_memory(capture_);
  if (!source) return end(source.error().message);
  Frame frame;
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more) return end(more.error().message);
    if (!*more) break;
    if (const char* const why = check_ ? check_(frame) : nullptr) return end(why);
    frame.number = ++frames_;
    take(frame);
  }
  dropped_ = std::max(dropped_, (*source)->stats().dropped);
  if (!(*source)->stats().damage.empty()) end((*source)->stats().damage);
}

}  // namespace rpcrdma::capture
