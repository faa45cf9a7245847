// The tracker's internal state; tracker.cc explains how it is used.
#pragma once

#include "icrc_trust.h"

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

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
  bool ce = false;       // marked CE
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
  bool open_ended = false;  // the latest request is a READ of unknown length: its RETH was cut off
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
  std::uint32_t filled_at = 0;        // PSN that closed the last gap without a NAK
  std::uint32_t late_fills = 0;       // packets that did so: late, or retransmitted
  std::int64_t last_ns = 0;           // time of the latest request
  bool again = false;                 // the latest request was a retransmission
  std::int64_t again_ns = INT64_MIN;  // when a request was last retransmitted
  std::int64_t nak_ns = INT64_MIN;    // when the peer last asked for that

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

// What copies of the packets of one side show.
struct Mirror {
  std::uint64_t sent = 0;       // packets
  std::uint64_t next_copy = 0;  // number of the packet after the latest that came again
  std::uint8_t in_a_row = 0;    // copies without many packets between them that came once
  std::uint8_t id_changes = 0;  // how steadily the Identification changes
  std::uint16_t ip_id = 0;      // of the latest packet
  std::int64_t lag_ns = 0;      // of the copies
};

struct ConnectionState : Connection {
  std::array<Stream, 2> stream;
  std::uint32_t mtu_at_least = 256;     // by the largest packet seen
  std::array<IcrcTrust, 2> icrc_trust;  // by side, as sender
  std::uint32_t after_close = 0;        // requests after the close that are no retries
  std::uint64_t begun_at = 0;           // capture point of its REQ
  bool confirmed = false;               // an RTU of side 0 was seen
  std::array<Mirror, 2> mirror;         // by sender
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
  bool ce = false;                   // marked CE (congestion experienced)
  bool replaces_damaged = false;     // a copy of a packet that was captured with a bad ICRC
  bool headers_cut = false;          // only the BTH was captured
  const void* predecoded = nullptr;  // PreparedPacket::predecoded
};

// One packet that was captured lately, and how often: see copies.cc.
struct Sighting {
  std::uint64_t fingerprint = 0;
  std::int64_t sent_ns = 0;  // when it was last sent
  std::array<std::uint32_t, 2> vantage{};
  std::array<std::uint8_t, 2> seen{};  // how often from each
  std::uint8_t sent = 0;               // how often it was sent; 0: this place is free
  std::uint8_t copies = 0;             // further copies from the same vantage
  std::uint16_t number = 0;            // Mirror::sent before it, modulo 65536
  bool suspect = false;
};
// In one cache line.
struct alignas(64) SightingSet {
  std::array<Sighting, 2> of;
};
static_assert(sizeof(SightingSet) == 64);

// What two copies of a packet have in common: all that routers and switches do not change. It
// distinguishes packets of one side apart; CM messages differ behind it.
struct SameBytes {
  std::uint32_t src = 0, dst = 0;  // IPv4 addresses; hashes of others
  std::uint32_t psn = 0, qp = 0;
  std::uint32_t behind_bth = 0;  // PreparedPacket::behind_bth
  std::uint16_t length = 0, ip_id = 0;
  std::uint8_t opcode = 0;
  bool ack_req = false;
};

// A packet that is new by its PSN, until it becomes a Sighting.
struct NewPacket {
  SameBytes bytes;
  std::uint32_t vantage = 0;
  std::int64_t sent_ns = 0;
  std::uint16_t number = 0;  // as in Sighting
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
  // By port, for the CM messages and the next connections. The packets of each connection decide
  // for themselves.
  static constexpr std::size_t kMaxIcrcPorts = 65536;  // bad ICRCs of further ports count as good
  tsl::robin_map<capture::Address, IcrcTrust, AddressHash> icrc_ports;
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

  // Packets that were captured lately, each in the set of places that its fingerprint chooses.
  static constexpr std::size_t kSightingSets = 2048;
  std::vector<SightingSet> sightings = std::vector<SightingSet>(kSightingSets);
  // The latest new packets, in a ring: as many as there are places for sightings.
  static constexpr std::size_t kNewPackets = 2 * kSightingSets;
  std::vector<NewPacket> new_packets = std::vector<NewPacket>(kNewPackets);
  std::uint64_t noted = 0;    // packets written to the ring
  std::uint64_t sighted = 0;  // of them, those that became sightings or were overwritten
  // The latest packet that believed() let wait.
  struct Doubted {
    FlowKey key;
    std::vector<std::uint8_t> bytes;  // from where the ICRC's coverage begins; empty: none waits
    PreparedPacket packet;
  };
  Doubted doubted;
  bool believing = false;
  // Ports between which CM messages were captured twice.
  static constexpr std::size_t kMaxMirrored = 64;
  std::vector<AddressPair> mirrored;

  void packet(const PreparedPacket& prepared);
  void skip();
  void finish(std::int64_t end_ns);

  // copies.cc
  enum class Copy : std::uint8_t { kNone, kCopy, kOfDamaged };
  // What the PSN of a packet says: its side has not used it before; it has, for a packet that was
  // new then; no packet that was new had it.
  enum class ByPsn : std::uint8_t { kNew, kUsed, kOther };
  static ByPsn by_psn(const FlowRef& ref, const Packet& p);
  void note_new(const PreparedPacket& packet, const FlowRef& ref, const Packet& p);
  void add_sightings();
  Copy is_copy(const PreparedPacket& packet, const FlowRef& ref, const Packet& p);
  enum class Again : std::uint8_t { kSent, kPerhaps, kCopied };
  [[nodiscard]] Again again_from_same_vantage(const PreparedPacket& packet,
                                              const Sighting& sighting, const FlowRef& ref,
                                              const wire::OpcodeInfo& info) const;
  void note_mirrored(const AddressPair& ports);
  void copied(ConnectionState& c, int sender, const Packet& p);

  // tracker.cc
  IcrcTrust icrc_of_port(const capture::Address& port) const;
  void note_icrc_port(const capture::Address& port, IcrcTrust trust);
  IcrcTrust& icrc_trust_of(FlowRef ref);
  [[nodiscard]] bool believed(const PreparedPacket& prepared);
  static bool is_answer(const ConnectionState& c, int sender, const Packet& p);
  void undecoded(const PreparedPacket& prepared);
  void in_connection(const PreparedPacket& prepared, Packet& p);
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
  static const Held* find_damaged(const Stream& s, std::uint32_t psn);
  void icrc_answered(ConnectionState& c, int sender);
  void drain(ConnectionState& c, int sender);
  static std::uint32_t first_psn(const ConnectionState& c, std::uint32_t psn);

  void cnp(const PreparedPacket& prepared);

  // cm_tracker.cc
  void cm(const capture::TransportPacket& t, const wire::RocePacket& roce, const PacketMeta& meta);
  void copied_cm(const capture::TransportPacket& t, const wire::RocePacket& roce,
                 const PacketMeta& meta);

 private:
  void in_order(ConnectionState& c, int sender, const Packet& p);
  void opaque_request(ConnectionState& c, int sender, const Packet& p);
  void hold(ConnectionState& c, int sender, const Packet& p,
            const capture::TransportPacket& transport);
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
