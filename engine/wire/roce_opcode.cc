#include "roce_layout.h"

#include <array>

#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {
namespace {

enum Trait : unsigned {
  kReth = 1U << 0,
  kAeth = 1U << 1,
  kDeth = 1U << 2,
  kImm = 1U << 3,
  kIeth = 1U << 4,
  kAtomic = 1U << 5,
  kAtomicAck = 1U << 6,
  kRequest = 1U << 7,
  kResponse = 1U << 8,
  kFirst = 1U << 9,
  kLast = 1U << 10,
  kOnly = kFirst | kLast,
  kSend = 1U << 11 | kRequest,
  kWrite = 1U << 12 | kRequest,
  kReadResponse = 1U << 13 | kResponse,
};

struct Row {
  std::uint8_t opcode;
  const char* name;
  unsigned traits;
};

// IBA volume 1 table 35; the CNP's from annex A17.
constexpr Row kRows[] = {
    {0x00, "SEND First", kSend | kFirst},
    {0x01, "SEND Middle", kSend},
    {0x02, "SEND Last", kSend | kLast},
    {0x03, "SEND Last with Immediate", kSend | kLast | kImm},
    {0x04, "SEND Only", kSend | kOnly},
    {0x05, "SEND Only with Immediate", kSend | kOnly | kImm},
    {0x06, "RDMA WRITE First", kWrite | kFirst | kReth},
    {0x07, "RDMA WRITE Middle", kWrite},
    {0x08, "RDMA WRITE Last", kWrite | kLast},
    {0x09, "RDMA WRITE Last with Immediate", kWrite | kLast | kImm},
    {0x0a, "RDMA WRITE Only", kWrite | kOnly | kReth},
    {0x0b, "RDMA WRITE Only with Immediate", kWrite | kOnly | kReth | kImm},
    {0x0c, "RDMA READ Request", kRequest | kOnly | kReth},
    {0x0d, "RDMA READ Response First", kReadResponse | kFirst | kAeth},
    {0x0e, "RDMA READ Response Middle", kReadResponse},
    {0x0f, "RDMA READ Response Last", kReadResponse | kLast | kAeth},
    {0x10, "RDMA READ Response Only", kReadResponse | kOnly | kAeth},
    {0x11, "ACK", kResponse | kOnly | kAeth},
    {0x12, "ATOMIC ACK", kResponse | kOnly | kAeth | kAtomicAck},
    {0x13, "CmpSwap", kRequest | kOnly | kAtomic},
    {0x14, "FetchAdd", kRequest | kOnly | kAtomic},
    {0x16, "SEND Last with Invalidate", kSend | kLast | kIeth},
    {0x17, "SEND Only with Invalidate", kSend | kOnly | kIeth},

    {0x20, "UC SEND First", kSend | kFirst},
    {0x21, "UC SEND Middle", kSend},
    {0x22, "UC SEND Last", kSend | kLast},
    {0x23, "UC SEND Last with Immediate", kSend | kLast | kImm},
    {0x24, "UC SEND Only", kSend | kOnly},
    {0x25, "UC SEND Only with Immediate", kSend | kOnly | kImm},
    {0x26, "UC RDMA WRITE First", kWrite | kFirst | kReth},
    {0x27, "UC RDMA WRITE Middle", kWrite},
    {0x28, "UC RDMA WRITE Last", kWrite | kLast},
    {0x29, "UC RDMA WRITE Last with Immediate", kWrite | kLast | kImm},
    {0x2a, "UC RDMA WRITE Only", kWrite | kOnly | kReth},
    {0x2b, "UC RDMA WRITE Only with Immediate", kWrite | kOnly | kReth | kImm},

    {0x64, "UD SEND Only", kSend | kOnly | kDeth},
    {0x65, "UD SEND Only with Immediate", kSend | kOnly | kDeth | kImm},

    {0x81, "CNP", 0},
};

// XRC has RC's operations with an XRCETH in front of the requests' other extension headers.
constexpr std::uint8_t kXrc = static_cast<std::uint8_t>(Service::kXrc) << 5;
constexpr const char* kXrcNames[] = {
    "XRC SEND First",
    "XRC SEND Middle",
    "XRC SEND Last",
    "XRC SEND Last with Immediate",
    "XRC SEND Only",
    "XRC SEND Only with Immediate",
    "XRC RDMA WRITE First",
    "XRC RDMA WRITE Middle",
    "XRC RDMA WRITE Last",
    "XRC RDMA WRITE Last with Immediate",
    "XRC RDMA WRITE Only",
    "XRC RDMA WRITE Only with Immediate",
    "XRC RDMA READ Request",
    "XRC RDMA READ Response First",
    "XRC RDMA READ Response Middle",
    "XRC RDMA READ Response Last",
    "XRC RDMA READ Response Only",
    "XRC ACK",
    "XRC ATOMIC ACK",
    "XRC CmpSwap",
    "XRC FetchAdd",
    "unknown",
    "XRC SEND Last with Invalidate",
    "XRC SEND Only with Invalidate",
};

constexpr OpcodeInfo info_of(const Row& row) {
  const auto is = [&row](unsigned traits) { return (row.traits & traits) == traits; };
  OpcodeInfo info;
  info.known = true;
  info.reth = is(kReth);
  info.aeth = is(kAeth);
  info.deth = is(kDeth);
  info.imm = is(kImm);
  info.ieth = is(kIeth);
  info.atomic = is(kAtomic);
  info.atomic_ack = is(kAtomicAck);
  info.request = is(kRequest);
  info.response = is(kResponse);
  info.send = is(kSend);
  info.write = is(kWrite);
  info.read_response = is(kReadResponse);
  info.first = is(kFirst);
  info.last = is(kLast);
  info.name = row.name;
  return info;
}

constexpr std::array<OpcodeInfo, 256> make_infos() {
  std::array<OpcodeInfo, 256> infos;
  for (const Row& row : kRows) infos[row.opcode] = info_of(row);
  std::size_t opcode = kXrc;
  for (const char* name : kXrcNames) infos[opcode++].name = name;
  return infos;
}

constexpr std::array<OpcodeInfo, 256> kInfos = make_infos();

constexpr RoceLayout layout_of(const OpcodeInfo& info) {
  RoceLayout layout{0, kBthBytes};
  const auto add = [&layout](bool present, Extension extension) {
    if (!present) return;
    layout.extensions = static_cast<std::uint8_t>(layout.extensions | extension.flag);
    layout.bytes = static_cast<std::uint8_t>(layout.bytes + extension.bytes);
  };
  add(info.deth, kDethExtension);
  add(info.reth, kRethExtension);
  add(info.atomic, kAtomicExtension);
  add(info.aeth, kAethExtension);
  add(info.atomic_ack, kAtomicAckExtension);
  add(info.imm, kImmExtension);
  add(info.ieth, kIethExtension);
  return layout;
}

constexpr std::array<RoceLayout, 256> make_layouts() {
  std::array<RoceLayout, 256> layouts;
  for (std::size_t opcode = 0; opcode < layouts.size(); ++opcode) {
    layouts[opcode] = layout_of(kInfos[opcode]);
  }
  return layouts;
}

}  // namespace

constexpr std::array<RoceLayout, 256> kRoceLayouts = make_layouts();

const OpcodeInfo& opcode_info(std::uint8_t opcode) {
  return kInfos[opcode];
}

const char* nak_name(std::uint8_t code) {
  switch (static_cast<NakCode>(code)) {
    case NakCode::kPsnSequence:
      return "PSN Sequence Error";
    case NakCode::kInvalidRequest:
      return "Invalid Request";
    case NakCode::kRemoteAccess:
      return "Remote Access Error";
    case NakCode::kRemoteOperational:
      return "Remote Operational Error";
    case NakCode::kInvalidRdRequest:
      return "Invalid RD Request";
  }
  return "unknown";
}

std::uint64_t rnr_timer_ns(std::uint8_t code) {
  // Units of 0.01 ms; code 0 is the longest.
  constexpr std::array<std::uint32_t, 32> kTimer = {
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::uint64_t{kTimer[code & 0x1f]} * 10'000;
}

}  // namespace rpcrdma::wire
