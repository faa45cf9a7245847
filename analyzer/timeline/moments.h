// When the latest messages were seen: what is found out about them later belongs there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpcrdma::timeline {

class Moments {
 public:
  static constexpr std::size_t kRemembered = std::size_t{1} << 14;  // messages

  // IDs count from 1, one after the other; frames rise.
  void note(std::uint64_t message, std::uint64_t frame, std::int64_t time_ns);

  // Nothing: it is not remembered any more.
  [[nodiscard]] std::optional<std::int64_t> of_message(std::uint64_t message) const;
  // Of the last message up to that frame.
  [[nodiscard]] std::optional<std::int64_t> of_frame(std::uint64_t frame) const;

 private:
  struct Moment {
    std::uint64_t frame = 0;
    std::int64_t time_ns = 0;
  };
  [[nodiscard]] const Moment& at(std::uint64_t message) const {
    return moments_[message % kRemembered];
  }

  std::vector<Moment> moments_ = std::vector<Moment>(kRemembered);  // by message, going round
  std::uint64_t newest_ = 0;
};

}  // namespace rpcrdma::timeline
