#include "client_side.h"

#include "names.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/kernel_status/completion_status.h>

namespace rpcrdma::tracepoints {
namespace {

wire::Segment client_segment(const Record& r) {
  return {r.u32(Field::kHandle), r.u32(Field::kLength), r.u64(Field::kOffset)};
}

bool is_complete(const Record& r) {
  return r.has(Field::kHandle) && r.has(Field::kLength) && r.has(Field::kOffset);
}

// The Call waits for a credit, memory or room, and is sent later: no error.
bool must_wait(std::int64_t negative_errno) {
  return negative_errno == -EBADSLT || negative_errno == -EAGAIN || negative_errno == -ENOBUFS;
}

// Records that may follow a Reply while its thread still processes it.
bool continues_reply(Event event) {
  switch (event) {
    case Event::kMrReminv:
    case Event::kMrLocalinv:
    case Event::kDecodeSeg:
    case Event::kFixup:
    case Event::kClientErrVers:
    case Event::kClientErrChunk:
    case Event::kClientErrUnrecognized:
    case Event::kReplyHdrErr:
      return true;
    default:
      return false;
  }
}

template <typename Map>
void bound(Map& map, std::size_t most) {
  if (map.size() >= most) map.clear();
}

}  // namespace

ClientSide::CallId ClientSide::find_call(const Record& r) {
  const auto it = calls_.find(key_of(r));
  return it != calls_.end() ? it->second : 0;
}

ClientSide::CallId ClientSide::new_call(std::uint64_t key) {
  // Forgotten ones remain in the queue until they are at its front.
  while (!in_order_.empty()) {
    const auto [oldest, serial] = in_order_.front();
    const bool gone = at(oldest).serial != serial;
    if (!gone && calls_.size() < kMostCalls && in_order_.size() < 2 * kMostCalls) break;
    in_order_.pop_front();
    if (!gone) forget(oldest);
  }
  CallId id = 0;
  if (free_.empty()) {
    pool_.emplace_back();
    id = static_cast<CallId>(pool_.size());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Call& call = at(id);
  // Keeps the memory of the lists.
  ChunkLists lists = std::move(call.lists), reply_lists = std::move(call.reply.lists);
  call = {};
  lists.clear();
  reply_lists.clear();
  call.lists = std::move(lists);
  call.reply.lists = std::move(reply_lists);
  call.key = key;
  call.serial = ++serial_;
  calls_[key] = id;
  in_order_.emplace_back(id, call.serial);
  return id;
}

ClientSide::CallId ClientSide::call_of(const Record& r) {
  const CallId id = find_call(r);
  return id != 0 ? id : new_call(key_of(r));
}

void ClientSide::forget(CallId id) {
  Call& call = at(id);
  close_reply(id);
  if (call.reply.last_local_mr) invalidating_.erase(*call.reply.last_local_mr);
  calls_.erase(call.key);
  call.serial = 0;
  free_.push_back(id);
}

// A Call that is encoded again, because it is sent again or could not be encoded, registers its
// memory again.
void ClientSide::begin_lists(Call& call) {
  if (!call.sent) return;
  call.sent = false;
  call.has_marshal = false;
  call.lists.clear();
}

ClientSide::Thread& ClientSide::thread(const Record& r) {
  if (threads_.size() >= kMostThreads && threads_.find(r.pid) == threads_.end()) {
    for (auto it = threads_.begin(); it != threads_.end(); ++it) {
      outbox_.release(it.value().place);
    }
    threads_.clear();
  }
  return threads_[r.pid];
}

void ClientSide::take(const Record& r) {
  if (const auto it = threads_.find(r.pid);
      it != threads_.end() && it->second.reply != 0 && !continues_reply(r.event)) {
    const CallId id = std::exchange(it.value().reply, 0);
    // Its memory is still to be invalidated: another thread continues.
    const Reply& open = at(id).reply;
    if (open.open && !(open.invalidates_locally && open.last_local_mr)) close_reply(id);
  }
  switch (r.event) {
    case Event::kRpcClntNew: {
      bound(peers_, kMostClients);
      const Address peer = peer_address(r);
      if (peer.known) peers_[r.u32(Field::kClientId)] = peer;
      break;
    }
    case Event::kRpcRequest: {
      const CallId before = find_call(r);
      if (before != 0) forget(before);
      Call& call = at(new_call(key_of(r)));
      call.called = r.time;
      call.procedure =
          procedure_of(r.text(Field::kProgname), r.u32(Field::kVersion), r.text(Field::kProcname));
      break;
    }
    case Event::kXprtReserve: {
      Call& call = at(call_of(r));
      call.reserved = r.time;
      call.has_xid = r.has(Field::kXid);
      call.xid = r.u32(Field::kXid);
      break;
    }
    case Event::kXprtGetCong:
      credit(r);
      break;
    case Event::kChunkRead:
    case Event::kChunkWrite:
    case Event::kChunkWp:
    case Event::kChunkReply: {
      if (!is_complete(r)) break;
      Call& call = at(call_of(r));
      begin_lists(call);
      ChunkLists& lists = call.lists;
      if (lists.reads.size() + lists.writes.size() + lists.reply.size() >= kMostSegments) break;
      if (r.event == Event::kChunkRead) {
        lists.reads.push_back({r.u32(Field::kPos), client_segment(r)});
      } else if (r.event == Event::kChunkReply) {
        lists.reply.push_back(client_segment(r));
        lists.has_reply = true;
      } else {
        lists.add_write(client_segment(r), false);  // this client sends one Write chunk at most
      }
      break;
    }
    case Event::kMarshal: {
      Call& call = at(call_of(r));
      if (call.sent) begin_lists(call);
      call.has_marshal = r.has(Field::kHdrlen) && r.has(Field::kHeadlen) &&
                         r.has(Field::kPagelen) && r.has(Field::kTaillen);
      call.marshalled = r.time;
      call.hdrlen = r.u64(Field::kHdrlen);
      call.headlen = r.u64(Field::kHeadlen);
      call.pagelen = r.u64(Field::kPagelen);
      call.taillen = r.u64(Field::kTaillen);
      const std::string_view how = r.text(Field::kRtype);
      using Arguments = Call::Arguments;
      call.arguments = how == "inline" || how == "pullup" || how == "mapped" ? Arguments::kInline
                       : how == "read list"                                  ? Arguments::kReadChunk
                       : how == "*read list" ? Arguments::kPositionZero
                                             : Arguments::kUnknown;
      if (r.has(Field::kXid)) {
        call.has_xid = true;
        call.xid = r.u32(Field::kXid);
      }
      break;
    }
    case Event::kPostSend:
      post_send(r);
      break;
    case Event::kWcReceive:
      received(r);
      break;
    case Event::kReply:
      reply(r);
      break;
    case Event::kMrReminv:
    case Event::kMrLocalinv: {
      invalidations_seen_ = true;
      const CallId id = find_call(r);
      if (id == 0 || !r.has(Field::kHandle)) break;
      Call& call = at(id);
      const Connections::Id connection = connections_.if_open(call.connection);
      if (connection == 0) break;
      trace::Invalidate e;
      e.handle = r.u32(Field::kHandle);
      e.side = r.event == Event::kMrReminv ? 1 : 0;
      if (call.reply.open) {
        if (e.side == 1) {
          call.reply.invalidated = true;
          call.reply.handle = e.handle;
        } else if (r.has(Field::kMrId)) {
          call.reply.invalidates_locally = true;
          if (call.reply.last_local_mr) invalidating_.erase(*call.reply.last_local_mr);
          call.reply.last_local_mr = r.u32(Field::kMrId);
          bound(invalidating_, kMostCalls);
          invalidating_[*call.reply.last_local_mr] = id;
        }
      }
      outbox_.emit(connection, r.time, e);
      break;
    }
    case Event::kWcLiDone:
    case Event::kWcLi:
    case Event::kWcLiWake:
      if (r.u64(Field::kStatus) != 0) flushed(r, false);
      if (r.event == Event::kWcLiDone) resume_reply(r);
      break;
    case Event::kWcSend:
    case Event::kWcFastreg:
      if (r.u64(Field::kStatus) != 0) flushed(r, false);
      break;
    case Event::kDecodeSeg: {
      segments_seen_ = true;
      const auto it = threads_.find(r.pid);
      if (it == threads_.end() || it->second.reply == 0 || !is_complete(r)) break;
      Call& call = at(it->second.reply);
      if (!call.reply.open) break;
      const wire::Segment segment = client_segment(r);
      const auto same = [&segment](const wire::Segment& s) {
        return s.handle == segment.handle && s.offset == segment.offset;
      };
      ChunkLists& lists = call.reply.lists;
      if (lists.writes.size() + lists.reply.size() >= kMostSegments) break;
      if (std::any_of(call.lists.writes.begin(), call.lists.writes.end(), same)) {
        lists.add_write(segment, false);
      } else {
        lists.reply.push_back(segment);
        lists.has_reply = true;
      }
      break;
    }
    case Event::kClientErrVers:
    case Event::kClientErrChunk: {
      const CallId id = find_call(r);
      const bool version = r.event == Event::kClientErrVers;
      if (id != 0 && at(id).reply.open) {
        Reply& open = at(id).reply;
        open.fault = version ? Fault::kVersion : Fault::kChunk;
        open.low = r.u32(Field::kMin);
        open.high = r.u32(Field::kMax);
      }
      call_error(r, version ? "the peer supports other versions only" : "the peer sent ERR_CHUNK",
                 1);
      break;
    }
    case Event::kClientErrUnrecognized:
      call_error(r, "the peer sent an RDMA_ERROR with an unknown code", 1);
      break;
    case Event::kRpcStatsLatency:
      latency(r);
      break;
    case Event::kXprtTransmit:
      if (r.i64(Field::kStatus) < 0 && !must_wait(r.i64(Field::kStatus))) {
        call_error(
            r,
            fmt::format("the Call cannot be sent: {}", errno_text(r.i64(Field::kStatus))).c_str());
      }
      break;
    case Event::kXprtRetransmit:
      call_error(r, "the Call is sent again");
      break;
    case Event::kMarshalFailed:
      if (const CallId id = find_call(r); id != 0) at(id).lists.clear();
      [[fallthrough]];
    case Event::kPrepsendFailed:
      if (must_wait(r.i64(Field::kRet))) break;
      call_error(
          r, fmt::format("the Call cannot be encoded: {}", errno_text(r.i64(Field::kRet))).c_str());
      break;
    case Event::kPostSendErr:
      call_error(
          r, fmt::format("the Send cannot be posted: {}", errno_text(r.i64(Field::kRc))).c_str());
      break;
    case Event::kPostLinvErr:
      call_error(r,
                 fmt::format("memory cannot be invalidated: {}", errno_text(r.i64(Field::kStatus)))
                     .c_str());
      break;
    case Event::kNomrsErr:
      call_error(r, "no memory region is free");
      break;
    case Event::kMrsZap:
      call_error(r, "memory regions are destroyed");
      break;
    case Event::kFrwrSgerr:
    case Event::kFrwrMaperr:
      error(0, r.time, 0, 0, fmt::format("memory region {} cannot be mapped", r.u32(Field::kMrId)));
      break;
    case Event::kReplyVersErr:
    case Event::kReplyRqstErr:
    case Event::kReplyShortErr:
    case Event::kReplyHdrErr: {
      const Thread& t = thread(r);
      if (r.event == Event::kReplyHdrErr && t.reply != 0) at(t.reply).reply.invalid = true;
      const Connections::Id c = t.has_receive  ? connections_.by_receive_cq(t.receive_cq)
                                : t.reply != 0 ? at(t.reply).connection
                                               : 0;
      error(c, r.time, r.u32(Field::kXid), 1,
            r.event == Event::kReplyVersErr
                ? fmt::format("the Reply has version {}", r.u32(Field::kVersion))
            : r.event == Event::kReplyRqstErr  ? "the Reply matches no Call"
            : r.event == Event::kReplyShortErr ? "the Reply is shorter than a header"
                                               : "the header of the Reply is invalid");
      break;
    }
    case Event::kCbCall:
      reverse_call(r);
      break;
    case Event::kCbReply: {
      Thread& t = thread(r);
      t.sends_reverse = r.has(Field::kXid);
      t.reverse_xid = r.u32(Field::kXid);
      t.reverse_peer = peer_address(r);
      break;
    }
    case Event::kCqAlloc: {
      Thread& t = thread(r);
      if (t.cq_count == t.cqs.size()) t.cq_count = 0;
      if (r.has(Field::kCqId)) t.cqs[t.cq_count++] = r.u32(Field::kCqId);
      break;
    }
    case Event::kCqFree:
    case Event::kCqDrainComplete: {
      const Connections::Id id = connections_.by_any_cq(r.u32(Field::kCqId));
      if (id == 0) break;
      connections_.find(id)->flushed = true;
      end_if_flushed(id, r.time);
      if (r.event == Event::kCqFree) {
        connections_.end(id, r.time, 0, false, "its completion queue was freed");
      }
      break;
    }
    case Event::kInlineThresh: {
      constexpr std::size_t kMostThresholds = 64;
      if (thresholds_.size() >= kMostThresholds) thresholds_.pop_front();
      thresholds_.push_back({socket_address(r, Field::kSrcaddr), socket_address(r, Field::kDstaddr),
                             r.u32(Field::kInlineSend), r.u32(Field::kInlineRecv)});
      break;
    }
    case Event::kPostRecvs: {
      Thread& t = thread(r);
      t.has_posted_cq = r.has(Field::kCqId);
      t.posted_cq = r.u32(Field::kCqId);
      // A connection that is older than the trace: now its peer is known.
      const Connections::Id id = t.has_posted_cq ? connections_.by_receive_cq(t.posted_cq) : 0;
      Connection* const c = connections_.find(id);
      if (c == nullptr || c->opening == 0) break;
      c->peer = peer_address(r);
      connections_.announce(id);
      break;
    }
    case Event::kPostRecvsErr:
      error(connections_.by_receive_cq(r.u32(Field::kCqId)), r.time, 0, 0,
            "Receives cannot be posted: " + errno_text(r.i64(Field::kStatus)));
      break;
    case Event::kConnect:
      connected(r);
      break;
    case Event::kDisconnect:
      disconnected(r);
      break;
    case Event::kClientDeviceRemoval:
      error(0, r.time, 0, 0, fmt::format("device {} is being removed", r.text(Field::kName)));
      break;
    default:
      break;
  }
}

void ClientSide::connected(const Record& r) {
  const Address peer = peer_address(r);
  Thread& t = thread(r);
  const std::uint8_t cqs = std::exchange(t.cq_count, std::uint8_t{0});
  const bool has_posted = std::exchange(t.has_posted_cq, false);
  if (r.i64(Field::kRc) != 0) {
    connections_.refused(peer, r.time,
                         fmt::format("connecting failed: {}", errno_text(r.i64(Field::kRc))));
    return;
  }
  const Connections::Id id = connections_.add();
  if (id == 0) return;
  Connection& c = *connections_.find(id);
  c.peer = peer;
  trace::Connection e = connections_.opening(id);
  const auto known =
      std::find_if(thresholds_.rbegin(), thresholds_.rend(),
                   [&peer](const Thresholds& h) { return Connections::is_same(h.peer, peer); });
  if (known != thresholds_.rend()) {
    c.local = known->local;
    e.local = c.local.bytes;
    e.inline_send = known->send;
    e.inline_receive = known->receive;
    thresholds_.erase(std::next(known).base());
  }
  if (cqs == 2) {
    connections_.bind_send_cq(id, t.cqs[0]);
    connections_.bind_receive_cq(id, t.cqs[1]);
  } else {
    if (has_posted) connections_.bind_receive_cq(id, t.posted_cq);
    unbound_.push_back(id);
  }
  outbox_.emit(id, r.time, e);
}

// The record names the peer only, with which there may be several connections. Completions that
// are flushed show which of them ends.
void ClientSide::disconnected(const Record& r) {
  const Address peer = peer_address(r);
  const std::int64_t rc = r.i64(Field::kRc);
  std::string reason = rc != 0 ? "disconnected: " + errno_text(rc) : "disconnected";
  Connections::Id only = 0, flushed_one = 0;
  std::size_t count = 0;
  connections_.with_peer(peer, [&](Connections::Id id, const Connection& c) {
    ++count;
    only = id;
    if (c.flushed) flushed_one = id;
  });
  if (flushed_one != 0) {
    connections_.end(flushed_one, r.time, 1, false, "Receives were flushed before: " + reason);
  } else if (count == 1) {
    connections_.end(only, r.time, 0, false, reason);
  } else if (count > 1) {
    constexpr std::size_t kMostEnding = 64;
    if (ending_.size() >= kMostEnding) ending_.pop_front();
    ending_.push_back({peer, std::move(reason)});
  }
}

void ClientSide::flushed(const Record& r, bool receives) {
  const std::uint64_t status = r.u64(Field::kStatus);
  const std::uint32_t cq = r.u32(Field::kCqId);
  const Connections::Id id =
      receives ? connections_.by_receive_cq(cq) : connections_.by_send_cq(cq);
  if (status != kernel::kFlushed) {
    error(id, r.time, 0, 0,
          fmt::format("a {} failed: {}, vendor error {:#x}",
                      receives ? "Receive" : "Send or memory operation",
                      kernel::completion_status_name(status), r.u32(Field::kVendorErr)));
  }
  if (id == 0) return;
  connections_.find(id)->flushed = true;
  end_if_flushed(id, r.time);
}

void ClientSide::end_if_flushed(Connections::Id id, std::int64_t time) {
  const Address peer = connections_.find(id)->peer;
  const auto it = std::find_if(ending_.begin(), ending_.end(), [&peer](const Ending& e) {
    return Connections::is_same(e.peer, peer);
  });
  if (it == ending_.end()) return;
  const std::string reason = std::move(it->reason);
  ending_.erase(it);
  connections_.end(id, time, 0, false, reason);
}

Connections::Id ClientSide::connection_of_send(const Record& r, const Call& call) {
  const std::uint32_t cq = r.u32(Field::kCqId);
  if (const Connections::Id id = connections_.by_send_cq(cq); id != 0) return id;
  const auto client = peers_.find(static_cast<std::uint32_t>(call.key >> 32U));
  const Address peer = client != peers_.end() ? client->second : Address{};
  std::erase_if(unbound_, [this](Connections::Id id) { return connections_.find(id) == nullptr; });
  const auto it = std::find_if(unbound_.begin(), unbound_.end(), [&](Connections::Id id) {
    return Connections::is_same(connections_.find(id)->peer, peer);
  });
  Connections::Id id = 0;
  if (it != unbound_.end()) {
    id = *it;
    unbound_.erase(it);
  } else if (!peer.known && unbound_.size() == 1) {
    id = unbound_.front();
    unbound_.clear();
  } else {
    // It was established before the trace begins.
    id = connections_.add();
    if (id == 0) return 0;
    connections_.find(id)->peer = peer;
    connections_.find(id)->replayed = true;
    if (peer.known) {
      connections_.open_now(id, r.time);
    } else {
      connections_.open_later(id, r.time);
    }
  }
  connections_.bind_send_cq(id, cq);
  return id;
}

void ClientSide::post_send(const Record& r) {
  if (!r.has(Field::kCqId)) return;
  if (const auto it = threads_.find(r.pid); it != threads_.end() && it->second.sends_reverse) {
    return reverse_reply(r, it.value());
  }
  const CallId id = find_call(r);
  if (id == 0 || !at(id).has_xid) return;  // its task began before the trace
  Call& call = at(id);
  call.connection = connection_of_send(r, call);
  if (call.connection == 0) {
    ++unplaced_;
    return;
  }
  bound(latest_, kMostClients);
  latest_[static_cast<std::uint32_t>(call.key >> 32U)] = call.connection;
  call_message(r, call);
}

void ClientSide::call_message(const Record& r, Call& call) {
  const Connections::Id number = call.connection;
  if (call.attempts == 0) {
    trace::Call e;
    e.xid = call.xid;
    e.program = call.procedure.program;
    e.version = call.procedure.version;
    e.procedure = call.procedure.procedure;
    outbox_.emit(number, r.time, e);
  }
  // A Send that is posted again without being encoded again keeps its lists.
  const auto advertise = [&](const wire::Segment& segment, std::uint8_t access) {
    trace::Advertise e;
    e.handle = segment.handle;
    e.length = segment.length;
    e.offset = segment.offset;
    e.xid = call.xid;
    e.access = access;
    outbox_.emit(number, r.time, e);
  };
  constexpr std::uint8_t kRemoteRead = 1, kRemoteWrite = 2;  // fabric::Access
  for (const wire::ReadSegment& read : call.lists.reads) advertise(read.target, kRemoteRead);
  for (const wire::Segment& segment : call.lists.writes) advertise(segment, kRemoteWrite);
  for (const wire::Segment& segment : call.lists.reply) advertise(segment, kRemoteWrite);

  using Arguments = Call::Arguments;
  const bool position_zero = call.arguments == Arguments::kPositionZero ||
                             (call.arguments == Arguments::kUnknown && !call.lists.reads.empty() &&
                              call.lists.reads.front().position == 0);
  wire::Header header;
  header.xid = call.xid;
  header.proc = position_zero ? wire::Proc::kNomsg : wire::Proc::kMsg;
  const auto payload = encoder_.encode(header, call.lists, wire::MsgType::kCall, call.procedure);
  trace::Message e;
  e.unknown = trace::kBytesUnknown | trace::kCreditUnknown;
  std::optional<std::uint64_t> length;
  call.lists_known = call.has_marshal && call.hdrlen == encoder_.header_bytes();
  if (!call.lists_known) e.unknown |= trace::kChunksUnknown;
  if (call.has_marshal) {
    switch (call.arguments) {
      case Arguments::kPositionZero:
        length = call.hdrlen;
        break;
      case Arguments::kReadChunk:
        // A tail of a few bytes is the padding of the chunk, and stays behind.
        length = call.hdrlen + call.headlen + (call.taillen > 3 ? call.taillen & ~3ULL : 0);
        break;
      case Arguments::kInline:
        length = call.hdrlen + call.headlen + call.pagelen + call.taillen;
        break;
      case Arguments::kUnknown:
        break;
    }
  }
  set_length(e, length, payload.size());
  outbox_.emit(number, r.time, e, payload);
  if (call.attempts < UINT16_MAX) ++call.attempts;
  call.sent = true;
  call.posted = r.time;
}

void ClientSide::received(const Record& r) {
  if (r.u64(Field::kStatus) != 0) return flushed(r, true);
  Thread& t = thread(r);
  outbox_.release(t.place);
  t.has_receive = r.has(Field::kCqId);
  t.receive_cq = r.u32(Field::kCqId);
  t.received = r.u32(Field::kReceived);
  t.received_at = r.time;
  t.place = outbox_.reserve(r.time);
}

void ClientSide::reply(const Record& r) {
  Thread& t = thread(r);
  Outbox::Place place = std::exchange(t.place, 0);
  const bool has_receive = std::exchange(t.has_receive, false);
  CallId id = find_call(r);
  if (id == 0) {
    // The Call began before the trace, or its records are lost.
    id = new_call(key_of(r));
    at(id).has_xid = r.has(Field::kXid);
    at(id).xid = r.u32(Field::kXid);
  }
  Call& call = at(id);
  if (connections_.if_open(call.connection) == 0 && has_receive) {
    call.connection = connections_.by_receive_cq(t.receive_cq);
  }
  if (connections_.if_open(call.connection) == 0 || !call.has_xid) {
    // No Call of its connection has been sent since the trace began.
    outbox_.release(place);
    return;
  }
  if (has_receive) connections_.bind_receive_cq(call.connection, t.receive_cq);
  close_reply(id);
  Reply& open = call.reply;
  open.lists.clear();
  if (place == 0) place = outbox_.reserve(r.time);
  open.place = place;
  open.open = true;
  open.has_received = has_receive;
  open.received = t.received;
  open.credits = r.u32(Field::kCredits);
  open.time = has_receive ? t.received_at : r.time;
  call.replied = open.time;
  t.reply = id;
}

// The memory of the Call has been invalidated locally: this thread continues with its Reply.
void ClientSide::resume_reply(const Record& r) {
  const auto it = invalidating_.find(r.u32(Field::kCompletionId));
  if (it == invalidating_.end()) return;
  const CallId id = it->second;
  invalidating_.erase(it);
  at(id).reply.last_local_mr.reset();
  thread(r).reply = id;
}

void ClientSide::close_reply(CallId id) {
  Call& call = at(id);
  Reply& open = call.reply;
  if (!open.open) return;
  open.open = false;
  if (open.last_local_mr) {
    invalidating_.erase(*open.last_local_mr);
    open.last_local_mr.reset();
  }
  const bool known_call = call.attempts != 0 && call.lists_known;
  if (!known_call) find_write_list(open);
  trace::Message e;
  e.side = 1;
  e.unknown = trace::kBytesUnknown;
  wire::Header header;
  header.xid = call.xid;
  header.credit = open.credits;
  if (open.fault != Fault::kNone) {
    header.proc = wire::Proc::kError;
    header.error = open.fault == Fault::kVersion ? wire::RdmaErr::kVers : wire::RdmaErr::kChunk;
    header.vers_low = open.low;
    header.vers_high = open.high;
    open.lists.clear();
  } else if (open.lists.reply_bytes() != 0) {
    header.proc = wire::Proc::kNomsg;
  }
  call.fault = open.fault;
  if (!known_call || open.invalid ||
      (!segments_seen_ && !(call.lists.writes.empty() && call.lists.reply.empty()))) {
    e.unknown |= trace::kChunksUnknown;
  }
  e.has_invalidate = open.invalidated ? 1 : 0;
  e.invalidate = open.handle;
  if (!open.invalidated && (!known_call || (!call.lists.empty() && !invalidations_seen_))) {
    e.unknown |= trace::kInvalidationUnknown;
  }
  const auto payload = encoder_.encode(header, open.lists, wire::MsgType::kReply, {});
  set_length(e, open.has_received ? std::optional<std::uint64_t>(open.received) : std::nullopt,
             payload.size());
  const Connections::Id number = connections_.if_open(call.connection);
  if (number == 0) {
    outbox_.release(open.place);
  } else if (outbox_.is_here(open.place)) {
    outbox_.put(open.place, number, e, payload);
  } else {
    outbox_.emit(number, open.time, e, payload);
  }
  outbox_.release(open.place);
  open.fault = Fault::kNone;
  open.invalidated = open.invalidates_locally = open.invalid = false;
}

// The records of segments do not name their list. A Reply through a Reply chunk ends with its
// header, which is as long as one with the same segments in a Write list.
void ClientSide::find_write_list(Reply& reply) {
  ChunkLists& lists = reply.lists;
  wire::Header header;
  header.proc = wire::Proc::kNomsg;
  header.reply = wire::WriteChunk(lists.reply);
  if (lists.reply.empty() || !reply.has_received || reply.received <= wire::encoded_size(header)) {
    return;
  }
  for (const wire::Segment& segment : lists.reply) lists.add_write(segment, false);
  lists.reply.clear();
  lists.has_reply = false;
}

void ClientSide::reverse_call(const Record& r) {
  Thread& t = thread(r);
  Outbox::Place place = std::exchange(t.place, 0);
  const bool has_receive = std::exchange(t.has_receive, false);
  const Connections::Id id = has_receive ? connections_.by_receive_cq(t.receive_cq) : 0;
  if (id == 0 || !r.has(Field::kXid)) {
    outbox_.release(place);
    return;
  }
  trace::Message e;
  e.side = 1;
  e.unknown = trace::kBytesUnknown | trace::kCreditUnknown;
  wire::Header header;
  header.xid = r.u32(Field::kXid);
  const auto payload = encoder_.encode(header, {}, wire::MsgType::kCall, {});
  set_length(e, t.received, payload.size());
  outbox_.put(place, id, e, payload);
  outbox_.release(place);
}

void ClientSide::reverse_reply(const Record& r, Thread& t) {
  t.sends_reverse = false;
  const Connections::Id id = connections_.by_send_cq(r.u32(Field::kCqId));
  if (id == 0) return;
  trace::Message e;
  e.unknown = trace::kBytesUnknown | trace::kCreditUnknown;
  wire::Header header;
  header.xid = t.reverse_xid;
  const auto payload = encoder_.encode(header, {}, wire::MsgType::kReply, {});
  set_length(e, std::nullopt, payload.size());
  outbox_.emit(id, r.time, e, payload);
}

void ClientSide::credit(const Record& r) {
  Call& call = at(call_of(r));
  if (!r.has(Field::kCong) || !r.has(Field::kCwnd)) return;
  // The record shows the state before this Call is counted.
  const bool full = r.u64(Field::kCong) >= r.u64(Field::kCwnd);
  if (call.congested == kUnknown) call.congested = r.time;
  if (!full) call.admitted = r.time;
  if (full == call.waits || !call.has_xid) return;
  call.waits = full;
  // The Call has no connection yet; its client's latest is the one whose credits it waits for.
  const auto latest = latest_.find(static_cast<std::uint32_t>(call.key >> 32U));
  const Connections::Id id = latest != latest_.end() ? connections_.if_open(latest->second) : 0;
  if (id == 0) return;
  trace::CreditWait e;
  e.xid = call.xid;
  e.begun = full ? 1 : 0;
  outbox_.emit(id, r.time, e);
}

void ClientSide::latency(const Record& r) {
  const CallId id = find_call(r);
  if (id == 0) return;
  close_reply(id);
  Call& call = at(id);
  if (const Connections::Id number = connections_.if_open(call.connection);
      number != 0 && call.has_xid) {
    const auto since = [](std::int64_t from, std::int64_t to) {
      return from == kUnknown || to == kUnknown || to < from ? kUnknown : to - from;
    };
    trace::CallEnd e;
    e.xid = call.xid;
    // protocol::CallStatus
    constexpr std::uint8_t kReplied = 0, kTimedOut = 1, kErrorVersion = 2, kErrorChunk = 3;
    e.status = call.fault == Fault::kVersion ? kErrorVersion
               : call.fault == Fault::kChunk ? kErrorChunk
               : call.replied != 0           ? kReplied
                                             : kTimedOut;
    e.attempts = call.attempts;
    constexpr std::int64_t kNsPerUs = 1000;
    constexpr std::uint64_t kLongest = 1'000'000'000'000;
    const std::uint64_t execute = r.u64(Field::kExecute);
    e.called =
        call.called != kUnknown ? call.called
        : r.has(Field::kExecute) && execute < kLongest
            ? std::max<std::int64_t>(1, r.time - static_cast<std::int64_t>(execute) * kNsPerUs)
            : 0;
    e.sent = call.posted != kUnknown ? call.posted : 0;
    e.replied = call.replied;
    e.ended = r.time;
    e.slot_wait = since(call.called, call.reserved);
    e.credit_wait = since(call.congested, call.admitted);
    e.marshal = since(call.admitted, call.marshalled);
    e.post = since(call.marshalled, call.posted);
    outbox_.emit(number, r.time, e);
  }
  forget(id);
}

void ClientSide::error(Connections::Id connection, std::int64_t time, std::uint32_t xid,
                       std::uint8_t side, const std::string& text) {
  trace::Error e;
  e.xid = xid;
  e.side = side;
  outbox_.emit(connections_.if_open(connection), time, e,
               {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void ClientSide::call_error(const Record& r, const char* what, std::uint8_t side) {
  const CallId id = find_call(r);
  const Connections::Id connection = id != 0 ? at(id).connection : 0;
  const std::uint32_t xid = r.has(Field::kXid) ? r.u32(Field::kXid) : id != 0 ? at(id).xid : 0;
  error(connection, r.time, xid, side, what);
}

void ClientSide::lost() {
  for (auto it = threads_.begin(); it != threads_.end(); ++it) outbox_.release(it.value().place);
  threads_.clear();
  // Replies that wait for more records: those may be lost.
  for (const auto& [key, id] : calls_) {
    Reply& open = at(id).reply;
    open.open = false;
    outbox_.release(open.place);
    at(id).serial = 0;
    free_.push_back(id);
  }
  calls_.clear();
  in_order_.clear();
  invalidating_.clear();
  ending_.clear();
}

void ClientSide::finish() {
  for (const auto& [key, id] : calls_) close_reply(id);
  connections_.announce_all();
}

}  // namespace rpcrdma::tracepoints
