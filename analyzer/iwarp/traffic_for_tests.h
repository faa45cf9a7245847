// Builds the TCP segments of iWARP connections, and records what a reader finds in them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/iwarp/reader.h>
#include <rpcrdma/wire/crc32c.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::iwarp {

using ByteVector = std::vector<std::uint8_t>;

inline void put16(ByteVector& to, std::uint32_t v) {
  to.push_back(static_cast<std::uint8_t>(v >> 8U));
  to.push_back(static_cast<std::uint8_t>(v));
}
inline void put32(ByteVector& to, std::uint32_t v) {
  put16(to, v >> 16U);
  put16(to, v & 0xffffU);
}
inline void put64(ByteVector& to, std::uint64_t v) {
  put32(to, static_cast<std::uint32_t>(v >> 32U));
  put32(to, static_cast<std::uint32_t>(v));
}
inline void put(ByteVector& to, std::span<const std::uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Bytes that differ from place to place.
inline ByteVector pattern(std::size_t size, std::uint32_t seed) {
  ByteVector bytes(size);
  for (std::uint8_t& b : bytes) {
    seed = seed * 1664525U + 1013904223U;
    b = static_cast<std::uint8_t>(seed >> 24U);
  }
  return bytes;
}

struct Options {
  std::array<bool, 2> markers{};  // that each side wants to receive
  std::array<bool, 2> crc{true, true};
  bool enhanced = false;
  bool peer_to_peer = false;
  bool ipv6 = false;
  bool ip_ids = true;
  std::size_t segment = 1460;      // bytes of a TCP segment
  std::size_t ddp_segment = 1400;  // bytes of payload in a DDP segment
  std::array<std::uint32_t, 2> isn{1000, 5000};
  std::uint16_t client_port = 40000;
};

struct TestSegment {
  std::size_t from = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;
  std::uint8_t flags = 0x10;
  std::uint32_t ip_id = 0;
  ByteVector bytes;
  std::size_t wire_length = 0;  // of the payload
};

class Traffic {
 public:
  static constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kAck = 0x10;

  explicit Traffic(Options options = {}) : o(options) {
    next_ = {o.isn[0], o.isn[1]};
    start_ = next_;
  }

  Options o;
  std::vector<TestSegment> segments;

  void connect(bool reject = false) {
    handshake();
    mpa(0, "MPA ID Req Frame", false);
    mpa(1, "MPA ID Rep Frame", reject);
    ack(0);
    if (!reject && o.peer_to_peer) write(0, 1, 0, {});
  }
  void handshake() {
    flag(0, kSyn);
    flag(1, kSyn | kAck);
    flag(0, kAck);
  }
  void close() {
    flag(0, kFin | kAck);
    flag(1, kFin | kAck);
    flag(0, kAck);
  }
  void reset(std::size_t from) { flag(from, kRst | kAck); }

  void send(std::size_t from, const ByteVector& payload, std::uint8_t opcode = 3,
            std::uint32_t stag = 0) {
    untagged(from, opcode, stag, 0, ++sends_[from], payload);
  }
  void write(std::size_t from, std::uint32_t stag, std::uint64_t offset,
             const ByteVector& payload) {
    tagged(from, 0, stag, offset, payload);
  }
  void read_request(std::size_t from, std::uint32_t sink, std::uint64_t sink_offset,
                    std::uint32_t length, std::uint32_t source, std::uint64_t source_offset) {
    ByteVector b;
    put32(b, sink);
    put64(b, sink_offset);
    put32(b, length);
    put32(b, source);
    put64(b, source_offset);
    untagged(from, 1, 0, 1, ++reads_[from], b);
  }
  void read_response(std::size_t from, std::uint32_t sink, std::uint64_t offset,
                     const ByteVector& payload) {
    tagged(from, 2, sink, offset, payload);
  }
  void terminate(std::size_t from, std::uint8_t layer_and_type, std::uint8_t code) {
    untagged(from, 7, 0, 2, 1, {layer_and_type, code, 0, 0});
  }
  // The CRC of the next FPDU is wrong.
  void damage_next() { damage_ = true; }
  void ack(std::size_t from) { flag(from, kAck); }
  // Sends bytes that are no FPDU.
  void raw(std::size_t from, const ByteVector& bytes) { stream(from, bytes); }

  void tagged(std::size_t from, std::uint8_t opcode, std::uint32_t stag, std::uint64_t offset,
              const ByteVector& payload) {
    each(payload, [&](std::size_t at, std::span<const std::uint8_t> part, bool last) {
      ByteVector u{static_cast<std::uint8_t>(last ? 0xc1 : 0x81),
                   static_cast<std::uint8_t>(0x40 | opcode)};
      put32(u, stag);
      put64(u, offset + at);
      put(u, part);
      fpdu(from, u);
    });
  }
  void untagged(std::size_t from, std::uint8_t opcode, std::uint32_t stag, std::uint32_t queue,
                std::uint32_t msn, const ByteVector& payload) {
    each(payload, [&](std::size_t at, std::span<const std::uint8_t> part, bool last) {
      ByteVector u{static_cast<std::uint8_t>(last ? 0x41 : 0x01),
                   static_cast<std::uint8_t>(0x40 | opcode)};
      put32(u, stag);
      put32(u, queue);
      put32(u, msn);
      put32(u, static_cast<std::uint32_t>(at));
      put(u, part);
      fpdu(from, u);
    });
  }
  void fpdu(std::size_t from, const ByteVector& ulpdu) {
    ByteVector plain;
    put16(plain, static_cast<std::uint32_t>(ulpdu.size()));
    put(plain, ulpdu);
    while (plain.size() % 4 != 0) plain.push_back(0);
    const bool markers = o.markers[1 - from];
    ByteVector out;
    std::size_t start = 0;  // of the length word
    const auto word = [&](std::span<const std::uint8_t> four) {
      if (markers && (position_[from] + out.size()) % 512 == 0) {
        const std::size_t back = out.size() < start + 4 && out.empty() ? 0 : out.size() - start;
        if (out.empty()) start = 4;
        put32(out, static_cast<std::uint32_t>(back));
      }
      put(out, four);
    };
    for (std::size_t i = 0; i < plain.size(); i += 4) word(std::span(plain).subspan(i, 4));
    // A marker may stand in front of the CRC, which covers it.
    if (markers && (position_[from] + out.size()) % 512 == 0) {
      put32(out, static_cast<std::uint32_t>(out.size() - start));
    }
    const bool crc = o.crc[0] || o.crc[1];
    std::uint32_t value = crc ? wire::crc32c(out) : 0;
    if (damage_) value ^= 1;
    damage_ = false;
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    position_[from] += out.size();
    stream(from, out);
  }
  // Passes what was collected on, in segments.
  void hold() { hold_ = true; }
  void release() {
    hold_ = false;
    for (std::size_t from = 0; from < 2; ++from) {
      const ByteVector bytes = std::exchange(held_[from], {});
      stream(from, bytes);
    }
  }

 private:
  template <typename Function>
  void each(const ByteVector& payload, const Function& f) {
    std::size_t at = 0;
    do {
      const std::size_t n = std::min(o.ddp_segment, payload.size() - at);
      f(at, std::span(payload).subspan(at, n), at + n == payload.size());
      at += n;
    } while (at < payload.size());
  }
  void mpa(std::size_t from, std::string_view key, bool reject) {
    ByteVector b(key.begin(), key.end());
    b.push_back(static_cast<std::uint8_t>((o.markers[from] ? 0x80 : 0) | (o.crc[from] ? 0x40 : 0) |
                                          (reject ? 0x20 : 0) | (o.enhanced ? 0x10 : 0)));
    b.push_back(o.enhanced ? 2 : 1);
    ByteVector p;
    if (o.enhanced) {
      put16(p, 16U | (o.peer_to_peer ? 0x8000U : 0U));
      put16(p, 8U | (o.peer_to_peer ? 0x8000U : 0U));
    }
    put(p, ByteVector{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3});
    put16(b, static_cast<std::uint32_t>(p.size()));
    put(b, p);
    stream(from, b);
  }
  void stream(std::size_t from, const ByteVector& bytes) {
    if (hold_) return put(held_[from], bytes);
    for (std::size_t at = 0; at < bytes.size(); at += o.segment) {
      const auto part = std::span(bytes).subspan(at, std::min(o.segment, bytes.size() - at));
      segments.push_back({from,
                          next_[from],
                          next_[1 - from],
                          kAck,
                          o.ip_ids ? ++ids_[from] : 0U,
                          {part.begin(), part.end()},
                          part.size()});
      next_[from] += static_cast<std::uint32_t>(part.size());
    }
  }
  void flag(std::size_t from, std::uint8_t flags) {
    segments.push_back(
        {from, next_[from], next_[1 - from], flags, o.ip_ids ? ++ids_[from] : 0U, {}, 0});
    if ((flags & (kSyn | kFin)) != 0) ++next_[from];
  }

  std::array<std::uint32_t, 2> next_{}, start_{};
  std::array<std::uint64_t, 2> position_{};  // in the stream of FPDUs
  std::array<std::uint32_t, 2> sends_{}, reads_{};
  std::array<std::uint32_t, 2> ids_{};
  std::array<ByteVector, 2> held_;
  bool hold_ = false, damage_ = false;
};

// One event of a reader.
struct Seen {
  char kind = 0;  // s: Send, w: Write, r: Read
  std::size_t side = 0;
  ByteVector bytes;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  bool complete = false;
  bool suspect = false;
  std::uint64_t frame = 0;
  friend bool operator==(const Seen& a, const Seen& b) {
    return a.kind == b.kind && a.side == b.side && a.bytes == b.bytes && a.handle == b.handle &&
           a.offset == b.offset && a.complete == b.complete;
  }
};

class Recorder final : public roce::Listener {
 public:
  std::vector<Seen> seen;
  int opened = 0, closed = 0, evicted = 0, mpa = 0;
  std::uint64_t retransmissions = 0;
  roce::Connection last;  // as it was when it was closed

  void on_mpa(const roce::MpaMessage& /*event*/) override { ++mpa; }
  void on_open(const roce::Connection& /*c*/) override { ++opened; }
  void on_close(const roce::Connection& c) override {
    ++closed;
    last = c;
  }
  void on_evict(const roce::Connection& /*c*/) override { ++evicted; }
  void on_send(const roce::Connection& /*c*/, const roce::SendMessage& m) override {
    seen.push_back({'s',
                    m.sender,
                    {m.data.begin(), m.data.end()},
                    m.has_invalidate ? m.invalidate_handle : 0,
                    0,
                    m.complete,
                    m.suspect,
                    m.frame});
  }
  void on_operation(const roce::Connection& /*c*/, roce::Operation& op) override {
    op.want_data = true;
    op.tag = open.size();
    open.emplace_back(op.length);
  }
  void on_data(const roce::OperationData& e) override {
    ByteVector& to = open[e.op.tag];
    ASSERT_LE(e.offset + e.data.size(), to.size());
    std::copy(e.data.begin(), e.data.end(), to.begin() + static_cast<std::ptrdiff_t>(e.offset));
  }
  void on_operation_end(const roce::Connection& /*c*/, const roce::Operation& op) override {
    seen.push_back({op.kind == roce::OpKind::kRead ? 'r' : 'w', op.initiator, open[op.tag],
                    op.handle, op.offset, op.complete, op.suspect, op.last_frame});
  }
  void on_retransmission(const roce::Retransmission& e) override { retransmissions += e.count; }

  std::vector<ByteVector> open;
};

// A reader with what it finds.
class Reading {
 public:
  Recorder found;
  roce::ConnectionNumbers numbers;
  Reader reader{found, numbers};
  std::uint64_t frame = 0;
  std::int64_t time_ns = 1'000'000'000;
  std::int64_t step_ns = 100'000;

  bool feed(const TestSegment& s, const Options& o = {}) {
    ByteVector tcp;
    const std::array<std::uint16_t, 2> port{o.client_port, 20049};
    put16(tcp, port[s.from]);
    put16(tcp, port[1 - s.from]);
    put32(tcp, s.sequence);
    put32(tcp, s.acknowledged);
    tcp.push_back(0x50);
    tcp.push_back(s.flags);
    put16(tcp, 0xffff);
    put32(tcp, 0);
    put(tcp, s.bytes);
    capture::IpPacket ip;
    const std::array<std::uint8_t, 16> a{10, 0, 0, 1}, b{10, 0, 0, 2};
    const auto make = o.ipv6 ? capture::make_ipv6 : capture::make_ipv4;
    ip.src = make((s.from == 0 ? a : b).data());
    ip.dst = make((s.from == 0 ? b : a).data());
    ip.protocol = 6;
    ip.id = s.ip_id;
    ip.payload = tcp;
    ip.wire_payload = 20 + s.wire_length;
    time_ns += step_ns;
    return reader.packet(ip, {++frame, time_ns});
  }
  void feed(const Traffic& t) {
    for (const TestSegment& s : t.segments) (void)feed(s, t.o);
  }
  void feed(const std::vector<TestSegment>& list, const Options& o) {
    for (const TestSegment& s : list) (void)feed(s, o);
  }
};

}  // namespace rpcrdma::iwarp
