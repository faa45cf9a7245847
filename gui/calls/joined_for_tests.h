// Recordings of both ends of a connection: the client's and the server's, with the times of each
// step of their Calls. The server's clock is ahead.
#pragma once

#include "support/trace_builder.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace rpcrdma::gui::joined {

// Nanoseconds from when the Call was made, by the client's clock.
struct JoinedTimes {
  static constexpr std::int64_t kWaitFrom = 2'000, kWaitTo = 52'000;  // for a credit
  static constexpr std::int64_t kSent = 60'000;
  static constexpr std::int64_t kArrived = 80'000;   // at the server
  static constexpr std::int64_t kRead = 100'000;     // its Read chunks
  static constexpr std::int64_t kReplied = 395'000;  // the server
  static constexpr std::int64_t kBack = 415'000;     // the Reply, at the client
  static constexpr std::int64_t kEnded = 431'000;    // at the client
  static constexpr std::int64_t kFreed = 440'000;    // at the server
};
inline constexpr std::int64_t kServerAheadNs = 3'000'000;
inline constexpr std::uint32_t kJoinedFirstXid = 0x100;
inline constexpr std::uint32_t kJoinedCalls = 8;

inline void put_word(std::vector<std::uint8_t>& to, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    to.push_back(static_cast<std::uint8_t>(word >> static_cast<unsigned>(shift)));
  }
}

// An inline message with the header of RPC-over-RDMA version 1.
inline std::vector<std::uint8_t> joined_message(std::uint32_t xid, bool reply) {
  std::vector<std::uint8_t> bytes;
  const std::vector<std::uint32_t> header{xid, 1, 32, 0, 0, 0, 0};
  const std::vector<std::uint32_t> rpc =
      reply ? std::vector<std::uint32_t>{xid, 1, 0, 0, 0, 0}
            : std::vector<std::uint32_t>{xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0};
  for (const std::uint32_t word : header) put_word(bytes, word);
  for (const std::uint32_t word : rpc) put_word(bytes, word);
  return bytes;
}

// Writes the recording of one end and returns its path.
inline std::string joined_recording(const std::string& folder, bool client) {
  using T = JoinedTimes;
  trace_reader::testing::TraceBuilder trace;
  trace.step = 0;
  if (!client) trace.wall += kServerAheadNs;
  trace.begin(client ? "client" : "server", client ? "client" : "server", client ? 1 : 2);
  trace::Connection c = trace_reader::testing::plain_connection();
  if (!client) {
    std::swap(c.local, c.peer);
    std::swap(c.local_qpn, c.peer_qpn);
    c.active = 0;
  }
  trace_reader::testing::emit_plain_connection(trace, 1, c);
  const auto send = [&](std::uint8_t side, const std::vector<std::uint8_t>& bytes) {
    trace::Message m;
    m.side = side;
    m.length = static_cast<std::uint32_t>(bytes.size());
    trace.emit(1, m, bytes);
  };
  const std::int64_t begun = trace.now;
  for (std::uint32_t i = 0; i < kJoinedCalls; ++i) {
    const std::uint32_t xid = kJoinedFirstXid + i;
    const std::int64_t made = begun + (i + 1) * std::int64_t{1'000'000};
    trace::CallEnd end;
    end.xid = xid;
    end.side = client ? 0 : 1;
    end.attempts = 1;
    if (client) {
      for (const bool begins : {true, false}) {
        trace.now = made + (begins ? T::kWaitFrom : T::kWaitTo);
        trace::CreditWait wait;
        wait.xid = xid;
        wait.begun = begins ? 1 : 0;
        trace.emit(1, wait);
      }
    }
    trace.now = made + (client ? T::kSent : T::kArrived);
    send(client ? 0 : 1, joined_message(xid, false));
    trace.now = made + (client ? T::kBack : T::kReplied);
    send(client ? 1 : 0, joined_message(xid, true));
    trace.now = made + (client ? T::kEnded : T::kFreed);
    end.called = made + (client ? 0 : T::kArrived);
    end.sent = made + (client ? T::kSent : T::kRead);
    end.replied = made + (client ? T::kBack : T::kReplied);
    end.ended = trace.now;
    trace.emit(1, end);
  }
  trace::ConnectionEnd over;
  over.side = client ? 0 : 1;
  over.established = 1;
  trace.emit(1, over);
  trace.end();
  const std::string path = folder + (client ? "/client.pcapng" : "/server.pcapng");
  const auto bytes = trace.pcapng();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace rpcrdma::gui::joined
