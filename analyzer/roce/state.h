// The tracker's internal state; tracker.cc explains how it is used.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/roce/idle_order.h>
#include <rpcrdma/roce/interval_set.h>
#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::roce {

// A larger jump of PSNs is not a loss: it is another connection with the same QPN, or a broken
// peer.
inline constexpr std::int32_t kMaxCredibleLoss = 1 << 16;

// A packet that arrived before one that precedes it, stored with a copy of its bytes.
struct Held {
  std::uint32_t psn = 0;
  PacketMeta meta;
  bool suspect = false;  // bad ICRC: used only if no other copy comes and the peer acknowledges it
  std::size_t wire_length = 0;
  std::vector<std::uint8_t> bytes;  // BTH and everything after it
};

struct ReadInProgress {
  Operation op;
  std::uint32_t packets = 1;  // PSNs of its responses
  bool done = false;          // kept to distinguish a repeated response from an orphan
  bool unseen = false;        // counted in SideCounters::reads_unseen
  bool asked_again = false;   // a request for it, or for the rest of it, was retransmitted
  bool wrong_length = false;  // counted in SideCounters::wrong_response
  std::uint64_t missing = 0;  // bytes of `arrived` that responses should have carried but did not
  IntervalSet arrived;
};

// One direction: the requests that one side sends.
struct Stream {
  enum class Assembly : std::uint8_t { kIdle, kSend, kWrite, kSkip };

  bool started = false;     // `next` is known
  bool skipped = false;     // begins with whichever packet comes first
  bool seen = false;        // a request was seen
  std::uint32_t first = 0;  // PSN of that request
  std::uint32_t next = 0;   // the PSN expected next
  // DMA length of the latest request, if it is an RDMA READ whose number of packets depends on a
  // path MTU that is not known yet; `next` is then a guess.
  std::optional<std::uint32_t> uncertain_read;
  bool acked_known = false;
  std::uint32_t acked = 0;  // highest PSN that the peer acknowledged
  // The capture points of the latest new request and of the latest answer with news: the same
  // packet from another point is a copy.
  std::uint64_t point = 0, answered_at = 0;

  std::list<Held> held;  // sorted by distance from `next`
  bool nak_in_gap = false;
  std::uint32_t filled_at = 0;   // PSN that closed the last gap without a NAK
  std::uint32_t late_fills = 0;  // packets that did so: late, or retransmitted
  std::int64_t last_ns = 0;      // time of the latest request
  bool again = false;            // the latest request was a retransmission

  Assembly assembly = Assembly::kIdle;
  std::vector<std::uint8_t> buffer;  // kSend
  SendMessage send;
  Operation write;
  std::uint32_t write_start = 0;
  std::uint64_t write_sent = 0;  // bytes of its payloads
  bool write_whole = false;      // no packet of it is missing or damaged

  std::vector<ReadInProgress> reads;  // in the order of their PSNs
  std::size_t open_reads = 0;         // of them, those neither done nor unseen
};

struct ConnectionState : Connection {
  std::array<Stream, 2> stream;
  std::uint32_t mtu_at_least = 256;     // by the largest packet seen
  std::array<bool, 2> icrc_was_good{};  // by side: a packet of it had a good ICRC
  std::uint32_t after_close = 0;        // requests after the close that are no retries
  std::uint64_t begun_at = 0;           // capture point of its REQ
  bool confirmed = false;               // an RTU of side 0 was seen
  IdleKey idle;
  [[nodiscard]] bool one_sided() const { return !side[0].qpn_known && setup == Setup::kInferred; }
};

// The path of a packet: between two ports, to a QP.
struct FlowKey {
  capture::Address src;
  capture::Address dst;
  std::uint32_t qpn = 0;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct AddressPair {
  capture::Address src;
  capture::Address dst;
  friend bool operator==(const AddressPair&, const AddressPair&) = default;
};

struct CommKey {
  capture::Address address;
  std::uint32_t comm_id = 0;
  friend bool operator==(const CommKey&, const CommKey&) = default;
};

struct KeyHash {
  std::size_t operator()(const FlowKey& k) const {
    return capture::hash_value(k.src) * 31 + capture::hash_value(k.dst) * 17 +
           k.qpn * 0x9e3779b97f4a7c15ULL;
  }
  std::size_t operator()(const AddressPair& k) const {
    return capture::hash_value(k.src) * 31 + capture::hash_value(k.dst);
  }
  std::size_t operator()(const CommKey& k) const {
    return capture::hash_value(k.address) + k.comm_id * 0x9e3779b97f4a7c15ULL;
  }
};

struct AddressHash {
  std::size_t operator()(const capture::Address& a) const { return capture::hash_value(a); }
};

// A flow's connection and the side that sends into it.
struct FlowRef {
  ConnectionState* connection = nullptr;
  std::uint8_t sender = 0;
};

// One decoded RC packet with its context.
struct Packet {
  const wire::RocePacket* roce = nullptr;
  const wire::OpcodeInfo* info = nullptr;
  PacketMeta meta;
  std::uint32_t wire_payload = 0;  // payload bytes on the wire
  bool suspect = false;
  const void* predecoded = nullptr;  // PreparedPacket::predecoded
};

// Payload bytes on the wire, pad bytes not counted. `captured` begins at the BTH.
[[nodiscard]] std::uint32_t wire_payload_length(wire::Bytes captured, const wire::RocePacket& roce,
                                                std::size_t wire_length);

struct Tracker::Impl {
  Impl(Listener& l, ConnectionNumbers* shared)
      : listener(l), numbers(shared != nullptr ? *shared : own_numbers) {}

  Listener& listener;
  ConnectionNumbers own_numbers;
  ConnectionNumbers& numbers;
  PacketStats stats;
  std::int64_t now_ns = 0;  // time of the latest packet
  ByConnection<ConnectionState> connections;
  IdleOrder idle;
  tsl::robin_map<FlowKey, FlowRef, KeyHash> flows;
  // Connections with one direction seen, by the addresses of their packets; the newest last.
  tsl::robin_map<AddressPair, std::vector<ConnectionState*>, KeyHash> one_sided;
  // CM exchanges, by the port and communication ID of either end.
  tsl::robin_map<CommKey, FlowRef, KeyHash> by_comm_id;
  // Connections with a REQ whose REP was not seen; the newest last.
  std::vector<ConnectionState*> unanswered;
  // Ports that send good ICRCs, so that a bad one means damage.
  static constexpr std::size_t kMaxIcrcTrusted = 65536;  // bad ICRCs of further ports count as good
  tsl::robin_set<capture::Address, AddressHash> icrc_trusted;
  std::uint64_t held_bytes = 0;     // memory of all held packets
  std::uint64_t partial_bytes = 0;  // in Stream::buffer, over all streams
  std::vector<std::vector<std::uint8_t>> spare_buffers;
  bool releasing = false;  // in release_answered()

  // A direct-mapped cache in front of `flows`: captures have few connections and long runs of
  // packets.
  struct CacheEntry {
    FlowKey key;
    FlowRef ref;
  };
  static constexpr std::size_t kCacheEntries = 256;
  std::array<CacheEntry, kCacheEntries> cache{};

  void packet(const PreparedPacket& prepared);
  void skip();
  void finish(std::int64_t end_ns);

  // tracker.cc
  void note_icrc_trusted(const capture::Address& port);
  FlowRef find_flow(const capture::TransportPacket& t, std::uint32_t qpn);
  void bind_flow(const FlowKey& key, FlowRef ref);
  void unbind(const ConnectionState& c);
  void unbind(const ConnectionState& c, std::size_t to);
  CacheEntry& cached(const capture::Address& dst, std::uint32_t qpn);
  static bool trails(ConnectionState& c, int sender, const Packet& p);
  ConnectionState& new_connection(Setup setup, const PacketMeta& meta);
  void close(ConnectionState& c, State state);

  // evict.cc
  void make_room();
  void evict(ConnectionState& c);

  // pairing.cc
  ConnectionState* find_unanswered(const capture::TransportPacket& t, const Packet& p);
  FlowRef infer_flow(const capture::TransportPacket& t, const Packet& p);
  ConnectionState* find_partner(const AddressPair& reverse, const Packet& p,
                                const ConnectionState* self);
  bool is_partner(ConnectionState& candidate, const Packet& p);
  void try_merge(FlowRef& ref, const capture::TransportPacket& t, const Packet& p);
  void forget_one_sided(ConnectionState& c);

  // stream.cc
  void request(ConnectionState& c, int sender, const Packet& p,
               const capture::TransportPacket& transport);
  void response(ConnectionState& c, int sender, const Packet& p);
  void flush(ConnectionState& c, int sender);
  static bool far_away(const Stream& s, std::uint32_t psn);
  static bool waits_behind(const Stream& s, std::uint32_t psn);
  static std::uint32_t first_psn(const ConnectionState& c, std::uint32_t psn);

  // cm_tracker.cc
  void cm(const capture::TransportPacket& t, const wire::RocePacket& roce, const PacketMeta& meta);

 private:
  void in_order(ConnectionState& c, int sender, const Packet& p);
  void hold(ConnectionState& c, int sender, const Packet& p,
            const capture::TransportPacket& transport);
  void drain(ConnectionState& c, int sender);
  void use_held(ConnectionState& c, int sender);
  void skip_to(ConnectionState& c, int sender, std::uint32_t psn);
  void retransmitted(ConnectionState& c, int sender, std::uint64_t count, const Packet& p);
  void captured_twice(ConnectionState& c, int sender);
  void sent_again(ConnectionState& c, int sender, const Packet& p);
  void duplicate(ConnectionState& c, int sender, const Packet& p);
  static bool misfits_read(const Stream& s, std::uint32_t psn);
  void settle_uncertain_read(ConnectionState& c, Stream& s, const wire::RocePacket& later);
  void settle_by_held(ConnectionState& c, Stream& s);
  void send_packet(ConnectionState& c, int sender, const Packet& p);
  void write_packet(ConnectionState& c, int sender, const Packet& p);
  void read_request(ConnectionState& c, int sender, const Packet& p);
  void read_response(ConnectionState& c, int sender, const Packet& p);
  static void judge_response(SideCounters& counters, ReadInProgress& read, const Packet& p,
                             std::int32_t n, std::uint64_t share);
  void acknowledge(ConnectionState& c, int sender, const Packet& p);
  void note_acknowledged(ConnectionState& c, int sender, std::uint32_t psn);
  void note_reads_answered(ConnectionState& c, int sender, std::uint32_t psn);
  void release_answered(ConnectionState& c, int sender, wire::Bytes answer);
  void end_send(ConnectionState& c, int sender, bool complete);
  void give_send(ConnectionState& c, int sender);
  void give_back(Stream& s);
  void end_write(ConnectionState& c, int sender);
  void learn_mtu(ConnectionState& c, int sender, const Packet& p);
};

}  // namespace rpcrdma::roce
