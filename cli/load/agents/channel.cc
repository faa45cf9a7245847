#include "channel.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include <rpcrdma/base/text.h>

namespace rpcrdma::load_agents {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

// Nothing: no data now; 0: the end.
std::optional<std::size_t> read_now(const base::FileDescriptor& from,
                                    std::array<std::uint8_t, kReadBytes>& buffer) {
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n >= 0) return static_cast<std::size_t>(n);
  if (errno == EINTR || errno == EAGAIN) return std::nullopt;
  return 0;
}

}  // namespace

base::Expected<Channel> Channel::start(const std::vector<std::string>& words) {
  auto child = base::ChildProcess::start(words);
  if (!child) return tl::unexpected(child.error());
  for (const auto* const fd : {&child->input, &child->output, &child->errors}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return Channel(std::move(*child));
}

void Channel::add_to(std::vector<pollfd>& polled) const {
  // poll() ignores negative descriptors.
  if (!unsent_.empty()) polled.push_back({child_.input.get(), POLLOUT, 0});
  polled.push_back({child_.output.get(), POLLIN, 0});
  polled.push_back({child_.errors.get(), POLLIN, 0});
}

bool Channel::exchange() {
  write_some();
  read_errors();
  return read_output();
}

void Channel::send(FrameType type, Bytes body) {
  if (child_.input.get() < 0 || closed_) return;
  append_frame(unsent_, type, body);
  write_some();
}

void Channel::close() {
  closed_ = true;
  child_.output.reset();
  write_some();
}

void Channel::write_some() {
  while (!unsent_.empty()) {
    const ssize_t n = ::write(child_.input.get(), unsent_.data(), unsent_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {  // it reads no more
      unsent_.clear();
      child_.input.reset();
      return;
    }
    unsent_.erase(unsent_.begin(), unsent_.begin() + n);
  }
  if (closed_) child_.input.reset();
}

bool Channel::read_output() {
  if (output_ended()) return false;
  std::array<std::uint8_t, kReadBytes> buffer;
  const auto n = read_now(child_.output, buffer);
  if (!n) return false;
  if (*n == 0) {
    reader_.end();
    child_.output.reset();
    return false;
  }
  reader_.append(Bytes(buffer).first(*n));
  return true;
}

void Channel::read_errors() {
  if (child_.errors.get() < 0) return;
  std::array<std::uint8_t, kReadBytes> buffer;
  const auto n = read_now(child_.errors, buffer);
  if (!n) return;
  if (*n == 0) {
    errors_.end();
    child_.errors.reset();
  } else {
    errors_.append(base::as_text(Bytes(buffer).first(*n)));
  }
}

}  // namespace rpcrdma::load_agents
