// What a frame that shows no RoCE packet may hide: a tunnel, iWARP, an IP fragment, a link type
// that dissect_link() does not take apart. Named and counted, so that nobody takes what was not
// looked at for what is not there.
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
  kNothing,  // nothing that RDMA could be in: ARP, plain UDP
  kVxlan,
  kVxlanGpe,
  kGeneve,
  kGre,
  kErspan,
  kGreInUdp,
  kMpls,
  kMplsInUdp,
  kPppoe,
  kMacsec,
  kVnTag,
  kNsh,
  kProviderBackbone,
  kTrill,
  kIpInIp,
  kSixInFour,
  kFourInSix,
  kSixInSix,
  kSrv6,
  kEtherIp,
  kGtpU,
  kL2tp,
  kTzsp,
  kIpsec,
  kWireGuard,
  kIwarp,
  kFragment,
  kEtherType,  // Unread::detail: which
  kErfType,    // the same
  kLinkType,   // the same
  // By the frame alone it may be one, and need not.
  kTcp,            // of a connection that began with MPA: iWARP
  kLaterFragment,  // of a datagram to RoCE's port
};

struct Unread {
  UnreadKind kind = UnreadKind::kNothing;
  std::uint32_t detail = 0;
  std::uint64_t flow = 0;  // kIwarp, kTcp: of both directions; fragments: of one datagram
};

// `result`: what dissect_link() gave for the frame with this `udp_port`; not kRoce.
[[nodiscard]] Unread unread_of(const Frame& frame, LinkResult result);

// "VXLAN", "ethertype 0x9998", "link type 105 (IEEE 802.11)"
[[nodiscard]] std::string unread_name(UnreadKind kind, std::uint32_t detail);

// Of frames by name: "25 frames in VXLAN, 3 frames in ethertype 0x9998 and 4 more", the most first;
// empty where there are none.
[[nodiscard]] std::string unread_text(const std::map<std::string, std::uint64_t>& by_name);

// Counts of a capture, frame after frame.
class UnreadFrames {
 public:
  void note(const Unread& unread);
  // By name; what does not fit into the table has one of its own.
  [[nodiscard]] std::map<std::string, std::uint64_t> by_name() const;

 private:
  static constexpr std::size_t kMostKinds = 64;
  static constexpr std::size_t kMostFlows = 256;

  // The latest flows of one kind, the oldest replaced.
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
