// The kernel's client, xprtrdma. Records of a Call are joined by its RPC task; a Reply by the
// thread that processes its completion.
#pragma once

#include "connections.h"
#include "message.h"
#include "outbox.h"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

class ClientSide {
 public:
  ClientSide(Outbox& outbox, kernel::EventSink& sink)
      : outbox_(outbox), connections_(outbox, sink, true) {}

  void take(const Record& r);
  void lost();
  void finish();
  [[nodiscard]] std::uint64_t unplaced() const { return unplaced_; }

 private:
  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::size_t kMostCalls = 65536;
  static constexpr std::size_t kMostThreads = 65536;
  static constexpr std::size_t kMostClients = 65536;
  static constexpr std::size_t kMostSegments = 4096;  // of a Call
  using CallId = std::uint32_t;                       // 0: none

  enum class Fault : std::uint8_t { kNone, kVersion, kChunk };

  struct Reply {
    Outbox::Place place = 0;
    bool open = false;  // further records may follow
    bool has_received = false;
    bool invalid = false;  // its header
    std::uint32_t received = 0;
    std::uint32_t credits = 0;
    std::int64_t time = 0;
    bool invalidated = false;  // remotely
    std::uint32_t handle = 0;
    bool invalidates_locally = false;
    std::optional<std::uint32_t> last_local_mr = {};  // memory regions count from 0
    Fault fault = Fault::kNone;
    std::uint32_t low = 0, high = 0;
    ChunkLists lists;
  };
  struct Call {
    std::uint64_t key = 0;
    std::uint64_t serial = 0;
    bool has_xid = false;
    std::uint32_t xid = 0;
    RpcProcedure procedure;
    std::int64_t called = kUnknown, reserved = kUnknown, congested = kUnknown, admitted = kUnknown,
                 marshalled = kUnknown, posted = kUnknown;
    bool waits = false;  // for a credit
    bool sent = false;   // the lists below are those of a Call that was posted
    std::uint16_t attempts = 0;
    Connections::Id connection = 0;
    bool lists_known = false;  // of the Call as it was sent
    bool has_marshal = false;
    std::uint64_t hdrlen = 0, headlen = 0, pagelen = 0, taillen = 0;
    enum class Arguments : std::uint8_t { kUnknown, kInline, kReadChunk, kPositionZero };
    Arguments arguments = Arguments::kUnknown;
    ChunkLists lists;
    Reply reply;
    std::int64_t replied = 0;
    Fault fault = Fault::kNone;  // of the last Reply
  };
  // What the thread does now.
  struct Thread {
    bool has_receive = false;
    std::uint32_t receive_cq = 0, received = 0;
    std::int64_t received_at = 0;
    Outbox::Place place = 0;
    CallId reply = 0;  // Call whose Reply it processes
    // While it connects.
    std::array<std::uint32_t, 2> cqs{};
    std::uint8_t cq_count = 0;
    bool has_posted_cq = false;
    std::uint32_t posted_cq = 0;
    // A reverse Reply that it sends.
    bool sends_reverse = false;
    std::uint32_t reverse_xid = 0;
    Address reverse_peer;
  };
  struct Thresholds {
    Address local, peer;
    std::uint32_t send = 0, receive = 0;
  };

  static std::uint64_t key_of(const Record& r) {
    return std::uint64_t{r.u32(Field::kClientId)} << 32U | r.u32(Field::kTaskId);
  }
  Call& at(CallId id) { return pool_[id - 1]; }
  CallId find_call(const Record& r);
  CallId call_of(const Record& r);  // creates it
  CallId new_call(std::uint64_t key);
  void forget(CallId id);
  void begin_lists(Call& call);
  Thread& thread(const Record& r);

  void connected(const Record& r);
  void disconnected(const Record& r);
  void flushed(const Record& r, bool receives);
  void end_if_flushed(Connections::Id id, std::int64_t time);
  Connections::Id connection_of_send(const Record& r, const Call& call);
  void post_send(const Record& r);
  void call_message(const Record& r, Call& call);
  void received(const Record& r);
  void reply(const Record& r);
  void resume_reply(const Record& r);
  void close_reply(CallId id);
  static void find_write_list(Reply& reply);
  void reverse_call(const Record& r);
  void reverse_reply(const Record& r, Thread& t);
  void latency(const Record& r);
  void credit(const Record& r);
  void error(Connections::Id connection, std::int64_t time, std::uint32_t xid, std::uint8_t side,
             const std::string& text);
  void call_error(const Record& r, const char* what, std::uint8_t side = 0);

  Outbox& outbox_;
  Connections connections_;
  std::vector<Call> pool_;
  std::vector<CallId> free_;
  std::deque<std::pair<CallId, std::uint64_t>> in_order_;
  std::uint64_t serial_ = 0;
  tsl::robin_map<std::uint64_t, CallId> calls_;  // by client and task
  tsl::robin_map<std::int32_t, Thread> threads_;
  tsl::robin_map<std::uint32_t, Address> peers_;           // by RPC client
  tsl::robin_map<std::uint32_t, Connections::Id> latest_;  // by RPC client: used last
  tsl::robin_map<std::uint32_t, CallId> invalidating_;     // by the last memory region of the Call
  std::deque<Thresholds> thresholds_;
  std::vector<Connections::Id> unbound_;  // established, but their queues are not known yet
  struct Ending {
    Address peer;
    std::string reason;
  };
  std::deque<Ending> ending_;  // disconnected, but it is not known yet which
  bool segments_seen_ = false;
  bool invalidations_seen_ = false;
  std::uint64_t unplaced_ = 0;
  MessageEncoder encoder_;
};

}  // namespace rpcrdma::tracepoints
