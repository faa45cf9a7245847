// The table of InfiniBand opcodes: names, traits and extension headers.
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
  unsigned opcode;
  unsigned traits;
  const char* name;
};

// IBA volume 1 table 35; CNP from annex A17.
constexpr Row kRows[] = {
    {0x00, kSend | kFirst, "SEND First"},
    {0x01, kSend, "SEND Middle"},
    {0x02, kSend | kLast, "SEND Last"},
    {0x03, kSend | kLast | kImm, "SEND Last with Immediate"},
    {0x04, kSend | kOnly, "SEND Only"},
    {0x05, kSend | kOnly | kImm, "SEND Only with Immediate"},
    {0x06, kWrite | kFirst | kReth, "RDMA WRITE First"},
    {0x07, kWrite, "RDMA WRITE Middle"},
    {0x08, kWrite | kLast, "RDMA WRITE Last"},
    {0x09, kWrite | kLast | kImm, "RDMA WRITE Last with Immediate"},
    {0x0a, kWrite | kOnly | kReth, "RDMA WRITE Only"},
    {0x0b, kWrite | kOnly | kReth | kImm, "RDMA WRITE Only with Immediate"},
    {0x0c, kRequest | kOnly | kReth, "RDMA READ Request"},
    {0x0d, kReadResponse | kFirst | kAeth, "RDMA READ Response First"},
    {0x0e, kReadResponse, "RDMA READ Response Middle"},
    {0x0f, kReadResponse | kLast | kAeth, "RDMA READ Response Last"},
    {0x10, kReadResponse | kOnly | kAeth, "RDMA READ Response Only"},
    {0x11, kResponse | kOnly | kAeth, "ACK"},
    {0x12, kResponse | kOnly | kAeth | kAtomicAck, "ATOMIC ACK"},
    {0x13, kRequest | kOnly | kAtomic, "CmpSwap"},
    {0x14, kRequest | kOnly | kAtomic, "FetchAdd"},
    {0x16, kSend | kLast | kIeth, "SEND Last with Invalidate"},
    {0x17, kSend | kOnly | kIeth, "SEND Only with Invalidate"},

    {0x20, kSend | kFirst, "UC SEND First"},
    {0x21, kSend, "UC SEND Middle"},
    {0x22, kSend | kLast, "UC SEND Last"},
    {0x23, kSend | kLast | kImm, "UC SEND Last with Immediate"},
    {0x24, kSend | kOnly, "UC SEND Only"},
    {0x25, kSend | kOnly | kImm, "UC SEND Only with Immediate"},
    {0x26, kWrite | kFirst | kReth, "UC RDMA WRITE First"},
    {0x27, kWrite, "UC RDMA WRITE Middle"},
    {0x28, kWrite | kLast, "UC RDMA WRITE Last"},
    {0x29, kWrite | kLast | kImm, "UC RDMA WRITE Last with Immediate"},
    {0x2a, kWrite | kOnly | kReth, "UC RDMA WRITE Only"},
    {0x2b, kWrite | kOnly | kReth | kImm, "UC RDMA WRITE Only with Immediate"},

    {0x64, kSend | kOnly | kDeth, "UD SEND Only"},
    {0x65, kSend | kOnly | kDeth | kImm, "UD SEND Only with Immediate"},

    {0x81, 0, "CNP"},
};

// XRC has RC's operations with an XRCETH before the other extension headers of requests.
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
