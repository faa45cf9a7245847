#include "ddp.h"

#include <iterator>

#include <fmt/core.h>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::iwarp {

namespace {

constexpr std::uint8_t kTagged = 0x80;
constexpr std::uint8_t kLast = 0x40;
constexpr std::uint8_t kReserved = 0x3c;
constexpr std::uint8_t kDdpVersion = 0x01;

constexpr std::uint8_t kRdmapVersion = 0x40;  // 1, in the upper two bits
constexpr std::uint8_t kRdmapReserved = 0x30;

// The untagged queue of an opcode.
constexpr std::uint32_t queue_of(Rdmap opcode) {
  switch (opcode) {
    case Rdmap::kReadRequest:
    case Rdmap::kAtomicRequest:
      return 1;
    case Rdmap::kTerminate:
      return 2;
    case Rdmap::kAtomicResponse:
      return 3;
    default:
      return 0;
  }
}

struct TerminateName {
  std::uint8_t layer, type, code;
  const char* text;
};

// RFC 5040 section 4.8, RFC 5041 section 7.1, RFC 5044 section 8; RFC 7306 section 8.2; RFC 6581
// section 10.
constexpr TerminateName kTerminateNames[] = {
    {0, 0, 0, "local catastrophic error"},
    {0, 1, 0, "remote protection error: invalid STag"},
    {0, 1, 1, "remote protection error: base or bounds violation"},
    {0, 1, 2, "remote protection error: access rights violation"},
    {0, 1, 3, "remote protection error: STag not associated with the stream"},
    {0, 1, 4, "remote protection error: tagged offset wraps"},
    {0, 1, 9, "remote protection error: STag cannot be invalidated"},
    {0, 1, 0xff, "remote protection error"},
    {0, 2, 5, "remote operation error: invalid RDMAP version"},
    {0, 2, 6, "remote operation error: unexpected opcode"},
    {0, 2, 7, "remote operation error: catastrophic error of the stream"},
    {0, 2, 8, "remote operation error: catastrophic error of the device"},
    {0, 2, 9, "remote operation error: STag cannot be invalidated"},
    {0, 2, 0xff, "remote operation error"},
    {1, 0, 0, "local catastrophic error"},
    {1, 1, 0, "tagged buffer error: invalid STag"},
    {1, 1, 1, "tagged buffer error: base or bounds violation"},
    {1, 1, 2, "tagged buffer error: STag not associated with the stream"},
    {1, 1, 3, "tagged buffer error: tagged offset wraps"},
    {1, 1, 4, "tagged buffer error: invalid DDP version"},
    {1, 2, 1, "untagged buffer error: invalid queue number"},
    {1, 2, 2, "untagged buffer error: no Receive was posted"},
    {1, 2, 3, "untagged buffer error: message sequence number out of range"},
    {1, 2, 4, "untagged buffer error: invalid message offset"},
    {1, 2, 5, "untagged buffer error: message longer than the Receive"},
    {1, 2, 6, "untagged buffer error: invalid DDP version"},
    {2, 0, 1, "TCP connection closed, lost or timed out"},
    {2, 0, 2, "CRC error"},
    {2, 0, 3, "marker and FPDU do not match"},
    {2, 0, 4, "invalid MPA Request or Reply"},
    {2, 0, 5, "local catastrophic error"},
    {2, 0, 6, "insufficient RDMA Read resources"},
    {2, 0, 7, "no matching Ready-to-Receive message"},
};

}  // namespace

bool decode_ddp(Bytes ulpdu, std::size_t length, DdpSegment& out) {
  if (ulpdu.size() < kTaggedHeader || length < kTaggedHeader) return false;
  const std::uint8_t ddp = ulpdu[0];
  const std::uint8_t rdmap = ulpdu[1];
  if ((ddp & ~(kTagged | kLast)) != kDdpVersion || (ddp & kReserved) != 0) return false;
  if ((rdmap & 0xf0) != kRdmapVersion || (rdmap & kRdmapReserved) != 0) return false;
  if ((rdmap & 0x0f) > static_cast<std::uint8_t>(Rdmap::kAtomicResponse)) return false;
  out.tagged = (ddp & kTagged) != 0;
  out.last = (ddp & kLast) != 0;
  out.opcode = static_cast<Rdmap>(rdmap & 0x0f);
  const bool is_tagged = out.opcode == Rdmap::kWrite || out.opcode == Rdmap::kReadResponse;
  if (out.tagged != is_tagged) return false;
  out.stag = wire::load_be32(ulpdu.data() + 2);
  if (out.tagged) {
    out.offset = wire::load_be64(ulpdu.data() + 6);
    out.header = kTaggedHeader;
    return true;
  }
  if (ulpdu.size() < kUntaggedHeader || length < kUntaggedHeader) return false;
  out.queue = wire::load_be32(ulpdu.data() + 6);
  out.sequence = wire::load_be32(ulpdu.data() + 10);
  out.message_offset = wire::load_be32(ulpdu.data() + 14);
  out.header = kUntaggedHeader;
  return out.queue == queue_of(out.opcode);
}

ReadRequest decode_read_request(Bytes payload) {
  ReadRequest r;
  r.sink_stag = wire::load_be32(payload.data());
  r.sink_offset = wire::load_be64(payload.data() + 4);
  r.length = wire::load_be32(payload.data() + 12);
  r.source_stag = wire::load_be32(payload.data() + 16);
  r.source_offset = wire::load_be64(payload.data() + 20);
  return r;
}

std::string terminate_text(Bytes payload) {
  if (payload.size() < 2) return "without its error code in the capture";
  constexpr const char* kLayers[] = {"RDMAP", "DDP", "MPA"};
  const std::uint8_t layer = payload[0] >> 4U;
  const std::uint8_t type = payload[0] & 0x0fU;
  const std::uint8_t code = payload[1];
  const std::string name =
      layer < std::size(kLayers) ? std::string(kLayers[layer]) : fmt::format("layer {}", layer);
  for (const TerminateName& n : kTerminateNames) {
    if (n.layer == layer && n.type == type && n.code == code) {
      return fmt::format("{}, {}", name, n.text);
    }
  }
  return fmt::format("{}, error type {}, code {}", name, type, code);
}

}  // namespace rpcrdma::iwarp
