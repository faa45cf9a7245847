// The kernel's server, svcrdma. Records of a Call are joined by its Receive and by the thread that
// processes it; its Reply by that thread, since the record of a posted Send does not show the XID.
#pragma once

#include "connections.h"
#include "message.h"
#include "outbox.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/tracepoints/record.h>

namespace rpcrdma::tracepoints {

class ServerSide {
 public:
  ServerSide(Outbox& outbox, kernel::EventSink& sink)
      : outbox_(outbox), connections_(outbox, sink, false) {}

  void take(const Record& r);
  void lost();
  void finish(std::int64_t now);
  [[nodiscard]] std::uint64_t unplaced() const { return unplaced_; }

 private:
  static constexpr std::size_t kMostRequests = 65536;
  static constexpr std::size_t kMostThreads = 65536;
  static constexpr std::size_t kMostSegments = 4096;  // of a Call
  using RequestId = std::uint32_t;                    // 0: none

  enum class Fault : std::uint8_t { kNone, kVersion, kChunk };

  struct Request {
    std::uint64_t serial = 0;
    bool has_key = false;
    std::uint64_t key = 0;  // of its Receive
    Connections::Id connection = 0;
    std::int64_t received_at = 0;  // 0: unknown
    bool has_received = false;
    std::uint32_t received = 0;
    Outbox::Place place = 0;  // of its Message
    bool decoded = false;
    std::uint32_t xid = 0, credits = 0, version = 1;
    wire::Proc proc = wire::Proc::kMsg;
    bool has_hdrlen = false;
    std::uint32_t hdrlen = 0;
    RpcProcedure procedure;
    ChunkLists lists;
    bool lists_short = false;  // by the header's length, segments are missing
    std::vector<std::pair<std::uint64_t, std::uint32_t>> reads;  // operations: ID and length
    std::int64_t reads_done = 0;
    // Its Reply.
    std::vector<wire::Segment> encoded;
    std::vector<bool> encoded_begins;   // the segment is the first of its chunk
    std::vector<Outbox::Place> writes;  // an operation for each segment that is written
    std::uint32_t chunks_posted = 0;
    bool has_reply_chunk = false;  // it was written
    // It was copied into one buffer, so it has no Reply chunk; bytes of header and RPC message.
    bool has_pullup = false;
    std::uint64_t header_bytes = 0, inline_bytes = 0;
    bool has_rpc_bytes = false;
    std::uint64_t rpc_bytes = 0;
    Fault fault = Fault::kNone;
    bool has_send = false;
    std::uint64_t send = 0;  // key of its Send
    std::int64_t posted = 0;
  };
  struct Thread {
    RequestId request = 0;
    std::uint64_t serial = 0;
    Connections::Id connection = 0;  // of its latest Reply
    Address server, client;          // of what it took up last
    std::array<std::uint32_t, 2> cqs{};
    std::uint8_t cq_count = 0;
    Outbox::Place reverse_place = 0;
    std::uint32_t reverse_cq = 0;
  };
  struct ReverseTask {
    RpcProcedure procedure;
    std::uint32_t xid = 0;
  };
  struct Joined {
    RequestId id = 0;
    std::uint64_t serial = 0;
  };

  static std::uint64_t key_of(const Record& r) {
    return std::uint64_t{r.u32(Field::kCqId)} << 32U | r.u32(Field::kCompletionId);
  }
  static bool has_key(const Record& r) {
    return r.has(Field::kCqId) && r.has(Field::kCompletionId);
  }
  Request& at(RequestId id) { return pool_[id - 1]; }
  RequestId new_request();
  RequestId by_receive(const Record& r, bool create);
  RequestId of_thread(const Thread& t);
  void give(Thread& t, RequestId id);
  void forget(RequestId id);
  Thread& thread(const Record& r);

  Connections::Id connection_of_receive(const Record& r);
  void learn(Connections::Id id, const Address& server, const Address& client);
  void accepted(const Record& r);

  void decoded(const Record& r);
  void undecodable(const Record& r);
  void split_chunks(Request& request);
  void put_call(Request& request);
  void process(const Record& r);
  void post_reads(const Record& r);
  void reads_done(const Record& r, bool ok);
  void post_writes(const Record& r, bool reply_chunk);
  void post_send(const Record& r);
  void reply_message(const Record& r, Request& request);
  static void reply_lists(const Request& request, ChunkLists& lists);
  void sent(const Record& r);
  void failed(const Record& r, const char* what);
  void close(const Record& r);
  void error(Connections::Id connection, std::int64_t time, std::uint32_t xid, std::uint8_t side,
             const std::string& text);
  void error_of_queue(const Record& r, const std::string& text);

  Outbox& outbox_;
  Connections connections_;
  std::vector<Request> pool_;
  std::vector<RequestId> free_;
  std::deque<std::pair<RequestId, std::uint64_t>> in_order_;
  std::size_t in_use_ = 0;
  std::uint64_t serial_ = 0;
  tsl::robin_map<std::uint64_t, RequestId> receives_;
  tsl::robin_map<std::uint32_t, Joined> waiting_;  // by XID, until a thread processes it
  tsl::robin_map<std::uint64_t, Joined> operations_, sends_;
  tsl::robin_map<std::int32_t, Thread> threads_;
  tsl::robin_map<std::uint32_t, bool> created_cqs_;
  std::deque<std::pair<Address, Address>> accepted_;  // server and client, not yet seen
  tsl::robin_map<std::uint64_t, ReverseTask> reverse_tasks_;
  tsl::robin_map<std::uint32_t, Connections::Id> reverse_calls_;  // by XID, not answered
  std::uint64_t operation_ = 0;
  std::uint64_t unplaced_ = 0;
  MessageEncoder encoder_;
};

}  // namespace rpcrdma::tracepoints
