// Puts IP fragments together. Memory is bounded: what is incomplete is dropped after 30 s of the
// capture's time, or when newer datagrams need its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

struct FragmentLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t datagrams = 1024;
  std::int64_t timeout_ns = 30'000'000'000;
};

// Only of datagrams that may carry RDMA, as the port in their first fragment shows. A datagram
// whose first fragment is missing counts if another datagram between the same addresses is one of
// them.
struct FragmentCounts {
  std::uint64_t fragments = 0;          // that were captured
  std::uint64_t datagrams = 0;          // that were put together
  std::uint64_t incomplete = 0;         // datagrams
  std::uint64_t incomplete_frames = 0;  // their fragments
  std::uint64_t evicted = 0;            // of the incomplete: dropped to bound memory
};

class Fragments {
 public:
  explicit Fragments(FragmentLimits limits = {}, const LinkOptions& options = {})
      : limits_(limits), options_(options) {}

  // Takes a frame for which dissect_link() returned LinkResult::kFragment. Returns true if it
  // completes a datagram: `whole` is then a frame of raw IP with the header that the datagram had
  // before it was fragmented, and otherwise like `frame`. It is valid until the next call. If bytes
  // were not captured, it ends before them.
  //
  // Fragments may come in any order. If each fragment of a datagram comes again, the datagram is
  // complete again. A datagram whose fragments overlap otherwise is dropped, as RFC 5722 requires
  // for IPv6.
  [[nodiscard]] bool add(const Frame& frame, Frame& whole);
  // The encapsulations around the datagram that add() completed last.
  [[nodiscard]] const Tunnels& tunnels() const { return tunnels_; }

  // The capture has ended: counts what is incomplete.
  void finish();

  [[nodiscard]] const FragmentCounts& counts() const { return counts_; }
  // What it stores now, for tests of its bounds.
  [[nodiscard]] std::size_t datagrams() const { return by_key_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Key {
    Address src, dst;
    std::uint64_t point = 0;  // interface of a file: two of them see the same fragments
    std::uint32_t id = 0;
    std::uint8_t protocol = 0;  // IPv4
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Piece {
    std::uint32_t offset = 0, length = 0;
    std::uint32_t captured = 0;  // of `length`
    std::uint32_t times = 0;     // how often it came
  };
  struct Datagram {
    Key key;
    std::int64_t first_ns = 0;
    std::uint8_t protocol = 0;          // of the first fragment
    std::vector<std::uint8_t> header;   // of the first fragment; empty: not seen
    Tunnels tunnels;                    // around the first fragment
    std::vector<std::uint8_t> payload;  // up to the end of the furthest piece
    std::vector<Piece> pieces;          // sorted; they do not overlap
    std::uint64_t covered = 0;          // sum of their lengths
    std::uint32_t total = 0;            // payload of the datagram; 0: the last fragment is missing
    std::uint32_t frames = 0;
    std::uint32_t whole = 0;   // how often it was complete
    std::size_t behind = 0;    // pieces that came only `whole` times
    bool to_rdma = false;      // it may carry RDMA
    bool conflicting = false;  // its fragments overlap: dropped
  };
  using List = std::list<Datagram>;
  enum class Fit : std::uint8_t { kNew, kAgain, kConflict };

  void begin(const Key& key, std::int64_t time_ns);
  [[nodiscard]] static std::size_t memory(const Datagram& d);
  void drop(Datagram& d);
  void make_room(std::int64_t time_ns);
  void bound_bytes(List::iterator grown);
  void end(List& list, List::iterator at, bool evicted);
  [[nodiscard]] static Fit fit(const Datagram& d, const IpPacket& ip);
  void insert(Datagram& d, const Frame& frame, const IpPacket& ip);
  void build(const Datagram& d, const Frame& frame, Frame& whole);
  [[nodiscard]] bool known_pair(const Key& key) const;
  void note_pair(const Key& key);

  FragmentLimits limits_;
  LinkOptions options_;
  Tunnels tunnels_;
  FragmentCounts counts_;
  List open_, done_;  // the oldest first
  std::unordered_map<Key, List::iterator, KeyHash> by_key_;
  std::size_t bytes_ = 0;
  std::vector<std::uint8_t> built_;
  std::vector<std::uint64_t> pairs_;  // addresses between which RDMA was fragmented
};

}  // namespace rpcrdma::capture
