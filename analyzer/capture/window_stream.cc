#include "window_stream.h"

namespace rpcrdma::capture {

std::size_t WindowStream::read_input(std::span<std::uint8_t> to) {
  const auto got = stream_->read(to);
  if (!got) {
    failure_ = got.error().message;
    return 0;
  }
  if (*got == 0) {
    damage_ = stream_->damage();
    cut_short_ = stream_->cut_short();
  }
  return *got;
}

void WindowStream::close_input() {
  if (!stream_) return;
  stored_ = stream_->stored();
  stream_.reset();
}

}  // namespace rpcrdma::capture
