// Stores the fragments of each datagram until all are there. A complete datagram stays for a while,
// so that late copies of its fragments (a mirror that shows each packet twice) are recognized.
#include <algorithm>
#include <cstring>

#include <rpcrdma/capture/fragments.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kMaxPairs = 256;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::uint32_t kMaxDatagram = 65535;
// Identifications wrap within seconds on a fast link. After this time, a fragment that contradicts
// the others belongs to the next datagram with the same identification.
constexpr std::int64_t kReuse = 1'000'000'000;

bool longer_than(std::int64_t from_ns, std::int64_t to_ns, std::int64_t limit_ns) {
  return to_ns > from_ns &&
         static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns) >
             static_cast<std::uint64_t>(limit_ns);
}

bool same_bytes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  const std::size_t n = std::min(a.size(), b.size());
  return n == 0 || std::memcmp(a.data(), b.data(), n) == 0;
}

}  // namespace

std::size_t Fragments::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = hash_value(key.src) * 31 + hash_value(key.dst);
  h = (h ^ key.id) * 0x9e3779b97f4a7c15ULL;
  h ^= h >> 29;
  return (h ^ key.point ^ key.protocol) * 0xff51afd7ed558ccdULL;
}

bool Fragments::known_pair(const Key& key) const {
  const std::uint64_t pair = hash_value(key.src) * 31 + hash_value(key.dst);
  return std::find(pairs_.begin(), pairs_.end(), pair) != pairs_.end();
}

void Fragments::note_pair(const Key& key) {
  if (known_pair(key) || pairs_.size() == kMaxPairs) return;
  pairs_.push_back(hash_value(key.src) * 31 + hash_value(key.dst));
}

void Fragments::begin(const Key& key, std::int64_t time_ns) {
  Datagram& d = open_.emplace_back();
  d.key = key;
  d.first_ns = time_ns;
  by_key_[key] = std::prev(open_.end());
  bytes_ += memory(d);
}

void Fragments::end(List& list, List::iterator at, bool evicted) {
  const Datagram& d = *at;
  if (d.whole == 0 && (d.to_rdma || (d.header.empty() && known_pair(d.key)))) {
    // Fragments of a datagram without its first one were not counted when they came.
    if (!d.to_rdma) counts_.fragments += d.frames;
    ++counts_.incomplete;
    counts_.incomplete_frames += d.frames;
    counts_.evicted += evicted ? 1 : 0;
  }
  bytes_ -= memory(d);
  by_key_.erase(d.key);
  list.erase(at);
}

void Fragments::make_room(std::int64_t time_ns) {
  for (List* const list : {&open_, &done_}) {
    while (!list->empty() && longer_than(list->front().first_ns, time_ns, limits_.timeout_ns)) {
      end(*list, list->begin(), false);
    }
  }
  while (by_key_.size() >= limits_.datagrams) {
    List& list = done_.empty() ? open_ : done_;
    end(list, list.begin(), true);
  }
}

// Drops others than `grown`, the oldest first.
void Fragments::bound_bytes(List::iterator grown) {
  for (List* const list : {&done_, &open_}) {
    for (auto at = list->begin(); bytes_ > limits_.bytes && at != list->end();) {
      const auto oldest = at++;
      if (oldest != grown) end(*list, oldest, true);
    }
  }
}

Fragments::Fit Fragments::fit(const Datagram& d, const IpPacket& ip) {
  const auto length = static_cast<std::uint32_t>(ip.wire_payload);
  const std::uint32_t to = ip.fragment_offset + length;
  const auto at = std::lower_bound(d.pieces.begin(), d.pieces.end(), ip.fragment_offset,
                                   [](const Piece& p, std::uint32_t o) { return p.offset < o; });
  if (at != d.pieces.end() && at->offset == ip.fragment_offset) {
    const auto stored = std::span(d.payload).subspan(at->offset, at->captured);
    const bool same = at->length == length && same_bytes(stored, ip.payload) &&
                      (ip.more_fragments || d.total == to);
    return same ? Fit::kAgain : Fit::kConflict;
  }
  if (d.whole != 0) return Fit::kConflict;
  if (at != d.pieces.end() && at->offset < to) return Fit::kConflict;
  if (at != d.pieces.begin() &&
      std::prev(at)->offset + std::prev(at)->length > ip.fragment_offset) {
    return Fit::kConflict;
  }
  const std::uint32_t furthest =
      d.pieces.empty() ? 0 : d.pieces.back().offset + d.pieces.back().length;
  if (d.total != 0 && (to > d.total || !ip.more_fragments)) return Fit::kConflict;
  return !ip.more_fragments && furthest > to ? Fit::kConflict : Fit::kNew;
}

std::size_t Fragments::memory(const Datagram& d) {
  return sizeof(Datagram) + d.header.size() + d.payload.size() + d.pieces.size() * sizeof(Piece);
}

void Fragments::drop(Datagram& d) {
  bytes_ -= memory(d);
  d.conflicting = true;
  d.payload = {};
  d.pieces = {};
  bytes_ += memory(d);
}

void Fragments::insert(Datagram& d, const Frame& frame, const IpPacket& ip) {
  const auto length = static_cast<std::uint32_t>(ip.wire_payload);
  bytes_ -= memory(d);
  if (d.payload.size() < ip.fragment_offset + ip.payload.size()) {
    d.payload.resize(ip.fragment_offset + ip.payload.size());
  }
  std::copy(ip.payload.begin(), ip.payload.end(),
            d.payload.begin() + static_cast<std::ptrdiff_t>(ip.fragment_offset));
  const auto at = std::lower_bound(d.pieces.begin(), d.pieces.end(), ip.fragment_offset,
                                   [](const Piece& p, std::uint32_t o) { return p.offset < o; });
  d.pieces.insert(at,
                  {ip.fragment_offset, length, static_cast<std::uint32_t>(ip.payload.size()), 1});
  d.covered += length;
  if (!ip.more_fragments) d.total = ip.fragment_offset + length;
  if (ip.fragment_offset == 0) {
    d.header.assign(ip.header.begin(), ip.header.end());
    d.protocol = ip.protocol;
    d.tunnels = ip.tunnels;
    TransportPacket unused;
    d.to_rdma = dissect_link(frame, unused, options_) == LinkResult::kFragment;
    if (d.to_rdma) {
      note_pair(d.key);
      counts_.fragments += d.frames - 1;  // this one is counted by add()
    }
  }
  bytes_ += memory(d);
}

// The header as it was before the datagram was fragmented, as its ICRC covers it.
void Fragments::build(const Datagram& d, const Frame& frame, Frame& whole) {
  built_.assign(d.header.begin(), d.header.end());
  std::uint8_t* const h = built_.data();
  if (d.key.src.kind == AddressKind::kIpv4) {
    wire::store_be16(h + 2, static_cast<std::uint16_t>(d.header.size() + d.total));
    wire::store_be16(h + 6, static_cast<std::uint16_t>(wire::load_be16(h + 6) & 0xc000U));
  } else {
    wire::store_be16(h + 4, static_cast<std::uint16_t>(d.header.size() - kIpv6Bytes + d.total));
    std::size_t next = 6, at = kIpv6Bytes;
    while (at + 2 <= d.header.size()) {
      next = at;
      at += (std::size_t{h[at + 1]} + 1) * 8;
    }
    h[next] = d.protocol;
  }
  const auto cut = std::find_if(d.pieces.begin(), d.pieces.end(),
                                [](const Piece& p) { return p.captured != p.length; });
  const std::size_t captured = cut == d.pieces.end() ? d.total : cut->offset + cut->captured;
  built_.insert(built_.end(), d.payload.begin(),
                d.payload.begin() + static_cast<std::ptrdiff_t>(captured));
  whole = frame;
  whole.link = LinkType::kRaw;
  whole.data = built_;
  whole.original = static_cast<std::uint32_t>(d.header.size() + d.total);
}

bool Fragments::add(const Frame& frame, Frame& whole) {
  IpPacket ip;
  if (!find_ip(frame, ip, options_) || !ip.fragment() || ip.wire_payload == 0) return false;
  if (ip.fragment_offset + ip.wire_payload > kMaxDatagram) return false;
  if (ip.more_fragments && ip.wire_payload % 8 != 0) return false;

  // Only the first fragment of an IPv6 datagram names its protocol.
  const Key key{ip.src, ip.dst, std::uint64_t{frame.lane} << 32U | frame.interface, ip.id,
                ip.src.kind == AddressKind::kIpv4 ? ip.protocol : std::uint8_t{0}};
  auto found = by_key_.find(key);
  if (found != by_key_.end() &&
      longer_than(found->second->first_ns, frame.time_ns, limits_.timeout_ns)) {
    end(found->second->whole == 0 ? open_ : done_, found->second, false);
    found = by_key_.end();
  }
  Fit how = Fit::kNew;
  if (found != by_key_.end()) {
    Datagram& d = *found->second;
    how = fit(d, ip);
    const bool reused = d.whole != 0 || longer_than(d.first_ns, frame.time_ns, kReuse);
    if ((how == Fit::kConflict || d.conflicting) && reused) {
      end(d.whole == 0 ? open_ : done_, found->second, false);
      found = by_key_.end();
      how = Fit::kNew;
    }
  }
  if (found == by_key_.end()) {
    make_room(frame.time_ns);
    begin(key, frame.time_ns);
    found = by_key_.find(key);
  }
  const List::iterator at = found->second;
  Datagram& d = *at;
  ++d.frames;
  if (how == Fit::kConflict) drop(d);
  if (how == Fit::kNew && !d.conflicting) {
    insert(d, frame, ip);
    bound_bytes(at);
  }
  counts_.fragments += d.to_rdma ? 1 : 0;
  if (d.conflicting) return false;
  if (how == Fit::kNew) {
    if (d.total == 0 || d.covered != d.total) return false;
    const std::size_t fixed = d.key.src.kind == AddressKind::kIpv4 ? 0 : kIpv6Bytes;
    if (d.header.size() - fixed + d.total > kMaxDatagram) {
      drop(d);
      return false;
    }
    done_.splice(done_.end(), open_, at);
  } else {
    const auto piece =
        std::lower_bound(d.pieces.begin(), d.pieces.end(), ip.fragment_offset,
                         [](const Piece& p, std::uint32_t o) { return p.offset < o; });
    if (piece->times++ != d.whole || d.whole == 0 || --d.behind != 0) return false;
  }
  // Copies of fragments that came early may already complete it twice.
  ++d.whole;
  d.behind = static_cast<std::size_t>(std::count_if(
      d.pieces.begin(), d.pieces.end(), [&d](const Piece& p) { return p.times == d.whole; }));
  counts_.datagrams += d.to_rdma ? 1 : 0;
  build(d, frame, whole);
  tunnels_ = d.tunnels;
  return true;
}

void Fragments::finish() {
  while (!open_.empty()) end(open_, open_.begin(), false);
  while (!done_.empty()) end(done_, done_.begin(), false);
}

}  // namespace rpcrdma::capture
