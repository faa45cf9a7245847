// Analyzes a capture frame by frame, and keeps the results for each frame. Does not depend on
// Wireshark.
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
  std::optional<wire::Dialect> dialect;  // of version 2; nothing: determined from the messages
  std::uint16_t rpc_port = 20049;        // the service port of RPC-over-RDMA
  // Returns whether another dissector shows the arguments and results of a program, so that its
  // messages need no description from here. Null: none does.
  bool (*is_dissected)(std::uint32_t program) = nullptr;
};

// The current state of a connection.
struct ConnectionRow {
  std::uint32_t id = 0;
  // Address and QPN; if unknown, the client is the side of the first Call.
  std::string client, server;
  bool set_up_seen = false;
  std::uint32_t version = 0;  // of RPC-over-RDMA; 0: no message yet
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint32_t threshold_call = 0, threshold_reply = 0;  // bytes
  // Sides that sent private data, and that announced Remote Invalidation: "both", "client", ...
  std::string private_data, invalidation;
  std::uint64_t calls = 0, reverse_calls = 0, replies = 0, errors = 0, unanswered = 0;
  std::uint32_t requested = 0, granted_min = 0, granted_max = 0, in_use_max = 0;
  std::uint64_t inline_bytes = 0;
  std::array<std::uint64_t, 3> chunks{};       // by model::ChunkList
  std::array<std::uint64_t, 3> chunk_bytes{};  // moved
  std::uint64_t unmatched_operations = 0;
};

// Its memory grows with the frames that have notes, as Wireshark's own does. Nothing throws: a
// session that runs out of memory stops, and keeps its notes.
class Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // How notes will be used: a program that reads a capture once needs no fields if it shows none,
  // and needs an RPC message only while its frame is current.
  enum class Use : std::uint8_t { kAgain, kOnce, kOnceWithoutFields };
  void set_use(Use use);

  // Analyzes the frames of a capture, in order. A frame that was analyzed before is skipped. Frames
  // without RDMA may be omitted.
  void frame(const capture::Frame& frame) noexcept;
  // Advances the time for a frame without RDMA. It may be omitted except for the last frame: Calls
  // in flight age until the capture ends.
  void other_frame(std::uint64_t number, std::int64_t time_ns) noexcept;
  // Analyzes one more packet in the same frame: some encapsulations hold several.
  void next_packet(const capture::Frame& frame) noexcept;
  // Ends the capture: Calls without Reply end, and deferred findings are reported.
  void finish() noexcept;
  [[nodiscard]] bool finished() const;

  // Null: there is no note about that packet of the frame. The pointer is valid until the next
  // frame() or finish(); pointers to notes are valid as long as the session.
  [[nodiscard]] const FrameAnnotation* find(std::uint64_t frame, std::uint32_t packet = 0) const;
  [[nodiscard]] const MessageNote& message(Ref ref) const;
  [[nodiscard]] const OperationNote& operation(Ref ref) const;
  [[nodiscard]] const RpcNote& rpc(Ref ref) const;
  [[nodiscard]] const FindingNote& finding(Ref ref) const;
  [[nodiscard]] const EventNote& event(Ref ref) const;

  // Number of findings so far: a new finding gets the next Ref.
  [[nodiscard]] std::size_t findings() const;
  // The highest ID of a connection; and a connection by ID. Null: not RPC-over-RDMA, or merged into
  // another one. The data of a connection that ended long ago no longer changes.
  [[nodiscard]] std::uint32_t connections() const;
  [[nodiscard]] const ConnectionRow* connection(std::uint32_t id) const;

  // Addresses of both sides of a connection that an endpoint reports; null: not known.
  [[nodiscard]] const std::array<capture::Address, 2>* ends(std::uint32_t id) const;
  // Returns whether it is known to be an RPC-over-RDMA connection.
  [[nodiscard]] bool speaks_rpc(std::uint32_t id) const;

  // Returns whether Sends to this queue pair are messages. Used for packets without notes, which
  // the tracker holds back behind a gap until the gap is filled or known as loss.
  [[nodiscard]] bool expects_messages(std::span<const std::uint8_t> address,
                                      std::uint32_t qpn) const;
  // Returns the RPC message in such a packet of the newest frame, whose Send is `send`. Null: it is
  // not complete there. It stays attached to that frame when more becomes known.
  [[nodiscard]] const RpcNote* rpc_of_held(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                           std::span<const std::uint8_t> send);
  // The same, for frames that are shown again.
  [[nodiscard]] const RpcNote* rpc_of_held(std::uint64_t frame) const;

  // Why the session stopped; empty: no error.
  [[nodiscard]] const char* failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::annotations
