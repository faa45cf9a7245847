// A captured frame and the interface it was captured on, as readers return and writers accept them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rpcrdma::base {

// Link types that the library can decode, by their LINKTYPE_ numbers in files.
enum class LinkType : std::uint16_t {
  kEthernet = 1,
  kRawDlt12 = 12,  // raw IP, written by systems whose DLT_RAW has this number
  kRawDlt14 = 14,  // the same
  kRaw = 101,
  kLinuxSll = 113,
  kErf = 197,
  kIpv4 = 228,
  kIpv6 = 229,
  kInfiniband = 247,
  kUpperPdu = 252,  // Wireshark Upper PDU: this project's own recordings
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
