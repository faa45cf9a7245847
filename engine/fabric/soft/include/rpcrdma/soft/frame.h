// Converts packets of the core to UDP payloads (BTH through ICRC), and back.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// Our own sender uses IPv4 identifications below this: it passes a batch of datagrams to the kernel
// as one, and the kernel numbers them from 0.
inline constexpr std::size_t kMaxBatch = 64;

// Assembles `packet` and appends the ICRC. Returns the length, packet.size() + 4, or 0 if `out` is
// too small or the packet too long for a UDP datagram. Over IPv4 the ICRC covers the identification
// field, `ip_id`; don't-fragment is assumed to be set.
[[nodiscard]] std::size_t frame(const OutPacket& packet, std::uint16_t ip_id,
                                wire::MutableBytes out);
// The same with `path` instead of packet.path, for a caller that must send from another port.
[[nodiscard]] std::size_t frame(const OutPacket& packet, const Path& path, std::uint16_t ip_id,
                                wire::MutableBytes out);
// The same without the payload: leaves its place in `out` as it is. The ICRC covers the payload
// where it lies now.
[[nodiscard]] std::size_t frame_around(const OutPacket& packet, const Path& path,
                                       std::uint16_t ip_id, wire::MutableBytes out);
// Recomputes the ICRC of a datagram that frame() built.
void frame_again(const Path& path, std::uint16_t ip_id, wire::MutableBytes datagram);

enum class IcrcCheck : std::uint8_t { kGood, kBad, kUnchecked };

// `datagram`: BTH through ICRC, as received along `path` (whose `remote` is the sender, from its
// port `udp_source_port`). `ip_id`: the datagram's identification, if known. Without it, over IPv4,
// the ICRC itself reveals which identification would make it valid: kGood for the identifications
// that our own sender uses (0 and the first of a batch), kUnchecked for any other, with or without
// don't-fragment, and kBad if there is none. Over IPv6 all fields are known. A datagram too short
// for a BTH and an ICRC is kBad.
[[nodiscard]] IcrcCheck check_icrc(const Path& path, wire::Bytes datagram,
                                   std::optional<std::uint16_t> ip_id);

// The same if the identification is unknown but `ip_id` is a likely guess, which saves time if it
// is right. Otherwise sets `ip_id` to the identification that makes the ICRC valid, if there is
// any; the result is still kUnchecked unless our own sender uses that identification.
[[nodiscard]] IcrcCheck check_icrc_likely(const Path& path, wire::Bytes datagram,
                                          std::uint16_t& ip_id);

}  // namespace rpcrdma::soft
