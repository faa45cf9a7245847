// Names what a frame without a RoCE packet may hide: a tunnel, iWARP, an IP fragment, a link type
// that dissect_link() does not decode. Such frames are counted, so that a report never presents
// what was not decoded as absent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

enum class UnreadKind : std::uint8_t {
  kNothing,  // RDMA cannot be in it: ARP, plain UDP
  kNfsTcp,   // Calls of NFS over TCP; Unread::detail: how many
  kPause,    // pause frames of Ethernet: see pause.h
  // Unread::detail: the TunnelKind, with kTruncatedTunnel if the capture truncated the frame. What
  // the tunnel carries is unknown.
  kTunnel,
  kTooDeep,  // more tunnels in each other than are followed
  kEncryptedMacsec,
  kIpsec,
  kL2tp,
  kWireGuard,
  kDtls,           // GRE or MPLS in UDP, encrypted
  kCompressedPpp,  // or encrypted
  kPppProtocol,    // Unread::detail: the protocol
  kIwarp,
  kFragment,
  kEtherType,  // Unread::detail: the ethertype
  kErfType,    // Unread::detail: the ERF type
  kLinkType,   // Unread::detail: the link type
  // A single frame cannot decide these.
  kTcp,            // RDMA if its connection began with MPA: iWARP
  kLaterFragment,  // RDMA if its datagram goes to RoCE's port
};

inline constexpr std::uint32_t kTruncatedTunnel = 0x100;

struct Unread {
  UnreadKind kind = UnreadKind::kNothing;
  std::uint32_t detail = 0;
  std::uint64_t flow = 0;  // kIwarp, kTcp: of both directions; fragments: of one datagram
};

// `result`: what dissect_link() returned for the frame with these options.
[[nodiscard]] Unread unread_of(const Frame& frame, LinkResult result,
                               const LinkOptions& options = link_options);

// "VXLAN", "ethertype 0x9998", "link type 105 (IEEE 802.11)"
[[nodiscard]] std::string unread_name(UnreadKind kind, std::uint32_t detail);

// Lists frames by name, the most frequent first: "25 frames in VXLAN, 3 frames in ethertype 0x9998
// and 4 more"; empty if there are none.
[[nodiscard]] std::string unread_text(const std::map<std::string, std::uint64_t>& by_name);

// Counts the frames of a capture, one after another.
class UnreadFrames {
 public:
  // Frames that hold no RDMA (kNothing, kNfsTcp, kPause) are not counted.
  void note(const Unread& unread);
  // Counts by name; frames beyond the size of the table share one name.
  [[nodiscard]] std::map<std::string, std::uint64_t> by_name() const;

 private:
  static constexpr std::size_t kMostKinds = 64;
  static constexpr std::size_t kMostFlows = 256;

  // The latest flows of one kind; a new flow replaces the oldest.
  class Flows {
   public:
    void add(std::uint64_t flow);
    [[nodiscard]] bool has(std::uint64_t flow) const;

   private:
    std::array<std::uint64_t, kMostFlows> ring_{};
    std::size_t size_ = 0, next_ = 0;
  };

  std::map<std::uint64_t, std::uint64_t> counts_;  // by kind and detail
  std::uint64_t others_ = 0;
  Flows iwarp_, fragments_;
};

}  // namespace rpcrdma::capture
