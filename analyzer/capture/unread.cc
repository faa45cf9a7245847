// Names what a frame without a RoCE packet may carry: tunnels that cannot be read, fragments,
// iWARP, unknown types.
#include "walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/capture/pause.h>
#include <rpcrdma/capture/unread.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;
using wire::load_be32;
using Bytes = std::span<const std::uint8_t>;
using Kind = UnreadKind;

std::uint64_t mix(std::uint64_t hash, Bytes bytes) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;  // FNV-1a
  return hash;
}
constexpr std::uint64_t kSeed = 0xcbf29ce484222325ULL;

// Returns whether a side's first bytes begin MPA (RFC 5044 section 7.1).
bool begins_mpa(Bytes payload) {
  constexpr std::string_view kRequest = "MPA ID Req Frame";
  constexpr std::string_view kReply = "MPA ID Rep Frame";
  const auto begins = [&](std::string_view key) {
    return payload.size() >= key.size() && std::memcmp(payload.data(), key.data(), key.size()) == 0;
  };
  return begins(kRequest) || begins(kReply);
}

// Returns how many NFS Calls the segment begins, in record marking (RFC 5531 section 11). Records
// that began in an earlier segment are not found.
std::uint32_t nfs_calls(Bytes payload) {
  constexpr std::uint32_t kMost = 64;
  constexpr std::size_t kHeader = 24;  // record mark to program version
  constexpr std::uint32_t kLength = 0x7fffffff;
  constexpr std::uint32_t kCall = 0, kRpcVersion = 2, kNfs = 100003;
  std::uint32_t calls = 0;
  while (calls < kMost && payload.size() >= kHeader) {
    const std::uint8_t* const p = payload.data();
    const std::size_t record = 4 + std::size_t{load_be32(p) & kLength};
    if (record < kHeader || load_be32(p + 8) != kCall || load_be32(p + 12) != kRpcVersion ||
        load_be32(p + 16) != kNfs) {
      break;
    }
    ++calls;
    payload = payload.subspan(std::min(record, payload.size()));
  }
  return calls;
}

// `src` and `dst` are IP addresses.
Unread tcp(Bytes segment, Bytes src, Bytes dst) {
  constexpr std::size_t kHeader = 20;
  if (segment.size() < kHeader) return {};
  // Each end is hashed by itself, so both directions have the same value.
  const std::uint64_t flow =
      mix(mix(kSeed, src), segment.first(2)) + mix(mix(kSeed, dst), segment.subspan(2, 2));
  const auto header = static_cast<std::size_t>(segment[12] >> 4U) * 4;
  constexpr std::uint16_t kNfsPort = 2049;
  if (header > segment.size()) return {Kind::kTcp, 0, flow};
  if (load_be16(segment.data() + 2) == kNfsPort) {
    const std::uint32_t calls = nfs_calls(segment.subspan(header));
    if (calls != 0) return {Kind::kNfsTcp, calls, flow};
  }
  const bool mpa = begins_mpa(segment.subspan(header));
  return {mpa ? Kind::kIwarp : Kind::kTcp, 0, flow};
}

// IP addresses as they are in the packet.
struct Ends {
  Bytes src, dst;
};
Ends ends(const IpView& ip) {
  const std::size_t at = ip.version == 4 ? 12 : 8, bytes = ip.version == 4 ? 4 : 16;
  return {ip.packet.subspan(at, bytes), ip.packet.subspan(at + bytes, bytes)};
}

Unread fragment(const IpView& ip) {
  const Ends of = ends(ip);
  std::array<std::uint8_t, 4> id;
  wire::store_be32(id.data(), ip.id);
  const std::uint64_t datagram = mix(mix(mix(kSeed, of.src), of.dst), id);
  return {ip.fragment_offset == 0 ? Kind::kFragment : Kind::kLaterFragment, 0, datagram};
}

// Link types that are not decoded, from www.tcpdump.org/linktypes.html.
const char* link_type_name(std::uint32_t type) {
  constexpr std::uint32_t kFirstUser = 147, kLastUser = 162;
  if (type >= kFirstUser && type <= kLastUser) return "reserved for private use";
  switch (type) {
    case 3:
      return "AX.25";
    case 6:
      return "IEEE 802.5 token ring";
    case 7:
      return "ARCNET";
    case 8:
      return "SLIP";
    case 10:
      return "FDDI";
    case 100:
      return "LLC/SNAP over ATM";
    case 105:
      return "IEEE 802.11";
    case 107:
      return "frame relay";
    case 117:
      return "OpenBSD pflog";
    case 119:
      return "IEEE 802.11 with a Prism header";
    case 122:
      return "IP over Fibre Channel";
    case 127:
      return "IEEE 802.11 radiotap";
    case 138:
      return "IP over IEEE 1394 (macOS)";
    case 143:
      return "DOCSIS";
    case 163:
      return "IEEE 802.11 with an AVS header";
    case 187:
    case 201:
      return "Bluetooth HCI";
    case 189:
    case 220:
    case 249:
      return "USB";
    case 195:
    case 230:
      return "IEEE 802.15.4";
    case 224:
      return "Fibre Channel FC-2";
    case 225:
      return "Fibre Channel FC-2 with delimiters";
    case 227:
      return "CAN";
    case 253:
      return "netlink";
    case 271:
      return "vsock";
    default:
      return nullptr;
  }
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTooDeep:
      return "too many nested tunnels";
    case Kind::kEncryptedMacsec:
      return "encrypted MACsec";
    case Kind::kIpsec:
      return "IPsec";
    case Kind::kL2tp:
      return "L2TP";
    case Kind::kWireGuard:
      return "WireGuard";
    case Kind::kDtls:
      return "DTLS";
    case Kind::kCompressedPpp:
      return "compressed or encrypted PPP";
    case Kind::kIwarp:
      return "iWARP";
    case Kind::kFragment:
      return "IP fragments";
    default:
      return "something else";
  }
}

std::uint64_t key_of(Kind kind, std::uint32_t detail) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | detail;
}

}  // namespace

Unread unread_of(const Frame& frame, LinkResult result, const LinkOptions& options) {
  if (result == LinkResult::kRoce || result == LinkResult::kCutShort ||
      result == LinkResult::kUpperPdu) {
    return {};
  }
  Tunnels tunnels;
  Walk walk(options, tunnels);
  walk_frame(frame, walk);
  switch (walk.end) {
    case WalkEnd::kUnread:
      if (walk.unread == Kind::kPause) return pause_of(frame, walk.rest);
      return {walk.unread, walk.detail};
    case WalkEnd::kUnknownLink:
      return {Kind::kLinkType, static_cast<std::uint32_t>(frame.link)};
    case WalkEnd::kFragment:
      return fragment(walk.ip);
    case WalkEnd::kTcp: {
      const Ends of = ends(walk.ip);
      return tcp(walk.rest, of.src, of.dst);
    }
    default:
      return {};
  }
}

std::string unread_name(UnreadKind kind, std::uint32_t detail) {
  switch (kind) {
    case Kind::kEtherType:
      return fmt::format("ethertype {:#06x}", detail);
    case Kind::kErfType:
      return fmt::format("ERF type {}", detail);
    case Kind::kPppProtocol:
      return fmt::format("PPP protocol {:#06x}", detail);
    case Kind::kTunnel: {
      const char* const name = tunnel_name(static_cast<TunnelKind>(detail & 0xff));
      return fmt::format("{}{}", name, (detail & kTruncatedTunnel) != 0 ? " (truncated)" : "");
    }
    case Kind::kLinkType: {
      const char* const name = link_type_name(detail);
      return name == nullptr ? fmt::format("link type {}", detail)
                             : fmt::format("link type {} ({})", detail, name);
    }
    default:
      return kind_name(kind);
  }
}

std::string unread_text(const std::map<std::string, std::uint64_t>& by_name) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::pair<std::string, std::uint64_t>> kinds(by_name.begin(), by_name.end());
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  std::uint64_t more = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& [name, frames] = kinds[i];
    if (i < kNamed) {
      text += fmt::format("{}{} frame{} in {}", i == 0 ? "" : ", ", frames, frames == 1 ? "" : "s",
                          name);
    } else {
      more += frames;
    }
  }
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

void UnreadFrames::Flows::add(std::uint64_t flow) {
  if (has(flow)) return;
  ring_[next_] = flow;
  next_ = (next_ + 1) % ring_.size();
  size_ = std::max(size_, next_ == 0 ? ring_.size() : next_);
}

bool UnreadFrames::Flows::has(std::uint64_t flow) const {
  const auto end = ring_.begin() + static_cast<std::ptrdiff_t>(size_);
  return std::find(ring_.begin(), end, flow) != end;
}

void UnreadFrames::note(const Unread& unread) {
  Kind kind = unread.kind;
  switch (kind) {
    case Kind::kNothing:
    case Kind::kNfsTcp:
    case Kind::kPause:
      return;
    case Kind::kIwarp:
      iwarp_.add(unread.flow);
      break;
    case Kind::kTcp:
      if (!iwarp_.has(unread.flow)) return;
      kind = Kind::kIwarp;
      break;
    case Kind::kFragment:
      fragments_.add(unread.flow);
      break;
    case Kind::kLaterFragment:
      if (!fragments_.has(unread.flow)) return;
      kind = Kind::kFragment;
      break;
    default:
      break;
  }
  const std::uint64_t key = key_of(kind, unread.detail);
  if (const auto at = counts_.find(key); at != counts_.end()) {
    ++at->second;
  } else if (counts_.size() < kMostKinds) {
    counts_.emplace(key, 1);
  } else {
    ++others_;
  }
}

std::map<std::string, std::uint64_t> UnreadFrames::by_name() const {
  std::map<std::string, std::uint64_t> names;
  for (const auto& [key, count] : counts_) {
    names[unread_name(static_cast<Kind>(key >> 32), static_cast<std::uint32_t>(key))] += count;
  }
  if (others_ != 0) names["something else"] += others_;
  return names;
}

}  // namespace rpcrdma::capture
