// Packets of the core as bytes of a UDP datagram (BTH through ICRC), and back.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// Copies `packet` together and adds the ICRC; returns the length, packet.size() + 4, or 0 when
// `out` is too small. Over IPv4 the ICRC covers the identification field, `ip_id`; don't-fragment
// is taken as set.
[[nodiscard]] std::size_t frame(const OutPacket& packet, std::uint16_t ip_id,
                                wire::MutableBytes out);

enum class IcrcCheck : std::uint8_t { kGood, kBad, kUnchecked };

// `datagram`: BTH through ICRC, as it came along `path` (whose `remote` is the sender). `ip_id`:
// the identification of the datagram if it is known. Over IPv4 without it, those that our own
// sender uses are tried (0 and the first of a batch), and what fits none of them is kUnchecked,
// never kBad. Over IPv6 all is known.
[[nodiscard]] IcrcCheck check_icrc(const Path& path, wire::Bytes datagram,
                                   std::optional<std::uint16_t> ip_id);

}  // namespace rpcrdma::soft
