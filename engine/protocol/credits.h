// How many Calls a requester may have outstanding (RFC 8166 section 3.3): one until the peer has
// granted something, then what it granted last.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::protocol {

class Credits {
 public:
  // `own`: what it can have outstanding itself.
  explicit Credits(std::uint32_t own) : own_(std::max(own, 1U)) {}

  [[nodiscard]] std::uint32_t own() const { return own_; }
  [[nodiscard]] std::uint32_t limit() const { return std::min(granted_, own_); }
  [[nodiscard]] std::uint32_t emitted() const { return emitted_; }  // as the peer said it last
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  [[nodiscard]] bool may_send() const { return outstanding_ < limit(); }

  void sent() { ++outstanding_; }
  void ended() { --outstanding_; }
  // A Reply's word; a grant of zero would stop everything for ever, and counts as one.
  void grant(std::uint32_t credits) {
    emitted_ = credits;
    granted_ = std::max(credits, 1U);
  }
  // Another connection.
  void restart() {
    granted_ = emitted_ = 1;
    outstanding_ = 0;
  }

 private:
  std::uint32_t own_;
  std::uint32_t granted_ = 1;
  std::uint32_t emitted_ = 1;
  std::uint32_t outstanding_ = 0;
};

}  // namespace rpcrdma::protocol
