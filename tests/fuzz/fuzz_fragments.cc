// IP fragments of any kind: the reader stays within its limits, and what it puts together is a
// whole datagram. Each command is a fragment: version, identification, offset, length, flags and
// time.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/capture/fragments.h>
#include <rpcrdma/wire/endian.h>

using rpcrdma::fuzz::Input;
using rpcrdma::fuzz::require;
using namespace rpcrdma;

namespace {

constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kFragmentBytes = 8;

std::vector<std::uint8_t> ipv4(std::uint8_t id, std::uint16_t fragment, std::size_t length) {
  std::vector<std::uint8_t> ip(kIpv4Bytes);
  ip[0] = 0x45;
  wire::store_be16(&ip[2], static_cast<std::uint16_t>(kIpv4Bytes + length));
  ip[5] = id;
  wire::store_be16(&ip[6], fragment);
  ip[9] = 17;
  return ip;
}

std::vector<std::uint8_t> ipv6(std::uint8_t id, std::uint16_t fragment, std::size_t length) {
  std::vector<std::uint8_t> ip(kIpv6Bytes + kFragmentBytes);
  ip[0] = 0x60;
  wire::store_be16(&ip[4], static_cast<std::uint16_t>(kFragmentBytes + length));
  ip[6] = 44;
  ip[kIpv6Bytes] = 17;
  const auto more = static_cast<std::uint16_t>(fragment >> 13 & 1);
  wire::store_be16(&ip[kIpv6Bytes + 2],
                   static_cast<std::uint16_t>((fragment & 0x1fff) << 3 | more));
  ip[kIpv6Bytes + 7] = id;
  return ip;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr capture::FragmentLimits kLimits{
      .bytes = 50'000, .datagrams = 8, .timeout_ns = 1'000'000};
  constexpr std::size_t kOneMore = 80'000;  // a datagram is stored before others are dropped
  capture::Fragments fragments(kLimits);
  Input input(data, size);
  capture::Frame frame;
  frame.link = capture::LinkType::kRaw;
  while (!input.empty()) {
    const std::uint8_t what = input.byte();
    const std::uint8_t id = input.byte();
    const auto fragment = static_cast<std::uint16_t>(input.byte() << 8 | input.byte());
    const std::size_t length = std::size_t{input.byte()} * ((what & 2) != 0 ? 8U : 1U);
    std::vector<std::uint8_t> ip =
        (what & 1) != 0 ? ipv6(id, fragment, length) : ipv4(id, fragment, length);
    ip.resize(ip.size() + length, static_cast<std::uint8_t>(what >> 6));
    // To the port of RoCE, or to another.
    if (length >= 4) wire::store_be16(&ip[ip.size() - length + 2], (what & 4) != 0 ? 4791 : 2049);
    frame.time_ns += std::int64_t{what >> 3 & 7} * 50'000 - 50'000;
    frame.data = ip;
    if ((what & 0x80) != 0) frame.data = frame.data.first(ip.size() - length / 2);
    ++frame.number;
    capture::Frame whole;
    const bool complete = fragments.add(frame, whole);
    require(fragments.datagrams() <= kLimits.datagrams);
    require(fragments.bytes() <= kLimits.bytes + kOneMore);
    if (!complete) continue;
    require(whole.number == frame.number && whole.data.size() <= whole.original);
    capture::IpPacket packet;
    require(capture::find_ip(whole, packet));
    require(!packet.fragment() && packet.header.size() + packet.wire_payload == whole.original);
  }
  fragments.finish();
  require(fragments.datagrams() == 0 && fragments.bytes() == 0);
  require(fragments.counts().incomplete_frames <= fragments.counts().fragments);
  return 0;
}
