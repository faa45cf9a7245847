// Remembers the times of the latest messages, at which late findings on them are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpcrdma::timeline {

class Moments {
 public:
  static constexpr std::size_t kRemembered = std::size_t{1} << 14;  // messages

  // IDs are consecutive and start at 1; frames increase.
  void note(std::uint64_t message, std::uint64_t frame, std::int64_t time_ns);

  // Returns the time of a message; none if it is no longer remembered.
  [[nodiscard]] std::optional<std::int64_t> of_message(std::uint64_t message) const;
  // Returns the time of the last message up to a frame.
  [[nodiscard]] std::optional<std::int64_t> of_frame(std::uint64_t frame) const;

 private:
  struct Moment {
    std::uint64_t frame = 0;
    std::int64_t time_ns = 0;
  };
  [[nodiscard]] const Moment& at(std::uint64_t message) const {
    return moments_[message % kRemembered];
  }

  std::vector<Moment> moments_ = std::vector<Moment>(kRemembered);  // a ring, indexed by message ID
  std::uint64_t newest_ = 0;
};

}  // namespace rpcrdma::timeline
