// Limits how many Calls a requester may have in flight (RFC 8166 section 3.3): one until the peer
// has granted credits, then the latest grant.
#pragma once

#include <algorithm>
#include <bit>
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
  // Whether a Reply has stated a grant on this connection.
  [[nodiscard]] bool has_grant() const { return has_grant_; }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  [[nodiscard]] bool may_send() const { return outstanding_ < limit(); }

  void sent() { ++outstanding_; }
  void ended() { --outstanding_; }
  // Called with the credit value of a Reply. A grant of zero would stop all Calls for ever, and
  // counts as one.
  void grant(std::uint32_t credits) {
    has_grant_ = true;
    latest_grant_ = credits;
    granted_ = std::max(credits, 1U);
  }
  // Called for a new connection.
  void restart() {
    has_grant_ = false;
    granted_ = latest_grant_ = 1;
    outstanding_ = 0;
  }

 private:
  std::uint32_t own_;
  std::uint32_t granted_ = 1;
  std::uint32_t latest_grant_ = 1;
  std::uint32_t outstanding_ = 0;
  bool has_grant_ = false;
};

// How many credits a requester asks for: as many as its Calls need, up at once and down slowly,
// between two bounds.
class CreditRequest {
 public:
  CreditRequest(std::uint32_t least, std::uint32_t most)
      : most_(std::max(most, 1U)), least_(std::clamp(least, 1U, most_)), latest_(least_) {}

  // Called for each Call. `wanted`: Calls that are in flight or wait, with this one.
  void next(std::uint32_t wanted) {
    const std::uint32_t rounded = std::bit_ceil(std::clamp(wanted, 1U, most_));
    highest_ = std::max(highest_, rounded);
    if (rounded >= latest_) {
      set(rounded);
    } else if (++calls_ == kCalls) {
      set(highest_);
    }
  }
  [[nodiscard]] std::uint32_t latest() const { return latest_; }

 private:
  // The request follows the highest demand of as many Calls.
  static constexpr std::uint32_t kCalls = 64;

  void set(std::uint32_t credits) {
    latest_ = std::clamp(credits, least_, most_);
    highest_ = calls_ = 0;
  }

  std::uint32_t most_;
  std::uint32_t least_;
  std::uint32_t latest_;
  std::uint32_t highest_ = 0;  // since the last change, a power of two
  std::uint32_t calls_ = 0;    // that wanted less, since then
};

}  // namespace rpcrdma::protocol
