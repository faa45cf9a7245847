// Packets of the core as bytes of a UDP datagram (BTH through ICRC), and back.
#pragma once

#include <cstdint>
#include <optional>

#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// The identifications that our own sender uses are below it: a batch of datagrams is handed to the
// kernel as one, and the kernel numbers them from 0 on.
inline constexpr std::size_t kMaxBatch = 64;

// Copies `packet` together and adds the ICRC; returns the length, packet.size() + 4, or 0 when
// `out` is too small, or the packet too long for a UDP datagram. Over IPv4 the ICRC covers the
// identification field, `ip_id`; don't-fragment is taken as set.
[[nodiscard]] std::size_t frame(const OutPacket& packet, std::uint16_t ip_id,
                                wire::MutableBytes out);
// The same along `path`, whatever packet.path says: who carries a packet may have to send from
// another port.
[[nodiscard]] std::size_t frame(const OutPacket& packet, const Path& path, std::uint16_t ip_id,
                                wire::MutableBytes out);
// Puts the ICRC anew into a datagram that frame() made.
void frame_again(const Path& path, std::uint16_t ip_id, wire::MutableBytes datagram);

enum class IcrcCheck : std::uint8_t { kGood, kBad, kUnchecked };

// `datagram`: BTH through ICRC, as it came along `path` (whose `remote` is the sender, from its
// port `udp_source_port`). `ip_id`: the identification of the datagram if it is known. Over IPv4
// without it, the ICRC tells which one would make it right: kGood for those that our own sender
// uses (0 and the first of a batch), kUnchecked for any other, with or without don't-fragment, and
// kBad if there is none. Over IPv6 all is known. What is too short for a BTH and an ICRC is kBad.
[[nodiscard]] IcrcCheck check_icrc(const Path& path, wire::Bytes datagram,
                                   std::optional<std::uint16_t> ip_id);

// The same where the identification is not known but `ip_id` is likely: it costs nothing more if
// that is right. Otherwise `ip_id` becomes the one with which the ICRC is right, if there is any;
// when it is none of our own sender's the result is kUnchecked nevertheless.
[[nodiscard]] IcrcCheck check_icrc_likely(const Path& path, wire::Bytes datagram,
                                          std::uint16_t& ip_id);

}  // namespace rpcrdma::soft
