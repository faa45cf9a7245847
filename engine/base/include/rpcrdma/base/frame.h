// A captured frame and the interface it was captured on, as readers return and writers accept them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::base {

// Link types that the library can decode, by their LINKTYPE_ numbers in files.
enum class LinkType : std::uint16_t {
  kNull = 0,  // BSD loopback: an address family in the byte order of the capturing machine
  kEthernet = 1,
  kPpp = 9,
  kRawDlt12 = 12,  // raw IP, written by systems whose DLT_RAW has this number
  kRawDlt14 = 14,  // the same
  kPppHdlc = 50,   // PPP or Cisco HDLC
  kPppoe = 51,
  kRaw = 101,
  kCiscoHdlc = 104,
  kLoop = 108,  // OpenBSD loopback: an address family in network byte order
  kEnc = 109,   // OpenBSD enc: decrypted IPsec
  kLinuxSll = 113,
  kPppPppd = 166,  // PPP, its first byte is the direction
  kPpi = 192,      // Per-Packet Information, then a frame of another link type
  kErf = 197,
  kPppWithDirection = 204,
  kMpls = 219,
  kIpnet = 226,  // Solaris
  kIpv4 = 228,
  kIpv6 = 229,
  kNflog = 239,
  kNetAnalyzer = 240,
  kNetAnalyzerTransparent = 241,
  kIpoib = 242,  // GRH, then IP over InfiniBand
  kInfiniband = 247,
  kUpperPdu = 252,  // Wireshark Upper PDU: this project's own recordings
  kPktap = 258,     // macOS: a header that names the link type of the frame behind it
  kMpacket = 274,   // Ethernet with preamble, IEEE 802.3br
  kLinuxSll2 = 276,
};

struct Frame {
  std::uint64_t number = 0;     // counts from 1, as Wireshark does: packet records of any interface
  std::int64_t time_ns = 0;     // since the epoch, UTC
  std::uint32_t original = 0;   // bytes on the wire
  std::uint32_t interface = 0;  // pcapng: counts over all sections; pcap: 0
  std::uint32_t file = 0;       // index of the file among several: counts from 0
  std::uint32_t lane = 0;       // files that overlap in time have different lanes
  LinkType link = LinkType::kEthernet;  // may hold any LINKTYPE_ number
  // By how many bytes reading this frame advances the window in which earlier frames stay readable
  // (see capture::kReadableBehind).
  std::uint32_t room = 0;
  std::span<const std::uint8_t> data;  // the captured bytes; valid until the source's next frame
};

// An interface as a capture file's header describes it.
struct Interface {
  std::string name;
  std::string filter;  // the capture filter; empty: none
  LinkType link = LinkType::kEthernet;
  std::uint32_t snaplen = 0;  // bytes; 0: no limit
};

}  // namespace rpcrdma::base
