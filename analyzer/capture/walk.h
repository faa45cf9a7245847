// The one walk through the headers of a frame, layer by layer, from its link type to the innermost
// packet. dissect_link(), find_ip() and unread_of() use it.
//
// A layer is a function. It consumes its header and names the next layer, or stops the walk. The
// tables that name layers by number are in the files of the layers: link_layers.cc by link type,
// ether_layers.cc by ethertype and PPP protocol, ip_layers.cc by IP protocol, UDP port and GRE
// protocol type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/tunnels.h>
#include <rpcrdma/capture/unread.h>

namespace rpcrdma::capture {

// An IP packet in a frame.
struct IpView {
  std::span<const std::uint8_t> packet;  // captured bytes from its header on
  std::size_t length = 0;                // bytes on the wire, by its header
  std::size_t header = 0;   // bytes; IPv6: without the Fragment header and what follows it
  std::size_t payload = 0;  // where its payload begins, behind IPv6 extension headers
  std::uint8_t version = 0;
  std::uint8_t protocol = 0;  // of the payload
  bool more_fragments = false;
  bool segment_routed = false;        // has a Segment Routing Header (RFC 8754)
  std::uint32_t id = 0;               // IPv4: Identification; IPv6: that of the Fragment header
  std::uint32_t fragment_offset = 0;  // bytes
  [[nodiscard]] bool fragment() const { return more_fragments || fragment_offset != 0; }
};

struct Walk;
using Layer = void (*)(Walk&);

// What a walk ended at. `Walk::rest` begins with the header named here.
enum class WalkEnd : std::uint8_t {
  kNothing,  // no RDMA, or undecidable
  kRoceV2,   // a UDP header with RoCE's port, in Walk::ip
  kGrh,      // RoCEv1
  kLrh,      // native InfiniBand
  kTcp,
  kFragment,  // Walk::ip is a fragment of a datagram that may carry RDMA
  kUnread,    // Walk::unread and Walk::detail name it
  kUpperPdu,
  kUnknownLink,
  kMalformed,  // a header is impossible, or ends beyond the frame
};

struct Walk {
  Walk(const LinkOptions& o, Tunnels& t) : options(o), tunnels(t) {}

  const LinkOptions& options;
  Tunnels& tunnels;
  std::span<const std::uint8_t> rest;  // captured bytes from the next layer's header on
  std::size_t wire = 0;                // bytes of `rest` on the wire
  Layer next = nullptr;
  WalkEnd end = WalkEnd::kNothing;
  UnreadKind unread = UnreadKind::kNothing;
  std::uint32_t detail = 0;
  bool has_ip = false;
  bool truncated = false;  // the frame was captured with fewer bytes than it had on the wire
  int tags = 0;            // VLAN tags since the latest tunnel
  IpView ip;               // the innermost so far

  // Consumes a header and returns it. Null: its end was not captured, and the walk stops.
  const std::uint8_t* take(std::size_t bytes) {
    if (rest.size() < bytes) {
      stop(WalkEnd::kMalformed);
      return nullptr;
    }
    const std::uint8_t* const header = rest.data();
    rest = rest.subspan(bytes);
    wire -= bytes;
    return header;
  }
  // A length field says that the rest has at most `bytes`; what follows is padding or a trailer.
  void limit(std::size_t bytes) {
    wire = std::min(wire, bytes);
    rest = rest.first(std::min(rest.size(), wire));
  }
  void stop(WalkEnd at) {
    end = at;
    next = nullptr;
  }
  void stop_unread(UnreadKind kind, std::uint32_t what = 0) {
    unread = kind;
    detail = what;
    stop(WalkEnd::kUnread);
  }
  // The content of the latest tunnel cannot be read.
  void stop_in_tunnel() { stop(WalkEnd::kMalformed); }

  // Enters an encapsulation. False: it is one too many, and the walk stops.
  bool enter(TunnelKind kind);
  // The key of the latest encapsulation.
  void key(std::uint32_t value) {
    const auto n = static_cast<std::size_t>(tunnels.count - 1);
    tunnels.key[n] = value;
    tunnels.keyed = static_cast<std::uint8_t>(tunnels.keyed | 1U << n);
  }
};

// Walks a frame, or an IP datagram that has been put together from fragments inside
// `walk.tunnels`.
void walk_frame(const Frame& frame, Walk& walk);
void walk_datagram(std::span<const std::uint8_t> datagram, Walk& walk);

// Parses an IP header and IPv6 extension headers up to the payload, or up to the Fragment header of
// a fragment. Returns false if the header is impossible or was not captured.
bool parse_ipv4(std::span<const std::uint8_t> bytes, IpView& ip);
bool parse_ipv6(std::span<const std::uint8_t> bytes, IpView& ip);

// Where layers of one file lead to layers of another.
Layer layer_of_link(std::uint16_t type);                  // null: unknown
void by_ethertype(Walk& w, std::uint16_t type);           // what follows is of that type
bool carries_frame(std::span<const std::uint8_t> bytes);  // looks like an Ethernet frame
void ethernet(Walk& w);
void mpls(Walk& w);
void mpls_labels(Walk& w, TunnelKind kind);
void nsh(Walk& w);
void by_nsh_protocol(Walk& w, std::uint8_t protocol);
void ppp(Walk& w);
void pppoe(Walk& w);
void any_ip(Walk& w);
void ipv4(Walk& w);
void ipv6(Walk& w);
void by_ip_protocol(Walk& w, std::uint8_t protocol);

// A table of layers, or of names of what is not decoded.
struct LayerEntry {
  std::uint16_t value = 0;
  Layer layer = nullptr;
  UnreadKind unread = UnreadKind::kNothing;
};
template <std::size_t kSize>
const LayerEntry* find_layer(const LayerEntry (&table)[kSize], std::uint16_t value) {
  const auto* const at = std::find_if(std::begin(table), std::end(table),
                                      [&](const LayerEntry& e) { return e.value == value; });
  return at == std::end(table) ? nullptr : at;
}
// Continues with an entry, or stops with what it names.
inline void follow(Walk& w, const LayerEntry& entry) {
  if (entry.layer != nullptr) {
    w.next = entry.layer;
  } else if (entry.unread != UnreadKind::kNothing) {
    w.stop_unread(entry.unread);
  } else {
    w.stop(WalkEnd::kNothing);
  }
}

}  // namespace rpcrdma::capture
