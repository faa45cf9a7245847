// Makes halves of Calls as sources with clocks of their own would show them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends::testing {

inline constexpr std::int64_t kUs = 1000;
inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

// What one Call takes; by the clock of the client.
struct Taken {
  std::int64_t slot = 0, credit = 0, post = 5 * kUs;
  std::int64_t there = 20 * kUs, decode = 3 * kUs, read = 0, execute = 40 * kUs, write = 0;
  std::int64_t back = 20 * kUs, wake = 5 * kUs;
};

inline SourceHalves source(const std::string& file, PointKind kind, std::uint8_t host = 1) {
  SourceHalves s;
  s.file = file;
  HalfConnection c;
  c.kind = kind;
  c.id = 1;
  for (std::size_t side = 0; side < 2; ++side) {
    c.address.at(side).kind = capture::AddressKind::kIpv4;
    c.address.at(side).bytes = {10, 0, host, static_cast<std::uint8_t>(1 + side)};
    c.qpn.at(side) = static_cast<std::uint32_t>(17 + side);
  }
  s.connections.push_back(c);
  s.names = {"", "NFS v3 READ"};
  return s;
}

// Client, wire in the middle of the network, and server. The server's clock is ahead by `offset`.
struct Points {
  SourceHalves client = source("client", PointKind::kClient);
  SourceHalves wire = source("wire", PointKind::kWire);
  SourceHalves server = source("server", PointKind::kServer);
  std::int64_t offset = 1'000 * kMs;
  double drift_ppm = 0;
  std::uint32_t xid = 1;
  std::int64_t now = kStart;

  std::int64_t at_server(std::int64_t t) const {
    return t + offset +
           static_cast<std::int64_t>(static_cast<double>(t - kStart) * drift_ppm * 1e-6);
  }

  void call(const Taken& t) {
    HalfCall c;
    c.xid = xid++;
    c.program = 100003;
    c.version = 3;
    c.procedure = 6;
    c.name = 1;
    c.named = true;
    HalfCall w = c, s = c;
    c.called_ns = now;
    c.slot_wait = t.slot;
    c.credit_wait = t.credit;
    c.call_ns = c.call_first_ns = now + t.slot + t.credit + t.post;
    w.call_ns = w.call_first_ns = c.call_ns + t.there / 2;
    const std::int64_t arrived = c.call_ns + t.there;
    s.call_ns = s.call_first_ns = at_server(arrived);
    const std::int64_t read = arrived + t.decode;
    s.delivered_ns = at_server(read + t.read);
    const std::int64_t written = read + t.read + t.execute;
    const std::int64_t replied = written + t.write;
    if (t.read != 0) {
      s.read_began_ns = at_server(read);
      s.read_ended_ns = s.delivered_ns;
    }
    if (t.write != 0) {
      s.write_began_ns = at_server(written);
      s.write_ended_ns = at_server(replied);
    }
    s.reply_ns = s.reply_first_ns = at_server(replied);
    s.ended_ns = at_server(replied + t.back + t.there);
    w.reply_ns = w.reply_first_ns = replied + t.back / 2;
    w.acknowledged_after = t.there - t.there / 2 + t.back / 2;
    c.reply_ns = c.reply_first_ns = replied + t.back;
    c.ended_ns = c.reply_ns + t.wake;
    now = c.ended_ns + 100 * kUs;
    client.calls.push_back(c);
    wire.calls.push_back(w);
    server.calls.push_back(s);
  }
  // Some jitter, so that clocks can be aligned.
  void calls(int n, Taken t = {}) {
    for (int i = 0; i < n; ++i) {
      Taken one = t;
      one.there += i * 7 % 13 * kUs;
      one.back += i * 5 % 11 * kUs;
      call(one);
    }
  }
  Ends both(const EndsOptions& options = {}) const { return join({client, server}, options); }
};

}  // namespace rpcrdma::ends::testing
