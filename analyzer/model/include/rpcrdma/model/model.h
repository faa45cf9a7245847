// Connections, Calls, chunks and credits: joins the events of the tracker in analyzer/roce. See
// model.cc.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include <rpcrdma/capture/pause.h>
#include <rpcrdma/model/call.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::model {

// Whether a connection speaks RPC-over-RDMA.
enum class Speaks : std::uint8_t {
  kUnknown,  // no evidence yet
  kRpc,      // shown by its private data or by a message
  kOther,    // many SENDs, none of them RPC-over-RDMA
};

// Counts of the Calls of one side.
struct CallerCounts {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;          // that matched a Call
  std::uint64_t errors = 0;           // RDMA_ERRORs that matched a Call
  std::uint64_t unmatched_calls = 0;  // Calls that ended without an answer
  std::uint64_t unmatched_replies = 0;
  std::uint64_t superseded = 0;
  Credits credits;
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0;
  std::uint32_t granted_max = 0;
  std::uint32_t in_use_max = 0;
  // The first and the last Reply that matched a Call; 0: none.
  std::uint64_t first_reply_frame = 0;
  std::int64_t first_reply_ns = 0, last_reply_ns = 0;
  // roce::Absent: kAbsentRequests and kAbsentGrants, if a message of this direction lacks its
  // credit value.
  std::uint16_t absent = 0;
};

// 0: not known.
struct InlineThresholds {
  std::uint32_t call = 1024;   // bytes, from the RPC client to the server
  std::uint32_t reply = 1024;  // bytes
};

struct ConnectionModel {
  Speaks speaks = Speaks::kUnknown;
  int client = -1;  // the side that is the RPC client; -1 while unknown
  bool client_certain = false;
  std::uint32_t version = 0;  // of the latest message
  // The dialect of its version 2 messages. If it is later than draft-02, it was detected by
  // `dialect_reason` in the message that ends in frame `dialect_frame`; 0: chosen by the user.
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint64_t dialect_frame = 0;
  const char* dialect_reason = "";  // a constant string
  std::array<CallerCounts, 2> caller;
  std::array<bool, 2> has_private_data{};
  std::array<wire::PrivateData, 2> private_data;
  InlineThresholds thresholds;
  // roce::Absent: what its source, or any message of it, does not show. Credit values: of the
  // client's direction.
  std::uint16_t absent = 0;
  std::uint64_t sends = 0;
  std::uint64_t messages = 0;
  std::uint64_t malformed = 0;
  std::uint64_t done = 0;
  std::uint64_t options = 0;
  // Bytes moved through chunks, and operations that matched no chunk of an in-flight Call.
  std::array<std::uint64_t, 3> chunk_bytes{};  // by ChunkList
  std::array<std::uint64_t, 3> chunks{};
  std::uint64_t inline_bytes = 0;  // of SENDs with messages
  std::uint64_t unmatched_operations = 0;
  // The client was identified by RDMA operations alone; and other operations later contradicted
  // that.
  bool client_by_operations = false;
  bool both_offer_memory = false;

  // 0 forward, 1 reverse; while the client is unknown, the assumed client's direction is forward.
  [[nodiscard]] bool reverse(std::uint8_t caller_side) const {
    return client >= 0 && caller_side != static_cast<std::uint8_t>(client);
  }
};

struct ModelOptions {
  // Keep the data that RDMA operations moved, to rebuild messages or extract payload.
  bool keep_chunks = false;
  // Keep the content of every SEND in its message.
  bool keep_bytes = false;
  // How many first bytes of a Position Zero chunk or a Reply chunk are always kept.
  std::uint32_t head_bytes = 2048;
  // The most bytes of chunk data, with overhead, that all in-flight Calls may hold together.
  std::uint64_t max_kept_bytes = 512ULL << 20;
  // The most unanswered Calls of one side of a connection; beyond it the oldest is dropped.
  std::uint32_t max_outstanding = 8192;
  // The most memory for all in-flight Calls together, without the data of RDMA operations; beyond
  // it the oldest is dropped.
  std::size_t max_outstanding_bytes = std::size_t{256} << 20;
  // The dialect of all version 2 messages; if empty, it is detected for each connection.
  std::optional<wire::Dialect> dialect = std::nullopt;
  // Every SEND counts as a message, even a broken one: for a second pass over connections known to
  // speak RPC-over-RDMA.
  bool all_speak = false;
  // Whether the pipeline verifies the ICRCs of packets.
  bool check_icrc = true;
  // Service port on which weaker evidence suffices to recognise the first message.
  std::uint16_t rpc_port = 20049;
};

struct MessageSeen {
  const Message& message;
  // The Call that the message is or answers, null if there is none. It stays valid until
  // on_call_end(), or until on_reply_read() if its Reply has Read chunks. In a Reply's Call, the
  // match, latency and operations are set; in a new Call they are not known yet.
  const Call* call;
};

struct CallEnded {
  const Call& call;
  const Message* answer;  // its Reply or RDMA_ERROR, or null
};

// A Reply with Read chunks (RFC 5666 section 3.5), read as far as it will be.
struct ReplyRead {
  const Call& call;  // has ended before; now with the chunks, segments and Reads of its Reply
  // A copy of its Reply. If a Position Zero Read chunk holds the RPC message, its header is decoded
  // now.
  const Message& reply;
};

// An RDMA READ or WRITE.
struct OperationSeen {
  const roce::Connection& connection;
  const roce::Operation& op;
  // The in-flight Call that advertised the memory, or the Call whose Reply did; or null.
  const Call* call;
  std::uint32_t segment;  // of the Call
};

// op.last_frame is the frame that carried the data.
struct OperationProgress {
  const roce::Connection& connection;
  const roce::Operation& op;
};

// A pause frame of Ethernet.
struct PauseSeen {
  capture::Pause pause;
  std::uint64_t frame;
  std::int64_t time_ns;
};

// Receives the events of a model. Every hook is empty here: override the ones you need.
class Observer {
 public:
  virtual ~Observer() = default;
  // Called for each message, in capture order.
  virtual void on_message(const MessageSeen& event) { (void)event; }
  // Called when the program of a Call in a Position Zero Read chunk becomes known.
  virtual void on_identified(const Call& call) { (void)call; }
  // Called when a Call is answered, or ends without an answer.
  virtual void on_call_end(const CallEnded& event) { (void)event; }
  // Called after on_call_end() for a Reply with Read chunks: when these were read, when an
  // RDMA_DONE ended the reading, or when it cannot continue.
  virtual void on_reply_read(const ReplyRead& event) { (void)event; }

  // Called for each CM message, even if no RPC-over-RDMA was recognised.
  virtual void on_cm(const roce::CmMessage& event) { (void)event; }
  // Called for each MPA Request and Reply.
  virtual void on_mpa(const roce::MpaMessage& event) { (void)event; }
  // Called when the tracker finds a connection, and again when it knows more about it.
  virtual void on_open(const roce::Connection& connection) { (void)connection; }
  // Called when two connections turn out to be the two directions of one.
  virtual void on_merge(const roce::Merge& event) { (void)event; }
  // Called when a connection is over, after on_call_end() for its in-flight Calls.
  virtual void on_close(const roce::Connection& connection) { (void)connection; }
  // Called last for a connection, when the tracker evicts it. The model still knows it.
  virtual void on_evict(const roce::Connection& connection) { (void)connection; }
  // Called for each NAK and RNR NAK.
  virtual void on_refusal(const roce::Acknowledgement& event) { (void)event; }
  // Called when packets are known to be retransmissions.
  virtual void on_retransmission(const roce::Retransmission& event) { (void)event; }
  // Called for each retransmitted request packet.
  virtual void on_sent_again(const roce::RepeatedRequest& event) { (void)event; }
  // Called for each CE mark and CNP of a connection.
  virtual void on_congestion(const roce::CongestionSignal& event) { (void)event; }
  // Called for each pause frame of the capture.
  virtual void on_pause(const PauseSeen& event) { (void)event; }

  // Called about every second of the capture's own clock, or of the wall clock while a live source
  // is silent. Later events are not older than `now_ns`, within the accuracy of the clocks.
  virtual void on_time(std::int64_t now_ns) { (void)now_ns; }

  // Called when an RDMA operation begins.
  virtual void on_operation(const OperationSeen& event) { (void)event; }
  // Called when a packet brought data of an operation that the model keeps.
  virtual void on_operation_data(const OperationProgress& event) { (void)event; }
  // Called when an RDMA operation ends.
  virtual void on_operation_end(const OperationSeen& event) { (void)event; }
};

// The observers of one model, in the order in which they are called.
class ObserverList {
 public:
  ObserverList() = default;
  ObserverList(std::initializer_list<Observer*> observers) : list_(observers) {}

  void add(Observer& observer) { list_.push_back(&observer); }

  // Calls this hook of each observer.
  template <auto Hook, typename Event>
  void notify(const Event& event) const {
    for (Observer* observer : list_) (observer->*Hook)(event);
  }

 private:
  std::vector<Observer*> list_;
};

class Model final : public roce::Listener {
 public:
  // `observers` must outlive the model. It may be filled until the first message.
  Model(const ObserverList& observers, const ModelOptions& options);
  ~Model() override;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // By roce::Connection::index. A connection that was merged away or evicted is empty.
  [[nodiscard]] const ConnectionModel& connection(std::uint32_t index) const;
  // The index under which a connection continues after a merge.
  [[nodiscard]] std::uint32_t canonical(std::uint32_t index) const;
  [[nodiscard]] bool reverse(const Message& message) const;
  // The Call of this side that is in flight longest; null: there is none.
  [[nodiscard]] const Call* oldest_call(std::uint32_t connection, std::size_t caller) const;

  void on_cm(const roce::CmMessage& event) override;
  void on_mpa(const roce::MpaMessage& event) override;
  void on_open(const roce::Connection& connection) override;
  void on_merge(const roce::Merge& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_send(const roce::Connection& connection, const roce::SendMessage& send) override;
  void on_call_recorded(const roce::IdentifiedCall& event) override;
  void on_operation(const roce::Connection& connection, roce::Operation& op) override;
  void on_data(const roce::OperationData& event) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op) override;
  void on_acknowledge(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_sent_again(const roce::RepeatedRequest& event) override;
  void on_congestion(const roce::CongestionSignal& event) override;
  [[nodiscard]] bool answers(const roce::Connection& connection,
                             std::span<const std::uint8_t> first, std::uint32_t handle) override;
  [[nodiscard]] bool had_early_operations(const roce::Connection& connection) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::model
