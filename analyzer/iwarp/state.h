// The reader's internal state; reader.cc explains how it is used.
#pragma once

#include "early_segments.h"
#include "fpdu_stream.h"
#include "mpa.h"
#include "tcp_stream.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/iwarp/reader.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/roce/idle_order.h>

namespace rpcrdma::iwarp {

struct End {
  capture::Address address;
  std::uint16_t port = 0;
  friend bool operator==(const End&, const End&) = default;
};

// Both directions of a TCP connection have the same key.
struct FlowKey {
  End low, high;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

[[nodiscard]] inline std::uint64_t hash_value(const FlowKey& k) {
  std::uint64_t hash =
      capture::hash_value(k.low.address) * 31 + capture::hash_value(k.high.address);
  hash ^= (std::uint64_t{k.low.port} << 16 | k.high.port) * 0x9e3779b97f4a7c15ULL;
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ hash >> 32;
}
struct KeyHash {
  std::size_t operator()(const FlowKey& k) const { return hash_value(k); }
};

// A Send of several DDP segments.
struct SendAssembly {
  bool active = false;
  bool skipping = false;       // its beginning is missing
  std::uint32_t sequence = 0;  // MSN
  std::vector<std::uint8_t> buffer;
  roce::SendMessage message;
};

// An RDMA Write of several DDP segments. Its length is known with the last one.
struct WriteAssembly {
  bool active = false;
  bool whole = true;  // no segment of it is missing
  roce::Operation op;
  std::uint64_t length = 0;
  struct Piece {
    std::uint64_t offset = 0;  // in the operation
    std::size_t begin = 0;     // in `buffer`
    std::size_t size = 0;
  };
  std::vector<Piece> pieces;
  std::vector<std::uint8_t> buffer;
};

struct ReadInFlight {
  roce::Operation op;
  std::uint32_t sink_stag = 0;
  std::uint64_t sink_offset = 0;
};

// What one side sends.
struct Direction {
  enum class Stage : std::uint8_t {
    kFirst,   // nothing was seen, or the beginning of an MPA frame
    kSetUp,   // its MPA frame was seen, and no FPDU
    kStream,  // FPDUs, or their search
  };
  Stage stage = Stage::kFirst;
  bool syn = false;  // its SYN was seen
  std::uint32_t isn = 0;
  bool fin = false;
  bool any_fpdu = false;
  TcpStream tcp;
  FpduStream fpdus;
  std::vector<std::uint8_t> first_bytes;
  bool mpa_known = false;
  bool wants_markers = false, wants_crc = false;  // by its MPA frame
  roce::SideCounters counters;                    // what TCP shows, before and after it is known
  SendAssembly send;
  WriteAssembly write;
  std::deque<ReadInFlight> reads;  // that it requested
  std::uint32_t order = 0;         // in place of PSNs
};

struct State;

struct Flow {
  FlowKey key;
  std::array<End, 2> end;
  std::array<Direction, 2> direction;  // by the end that sends
  EarlySegments early;
  std::uint8_t first = 0;       // the end that is side 0 of the connection
  State* connection = nullptr;  // null: not known to be iWARP
  bool peer_to_peer = false;
  bool closed = false;
  bool rejected = false;   // it is not iWARP, and is forgotten when its segment is done
  std::size_t memory = 0;  // that it holds, bytes

  [[nodiscard]] std::size_t side_of(std::size_t end_index) const { return end_index ^ first; }
  [[nodiscard]] Direction& of_side(std::size_t side) { return direction[side ^ first]; }
};

struct State : roce::Connection {
  Flow* flow = nullptr;
  roce::IdleKey idle;
};

struct Reader::Impl {
  Impl(roce::Listener& l, roce::ConnectionNumbers& n) : listener(l), numbers(n) {}

  // TCP connections that are not known to be iWARP, and known not to be.
  static constexpr std::size_t kMaxUnknown = 8192;
  static constexpr std::size_t kRejected = 16384;
  // Bytes of one direction in which an FPDU is searched.
  static constexpr std::uint64_t kSearched = 1U << 20;
  static constexpr std::size_t kMaxMemory = 256U << 20;  // of all flows
  static constexpr std::size_t kMaxSendBytes = 1U << 20;
  static constexpr std::size_t kMaxWriteBytes = 4U << 20;  // longer ones are reported in parts
  static constexpr std::size_t kMaxReads = 512;            // in flight, of one side

  roce::Listener& listener;
  roce::ConnectionNumbers& numbers;
  roce::PacketStats stats;
  std::int64_t now_ns = 0;
  tsl::robin_map<FlowKey, std::unique_ptr<Flow>, KeyHash> flows;
  std::deque<FlowKey> unknown;  // flows by age, some of which are known or gone
  std::vector<std::uint64_t> rejected = std::vector<std::uint64_t>(kRejected);  // by hash
  roce::ByConnection<State> connections;
  roce::IdleOrder idle;
  std::size_t memory = 0;  // of all flows

  bool packet(const capture::IpPacket& ip, const roce::PacketMeta& meta);
  void skip();
  void finish(std::int64_t end_ns);

  // What the streams call.
  void bytes(Flow& flow, std::size_t from, Bytes bytes, const roce::PacketMeta& meta);
  void missing(Flow& flow, std::size_t from, std::uint64_t count, const roce::PacketMeta& meta);

  // operations.cc
  void fpdu(State& c, std::size_t side, const Fpdu& f);
  void end_messages(State& c, std::size_t side);

 private:
  struct EndSink;

  Flow* find_flow(const FlowKey& key, const TcpSegment& s, const End& source,
                  const End& destination);
  Flow& new_flow(const FlowKey& key, const End& first, const End& second);
  void in_order(Flow& flow, std::size_t from, const TcpSegment& s);
  void take_early(Flow& flow, bool all);
  void segment(Flow& flow, std::size_t from, const TcpSegment& s);
  void count_losses(Flow& flow);
  void reject(Flow& flow);
  void forget(Flow& flow);
  void release(Flow& flow);
  void account(Flow& flow);
  void flush(Flow& flow, const roce::PacketMeta& meta);
  void end(Flow& flow, const roce::PacketMeta& meta);
  void shed(Flow& flow, const roce::PacketMeta& meta);
  void search(Flow& flow, std::size_t from);
  bool set_up(Flow& flow, std::size_t from, const MpaFrame& frame, const roce::PacketMeta& meta);
  void request(Flow& flow, const MpaFrame& f, const roce::PacketMeta& meta);
  void reply(Flow& flow, const MpaFrame& f, const roce::PacketMeta& meta);
  static void begin_stream(Flow& flow, std::size_t from);
  State* recognise(Flow& flow, roce::Setup setup, const roce::PacketMeta& meta);
  void fpdus(Flow& flow, std::size_t from);
  void take(Flow& flow, std::size_t from, const Fpdu& f);
  void close(State& c, roce::State state, std::int64_t ended_ns);
  void make_room();
  void evict(State& c);

  void send(State& c, std::size_t side, const Fpdu& f);
  void give_send(State& c, std::size_t side, bool ended);
  void write(State& c, std::size_t side, const Fpdu& f);
  void give_write(State& c, std::size_t side, bool ended);
  void read_request(State& c, std::size_t side, const Fpdu& f);
  void read_response(State& c, std::size_t side, const Fpdu& f);
  void end_read(State& c, std::size_t side);
  void terminate(State& c, std::size_t side, const Fpdu& f);
};

}  // namespace rpcrdma::iwarp
