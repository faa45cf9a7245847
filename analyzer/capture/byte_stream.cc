#include "byte_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpcrdma::capture {
namespace {

std::size_t copy_some(std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
  const std::size_t n = std::min(from.size(), to.size());
  if (n != 0) std::memcpy(to.data(), from.data(), n);
  return n;
}

}  // namespace

Expected<std::size_t> DescriptorStream::read(std::span<std::uint8_t> out) {
  for (;;) {
    const ssize_t n = ::read(fd_, out.data(), out.size());
    if (n >= 0) {
      stored_ += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
    if (errno != EINTR) return fail(std::string("cannot read: ") + std::strerror(errno));
  }
}

Expected<std::size_t> SpanStream::read(std::span<std::uint8_t> out) {
  const std::size_t n = copy_some(bytes_.subspan(position_), out);
  position_ += n;
  return n;
}

Expected<std::size_t> PrefixedStream::read(std::span<std::uint8_t> out) {
  if (position_ == prefix_.size()) {
    auto got = rest_->read(out);
    if (got && *got == 0) {
      damage_ = rest_->damage();
      cut_short_ = rest_->cut_short();
    }
    return got;
  }
  const std::size_t n = copy_some(std::span<const std::uint8_t>(prefix_).subspan(position_), out);
  position_ += n;
  return n;
}

}  // namespace rpcrdma::capture
