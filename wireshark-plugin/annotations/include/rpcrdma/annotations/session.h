// One capture on its way through the analyzer, frame by frame, and what it said of each frame.
// Knows nothing of Wireshark.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/annotations/annotation.h>
#include <rpcrdma/capture/address.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::annotations {

struct Options {
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;  // of version 2; nothing: told from the messages
  std::uint16_t rpc_port = 20049;        // where RPC-over-RDMA is expected
  // Whether somebody dissects the arguments and results of a program, so that its messages need no
  // description beside that. Null: nobody.
  bool (*is_dissected)(std::uint32_t program) = nullptr;
};

// A connection as it stands.
struct ConnectionRow {
  std::uint32_t id = 0;
  std::string client, server;  // address and QPN; by who called first where that is not certain
  bool set_up_seen = false;
  std::uint32_t version = 0;  // of RPC-over-RDMA; 0: no message yet
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint32_t threshold_call = 0, threshold_reply = 0;  // bytes
  // Who sent private data, and said that it supports Remote Invalidation: "both", "client", ...
  std::string private_data, invalidation;
  std::uint64_t calls = 0, reverse_calls = 0, replies = 0, errors = 0, unanswered = 0;
  std::uint32_t requested = 0, granted_min = 0, granted_max = 0, in_use_max = 0;
  std::uint64_t inline_bytes = 0;
  std::array<std::uint64_t, 3> chunks{};       // by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // moved
  std::uint64_t unmatched_operations = 0;
};

// State grows with the frames that have something to say, as Wireshark's own does. Nothing throws:
// what runs out of memory stops listening, and what was noted stays.
class Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // What is going to be asked of notes: whoever reads a capture once and goes on needs no fields
  // where he shows none, and no RPC message longer than for its frame.
  enum class Use : std::uint8_t { kAgain, kOnce, kOnceWithoutFields };
  void set_use(Use use);

  // The frames of a capture in their order, each once; one that came before is passed over. Those
  // without RDMA may be left out.
  void frame(const capture::Frame& frame) noexcept;
  // A frame without RDMA, which may be left out unless it is the last: what is outstanding ages
  // until the capture ends.
  void other_frame(std::uint64_t number, std::int64_t time_ns) noexcept;
  // One more packet in the frame that came last: some encapsulations put several into one.
  void next_packet(const capture::Frame& frame) noexcept;
  // All frames have come: Calls that got no answer end, and findings that waited are told.
  void finish() noexcept;
  [[nodiscard]] bool finished() const;

  // Null: nothing is to be said of that packet of the frame. Pointers stay valid until the next
  // frame() or finish(), those to notes as long as the session.
  [[nodiscard]] const FrameAnnotation* find(std::uint64_t frame, std::uint32_t packet = 0) const;
  [[nodiscard]] const MessageNote& message(Ref ref) const;
  [[nodiscard]] const OperationNote& operation(Ref ref) const;
  [[nodiscard]] const RpcNote& rpc(Ref ref) const;
  [[nodiscard]] const FindingNote& finding(Ref ref) const;
  [[nodiscard]] const EventNote& event(Ref ref) const;

  // Findings in the order told: those from `first` on have come since there were so many.
  [[nodiscard]] std::size_t findings() const;
  // Connections that spoke RPC-over-RDMA, by ID; null: that one does not, or another has taken it
  // in. What is told of one that is long over stays as it was.
  [[nodiscard]] std::uint32_t connections() const;
  [[nodiscard]] const ConnectionRow* connection(std::uint32_t id) const;

  // The addresses of both sides of a connection that an endpoint tells of; null: not known.
  [[nodiscard]] const std::array<capture::Address, 2>* ends(std::uint32_t id) const;
  // Whether it is one of those, as far as is known.
  [[nodiscard]] bool speaks_rpc(std::uint32_t id) const;

  // Whether Sends to this queue pair are messages: for packets of which nothing is said yet, since
  // they are held back behind a gap in the capture until that is known for loss or filled.
  [[nodiscard]] bool expects_messages(std::span<const std::uint8_t> address,
                                      std::uint32_t qpn) const;
  // Such a packet of the newest frame, whose Send is `send`: the RPC message in it. Null: it is not
  // whole there. It belongs to that frame from now on, also when more is known of the message.
  [[nodiscard]] const RpcNote* rpc_of_held(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                           std::span<const std::uint8_t> send);
  // The same later on, for frames that are shown again.
  [[nodiscard]] const RpcNote* rpc_of_held(std::uint64_t frame) const;

  // Why nothing more is noted; empty: all is well.
  [[nodiscard]] const char* failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::annotations
