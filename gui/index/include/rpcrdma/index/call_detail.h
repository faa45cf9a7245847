// What a Call is about and where its time went, in few bytes: millions are kept in memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace rpcrdma::index {

// A duration in 16 bits, at most 0.05 % too small. Longer ones than half an hour become that.
class ShortTime {
 public:
  ShortTime() = default;  // not known
  explicit ShortTime(std::int64_t ns) {
    if (ns < 0) return;
    const auto value = static_cast<std::uint64_t>(ns);
    const int above = static_cast<int>(std::bit_width(value)) - (kBits + 1);
    if (above <= 0) {
      bits_ = static_cast<std::uint16_t>(value);
      return;
    }
    if (above >= kMostShift) {
      bits_ = kMost;
      return;
    }
    const std::uint64_t fraction = (value >> static_cast<unsigned>(above)) & (kOne - 1);
    bits_ = static_cast<std::uint16_t>((static_cast<unsigned>(above) + 1) << kBits | fraction);
  }
  [[nodiscard]] bool known() const { return bits_ != kUnknown; }
  // -1: not known.
  [[nodiscard]] std::int64_t ns() const {
    if (!known()) return -1;
    const unsigned shift = bits_ >> kBits;
    const std::uint64_t fraction = bits_ & (kOne - 1);
    if (shift == 0) return static_cast<std::int64_t>(fraction);
    return static_cast<std::int64_t>((fraction | kOne) << (shift - 1));
  }

 private:
  static constexpr int kBits = 11;
  static constexpr unsigned kOne = 1U << 11U;
  static constexpr int kMostShift = 30;
  static constexpr std::uint16_t kUnknown = 0xffff;
  static constexpr std::uint16_t kMost = (kMostShift << kBits) | (kOne - 1);
  std::uint16_t bits_ = kUnknown;
};

struct CallDetail {
  static constexpr std::uint64_t kNoOffset = UINT64_MAX;
  static constexpr std::uint32_t kNoCount = UINT32_MAX;

  // Who shows where the time went, and so what the parts are, in order of time.
  enum class Parts : std::uint8_t {
    kNone,
    kPackets,    // until the first RDMA operation, until the end of the last, until the Reply
    kRequester,  // waiting for a slot and a credit, until sent, until the Reply
    kResponder,  // until the Read chunks were read, until the Reply was sent
  };

  std::uint64_t offset = kNoOffset;  // of the first READ, WRITE or COMMIT, bytes
  // Bytes read or written, as the Reply states; before it comes, bytes asked for. kNoCount also if
  // they are more.
  std::uint32_t count = kNoCount;
  std::uint32_t file = 0;  // Content::files; 0: not known
  std::array<ShortTime, 3> part;
  Parts parts = Parts::kNone;
};

}  // namespace rpcrdma::index
