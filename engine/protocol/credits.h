// Limits how many Calls a requester may have in flight (RFC 8166 section 3.3): one until the peer
// has granted credits, then the latest grant.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::protocol {

class Credits {
 public:
  // `own`: how many it can have in flight itself.
  explicit Credits(std::uint32_t own) : own_(std::max(own, 1U)) {}

  [[nodiscard]] std::uint32_t own() const { return own_; }
  [[nodiscard]] std::uint32_t limit() const { return std::min(granted_, own_); }
  // The credit value of the latest Reply; 1 before the first.
  [[nodiscard]] std::uint32_t latest_grant() const { return latest_grant_; }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  [[nodiscard]] bool may_send() const { return outstanding_ < limit(); }

  void sent() { ++outstanding_; }
  void ended() { --outstanding_; }
  // Called with the credit value of a Reply. A grant of zero would stop all Calls for ever, and
  // counts as one.
  void grant(std::uint32_t credits) {
    latest_grant_ = credits;
    granted_ = std::max(credits, 1U);
  }
  // Called for a new connection.
  void restart() {
    granted_ = latest_grant_ = 1;
    outstanding_ = 0;
  }

 private:
  std::uint32_t own_;
  std::uint32_t granted_ = 1;
  std::uint32_t latest_grant_ = 1;
  std::uint32_t outstanding_ = 0;
};

}  // namespace rpcrdma::protocol
