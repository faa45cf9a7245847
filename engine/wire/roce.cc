// Decodes and encodes RoCE packets: BTH, extension headers, payload and ICRC.
#include "roce_layout.h"

#include <algorithm>
#include <cstring>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {
namespace {

constexpr std::size_t kPadOffset = 1;  // the byte of the BTH that holds the pad count

// Determines why a packet does not decode. Separate from the fast path.
[[gnu::cold, gnu::noinline]] DecodeError explain(Bytes captured, std::size_t wire_length) {
  if (captured.size() < kBthBytes) {
    return {Errc::kTruncated, 0, "IBA 9.2", "packet ends inside the BTH"};
  }
  const RoceLayout layout = kRoceLayouts[captured[0]];
  std::uint32_t at = kBthBytes;
  for (const Extension extension : kExtensions) {
    if (!layout.has(extension)) continue;
    if (captured.size() < at + extension.bytes) {
      return {Errc::kTruncated, at, "IBA 9.3", "packet ends inside the extension headers"};
    }
    at += extension.bytes;
  }
  if (wire_length < at + kIcrcBytes) {
    return {Errc::kTruncated, at, "IBA 7.8.1", "packet ends before its ICRC does"};
  }
  return {Errc::kBadValue, kPadOffset, "IBA 9.2",
          wire_length % 4 != 0 ? "payload and pad bytes are not a multiple of 4"
                               : "pad count is over the length of the payload"};
}

void decode_fields(const std::uint8_t* p, Bth& bth) {
  const std::uint32_t flags = load_be32(p);
  const std::uint32_t qp = load_be32(p + 4);
  const std::uint32_t psn = load_be32(p + 8);
  bth.opcode = static_cast<std::uint8_t>(flags >> 24);
  bth.solicited = (flags >> 23 & 1) != 0;
  bth.migreq = (flags >> 22 & 1) != 0;
  bth.pad_count = flags >> 20 & 3;
  bth.tver = flags >> 16 & 0xf;
  bth.pkey = flags & 0xffff;
  bth.fecn = (qp >> 31 & 1) != 0;
  bth.becn = (qp >> 30 & 1) != 0;
  bth.dest_qp = qp & 0xffffff;
  bth.ack_req = (psn >> 31 & 1) != 0;
  bth.psn = psn & kPsnMask;
}

const std::uint8_t* decode_extensions(const std::uint8_t* p, RoceLayout layout, RocePacket& out) {
  if (layout.has(kDethExtension)) {
    out.deth.qkey = load_be32(p);
    out.deth.src_qp = load_be32(p + 4) & 0xffffff;
    p += kDethExtension.bytes;
  }
  if (layout.has(kRethExtension)) {
    out.reth.va = load_be64(p);
    out.reth.rkey = load_be32(p + 8);
    out.reth.dma_length = load_be32(p + 12);
    p += kRethExtension.bytes;
  }
  if (layout.has(kAtomicExtension)) {
    out.atomic.va = load_be64(p);
    out.atomic.rkey = load_be32(p + 8);
    out.atomic.swap_or_add = load_be64(p + 12);
    out.atomic.compare = load_be64(p + 20);
    p += kAtomicExtension.bytes;
  }
  if (layout.has(kAethExtension)) {
    out.aeth.syndrome = p[0];
    out.aeth.msn = load_be32(p) & 0xffffff;
    p += kAethExtension.bytes;
  }
  if (layout.has(kAtomicAckExtension)) {
    out.atomic_ack = load_be64(p);
    p += kAtomicAckExtension.bytes;
  }
  if (layout.has(kImmExtension)) {
    out.immediate = load_be32(p);
    p += kImmExtension.bytes;
  }
  if (layout.has(kIethExtension)) {
    out.invalidate_key = load_be32(p);
    p += kIethExtension.bytes;
  }
  return p;
}

void encode_bth(std::uint8_t* p, const Bth& bth, std::size_t pad) {
  p[0] = bth.opcode;
  p[1] = static_cast<std::uint8_t>((bth.solicited ? 0x80U : 0U) | (bth.migreq ? 0x40U : 0U) |
                                   pad << 4 | (bth.tver & 0x0fU));
  store_be16(p + 2, bth.pkey);
  p[4] = static_cast<std::uint8_t>((bth.fecn ? 0x80U : 0U) | (bth.becn ? 0x40U : 0U));
  store_be24(p + 5, bth.dest_qp);
  p[8] = bth.ack_req ? 0x80 : 0;
  store_be24(p + 9, bth.psn);
}

std::uint8_t* encode_extensions(std::uint8_t* p, RoceLayout layout, const RocePacket& packet) {
  if (layout.has(kDethExtension)) {
    store_be32(p, packet.deth.qkey);
    p[4] = 0;
    store_be24(p + 5, packet.deth.src_qp);
    p += kDethExtension.bytes;
  }
  if (layout.has(kRethExtension)) {
    store_be64(p, packet.reth.va);
    store_be32(p + 8, packet.reth.rkey);
    store_be32(p + 12, packet.reth.dma_length);
    p += kRethExtension.bytes;
  }
  if (layout.has(kAtomicExtension)) {
    store_be64(p, packet.atomic.va);
    store_be32(p + 8, packet.atomic.rkey);
    store_be64(p + 12, packet.atomic.swap_or_add);
    store_be64(p + 20, packet.atomic.compare);
    p += kAtomicExtension.bytes;
  }
  if (layout.has(kAethExtension)) {
    p[0] = packet.aeth.syndrome;
    store_be24(p + 1, packet.aeth.msn);
    p += kAethExtension.bytes;
  }
  if (layout.has(kAtomicAckExtension)) {
    store_be64(p, packet.atomic_ack);
    p += kAtomicAckExtension.bytes;
  }
  if (layout.has(kImmExtension)) {
    store_be32(p, packet.immediate);
    p += kImmExtension.bytes;
  }
  if (layout.has(kIethExtension)) {
    store_be32(p, packet.invalidate_key);
    p += kIethExtension.bytes;
  }
  return p;
}

std::size_t pad_of(Bytes payload) {
  return (4 - payload.size() % 4) % 4;
}

}  // namespace

bool decode_roce(Bytes packet, std::size_t wire_length, RocePacket& out) {
  const std::size_t captured = std::min(packet.size(), wire_length);
  const std::uint8_t* const begin = packet.data();
  if (captured < kBthBytes) [[unlikely]] {
    return false;
  }
  const RoceLayout layout = kRoceLayouts[begin[0]];
  const std::size_t pad = begin[kPadOffset] >> 4 & 3;
  if (captured < layout.bytes || wire_length < layout.bytes + pad + kIcrcBytes ||
      wire_length % 4 != 0) [[unlikely]] {
    return false;
  }
  decode_fields(begin, out.bth);
  const std::uint8_t* const payload = decode_extensions(begin + kBthBytes, layout, out);
  const std::uint8_t* const end = begin + std::min(captured, wire_length - kIcrcBytes - pad);
  out.payload = Bytes(payload, end);
  out.icrc = captured == wire_length ? load_icrc(begin + wire_length - kIcrcBytes) : 0;
  return true;
}

std::optional<Bth> decode_bth(Bytes packet) {
  if (packet.size() < kBthBytes) return std::nullopt;
  Bth bth;
  decode_fields(packet.data(), bth);
  return bth;
}

Result<RocePacket> decode_roce(Bytes packet, std::size_t wire_length) {
  Result<RocePacket> result;
  if (!decode_roce(packet, wire_length, *result)) {
    result =
        tl::unexpected(explain(packet.first(std::min(packet.size(), wire_length)), wire_length));
  }
  return result;
}

std::size_t encoded_size(const RocePacket& packet) {
  return kRoceLayouts[packet.bth.opcode].bytes + packet.payload.size() + pad_of(packet.payload);
}

Result<std::size_t> encode_roce(const RocePacket& packet, MutableBytes out) {
  const std::size_t size = encoded_size(packet);
  if (size > out.size()) {
    return fail(Errc::kNoSpace, out.size(), "", "output is too small for the packet");
  }
  const std::size_t pad = pad_of(packet.payload);
  encode_bth(out.data(), packet.bth, pad);
  std::uint8_t* p =
      encode_extensions(out.data() + kBthBytes, kRoceLayouts[packet.bth.opcode], packet);
  if (!packet.payload.empty()) {
    p = std::copy(packet.payload.begin(), packet.payload.end(), p);
    std::fill_n(p, pad, std::uint8_t{0});
  }
  return size;
}

}  // namespace rpcrdma::wire
