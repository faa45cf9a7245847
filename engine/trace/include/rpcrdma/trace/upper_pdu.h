// Framing of events in capture files. Live streams and recordings are both pcapng: a section, an
// interface of link type 252 (Wireshark Upper PDU) named after the endpoint, with times in
// nanoseconds, and for each event a packet with its wall-clock time. The packet's data are tags
// that name the dissector, followed by the event (event.h). A tag consists of type and length, both
// 16 bits in network order, and its value, padded with zeros to a multiple of four; the last tag
// has type and length 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rpcrdma::trace {

inline constexpr std::string_view kDissector = "rpcrdma_scope";
inline constexpr std::uint16_t kDissectorNameTag = 12;

// The tags before each event.
inline constexpr auto kUpperPduTags = [] {
  std::array<std::uint8_t, 24> tags{};
  static_assert(kDissector.size() <= 16);
  tags[1] = kDissectorNameTag;
  tags[3] = 16;
  for (std::size_t i = 0; i < kDissector.size(); ++i) {
    tags[4 + i] = static_cast<std::uint8_t>(kDissector[i]);
  }
  return tags;
}();

// Returns the event in a packet's data, unchecked: see view_event(). Returns nothing if the tags
// are malformed or name another dissector.
[[nodiscard]] std::optional<std::span<const std::uint8_t>> event_in_pdu(
    std::span<const std::uint8_t> data);

}  // namespace rpcrdma::trace
