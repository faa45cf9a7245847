#include "server_side.h"

#include "names.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/kernel_status/completion_status.h>

namespace rpcrdma::tracepoints {
namespace {

constexpr std::uint32_t kFixedHeaderBytes = 28;  // with three empty lists

wire::Segment server_segment(const Record& r) {
  return {r.u32(Field::kHandle), r.u32(Field::kLength), r.u64(Field::kOffset)};
}

bool has_segment(const Record& r) {
  return r.has(Field::kHandle) && r.has(Field::kLength) && r.has(Field::kOffset) &&
         r.has(Field::kSegno);
}

template <typename Map>
void keep_within(Map& map, std::size_t most) {
  if (map.size() >= most) map.clear();
}

wire::Proc proc_of(const Record& r) {
  const std::string_view name = r.text(Field::kProc);
  if (name == "RDMA_MSG") return wire::Proc::kMsg;
  if (name == "RDMA_NOMSG") return wire::Proc::kNomsg;
  if (name == "RDMA_MSGP") return wire::Proc::kMsgp;
  if (name == "RDMA_DONE") return wire::Proc::kDone;
  if (name == "RDMA_ERROR") return wire::Proc::kError;
  return static_cast<wire::Proc>(r.u32(Field::kProc));
}

}  // namespace

ServerSide::RequestId ServerSide::new_request() {
  while (!in_order_.empty()) {
    const auto [oldest, serial] = in_order_.front();
    const bool gone = at(oldest).serial != serial;
    if (!gone && in_use_ < kMostRequests && in_order_.size() < 2 * kMostRequests) break;
    in_order_.pop_front();
    if (!gone) forget(oldest);
  }
  RequestId id = 0;
  if (free_.empty()) {
    pool_.emplace_back();
    id = static_cast<RequestId>(pool_.size());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  // Keeps the memory of the lists.
  Request& request = at(id);
  Request fresh;
  std::swap(fresh.lists, request.lists);
  std::swap(fresh.reads, request.reads);
  std::swap(fresh.encoded, request.encoded);
  std::swap(fresh.encoded_begins, request.encoded_begins);
  std::swap(fresh.writes, request.writes);
  fresh.lists.clear();
  fresh.reads.clear();
  fresh.encoded.clear();
  fresh.encoded_begins.clear();
  fresh.writes.clear();
  request = std::move(fresh);
  request.serial = ++serial_;
  in_order_.emplace_back(id, request.serial);
  ++in_use_;
  return id;
}

void ServerSide::forget(RequestId id) {
  Request& request = at(id);
  outbox_.release(request.place);
  for (Outbox::Place& place : request.writes) outbox_.release(place);
  if (request.has_key) {
    const auto it = receives_.find(request.key);
    if (it != receives_.end() && it->second == id) receives_.erase(it);
  }
  const auto waiting = waiting_.find(request.xid);
  if (waiting != waiting_.end() && waiting->second.id == id) waiting_.erase(waiting);
  request.serial = 0;
  free_.push_back(id);
  --in_use_;
}

ServerSide::RequestId ServerSide::by_receive(const Record& r, bool create) {
  if (!has_key(r)) return 0;
  const auto it = receives_.find(key_of(r));
  if (it != receives_.end()) return it->second;
  if (!create) return 0;
  const RequestId id = new_request();
  Request& request = at(id);
  request.has_key = true;
  request.key = key_of(r);
  request.connection = connection_of_receive(r);
  receives_[request.key] = id;
  return id;
}

ServerSide::RequestId ServerSide::of_thread(const Thread& t) {
  return t.request != 0 && at(t.request).serial == t.serial ? t.request : 0;
}

void ServerSide::give(Thread& t, RequestId id) {
  t.request = id;
  t.serial = id != 0 ? at(id).serial : 0;
}

ServerSide::Thread& ServerSide::thread(const Record& r) {
  if (threads_.size() >= kMostThreads && threads_.find(r.pid) == threads_.end()) {
    for (auto it = threads_.begin(); it != threads_.end(); ++it) {
      outbox_.release(it.value().reverse_place);
    }
    threads_.clear();
  }
  return threads_[r.pid];
}

void ServerSide::take(const Record& r) {
  switch (r.event) {
    case Event::kRpcRequest: {
      const RpcProcedure procedure =
          procedure_of(r.text(Field::kProgname), r.u32(Field::kVersion), r.text(Field::kProcname));
      constexpr std::uint32_t kCallback = 0x40000000;
      if (procedure.program != kCallback) break;
      keep_within(reverse_tasks_, kMostRequests);
      reverse_tasks_[std::uint64_t{r.u32(Field::kClientId)} << 32U | r.u32(Field::kTaskId)] = {
          procedure, 0};
      break;
    }
    case Event::kXprtTransmit: {
      const auto it = threads_.find(r.pid);
      if (it == threads_.end() || it->second.reverse_place == 0) break;
      Thread& t = it.value();
      Outbox::Place place = std::exchange(t.reverse_place, 0);
      const Connections::Id id = connections_.by_send_cq(t.reverse_cq);
      if (id == 0 || !r.has(Field::kXid) || r.i64(Field::kStatus) < 0) {
        outbox_.release(place);
        break;
      }
      const auto task = reverse_tasks_.find(std::uint64_t{r.u32(Field::kClientId)} << 32U |
                                            r.u32(Field::kTaskId));
      const RpcProcedure procedure =
          task != reverse_tasks_.end() ? task->second.procedure : RpcProcedure{};
      wire::Header header;
      header.xid = r.u32(Field::kXid);
      const auto payload = encoder_.encode(header, {}, wire::MsgType::kCall, procedure);
      trace::Message e;
      e.unknown = trace::kBytesUnknown | trace::kCreditUnknown;
      set_length(e, std::nullopt, payload.size());
      outbox_.put(place, id, e, payload);
      outbox_.release(place);
      keep_within(reverse_calls_, kMostRequests);
      reverse_calls_[header.xid] = id;
      break;
    }
    case Event::kCqAlloc: {
      if (!r.has(Field::kCqId)) break;
      Thread& t = thread(r);
      if (t.cq_count == t.cqs.size()) t.cq_count = 0;
      t.cqs[t.cq_count++] = r.u32(Field::kCqId);
      keep_within(created_cqs_, kMostRequests);
      created_cqs_[r.u32(Field::kCqId)] = true;
      break;
    }
    case Event::kCqFree: {
      const Connections::Id id = connections_.by_any_cq(r.u32(Field::kCqId));
      if (id == 0) break;
      connections_.end(id, r.time, connections_.find(id)->flushed ? 1 : 0, false,
                       "its completion queue was freed");
      break;
    }
    case Event::kSvcXprtDequeue: {
      Thread& t = thread(r);
      t.server = socket_address(r, Field::kServer);
      t.client = socket_address(r, Field::kClient);
      break;
    }
    case Event::kSvcXprtAccept:
      accepted(r);
      break;
    case Event::kSvcXprtClose:
    case Event::kSvcXprtFree:
      close(r);
      break;
    case Event::kSvcWcRecv: {
      if (!has_key(r)) break;
      if (const RequestId before = by_receive(r, false); before != 0) forget(before);
      const RequestId id = by_receive(r, true);
      Request& request = at(id);
      request.received_at = r.time;
      request.has_received = r.has(Field::kReceived);
      request.received = r.u32(Field::kReceived);
      request.place = outbox_.reserve(r.time);
      break;
    }
    case Event::kSvcWcRecvFlush:
    case Event::kSvcWcRecvErr: {
      const Connections::Id id = connections_.by_receive_cq(r.u32(Field::kCqId));
      if (id != 0) connections_.find(id)->flushed = true;
      if (r.event == Event::kSvcWcRecvErr) failed(r, "Receive");
      break;
    }
    case Event::kDecodeRseg:
    case Event::kDecodeWseg: {
      if (!has_segment(r)) break;
      const RequestId id = by_receive(r, true);
      if (id == 0) break;
      ChunkLists& lists = at(id).lists;
      if (lists.reads.size() + lists.writes.size() >= kMostSegments) break;
      if (r.event == Event::kDecodeRseg) {
        lists.reads.push_back({r.u32(Field::kPosition), server_segment(r)});
      } else {
        lists.add_write(server_segment(r), r.u32(Field::kSegno) == 0);
      }
      break;
    }
    case Event::kDecodeRqst:
      decoded(r);
      break;
    case Event::kDecodeShortErr:
    case Event::kDecodeBadversErr:
    case Event::kDecodeDropErr:
    case Event::kDecodeBadprocErr:
    case Event::kDecodeParseErr:
      undecodable(r);
      break;
    case Event::kReadFinished:
      if (const RequestId id = by_receive(r, false); id != 0) give(thread(r), id);
      break;
    case Event::kSvcProcess:
      process(r);
      break;
    case Event::kPostReadChunk:
      post_reads(r);
      break;
    case Event::kSvcWcRead:
      reads_done(r, true);
      break;
    case Event::kSvcWcReadFlush:
    case Event::kSvcWcReadErr:
      reads_done(r, false);
      if (r.event == Event::kSvcWcReadErr) failed(r, "RDMA Read");
      break;
    case Event::kPostWriteChunk:
    case Event::kPostReplyChunk:
      post_writes(r, r.event == Event::kPostReplyChunk);
      break;
    case Event::kSvcWcWriteErr:
    case Event::kSvcWcReplyErr:
      failed(r, "RDMA Write");
      break;
    case Event::kEncodeWseg:
      if (const RequestId id = of_thread(thread(r));
          id != 0 && has_segment(r) && at(id).encoded.size() < kMostSegments) {
        at(id).encoded.push_back(server_segment(r));
        at(id).encoded_begins.push_back(r.u32(Field::kSegno) == 0);
      }
      break;
    case Event::kSendPullup:
      if (const RequestId id = of_thread(thread(r));
          id != 0 && r.has(Field::kHdrlen) && r.has(Field::kMsglen)) {
        at(id).has_pullup = true;
        at(id).header_bytes = r.u64(Field::kHdrlen);
        at(id).inline_bytes = r.u64(Field::kHdrlen) + r.u64(Field::kMsglen);
      }
      break;
    case Event::kSvcXdrSendto: {
      Thread& t = thread(r);
      RequestId id = of_thread(t);
      if (id == 0 || at(id).xid != r.u32(Field::kXid)) {
        // The Call began before the trace.
        id = new_request();
        at(id).xid = r.u32(Field::kXid);
        give(t, id);
      }
      at(id).has_rpc_bytes = r.has(Field::kMsgLen);
      at(id).rpc_bytes = r.u64(Field::kMsgLen);
      break;
    }
    case Event::kSvcErrVers:
    case Event::kSvcErrChunk: {
      Thread& t = thread(r);
      RequestId id = of_thread(t);
      if (id == 0) {
        id = new_request();
        at(id).xid = r.u32(Field::kXid);
        give(t, id);
      }
      at(id).fault = r.event == Event::kSvcErrVers ? Fault::kVersion : Fault::kChunk;
      break;
    }
    case Event::kSvcPostSend:
      post_send(r);
      break;
    case Event::kSvcWcSend:
      sent(r);
      break;
    case Event::kSvcWcSendFlush:
    case Event::kSvcWcSendErr:
      if (r.event == Event::kSvcWcSendErr) failed(r, "Send");
      sent(r);
      break;
    case Event::kSvcSend:
    case Event::kSvcStatsLatency: {
      Thread& t = thread(r);
      const RequestId id = of_thread(t);
      const Connections::Id connection = id != 0 ? at(id).connection : t.connection;
      if (connection != 0) {
        learn(connection, socket_address(r, Field::kServer), socket_address(r, Field::kClient));
      }
      if (r.event == Event::kSvcSend && r.i64(Field::kStatus) < 0) {
        error(connection, r.time, r.u32(Field::kXid), 0,
              "the Reply cannot be sent: " + errno_text(r.i64(Field::kStatus)));
      }
      break;
    }
    case Event::kSvcSendErr:
      error_of_queue(r, "the Reply cannot be sent: " + errno_text(r.i64(Field::kStatus)));
      break;
    case Event::kSqFull:
      error_of_queue(r, fmt::format("the send queue is full: {} of {} free", r.i64(Field::kAvail),
                                    r.i64(Field::kDepth)));
      break;
    case Event::kSqRetry:
      error_of_queue(r, fmt::format("the send queue has room again: {} of {} free",
                                    r.i64(Field::kAvail), r.i64(Field::kDepth)));
      break;
    case Event::kSqPostErr:
      error_of_queue(r, "work cannot be posted: " + errno_text(r.i64(Field::kStatus)));
      break;
    case Event::kRqPostErr:
      error_of_queue(r, "Receives cannot be posted: " + errno_text(r.i64(Field::kStatus)));
      break;
    case Event::kSmallWrchErr:
      error_of_queue(r, fmt::format("the chunk is too small: {} bytes do not fit into its {} "
                                    "segments",
                                    r.u32(Field::kRemaining), r.u32(Field::kNumSegs)));
      break;
    case Event::kPageOverrunErr:
      error_of_queue(r, "the Read chunks exceed the memory of a Call");
      break;
    case Event::kDmaMapRwErr:
      error_of_queue(r, "memory cannot be mapped: " + errno_text(r.i64(Field::kStatus)));
      break;
    case Event::kQpError:
      error_of_queue(r, fmt::format("the queue pair reports event {}", r.u32(Field::kEvent)));
      break;
    case Event::kSvcDeviceRemoval:
      error(0, r.time, 0, 0, fmt::format("device {} is being removed", r.text(Field::kName)));
      break;
    case Event::kPdErr:
    case Event::kQpErr:
    case Event::kFabricErr:
    case Event::kInitdepthErr:
    case Event::kAcceptErr:
      connections_.refused(address_of_text(r.text(Field::kAddr)), r.time,
                           fmt::format("accepting failed ({}): {}", info(r.event).name,
                                       errno_text(r.i64(Field::kStatus))));
      break;
    default:
      break;
  }
}

Connections::Id ServerSide::connection_of_receive(const Record& r) {
  const std::uint32_t cq = r.u32(Field::kCqId);
  if (const Connections::Id id = connections_.by_receive_cq(cq); id != 0) return id;
  const Connections::Id id = connections_.add();
  if (id == 0) return 0;
  connections_.bind_receive_cq(id, cq);
  // Its addresses are in records that follow.
  connections_.find(id)->replayed = created_cqs_.find(cq) == created_cqs_.end();
  connections_.open_later(id, r.time);
  return id;
}

void ServerSide::learn(Connections::Id id, const Address& server, const Address& client) {
  Connection* const c = connections_.find(id);
  if (c == nullptr || c->opening == 0) return;
  if (server.known) c->local = server;
  if (client.known) c->peer = client;
  const auto accepted = std::find_if(accepted_.begin(), accepted_.end(), [c](const auto& a) {
    return Connections::is_same(a.second, c->peer);
  });
  if (accepted != accepted_.end()) {
    c->replayed = false;
    if (!c->local.known) c->local = accepted->first;
    accepted_.erase(accepted);
  }
  if (c->local.known && c->peer.known) connections_.announce(id);
}

void ServerSide::accepted(const Record& r) {
  Thread& t = thread(r);
  const Address server = socket_address(r, Field::kServer);
  const Address client = socket_address(r, Field::kClient);
  const std::uint8_t cqs = std::exchange(t.cq_count, std::uint8_t{0});
  if (cqs != 2) {
    constexpr std::size_t kMostAccepted = 256;
    if (accepted_.size() >= kMostAccepted) accepted_.pop_front();
    accepted_.emplace_back(server, client);
    return;
  }
  if (connections_.by_receive_cq(t.cqs[1]) != 0) return;
  const Connections::Id id = connections_.add();
  if (id == 0) return;
  connections_.find(id)->local = server;
  connections_.find(id)->peer = client;
  connections_.bind_send_cq(id, t.cqs[0]);
  connections_.bind_receive_cq(id, t.cqs[1]);
  connections_.open_now(id, r.time);
}

// The Reply chunk is decoded like a Write chunk. The header's length shows which the last one is.
void ServerSide::split_chunks(Request& request) {
  ChunkLists& lists = request.lists;
  if (!request.has_hdrlen || lists.write_chunk_sizes.empty()) return;
  const std::uint64_t chunks = lists.write_chunk_sizes.size();
  const std::uint64_t as_writes = kFixedHeaderBytes + lists.reads.size() * wire::kReadEntryBytes +
                                  lists.writes.size() * wire::kSegmentBytes + chunks * 8;
  constexpr std::uint32_t kMarker = 4;  // that of the Reply chunk is among the fixed bytes
  if (request.hdrlen != as_writes - kMarker) return;
  const std::uint32_t last = lists.write_chunk_sizes.back();
  lists.write_chunk_sizes.pop_back();
  lists.reply.assign(lists.writes.end() - last, lists.writes.end());
  lists.writes.resize(lists.writes.size() - last);
  lists.has_reply = true;
}

void ServerSide::put_call(Request& request) {
  wire::Header header;
  header.xid = request.xid;
  header.vers = request.version;
  header.credit = request.credits;
  header.proc = request.proc;
  const auto payload =
      encoder_.encode(header, request.lists, wire::MsgType::kCall, request.procedure);
  trace::Message e;
  e.side = 1;
  e.unknown = trace::kBytesUnknown | trace::kInvalidationUnknown;
  request.lists_short = request.has_hdrlen && request.hdrlen != encoder_.header_bytes();
  if (!request.has_hdrlen || request.lists_short) e.unknown |= trace::kChunksUnknown;
  set_length(e,
             request.has_received ? std::optional<std::uint64_t>(request.received) : std::nullopt,
             payload.size());
  outbox_.put(request.place, connections_.if_open(request.connection), e, payload);
}

void ServerSide::decoded(const Record& r) {
  const RequestId id = by_receive(r, true);
  if (id == 0) return;
  Request& request = at(id);
  if (connections_.if_open(request.connection) == 0 || !r.has(Field::kXid)) {
    unplaced_ += request.connection == 0 ? 1 : 0;
    return forget(id);
  }
  request.decoded = true;
  request.xid = r.u32(Field::kXid);
  request.version = r.has(Field::kVers) ? r.u32(Field::kVers) : 1;
  request.credits = r.u32(Field::kCredits);
  request.proc = proc_of(r);
  request.has_hdrlen = r.has(Field::kHdrlen);
  request.hdrlen = r.u32(Field::kHdrlen);
  split_chunks(request);
  if (!outbox_.is_here(request.place)) request.place = outbox_.reserve(r.time);
  if (const auto reverse = reverse_calls_.find(request.xid);
      reverse != reverse_calls_.end() && reverse->second == request.connection) {
    reverse_calls_.erase(reverse);
    wire::Header header;
    header.xid = request.xid;
    header.credit = request.credits;
    const auto payload = encoder_.encode(header, {}, wire::MsgType::kReply, {});
    trace::Message e;
    e.side = 1;
    e.unknown = trace::kBytesUnknown;
    set_length(e,
               request.has_received ? std::optional<std::uint64_t>(request.received) : std::nullopt,
               payload.size());
    outbox_.put(request.place, connections_.if_open(request.connection), e, payload);
    return forget(id);
  }
  put_call(request);
  keep_within(waiting_, kMostRequests);
  waiting_[request.xid] = {id, request.serial};
  Thread& t = thread(r);
  give(t, id);
  learn(request.connection, t.server, t.client);
}

void ServerSide::undecodable(const Record& r) {
  const RequestId id = by_receive(r, true);
  if (id == 0) return;
  Request& request = at(id);
  const char* const why = r.event == Event::kDecodeShortErr ? "the message is shorter than a header"
                          : r.event == Event::kDecodeBadversErr ? "the version is not supported"
                          : r.event == Event::kDecodeDropErr    ? "the message type is ignored"
                          : r.event == Event::kDecodeBadprocErr ? "the message type is invalid"
                                                                : "the header is invalid";
  if (connections_.if_open(request.connection) != 0 && r.has(Field::kXid)) {
    request.xid = r.u32(Field::kXid);
    request.credits = r.u32(Field::kCredits);
    request.version = r.u32(Field::kVers);
    request.proc = proc_of(r);
    request.lists.clear();
    if (!outbox_.is_here(request.place)) request.place = outbox_.reserve(r.time);
    // The code of an RDMA_ERROR is unknown, and it has no encoding without one.
    if (request.proc != wire::Proc::kError) put_call(request);
  }
  outbox_.release(request.place);
  error(request.connection, r.time, request.xid, 1, why);
  give(thread(r), id);
}

void ServerSide::process(const Record& r) {
  const std::uint32_t xid = r.u32(Field::kXid);
  Thread& t = thread(r);
  RequestId id = of_thread(t);
  if (id == 0 || at(id).xid != xid || !at(id).decoded) {
    const auto it = waiting_.find(xid);
    id = it != waiting_.end() && at(it->second.id).serial == it->second.serial ? it->second.id : 0;
    give(t, id);
  }
  if (id == 0) return;
  waiting_.erase(xid);
  Request& request = at(id);
  const Connections::Id connection = connections_.if_open(request.connection);
  if (connection == 0) return;
  const std::uint32_t program = program_of_service(r.text(Field::kService));
  if (program != 0 && r.has(Field::kVers) && r.has(Field::kProc)) {
    request.procedure = {program, r.u32(Field::kVers), r.u32(Field::kProc)};
  } else if (program != 0) {
    // From text: the name of the procedure.
    const bool compound = r.text(Field::kProcedure) == "COMPOUND";
    const RpcProcedure named = procedure_of(program == 100003 ? "nfs" : r.text(Field::kService),
                                            r.u32(Field::kVers), r.text(Field::kProcedure));
    request.procedure = compound ? RpcProcedure{program, r.u32(Field::kVers), 1} : named;
  }
  learn(request.connection, {}, address_of_text(r.text(Field::kAddr)));
  put_call(request);
  outbox_.release(request.place);
  trace::Call e;
  e.xid = xid;
  e.side = 1;
  e.program = request.procedure.program;
  e.version = request.procedure.version;
  e.procedure = request.procedure.procedure;
  outbox_.emit(connection, r.time, e);
}

void ServerSide::post_reads(const Record& r) {
  const RequestId id = of_thread(thread(r));
  if (id == 0 || !at(id).reads.empty() || !has_key(r)) return;
  Request& request = at(id);
  const Connections::Id connection = connections_.if_open(request.connection);
  if (connection == 0) return;
  for (const wire::ReadSegment& read : request.lists.reads) {
    trace::Operation e;
    e.kind = trace::Transfer::kRead;
    e.handle = read.target.handle;
    e.offset = read.target.offset;
    e.length = read.target.length;
    e.xid = request.xid;
    e.id = ++operation_;
    request.reads.emplace_back(e.id, e.length);
    outbox_.emit(connection, r.time, e);
  }
  keep_within(operations_, kMostRequests);
  operations_[key_of(r)] = {id, request.serial};
}

void ServerSide::reads_done(const Record& r, bool ok) {
  const auto it = operations_.find(key_of(r));
  if (it == operations_.end()) return;
  const Joined joined = it->second;
  operations_.erase(it);
  if (at(joined.id).serial != joined.serial) return;
  Request& request = at(joined.id);
  request.reads_done = r.time;
  const Connections::Id connection = connections_.if_open(request.connection);
  if (connection == 0) return;
  for (const auto& [operation, length] : request.reads) {
    trace::OperationEnd e;
    e.kind = trace::Transfer::kRead;
    e.status = ok ? std::uint8_t{0}
                  : static_cast<std::uint8_t>(kernel::completion_status(r.u64(Field::kStatus)));
    e.length = ok ? length : 0;
    e.id = operation;
    outbox_.emit(connection, r.time, e);
  }
}

// How many bytes go into each segment is known when the chunk is encoded into the Reply.
void ServerSide::post_writes(const Record& r, bool reply_chunk) {
  const RequestId id = of_thread(thread(r));
  if (id == 0) return;
  Request& request = at(id);
  request.has_reply_chunk |= reply_chunk;
  if (request.connection == 0) return;
  std::size_t segments = 0;
  if (reply_chunk) {
    // Write chunks without data are not written.
    for (std::size_t i = request.chunks_posted; i < request.lists.write_chunk_sizes.size(); ++i) {
      for (std::uint32_t n = 0; n < request.lists.write_chunk_sizes[i]; ++n) {
        request.writes.push_back(0);
      }
    }
    request.chunks_posted = static_cast<std::uint32_t>(request.lists.write_chunk_sizes.size());
    segments = request.lists.reply.size();
  } else if (request.chunks_posted < request.lists.write_chunk_sizes.size()) {
    segments = request.lists.write_chunk_sizes[request.chunks_posted++];
  }
  if (request.writes.size() + segments > kMostSegments) return;
  for (std::size_t i = 0; i < segments; ++i) request.writes.push_back(outbox_.reserve(r.time));
}

void ServerSide::post_send(const Record& r) {
  if (!has_key(r)) return;
  Thread& t = thread(r);
  const RequestId id = of_thread(t);
  if (id == 0) {
    // It may be a reverse Call: the record that follows shows its XID.
    outbox_.release(t.reverse_place);
    t.reverse_place = outbox_.reserve(r.time);
    t.reverse_cq = r.u32(Field::kCqId);
    return;
  }
  Request& request = at(id);
  if (connections_.if_open(request.connection) == 0) {
    request.connection = connections_.by_send_cq(r.u32(Field::kCqId));
  }
  give(t, 0);
  // No Call of its connection has been answered since the trace began.
  if (request.connection == 0) return forget(id);
  connections_.bind_send_cq(request.connection, r.u32(Field::kCqId));
  t.connection = request.connection;
  connections_.announce(request.connection);
  outbox_.release(request.place);
  reply_message(r, request);
  request.posted = r.time;
  request.has_send = true;
  request.send = key_of(r);
  keep_within(sends_, kMostRequests);
  sends_[request.send] = {id, request.serial};
}

// The Write list and the Reply chunk have the same events. The Call's lists show where the Reply
// chunk begins.
void ServerSide::reply_lists(const Request& request, ChunkLists& lists) {
  const bool call_known = request.decoded && !request.lists_short;
  std::size_t taken = 0;
  if (call_known) {
    for (const std::uint32_t size : request.lists.write_chunk_sizes) {
      for (std::uint32_t i = 0; i < size && taken < request.encoded.size(); ++i, ++taken) {
        lists.add_write(request.encoded[taken], i == 0);
      }
    }
  }
  if (request.has_pullup || (!call_known && !request.has_reply_chunk)) {
    for (; taken < request.encoded.size(); ++taken) {
      lists.add_write(request.encoded[taken], request.encoded_begins[taken]);
    }
  }
  lists.reply.assign(request.encoded.begin() + static_cast<std::ptrdiff_t>(taken),
                     request.encoded.end());
  lists.has_reply = !lists.reply.empty();
}

void ServerSide::reply_message(const Record& r, Request& request) {
  const Connections::Id number = request.connection;
  for (std::size_t i = 0; i < request.writes.size(); ++i) {
    Outbox::Place& place = request.writes[i];
    if (i < request.encoded.size() && request.encoded[i].length != 0) {
      trace::Operation e;
      e.kind = trace::Transfer::kWrite;
      e.handle = request.encoded[i].handle;
      e.offset = request.encoded[i].offset;
      e.length = request.encoded[i].length;
      e.xid = request.xid;
      e.id = ++operation_;
      outbox_.put(place, number, e);
    }
    outbox_.release(place);
  }
  request.writes.clear();

  ChunkLists lists;
  reply_lists(request, lists);
  wire::Header header;
  header.xid = request.xid;
  // Linux copies the version of what it answers, also into its errors.
  header.vers = request.version;
  if (request.fault != Fault::kNone) {
    header.proc = wire::Proc::kError;
    header.error = request.fault == Fault::kVersion ? wire::RdmaErr::kVers : wire::RdmaErr::kChunk;
    header.vers_low = header.vers_high = 1;
    lists.clear();
  } else if (lists.has_reply) {
    header.proc = wire::Proc::kNomsg;
  }
  const auto payload = encoder_.encode(header, lists, wire::MsgType::kReply, {});
  trace::Message e;
  e.unknown = trace::kBytesUnknown | trace::kCreditUnknown;
  const bool all_encoded =
      request.decoded && !request.lists_short &&
      request.encoded.size() == request.lists.writes.size() + request.lists.reply.size();
  const bool lists_known =
      request.has_pullup ? request.header_bytes == encoder_.header_bytes() : all_encoded;
  if (request.fault == Fault::kNone && !lists_known) e.unknown |= trace::kChunksUnknown;
  if (r.has(Field::kInvRkey)) {
    e.has_invalidate = r.u32(Field::kInvRkey) != 0 ? 1 : 0;
    e.invalidate = r.u32(Field::kInvRkey);
  } else {
    e.unknown |= trace::kInvalidationUnknown;
  }
  std::optional<std::uint64_t> length;
  if (header.proc != wire::Proc::kMsg) {
    length = encoder_.header_bytes();
  } else if (request.has_pullup) {
    length = request.inline_bytes;
  } else if (request.has_rpc_bytes && request.decoded && lists.writes.empty()) {
    length = encoder_.header_bytes() + request.rpc_bytes;
  }
  if ((e.unknown & trace::kChunksUnknown) != 0 && !request.has_pullup) length.reset();
  set_length(e, length, payload.size());
  outbox_.emit(number, r.time, e, payload);
}

void ServerSide::sent(const Record& r) {
  const auto it = sends_.find(key_of(r));
  if (it == sends_.end()) return;
  const Joined joined = it->second;
  sends_.erase(it);
  if (at(joined.id).serial != joined.serial) return;
  const Request& request = at(joined.id);
  const Connections::Id connection = connections_.if_open(request.connection);
  if (request.decoded && connection != 0) {
    trace::CallEnd e;
    e.xid = request.xid;
    e.side = 1;
    e.called = request.received_at;
    e.sent = request.reads_done != 0 ? request.reads_done : request.received_at;
    e.replied = request.posted;
    e.ended = r.time;
    outbox_.emit(connection, r.time, e);
  }
  forget(joined.id);
}

void ServerSide::failed(const Record& r, const char* what) {
  const Connections::Id id = connections_.by_any_cq(r.u32(Field::kCqId));
  error(
      id, r.time, 0, 0,
      fmt::format("a {} failed: {}, vendor error {:#x}", what,
                  kernel::completion_status_name(r.u64(Field::kStatus)), r.u32(Field::kVendorErr)));
}

void ServerSide::close(const Record& r) {
  const Address client = socket_address(r, Field::kClient);
  Connections::Id only = 0, flushed = 0;
  std::size_t count = 0;
  connections_.with_peer(client, [&](Connections::Id id, const Connection& c) {
    ++count;
    only = id;
    if (c.flushed) flushed = id;
  });
  const Connections::Id id = flushed != 0 ? flushed : count == 1 ? only : 0;
  if (id == 0) return;
  connections_.end(id, r.time, 1, false, "the server closed it; which side ended it is not shown");
}

void ServerSide::error(Connections::Id connection, std::int64_t time, std::uint32_t xid,
                       std::uint8_t side, const std::string& text) {
  trace::Error e;
  e.xid = xid;
  e.side = side;
  outbox_.emit(connections_.if_open(connection), time, e,
               {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Newer kernels name the queue, older ones the peer.
void ServerSide::error_of_queue(const Record& r, const std::string& text) {
  Connections::Id id = 0;
  if (r.has(Field::kCqId)) {
    id = connections_.by_any_cq(r.u32(Field::kCqId));
  } else {
    const Thread& t = thread(r);
    const RequestId request = of_thread(t);
    id = request != 0 ? at(request).connection : 0;
    if (id == 0) {
      std::size_t count = 0;
      connections_.with_peer(address_of_text(r.text(Field::kAddr)),
                             [&](Connections::Id with, const Connection&) {
                               ++count;
                               id = with;
                             });
      if (count != 1) id = 0;
    }
  }
  error(id, r.time, r.u32(Field::kXid), 0, text);
}

void ServerSide::lost() {
  for (auto it = threads_.begin(); it != threads_.end(); ++it) {
    outbox_.release(it.value().reverse_place);
  }
  threads_.clear();
  while (!in_order_.empty()) {
    const auto [id, serial] = in_order_.front();
    in_order_.pop_front();
    if (at(id).serial == serial) forget(id);
  }
  waiting_.clear();
  operations_.clear();
  sends_.clear();
}

void ServerSide::finish(std::int64_t now) {
  connections_.announce_all();
  outbox_.flush();
  connections_.end_flushed(now);
}

}  // namespace rpcrdma::tracepoints
