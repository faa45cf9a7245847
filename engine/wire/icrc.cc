// Computes the invariant CRC. Two facts shape this file. ISA-L computes the CRC and is fastest over
// long runs, so all unmasked bytes are read in place. And a 16-byte load stalls if several smaller
// stores wrote its bytes just before, so the masked headers are written in the 16-byte chunks that
// ISA-L reads.
#include <array>
#include <cstring>

#include <isa-l/crc.h>

#include <rpcrdma/wire/end_isal.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wire {
namespace {

constexpr std::size_t kLrhBytes = 8;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;  // also the size of a GRH
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kResv8a = 4;  // in the BTH: the last masked byte

// The headers of one kind, in bytes.
struct Headers {
  std::size_t pseudo;  // ones in place of the LRH that RoCE does not have
  std::size_t route;   // the headers of fixed length at the front of the packet
  std::size_t udp;

  [[nodiscard]] constexpr std::size_t least_bth() const { return route + udp; }
};

constexpr Headers headers_of(IcrcKind kind) {
  switch (kind) {
    case IcrcKind::kRoceV2Ipv4:
      return {kLrhBytes, kIpv4Bytes, kUdpBytes};
    case IcrcKind::kRoceV2Ipv6:
      return {kLrhBytes, kIpv6Bytes, kUdpBytes};
    case IcrcKind::kRoceV1:
      return {kLrhBytes, kIpv6Bytes, 0};
    case IcrcKind::kNativeGrh:
      return {0, kLrhBytes + kIpv6Bytes, 0};
    case IcrcKind::kNative:
      break;
  }
  return {0, kLrhBytes, 0};
}

constexpr void mask_ipv4(std::uint8_t* ip) {
  ip[1] = 0xff;            // type of service
  ip[8] = 0xff;            // time to live
  ip[10] = ip[11] = 0xff;  // header checksum
}

// A GRH has the same fields at the same offsets.
constexpr void mask_ipv6(std::uint8_t* ip) {
  ip[0] |= 0x0f;  // traffic class and flow label
  ip[1] = ip[2] = ip[3] = 0xff;
  ip[7] = 0xff;  // hop limit
}

constexpr void mask_lrh(std::uint8_t* lrh) {
  lrh[0] |= 0xf0;  // virtual lane
}

constexpr void mask_route(IcrcKind kind, std::uint8_t* route) {
  switch (kind) {
    case IcrcKind::kRoceV2Ipv4:
      mask_ipv4(route);
      break;
    case IcrcKind::kRoceV2Ipv6:
    case IcrcKind::kRoceV1:
      mask_ipv6(route);
      break;
    case IcrcKind::kNativeGrh:
      mask_lrh(route);
      mask_ipv6(route + kLrhBytes);
      break;
    case IcrcKind::kNative:
      mask_lrh(route);
      break;
  }
}

// Masks `udp` bytes of UDP header and the BTH after them.
constexpr void mask_transport(std::uint8_t* headers, std::size_t udp) {
  if (udp != 0) headers[6] = headers[7] = 0xff;  // UDP checksum
  headers[udp + kResv8a] = 0xff;                 // includes FECN and BECN
}

using Chunk = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t kChunkBytes = sizeof(Chunk);
constexpr std::size_t kMaxChunks = 4;
constexpr std::size_t kShortChunks = 8;

// The usual headers of a kind as a mask, from the pseudo LRH on. Variable fields count as ones, so
// the mask is ORed.
struct Mask {
  std::size_t bth = 0;     // offset of the BTH in the packet
  std::size_t pseudo = 0;  // bytes
  std::size_t chunks = 0;
  std::array<std::uint8_t, kMaxChunks * kChunkBytes> ones{};

  // Returns the number of packet bytes that the mask covers.
  [[nodiscard]] constexpr std::size_t masked() const { return chunks * kChunkBytes - pseudo; }
};

constexpr Mask make_mask(IcrcKind kind) {
  const Headers headers = headers_of(kind);
  Mask mask;
  mask.bth = headers.least_bth();
  mask.pseudo = headers.pseudo;
  const std::size_t end = headers.pseudo + mask.bth + kResv8a + 1;
  mask.chunks = (end + kChunkBytes - 1) / kChunkBytes;
  for (std::size_t i = 0; i < headers.pseudo; ++i) mask.ones[i] = 0xff;
  mask_route(kind, mask.ones.data() + headers.pseudo);
  mask_transport(mask.ones.data() + headers.pseudo + headers.route, headers.udp);
  return mask;
}

constexpr std::array<Mask, 5> kMasks = {
    make_mask(IcrcKind::kRoceV2Ipv4), make_mask(IcrcKind::kRoceV2Ipv6),
    make_mask(IcrcKind::kRoceV1),     make_mask(IcrcKind::kNativeGrh),
    make_mask(IcrcKind::kNative),
};

Chunk load_chunk(const std::uint8_t* p) {
  Chunk chunk;
  std::memcpy(&chunk, p, sizeof chunk);
  return chunk;
}

// Loads the eight bytes after a pseudo LRH; the mask supplies the LRH itself.
Chunk load_half_chunk(const std::uint8_t* p) {
  std::uint64_t half;
  std::memcpy(&half, p, sizeof half);
  return Chunk{0, half};
}

// crc32_gzip_refl() accepts and returns the CRC in its inverted form: start with 0, and pass each
// result to the next call. Call end_isal() after the last.
std::uint32_t crc(std::uint32_t begun, const std::uint8_t* p, std::size_t bytes) {
  return crc32_gzip_refl(begun, p, bytes);
}

// Handles headers of any length in four pieces: the masked network headers, the unmasked bytes
// after them, the masked transport headers, and the rest.
[[gnu::cold]] std::uint32_t icrc_in_pieces(IcrcKind kind, Bytes headers, Bytes rest) {
  const Headers least = headers_of(kind);
  if (rest.size() < kBthBytes || headers.size() < least.least_bth()) return 0;
  const std::size_t between = headers.size() - least.least_bth();

  std::array<std::uint8_t, kLrhBytes + kIpv6Bytes> front;
  front.fill(0xff);
  std::memcpy(front.data() + least.pseudo, headers.data(), least.route);
  mask_route(kind, front.data() + least.pseudo);
  std::array<std::uint8_t, kUdpBytes + kBthBytes> back;
  std::memcpy(back.data(), headers.data() + least.route + between, least.udp);
  std::memcpy(back.data() + least.udp, rest.data(), kBthBytes);
  mask_transport(back.data(), least.udp);

  std::uint32_t value = crc(0, front.data(), least.pseudo + least.route);
  value = crc(value, headers.data() + least.route, between);
  value = crc(value, back.data(), least.udp + kBthBytes);
  value = crc(value, rest.data() + kBthBytes, rest.size() - kBthBytes);
  end_isal();
  return value;
}

// `front` holds the packet bytes that the mask covers after its pseudo LRH; `rest` follows them.
std::uint32_t masked_icrc(const Mask& mask, const std::uint8_t* front, Bytes rest) {
  std::array<Chunk, kMaxChunks + kShortChunks> copy;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(copy.data());
  copy[0] = (mask.pseudo != 0 ? load_half_chunk(front) : load_chunk(front)) |
            load_chunk(mask.ones.data());
  front += kChunkBytes - mask.pseudo;
  for (std::size_t i = 1; i < mask.chunks; ++i) {
    copy[i] = load_chunk(front) | load_chunk(mask.ones.data() + i * kChunkBytes);
    front += kChunkBytes;
  }

  std::size_t copied = mask.chunks * kChunkBytes;
  // Copying the rest of a short packet is cheaper than a second call.
  if (rest.size() <= kShortChunks * kChunkBytes) {
    if (!rest.empty()) std::memcpy(bytes + copied, rest.data(), rest.size());
    copied += rest.size();
    rest = {};
  }
  std::uint32_t value = crc(0, bytes, copied);
  if (!rest.empty()) value = crc(value, rest.data(), rest.size());
  end_isal();
  return value;
}

}  // namespace

std::uint32_t icrc(IcrcKind kind, Bytes packet, std::size_t bth) {
  const Mask& mask = kMasks[static_cast<std::size_t>(kind)];
  const std::size_t masked = mask.masked();
  if (bth != mask.bth || packet.size() < masked || packet.size() < bth + kBthBytes) [[unlikely]] {
    if (bth > packet.size()) return 0;
    return icrc_in_pieces(kind, packet.first(bth), packet.subspan(bth));
  }
  return masked_icrc(mask, packet.data(), packet.subspan(masked));
}

std::uint32_t icrc(IcrcKind kind, Bytes headers, Bytes rest) {
  const Mask& mask = kMasks[static_cast<std::size_t>(kind)];
  const std::size_t masked = mask.masked() - mask.bth;  // from the BTH on
  if (headers.size() != mask.bth || rest.size() < masked || rest.size() < kBthBytes) [[unlikely]] {
    return icrc_in_pieces(kind, headers, rest);
  }
  std::array<std::uint8_t, kMaxChunks * kChunkBytes> front;
  std::memcpy(front.data(), headers.data(), mask.bth);
  std::memcpy(front.data() + mask.bth, rest.data(), masked);
  return masked_icrc(mask, front.data(), rest.subspan(masked));
}

std::uint32_t icrc_continued(std::uint32_t begun, Bytes more) {
  if (more.empty()) return begun;
  const std::uint32_t value = crc(begun, more.data(), more.size());
  end_isal();
  return value;
}

}  // namespace rpcrdma::wire
