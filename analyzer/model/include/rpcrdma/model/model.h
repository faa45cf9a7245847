// Connections, Calls, chunks and credits: joins what the tracker of analyzer/roce tells. See
// model.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/model/call.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::model {

// Whether a connection speaks RPC-over-RDMA.
enum class Speaks : std::uint8_t {
  kUnknown,  // nothing yet tells
  kRpc,      // its private data says so, or a message did
  kOther,    // many SENDs, none of them RPC-over-RDMA
};

// One direction's Calls: the ledger and counts of what one side calls.
struct CallerCounts {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;          // that answered a Call
  std::uint64_t errors = 0;           // RDMA_ERRORs that answered a Call
  std::uint64_t unmatched_calls = 0;  // ended without an answer
  std::uint64_t unmatched_replies = 0;
  std::uint64_t superseded = 0;
  Credits credits;
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0;
  std::uint32_t granted_max = 0;
  std::uint32_t in_use_max = 0;
};

struct InlineThresholds {
  std::uint32_t call = 1024;   // bytes, from the RPC client to the server
  std::uint32_t reply = 1024;  // bytes
};

struct ConnectionModel {
  Speaks speaks = Speaks::kUnknown;
  int client = -1;  // the side that is the RPC client; -1 while unknown
  bool client_certain = false;
  std::uint32_t version = 0;  // of the latest message
  // Of its messages of version 2. A later one than draft-02 was told by `dialect_reason`, in the
  // message that ends with `dialect_frame`; 0: by who started the analysis.
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint64_t dialect_frame = 0;
  const char* dialect_reason = "";  // a constant
  std::array<CallerCounts, 2> caller;
  std::array<bool, 2> has_private_data{};
  std::array<wire::PrivateData, 2> private_data;
  InlineThresholds thresholds;
  std::uint64_t sends = 0;
  std::uint64_t messages = 0;
  std::uint64_t malformed = 0;
  std::uint64_t done = 0;
  std::uint64_t options = 0;
  // Bytes that went through chunks, and operations that touched no chunk of an outstanding Call.
  std::array<std::uint64_t, 3> chunk_bytes{};  // by ChunkList
  std::array<std::uint64_t, 3> chunks{};
  std::uint64_t inline_bytes = 0;  // of SENDs with messages
  std::uint64_t unmatched_operations = 0;
  // Which side is the client was told by RDMA operations alone; and then by others that it is not.
  bool client_by_operations = false;
  bool both_offer_memory = false;

  // 0 forward, 1 reverse; the caller taken for the client while that is unknown is forward.
  [[nodiscard]] bool reverse(std::uint8_t caller_side) const {
    return client >= 0 && caller_side != static_cast<std::uint8_t>(client);
  }
};

struct ModelOptions {
  // Keep what RDMA operations moved, for those who rebuild messages or extract payload.
  bool keep_chunks = false;
  // Keep the content of every SEND with its message.
  bool keep_bytes = false;
  // Of a Position Zero chunk or a Reply chunk, these first bytes are kept in any case.
  std::uint32_t head_bytes = 2048;
  // Of all outstanding Calls together, at most this many bytes of chunk data, with what it takes
  // to keep them.
  std::uint64_t max_kept_bytes = 512ULL << 20;
  // Unanswered Calls of one side of a connection; the oldest is forgotten when more come.
  std::uint32_t max_outstanding = 8192;
  // What all outstanding Calls together may take, without what RDMA operations moved; the oldest is
  // forgotten when more come.
  std::size_t max_outstanding_bytes = std::size_t{256} << 20;
  // Of all messages of version 2; nothing: it is told from them, for each connection by itself.
  std::optional<wire::Dialect> dialect;
  // Every SEND counts as a message, be it broken: for those who look again at connections of which
  // it is known.
  bool all_speak = false;
  // Service port on which less is asked of the first message to be taken for one.
  std::uint16_t rpc_port = 20049;
};

// What the model tells. Every hook is empty here.
class Observer {
 public:
  virtual ~Observer() = default;
  // A message, in capture order. `call`: the Call that it is or answers, null when there is none;
  // it stays valid until on_call_end(). A Call's match, latency and operations are not known yet; a
  // Reply's are.
  virtual void on_message(const Message& message, const Call* call) { (void)message, (void)call; }
  // A Call in a Position Zero Read chunk: its program is known now.
  virtual void on_identified(const Call& call) { (void)call; }
  // A Call is over; `answer` is its Reply or RDMA_ERROR, or null.
  virtual void on_call_end(const Call& call, const Message* answer) { (void)call, (void)answer; }

  // What the tracker told of connections. CM messages of connections that are not known have a null
  // `connection`; what was not recognised as RPC-over-RDMA is told too.
  virtual void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
                     const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)mad, (void)meta;
  }
  virtual void on_open(const roce::Connection& connection) { (void)connection; }
  virtual void on_merge(const roce::Connection& into, const roce::Connection& from) {
    (void)into, (void)from;
  }
  // Its outstanding Calls have been ended before.
  virtual void on_close(const roce::Connection& connection) { (void)connection; }
  // The tracker follows it no longer: the last that is told of it, and the last moment to ask.
  virtual void on_evict(const roce::Connection& connection) { (void)connection; }
  // NAKs and RNR NAKs only, from `sender`, the responder of the operations.
  virtual void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                          std::uint32_t psn, const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)aeth, (void)psn, (void)meta;
  }
  // A request packet that `sender` had sent before. `idle_ns`: since its request before this one;
  // `begins`: that one was new.
  virtual void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                             std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)psn, (void)idle_ns, (void)begins, (void)meta;
  }

  // Time has passed: about every second of the capture's own clock, or of the wall clock while a
  // live source is silent. Nothing older than `now_ns` will come, as far as clocks can be trusted.
  virtual void on_time(std::int64_t now_ns) { (void)now_ns; }

  // `count` packets of `sender` are known now to have been sent again.
  virtual void on_retransmission(const roce::Connection& connection, int sender,
                                 std::uint64_t count, const roce::PacketMeta& meta) {
    (void)connection, (void)sender, (void)count, (void)meta;
  }

  // An RDMA READ or WRITE begins, and ends. `call`: the outstanding Call whose memory it works on,
  // null when none advertised that; `segment`: which of its segments.
  virtual void on_operation(const roce::Connection& connection, const roce::Operation& op,
                            const Call* call, std::uint32_t segment) {
    (void)connection, (void)op, (void)call, (void)segment;
  }
  // A packet of it brought data that the model looks at; op.last_frame is its frame.
  virtual void on_operation_data(const roce::Connection& connection, const roce::Operation& op) {
    (void)connection, (void)op;
  }
  virtual void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                                const Call* call, std::uint32_t segment) {
    (void)connection, (void)op, (void)call, (void)segment;
  }
};

// Two observers, one after the other.
class ObserverPair final : public Observer {
 public:
  ObserverPair(Observer& first, Observer& second) : first_(first), second_(second) {}
  void on_message(const Message& m, const Call* call) override {
    first_.on_message(m, call);
    second_.on_message(m, call);
  }
  void on_identified(const Call& call) override {
    first_.on_identified(call);
    second_.on_identified(call);
  }
  void on_call_end(const Call& call, const Message* answer) override {
    first_.on_call_end(call, answer);
    second_.on_call_end(call, answer);
  }
  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override {
    first_.on_cm(connection, sender, mad, meta);
    second_.on_cm(connection, sender, mad, meta);
  }
  void on_open(const roce::Connection& connection) override {
    first_.on_open(connection);
    second_.on_open(connection);
  }
  void on_merge(const roce::Connection& into, const roce::Connection& from) override {
    first_.on_merge(into, from);
    second_.on_merge(into, from);
  }
  void on_close(const roce::Connection& connection) override {
    first_.on_close(connection);
    second_.on_close(connection);
  }
  void on_evict(const roce::Connection& connection) override {
    first_.on_evict(connection);
    second_.on_evict(connection);
  }
  void on_refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                  std::uint32_t psn, const roce::PacketMeta& meta) override {
    first_.on_refusal(connection, sender, aeth, psn, meta);
    second_.on_refusal(connection, sender, aeth, psn, meta);
  }
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override {
    first_.on_retransmission(connection, sender, count, meta);
    second_.on_retransmission(connection, sender, count, meta);
  }
  void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                     std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) override {
    first_.on_sent_again(connection, sender, psn, idle_ns, begins, meta);
    second_.on_sent_again(connection, sender, psn, idle_ns, begins, meta);
  }
  void on_time(std::int64_t now_ns) override {
    first_.on_time(now_ns);
    second_.on_time(now_ns);
  }
  void on_operation(const roce::Connection& connection, const roce::Operation& op, const Call* call,
                    std::uint32_t segment) override {
    first_.on_operation(connection, op, call, segment);
    second_.on_operation(connection, op, call, segment);
  }
  void on_operation_data(const roce::Connection& connection, const roce::Operation& op) override {
    first_.on_operation_data(connection, op);
    second_.on_operation_data(connection, op);
  }
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op,
                        const Call* call, std::uint32_t segment) override {
    first_.on_operation_end(connection, op, call, segment);
    second_.on_operation_end(connection, op, call, segment);
  }

 private:
  Observer& first_;
  Observer& second_;
};

class Model final : public roce::Listener {
 public:
  // `observer` must outlive the model.
  Model(Observer& observer, const ModelOptions& options);
  ~Model() override;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // By roce::Connection::index. One that was merged away, or let go, has nothing.
  [[nodiscard]] const ConnectionModel& connection(std::uint32_t index) const;
  // The index under which a connection goes on after a merge.
  [[nodiscard]] std::uint32_t canonical(std::uint32_t index) const;
  [[nodiscard]] bool reverse(const Message& message) const;
  // The Call of this side that is outstanding longest; null: there is none.
  [[nodiscard]] const Call* oldest_call(std::uint32_t connection, std::size_t caller) const;

  void on_cm(const roce::Connection* connection, int sender, const wire::CmMad& mad,
             const roce::PacketMeta& meta) override;
  void on_open(const roce::Connection& connection) override;
  void on_merge(const roce::Connection& into, const roce::Connection& from) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_send(const roce::Connection& connection, const roce::SendMessage& send) override;
  void on_call_recorded(const roce::Connection& connection, int caller, std::uint32_t xid,
                        const roce::Procedure& procedure) override;
  void on_operation(const roce::Connection& connection, roce::Operation& op) override;
  void on_data(const roce::Connection& connection, const roce::Operation& op, std::uint64_t offset,
               std::span<const std::uint8_t> data) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op) override;
  void on_acknowledge(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
                      std::uint32_t psn, const roce::PacketMeta& meta) override;
  void on_retransmission(const roce::Connection& connection, int sender, std::uint64_t count,
                         const roce::PacketMeta& meta) override;
  void on_sent_again(const roce::Connection& connection, int sender, std::uint32_t psn,
                     std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta) override;
  [[nodiscard]] bool answers(const roce::Connection& connection,
                             std::span<const std::uint8_t> first, std::uint32_t handle) override;
  [[nodiscard]] bool had_early_operations(const roce::Connection& connection) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::model
