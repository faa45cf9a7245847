// The client of a connection is certain if the CM exchange was seen or an endpoint recorded it (the
// active side), or if RDMA was used: only a responder issues RDMA READ and WRITE (RFC 8166 section
// 3.4), and reverse direction Calls have no chunks in practice. Otherwise the sender of the first
// Call is assumed to be the client, unless it calls a transient program, which NFSv4.1 uses for
// callbacks.
//
// Calls are kept while they are in flight; everything else is counted and passed on at once, so
// memory depends on the number of Calls in flight and not on the length of the capture.
#include "arrivals.h"
#include "call_table.h"
#include "early_operations.h"
#include "file_tracker.h"
#include "reduction.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/model/predecode.h>
#include <rpcrdma/model/recognise.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/dialect.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::model {

namespace {

using wire::MsgType;
using wire::Proc;

constexpr std::size_t kMaxOperationsKept = 1024;  // per Call

// Packs CallRef and segment into an operation's tag. 0: joined to no Call.
constexpr std::uint64_t make_tag(CallRef ref, std::uint32_t segment) {
  return std::uint64_t{ref.generation & 0xffffff} << 40 | std::uint64_t{ref.slot & 0xffffff} << 16 |
         (segment & 0xffff);
}
constexpr std::uint64_t kTagBits = 0xffffff;

bool is_configuration(const RpcInfo& rpc) {
  return rpc.known && rpc.program == wire::kRdmaConfigProgram &&
         rpc.procedure == wire::kRdmaConfigProcConf;
}

// One Send while the model works on it.
struct Incoming {
  const roce::SendMessage& send;
  const PredecodedSend* predecoded = nullptr;  // predecoded as version 1 or draft-02
  const wire::HeaderView* header = nullptr;    // null: it does not decode
  // A CALL_EXTERNAL of a later dialect has two Read lists. The list in `header` is that of the
  // Call's own chunk; this is the other one.
  wire::ReadListView more_reads = {};
  // The last part of an RPC message in several Sends: the RPC header was in the first.
  bool tail_only = false;
};

bool has_position_zero(const wire::HeaderView& h) {
  return std::any_of(h.reads.begin(), h.reads.end(),
                     [](const wire::ReadSegment& s) { return s.position == 0; });
}

// Returns the msg_type, which follows the XID; nothing if it is neither Call nor Reply. A TCP
// record mark in front (HDR-08) is skipped, unless the XID looks like a msg_type.
std::optional<MsgType> type_of(wire::Bytes rpc, std::uint32_t xid) {
  if (xid > 1 && rpc.size() >= 12 && wire::load_be32(rpc.data()) != xid &&
      wire::load_be32(rpc.data() + 4) == xid && wire::load_be32(rpc.data() + 8) <= 1) {
    return static_cast<MsgType>(wire::load_be32(rpc.data() + 8));
  }
  if (rpc.size() < 8) return std::nullopt;
  const std::uint32_t type = wire::load_be32(rpc.data() + 4);
  return type <= 1 ? std::optional(static_cast<MsgType>(type)) : std::nullopt;
}

// Evidence for a later dialect of version 2.
struct DialectVotes {
  unsigned strong = 0;         // 2 for each message, 4 at most
  std::array<bool, 2> weak{};  // by sender
};

}  // namespace

struct Model::Impl {
  Impl(const ObserverList& o, const ModelOptions& opt) : observers(o), options(opt) {}

  // Only for connections that have messages; most connections have none.
  struct DirectionState {
    std::array<Arrivals, 2> arrivals;                 // by sender
    std::array<EarlyOperations, 2> early_operations;  // by whose memory it is
  };
  // Replies with Read chunks (RFC 5666 section 3.5); most connections have none.
  struct ReplyReads {
    std::array<CallTable, 2> calls;  // whose Replies are being read, by caller
    // The latest Replies that no RDMA_DONE has released yet.
    struct Unreleased {
      std::uint8_t caller = 0;
      std::uint32_t xid = 0;
      std::uint64_t frame = 0;  // 0: none
      std::int64_t time_ns = 0;
    };
    std::array<Unreleased, 64> unreleased{};
    std::size_t next = 0;
  };
  struct Connection {
    ConnectionModel pub;
    std::unique_ptr<DirectionState> direction_state;
    std::array<CallTable, 2> calls;
    std::uint32_t merged_into = UINT32_MAX;
    std::array<std::uint32_t, 2> latest_xid{};     // of each side's Calls
    bool expected = false;                         // set up to the port of NFS/RDMA
    bool had_early_operations = false;             // see roce::Listener
    std::uint32_t unknown_sends = 0;               // whole SENDs, none of them RPC-over-RDMA
    std::optional<wire::RdmaConfigRequest> asked;  // by the last CONF_RDMA
    std::array<DialectVotes, 4> votes{};           // by wire::Dialect
    // Its latest RDMA2_OPTIONAL messages: they have no RPC Call, but may get an RDMA_ERROR.
    struct Option {
      std::uint8_t sender = 0;
      std::uint32_t xid = 0;
      std::uint64_t frame = 0;  // 0: none
      std::int64_t time_ns = 0;
    };
    std::array<Option, 8> options{};
    std::size_t next_option = 0;
    bool draft02_answered = false;  // a Call and its Reply decoded as draft-02
    std::unique_ptr<ReplyReads> reply_reads;
  };

  const ObserverList& observers;
  ModelOptions options;
  roce::ByConnection<Connection> connections;
  CallPool pool;
  std::uint64_t next_id = 1;
  std::uint64_t kept_bytes = 0;
  std::size_t outstanding_bytes = 0;
  Message scratch;                     // reused for every message that is not a Call
  std::vector<std::uint8_t> unpadded;  // of the latest RDMA_MSGP
  FileTracker files;

  Connection& at(std::uint32_t index) { return connections[index]; }
  static DirectionState& direction_state_of(Connection& c) {
    if (c.direction_state == nullptr) c.direction_state = std::make_unique<DirectionState>();
    return *c.direction_state;
  }
  Call* tagged(std::uint64_t tag) {
    if (tag == 0) return nullptr;
    const auto slot = static_cast<std::uint32_t>((tag >> 16) & kTagBits);
    const CallRef ref = pool.ref_of(slot);
    return (ref.generation & kTagBits) == (tag >> 40) ? pool.get(ref) : nullptr;
  }

  void decide_client(Connection& c, std::uint8_t caller, bool certain) {
    if (c.pub.client_certain || (c.pub.client >= 0 && !certain)) return;
    c.pub.client = caller;
    c.pub.client_certain = certain;
  }

  static void fill_lists(const Incoming& in, Message& m);
  void begin_message(const roce::Connection& rc, const Incoming& in, Message& m);
  static void set_call_chunks(Call& call);
  void find_padding(Message& m, const decode::ProcedureId* call);
  void decode_call_rpc(const roce::Connection& rc, Call& call, wire::Bytes rpc_message,
                       const PredecodedSend* predecoded);
  void note_files(const roce::Connection& rc, Call& call, const wire::RpcView& rpc,
                  wire::Bytes rpc_message, const KeptItems& items);
  // How many first bytes of a Position Zero chunk or a Reply chunk are kept of a Call.
  [[nodiscard]] std::uint32_t head_of(const Call& call) const {
    // The names in a directory, as Linux reads it.
    constexpr std::uint32_t kDirectory = 1U << 16;
    return call.file.lists ? std::max(options.head_bytes, kDirectory) : options.head_bytes;
  }
  static void note_procedure(Call& call, wire::Bytes first_words);
  void decode_reply_rpc(Message& m, Call* call, wire::Bytes rpc_message,
                        const PredecodedSend* predecoded);
  void note_file_results(const Message& m, Call& call, wire::Bytes results);
  void call(const roce::Connection& rc, Connection& c, const Incoming& in);
  void answer(Connection& c, const Incoming& in, Message& m);
  void no_header(const roce::Connection& rc, Connection& c, const Incoming& in,
                 wire::DecodeError error);
  void end_call(Connection& c, std::uint8_t caller, CallRef ref, Ending ending,
                const Message* answer);
  void release(CallRef ref);
  void read_reply(Connection& c, std::uint8_t caller, CallRef ref, const Message& reply);
  void end_reply_read(Connection& c, std::uint8_t caller, CallRef ref);
  void end_reply_reads(Connection& c);
  void done(Connection& c, Message& m);
  void close_calls(Connection& c);
  void note_setup(const roce::Connection& rc);
  void thresholds(Connection& c, const roce::Connection& rc);
  void detect_dialect(Connection& c, const roce::SendMessage& send);
  bool later_dialect(Connection& c, const roce::SendMessage& send, bool decodes);
  bool later_message(const roce::Connection& rc, Connection& c, const roce::SendMessage& send);
  MsgType guess_direction(Connection& c, std::uint8_t sender, std::uint32_t xid);
  MsgType direction(const roce::Connection& rc, Connection& c, const roce::SendMessage& send,
                    const wire::HeaderView& h, const PredecodedSend* predecoded);
  MsgType direction_of_later(Connection& c, const roce::SendMessage& send,
                             const wire::HeaderView& h);
  void broken_error(Connection& c, Message& m);
  static bool refuses_option(Connection& c, Message& m);
  void note_configured(Connection& c, wire::Bytes rpc_message);
  bool answers_outstanding(Connection& c, std::uint8_t sender, std::uint32_t xid) {
    return c.calls[1 - sender].find(xid).generation != 0;
  }
  // Whether `xid` is close to the XIDs of the side's own Calls, as a counter would be.
  static bool near_own_calls(const Connection& c, std::uint8_t sender, std::uint32_t xid) {
    constexpr std::uint32_t kNear = 0x10000;
    return c.pub.caller[sender].calls != 0 && xid - c.latest_xid[sender] + kNear < 2 * kNear;
  }
  void note_owner(Connection& c, std::uint8_t owner);
  void note_credits(Connection& c, Message& m);
  static void note_absent(Connection& c, std::size_t caller, roce::Absent what);
  static void note_grant(Connection& c, CallerCounts& counts, const Message& m);
  void note_moved(Call& call, CallSegment& segment, const roce::Operation& op);
  void count_outstanding(CallRef ref);
};

Model::Model(const ObserverList& observers, const ModelOptions& options)
    : impl_(std::make_unique<Impl>(observers, options)) {}
Model::~Model() = default;

const ConnectionModel& Model::connection(std::uint32_t index) const {
  if (const Impl::Connection* c = impl_->connections.find(index)) return c->pub;
  static const ConnectionModel kNothing;
  return kNothing;
}

std::uint32_t Model::canonical(std::uint32_t index) const {
  const Impl::Connection* c = impl_->connections.find(index);
  return c != nullptr && c->merged_into != UINT32_MAX ? c->merged_into : index;
}

bool Model::reverse(const Message& message) const {
  const Impl::Connection* c = impl_->connections.find(message.connection);
  if (c == nullptr) return false;
  if (c->merged_into == UINT32_MAX) return c->pub.reverse(message.caller);
  return connection(c->merged_into).reverse(static_cast<std::uint8_t>(1 - message.caller));
}

const Call* Model::oldest_call(std::uint32_t connection, std::size_t caller) const {
  Impl::Connection* const c = impl_->connections.find(connection);
  if (c == nullptr || c->calls[caller].size() == 0) return nullptr;
  return impl_->pool.get(c->calls[caller].oldest());
}

void Model::Impl::thresholds(Connection& c, const roce::Connection& rc) {
  for (std::size_t s = 0; s < 2; ++s) {
    // The tracker stripped trailing zeros; size codes can be zero.
    std::vector<std::uint8_t> padded = rc.side[s].cm.private_data;
    if (padded.size() < wire::kPrivateDataBytes) padded.resize(wire::kPrivateDataBytes);
    const auto pd = wire::decode_private_data(padded);
    c.pub.has_private_data[s] = pd.has_value();
    c.pub.private_data[s] = pd.value_or(wire::PrivateData{});
  }
  const wire::PrivateData& client = c.pub.private_data[0];
  const wire::PrivateData& server = c.pub.private_data[1];
  if ((rc.absent & roce::kAbsentSetup) != 0) {
    c.pub.thresholds = {rc.inline_threshold[0], rc.inline_threshold[1]};
    return;
  }
  c.pub.thresholds.call = std::min(client.send_size(), server.recv_size());
  c.pub.thresholds.reply = std::min(server.send_size(), client.recv_size());
}

void Model::on_cm(const roce::CmMessage& event) {
  const roce::Connection* const connection = event.connection;
  const wire::CmMad& mad = event.mad;
  if (connection != nullptr && (std::holds_alternative<wire::CmReq>(mad.message) ||
                                std::holds_alternative<wire::CmRep>(mad.message))) {
    impl_->note_setup(*connection);
  }
  impl_->observers.notify<&Observer::on_cm>(event);
}

void Model::on_mpa(const roce::MpaMessage& event) {
  impl_->note_setup(event.connection);
  impl_->observers.notify<&Observer::on_mpa>(event);
}

std::uint64_t losses(const roce::Connection& connection) {
  std::uint64_t n = connection.events_lost;
  for (const roce::Side& side : connection.side) {
    n +=
        side.counters.lost_capture + side.counters.reads_unseen + side.counters.acknowledged_unseen;
  }
  return n;
}

bool cut_short(const Message& message, const roce::Connection& connection) {
  if ((message.absent & roce::kAbsentBytes) != 0) return false;
  return !message.complete && (!connection.recorded || message.header_length == 0);
}

void Model::Impl::note_setup(const roce::Connection& rc) {
  Connection& c = at(rc.index);
  c.pub.client = 0;
  c.pub.client_certain = true;
  c.pub.absent |= rc.absent;
  // Nothing is known of Linux's ledger before a message states it.
  if (roce::is_kernel(rc.origin)) {
    for (CallerCounts& k : c.pub.caller)
      k.credits.requested_known = k.credits.granted_known = false;
  }
  thresholds(c, rc);
  const bool our_port = wire::is_rdma_ip_service(rc.service_id) &&
                        wire::service_port(rc.service_id) == options.rpc_port;
  c.expected = our_port;
  if (rc.recorded || c.pub.has_private_data[0] || c.pub.has_private_data[1]) {
    c.pub.speaks = Speaks::kRpc;
  }
}

void Model::on_open(const roce::Connection& connection) {
  impl_->at(connection.index).pub.absent |= connection.absent;
  if (connection.recorded) impl_->note_setup(connection);
  impl_->observers.notify<&Observer::on_open>(connection);
}

void Model::on_merge(const roce::Merge& event) {
  const roce::Connection& into = event.into;
  const roce::Connection& from = event.from;
  Impl::Connection& a = impl_->at(into.index);
  Impl::Connection& b = impl_->at(from.index);
  // A Reply was matched to its Call, so this was not one direction alone.
  if (b.reply_reads != nullptr) impl_->end_reply_reads(b);
  b.merged_into = into.index;
  // Side 0 of `from` is side 1 of `into`.
  const auto join = [](CallerCounts& to, const CallerCounts& other) {
    to.unmatched_calls += other.unmatched_calls;
    to.unmatched_replies += other.unmatched_replies;
    to.superseded += other.superseded;
    if (other.credits.granted != 0) to.credits.granted = other.credits.granted;
    to.granted_max = std::max(to.granted_max, other.granted_max);
    if (other.granted_min != 0) {
      to.granted_min =
          to.granted_min == 0 ? other.granted_min : std::min(to.granted_min, other.granted_min);
    }
    if (other.calls != 0) {
      to.calls += other.calls;
      to.credits.requested = other.credits.requested;
      to.credits.in_use = other.credits.in_use;
      to.requested_max = std::max(to.requested_max, other.requested_max);
      to.in_use_max = std::max(to.in_use_max, other.in_use_max);
    }
  };
  if (b.pub.caller[0].calls != 0) a.latest_xid[1] = b.latest_xid[0];
  for (const Impl::Connection::Option& option : b.options) {
    if (option.frame == 0) continue;
    a.options[a.next_option] = {1, option.xid, option.frame, option.time_ns};
    a.next_option = (a.next_option + 1) % a.options.size();
  }
  join(a.pub.caller[1], b.pub.caller[0]);
  join(a.pub.caller[0], b.pub.caller[1]);
  a.calls[1] = std::move(b.calls[0]);
  if (b.direction_state != nullptr) {
    Impl::DirectionState& direction_state = Impl::direction_state_of(a);
    direction_state.arrivals[1] = std::move(b.direction_state->arrivals[0]);
    direction_state.early_operations[1] = std::move(b.direction_state->early_operations[0]);
  }
  for (const CallRef ref : a.calls[1].in_order()) {
    if (Call* call = impl_->pool.get(ref)) {
      call->message.connection = into.index;
      call->message.sender = call->message.caller = 1;
    }
  }
  if (b.pub.client >= 0) {
    impl_->decide_client(a, static_cast<std::uint8_t>(1 - b.pub.client), b.pub.client_certain);
  }
  if (b.pub.speaks == Speaks::kRpc) a.pub.speaks = Speaks::kRpc;
  if (a.pub.version == 0) a.pub.version = b.pub.version;
  if (a.pub.dialect == wire::Dialect::kDraft02) {
    a.pub.dialect = b.pub.dialect;
    a.pub.dialect_frame = b.pub.dialect_frame;
    a.pub.dialect_reason = b.pub.dialect_reason;
  }
  a.pub.sends += b.pub.sends;
  a.unknown_sends += b.unknown_sends;
  a.pub.messages += b.pub.messages;
  a.pub.malformed += b.pub.malformed;
  a.pub.done += b.pub.done;
  a.pub.options += b.pub.options;
  a.pub.inline_bytes += b.pub.inline_bytes;
  a.pub.unmatched_operations += b.pub.unmatched_operations;
  for (std::size_t i = 0; i < 3; ++i) {
    a.pub.chunk_bytes[i] += b.pub.chunk_bytes[i];
    a.pub.chunks[i] += b.pub.chunks[i];
  }
  b.pub = ConnectionModel{};
  impl_->observers.notify<&Observer::on_merge>(event);
}

void Model::on_close(const roce::Connection& connection) {
  impl_->close_calls(impl_->at(connection.index));
  impl_->observers.notify<&Observer::on_close>(connection);
}

void Model::on_evict(const roce::Connection& connection) {
  impl_->observers.notify<&Observer::on_evict>(connection);
  impl_->connections.erase(connection.index);
}

void Model::on_acknowledge(const roce::Acknowledgement& event) {
  if (!event.aeth.is_ack()) return impl_->observers.notify<&Observer::on_refusal>(event);
  Impl::DirectionState* const direction_state =
      impl_->at(event.connection.index).direction_state.get();
  if (direction_state == nullptr) return;
  direction_state->arrivals[static_cast<std::size_t>(1 - event.sender)].acknowledged(
      event.psn, event.meta.time_ns, [&](CallRef ref, std::int64_t took) {
        if (Call* call = impl_->pool.get(ref)) call->acknowledged_after_ns = took;
      });
}

void Model::on_congestion(const roce::CongestionSignal& event) {
  impl_->observers.notify<&Observer::on_congestion>(event);
}

void Model::on_retransmission(const roce::Retransmission& event) {
  impl_->observers.notify<&Observer::on_retransmission>(event);
}

void Model::on_sent_again(const roce::RepeatedRequest& event) {
  impl_->observers.notify<&Observer::on_sent_again>(event);
}

void Model::Impl::close_calls(Connection& c) {
  if (c.reply_reads != nullptr) end_reply_reads(c);
  for (std::uint8_t caller = 0; caller < 2; ++caller) {
    for (const CallRef ref : c.calls[caller].in_order()) {
      end_call(c, caller, ref, Ending::kClosed, nullptr);
    }
  }
}

void Model::Impl::fill_lists(const Incoming& in, Message& m) {
  const wire::HeaderView& h = *in.header;
  m.header_length = h.length;
  m.reads.assign(h.reads.begin(), h.reads.end());
  if (!in.more_reads.empty())
    m.reads.insert(m.reads.end(), in.more_reads.begin(), in.more_reads.end());
  m.write_segments.clear();
  m.write_counts.clear();
  for (const wire::WriteChunkView chunk : h.writes) {
    m.write_counts.push_back(chunk.size());
    m.write_segments.insert(m.write_segments.end(), chunk.begin(), chunk.end());
  }
  m.has_reply_chunk = h.reply.has_value();
  m.reply_segments.clear();
  if (h.reply) m.reply_segments.assign(h.reply->begin(), h.reply->end());
  m.error = h.error;
  m.vers_low = h.vers_low;
  m.vers_high = h.vers_high;
  m.processed = h.processed;
  m.segment_index = h.segment_index;
  m.length_needed = h.length_needed;
  m.inv_handle = h.inv_handle;
  m.opttype = h.opttype;
  m.align = h.align;
  m.thresh = h.thresh;
  m.direction = h.direction;
  m.last_part = in.tail_only;
}

void Model::Impl::begin_message(const roce::Connection& rc, const Incoming& in, Message& m) {
  const roce::SendMessage& send = in.send;
  m.id = next_id++;
  m.first_frame = send.first_frame;
  m.frame = send.frame;
  m.first_ns = send.first_ns;
  m.time_ns = send.time_ns;
  m.first_psn = send.first_psn;
  m.psn = send.psn;
  m.psn_known = send.psn_known;
  m.connection = rc.index;
  m.sender = send.sender;
  m.caller = send.sender;
  m.wire_length = send.wire_length;
  m.complete = send.complete;
  m.suspect = send.suspect;
  m.ce = send.ce;
  m.has_invalidate = send.has_invalidate;
  m.invalidated_handle = send.invalidate_handle;
  m.has_immediate = send.has_immediate;
  m.absent = static_cast<std::uint16_t>(send.absent | (rc.absent & roce::kAbsentOperations));
  const bool bytes = !is_absent(m, roce::kAbsentBytes);
  if (options.keep_bytes) (bytes ? m.bytes : m.encoded).assign(send.data.begin(), send.data.end());
  m.payload =
      in.header != nullptr && bytes ? send.data.subspan(in.header->length) : send.data.first(0);
  const auto prefix = wire::decode_prefix(send.data);
  if (prefix) {
    m.xid = prefix->xid;
    m.version = prefix->vers;
    m.credit = prefix->credit;
    m.proc = prefix->proc;
    if (m.version == 2) m.dialect = at(rc.index).pub.dialect;
  }
}

// Version 2 states whether a message is a Call or a Reply. If the RPC message, or the chunk that
// holds it, says otherwise, the message is an answer exactly if there is a Call for it, so the peer
// is not blamed for what follows.
MsgType Model::Impl::direction_of_later(Connection& c, const roce::SendMessage& send,
                                        const wire::HeaderView& h) {
  std::uint32_t shown = static_cast<std::uint32_t>(h.direction);
  if (h.proc == Proc::kNomsg) {
    const bool long_call = has_position_zero(h);
    const bool long_reply = h.reads.empty() && h.reply && !h.reply->empty();
    if (long_call) shown = 0;
    if (long_reply) shown = 1;
  } else if ((h.proc == Proc::kMsg || h.proc == Proc::kOptional) &&
             send.data.size() >= h.length + 8 &&
             wire::load_be32(send.data.data() + h.length) == h.xid) {
    shown = wire::load_be32(send.data.data() + h.length + 4);
  }
  if (shown > 1 || static_cast<MsgType>(shown) == h.direction) return h.direction;
  return answers_outstanding(c, send.sender, h.xid) ? MsgType::kReply : MsgType::kCall;
}

// Call or Reply? Version 2 states it; in version 1 the RPC message's own msg_type does, and for
// RDMA_NOMSG the list that must hold the message.
MsgType Model::Impl::direction(const roce::Connection& rc, Connection& c,
                               const roce::SendMessage& send, const wire::HeaderView& h,
                               const PredecodedSend* predecoded) {
  if (h.vers == 2 && h.proc != Proc::kError) return direction_of_later(c, send, h);
  if ((send.absent & roce::kAbsentBytes) != 0 && h.proc != Proc::kError && h.proc != Proc::kDone) {
    if (const auto type = type_of(send.data.subspan(h.length), h.xid)) return *type;
  }
  switch (h.proc) {
    case Proc::kError:
      return MsgType::kReply;
    case Proc::kDone:
      return MsgType::kCall;
    case Proc::kNomsg:
      if (has_position_zero(h)) {
        // By RFC 5666 a Reply can be read too: one to a Call that is in flight. A new Call would
        // have that XID only by chance, and have no Reply chunk.
        const bool answers = !h.reply && c.pub.client != send.sender &&
                             !near_own_calls(c, send.sender, h.xid) &&
                             answers_outstanding(c, send.sender, h.xid);
        return answers ? MsgType::kReply : MsgType::kCall;
      }
      if (h.reply && !h.reply->empty()) {
        // A Call without its Position Zero chunk? It is one if the client was never called, or if
        // it answers no Call and the beginning of the connection was seen.
        const bool nothing_called = c.pub.caller[1U - send.sender].calls == 0;
        const bool caller =
            rc.setup == roce::Setup::kCm && c.pub.client == send.sender &&
            (nothing_called || (losses(rc) == 0 && !answers_outstanding(c, send.sender, h.xid)));
        return caller ? MsgType::kCall : MsgType::kReply;
      }
      break;
    default:
      if (predecoded != nullptr && predecoded->rpc) return predecoded->rpc->type;
      if (const auto type = type_of(send.data.subspan(h.length), h.xid)) return *type;
  }
  return guess_direction(c, send.sender, h.xid);
}

// The message does not show it, or too little of it was captured.
MsgType Model::Impl::guess_direction(Connection& c, std::uint8_t sender, std::uint32_t xid) {
  if (answers_outstanding(c, sender, xid)) return MsgType::kReply;
  return c.pub.client >= 0 && c.pub.client != sender ? MsgType::kReply : MsgType::kCall;
}

void Model::on_send(const roce::Connection& rc, const roce::SendMessage& send) {
  Impl::Connection& c = impl_->at(rc.index);
  ++c.pub.sends;
  const wire::Bytes data = send.data;
  Incoming in{send, static_cast<const PredecodedSend*>(send.predecoded)};
  std::optional<wire::Result<wire::HeaderView>> decoded;
  const wire::Result<wire::HeaderView>& header =
      in.predecoded != nullptr ? in.predecoded->header : decoded.emplace(wire::decode_header(data));
  // Too little was captured to recognise anything.
  if (!send.complete && data.size() < wire::kPrefixBytes) return;
  if (c.pub.speaks != Speaks::kRpc) {
    if (!impl_->options.all_speak && !recognise(data) && !(c.expected && resembles(data)) &&
        (send.complete || !recognise_front(data))) {
      // The front of a message may be too little to recognise it.
      if (send.complete && c.pub.speaks == Speaks::kUnknown && ++c.unknown_sends >= 16) {
        c.pub.speaks = Speaks::kOther;
      }
      return;
    }
    c.pub.speaks = Speaks::kRpc;
  }
  ++c.pub.messages;
  if ((send.absent & roce::kAbsentLengths) == 0) c.pub.inline_bytes += send.wire_length;
  // The kind of a message decides which credit values are absent.
  c.pub.absent |= static_cast<std::uint16_t>(send.absent & ~roce::kAbsentCredit);

  if (data.size() >= wire::kPrefixBytes && wire::load_be32(data.data() + 4) == 2) [[unlikely]] {
    if (impl_->later_dialect(c, send, header.has_value()) && impl_->later_message(rc, c, send)) {
      return;
    }
  }
  if (!header) return impl_->no_header(rc, c, in, header.error());
  in.header = &*header;
  const bool option_with_rpc = header->proc == Proc::kOptional &&
                               decode::begins_with_rpc(data.subspan(header->length), header->xid);
  const bool conveys = header->proc == Proc::kMsg || header->proc == Proc::kNomsg ||
                       header->proc == Proc::kMsgp || option_with_rpc;
  if (option_with_rpc) ++c.pub.options;
  if (conveys && impl_->direction(rc, c, send, *header, in.predecoded) == MsgType::kCall) {
    return impl_->call(rc, c, in);
  }
  Message& m = impl_->scratch;
  m.reset();
  impl_->begin_message(rc, in, m);
  Impl::fill_lists(in, m);
  c.pub.version = header->vers;
  switch (option_with_rpc ? Proc::kMsg : header->proc) {
    case Proc::kDone:
      m.kind = Kind::kDone;
      ++c.pub.done;
      if (c.reply_reads != nullptr) impl_->done(c, m);
      break;
    case Proc::kOptional:
      m.kind = Kind::kOption;
      m.caller = header->direction == MsgType::kCall ? send.sender
                                                     : static_cast<std::uint8_t>(1 - send.sender);
      ++c.pub.options;
      c.options[c.next_option] = {send.sender, m.xid, m.frame, m.time_ns};
      c.next_option = (c.next_option + 1) % c.options.size();
      break;
    case Proc::kError:
      m.kind = Kind::kError;
      m.caller = static_cast<std::uint8_t>(1 - send.sender);
      return impl_->answer(c, in, m);
    default:
      m.kind = Kind::kReply;
      m.caller = static_cast<std::uint8_t>(1 - send.sender);
      return impl_->answer(c, in, m);
  }
  m.credits = c.pub.caller[m.caller].credits;
  impl_->observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
}

// A message whose header does not decode. If the capture truncated it, the sender is not to blame,
// and the XID still identifies it.
void Model::Impl::no_header(const roce::Connection& rc, Connection& c, const Incoming& in,
                            wire::DecodeError error) {
  const roce::SendMessage& send = in.send;
  const auto prefix = wire::decode_prefix(send.data);
  const bool front = !send.complete && prefix && prefix->vers >= 1 && prefix->vers <= 2;
  const bool reply = front && guess_direction(c, send.sender, prefix->xid) == MsgType::kReply;
  if (front && !reply) return call(rc, c, in);
  Message& m = scratch;
  m.reset();
  begin_message(rc, in, m);
  if (reply) {
    m.kind = Kind::kReply;
    m.caller = static_cast<std::uint8_t>(1 - send.sender);
    return answer(c, in, m);
  }
  m.kind = Kind::kMalformed;
  m.malformed = error;
  ++c.pub.malformed;
  if (m.proc == static_cast<std::uint32_t>(Proc::kError)) {
    broken_error(c, m);
  } else {
    observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
  }
}

// However broken an RDMA_ERROR is, it answers the Call with its XID.
void Model::Impl::broken_error(Connection& c, Message& m) {
  const auto caller = static_cast<std::uint8_t>(1 - m.sender);
  const CallRef ref = c.calls[caller].find(m.xid);
  if (ref.generation == 0) return observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
  Call& call = *pool.get(ref);
  m.caller = caller;
  m.match_frame = call.message.frame;
  m.latency_ns = m.time_ns - call.message.time_ns;
  call.message.match_frame = m.frame;
  call.message.latency_ns = m.latency_ns;
  ++c.pub.caller[caller].errors;
  note_credits(c, m);
  --m.credits.in_use;
  observers.notify<&Observer::on_message>(MessageSeen{m, &call});
  end_call(c, caller, ref, Ending::kError, &m);
}

// Whether this version 2 message uses a later dialect than decode_header() knows.
bool Model::Impl::later_dialect(Connection& c, const roce::SendMessage& send, bool decodes) {
  if (options.dialect) {
    c.pub.dialect = *options.dialect;
    c.pub.dialect_reason = "chosen by the user";
  } else if (c.pub.dialect == wire::Dialect::kDraft02 && send.complete) {
    // Errors and options that decode could still be something else.
    const std::uint32_t proc = wire::load_be32(send.data.data() + 12);
    if (!decodes || proc >= static_cast<std::uint32_t>(Proc::kError)) detect_dialect(c, send);
  }
  return c.pub.dialect != wire::Dialect::kDraft02;
}

// A broken draft-02 message can look like one of a later dialect, and later messages would then not
// be checked. So strong evidence is required, or weak evidence from both sides; twice as much if a
// Call and its Reply decoded as draft-02.
void Model::Impl::detect_dialect(Connection& c, const roce::SendMessage& send) {
  const auto detected = wire::detect_dialect(send.data);
  if (!detected) return;
  DialectVotes& votes = c.votes[static_cast<std::size_t>(detected->dialect)];
  if (detected->strong) {
    votes.strong = std::min(votes.strong + 2U, 4U);
  } else {
    votes.weak[send.sender] = true;
  }
  const unsigned sum = votes.strong + (votes.weak[0] ? 1U : 0U) + (votes.weak[1] ? 1U : 0U);
  if (sum < (c.draft02_answered ? 4U : 2U)) return;
  c.pub.dialect = detected->dialect;
  c.pub.dialect_frame = send.frame;
  c.pub.dialect_reason = detected->reason;
}

namespace {

// The parts that Calls, Replies and errors of all dialects share. A CALL_EXTERNAL has two Read
// lists: `reads` holds that of the Call's own chunk here.
wire::HeaderView common_header(const wire::LaterHeader& later) {
  wire::HeaderView h;
  h.xid = later.xid;
  h.vers = 2;
  h.credit = later.credit;
  h.proc = later.use == wire::HeaderUse::kExternal   ? Proc::kNomsg
           : later.use == wire::HeaderUse::kError    ? Proc::kError
           : later.use == wire::HeaderUse::kOptional ? Proc::kOptional
                                                     : Proc::kMsg;
  h.direction = later.direction;
  h.inv_handle = later.inv_handle.value_or(0);
  if (later.reads) h.reads = *later.reads;
  if (later.call_reads) h.reads = *later.call_reads;
  if (later.writes) h.writes = *later.writes;
  h.reply = later.reply;
  h.error = static_cast<wire::RdmaErr>(later.error);
  if (later.error_body == wire::ErrorBody::kVersions) {
    h.vers_low = later.error_words[0];
    h.vers_high = later.error_words[1];
  }
  h.opttype = later.opttype;
  h.length = later.length;
  return h;
}

}  // namespace

// Returns false if too little of the message was captured.
bool Model::Impl::later_message(const roce::Connection& rc, Connection& c,
                                const roce::SendMessage& send) {
  Incoming in{send};  // any predecoding assumed draft-02
  const auto later = wire::decode_later_header(c.pub.dialect, send.data);
  if (!later && !send.complete) return false;
  Message& m = scratch;
  m.reset();
  if (!later) {
    begin_message(rc, in, m);
    m.kind = Kind::kMalformed;
    m.malformed = later.error();
    ++c.pub.malformed;
    observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
    return true;
  }
  const wire::HeaderView h = common_header(*later);
  in.header = &h;
  if (later->call_reads) in.more_reads = *later->reads;
  in.tail_only = later->use == wire::HeaderUse::kInline &&
                 (send.data.size() < h.length + 4U ||
                  wire::load_be32(send.data.data() + h.length) != later->xid);
  const auto peer = static_cast<std::uint8_t>(1 - send.sender);
  const bool reply = later->direction == MsgType::kReply;
  const bool conveys =
      later->use == wire::HeaderUse::kInline || later->use == wire::HeaderUse::kExternal;
  if (conveys && !reply) {
    call(rc, c, in);
    return true;
  }
  begin_message(rc, in, m);
  fill_lists(in, m);
  m.caller = reply ? peer : send.sender;
  if (conveys || later->use == wire::HeaderUse::kError) {
    m.kind = conveys ? Kind::kReply : Kind::kError;
    m.caller = peer;
    answer(c, in, m);
    return true;
  }
  c.pub.version = 2;
  const bool option = later->use == wire::HeaderUse::kOptional;
  m.kind = option ? Kind::kOption : Kind::kControl;
  c.pub.options += option ? 1 : 0;
  const bool of_connection =
      later->use == wire::HeaderUse::kGrant || later->use == wire::HeaderUse::kProperties;
  if (of_connection && c.pub.client >= 0) m.caller = static_cast<std::uint8_t>(c.pub.client);
  m.credits = c.pub.caller[m.caller].credits;
  observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
  return true;
}

// The content of a message takes precedence over the recorded procedure.
void Model::on_call_recorded(const roce::IdentifiedCall& event) {
  const roce::Procedure& procedure = event.procedure;
  const CallRef ref = impl_->at(event.connection.index)
                          .calls[static_cast<std::size_t>(event.caller)]
                          .find(event.xid);
  Call* const call = ref.generation == 0 ? nullptr : impl_->pool.get(ref);
  if (call == nullptr || call->message.rpc.known) return;
  RpcInfo& info = call->message.rpc;
  info.known = true;
  info.program = procedure.program;
  info.version = procedure.version;
  info.procedure = procedure.number;
}

namespace {

void add_segment(Call& call, ChunkList list, std::uint32_t index, std::uint32_t position,
                 const wire::Segment& target) {
  if (call.chunks.empty() || call.chunks.back().list != list || call.chunks.back().index != index) {
    CallChunk& chunk = call.chunks.emplace_back();
    chunk.list = list;
    chunk.index = index;
    chunk.position = position;
  }
  CallChunk& chunk = call.chunks.back();
  CallSegment& s = call.segments.emplace_back();
  s.list = list;
  s.chunk = static_cast<std::uint32_t>(call.chunks.size() - 1);
  s.index = call.segments.size() > 1 && call.segments[call.segments.size() - 2].chunk == s.chunk
                ? call.segments[call.segments.size() - 2].index + 1
                : 0;
  s.position = position;
  s.target = target;
  s.base = chunk.length;
  chunk.length += target.length;
}

void add_read_chunks(Call& call, ChunkList list, const std::vector<wire::ReadSegment>& reads) {
  std::uint32_t index = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i != 0 && reads[i].position != reads[i - 1].position) ++index;
    add_segment(call, list, index, reads[i].position, reads[i].target);
  }
}

}  // namespace

void Model::Impl::set_call_chunks(Call& call) {
  const Message& m = call.message;
  add_read_chunks(call, ChunkList::kRead, m.reads);
  for_each_write_chunk(m, [&](std::uint32_t w, std::span<const wire::Segment> segments) {
    for (const wire::Segment& s : segments) add_segment(call, ChunkList::kWrite, w, 0, s);
    // An empty chunk still counts in the list.
    if (segments.empty()) {
      CallChunk& chunk = call.chunks.emplace_back();
      chunk.list = ChunkList::kWrite;
      chunk.index = w;
    }
  });
  for (const wire::Segment& s : m.reply_segments) add_segment(call, ChunkList::kReply, 0, 0, s);
}

// Finds the padding of an RDMA_MSGP, and leaves it out of its payload. `call`: the procedure that a
// Reply answers, if known.
void Model::Impl::find_padding(Message& m, const decode::ProcedureId* call) {
  if (!may_be_padded(m) || !m.complete || is_absent(m, roce::kAbsentBytes)) return;
  const auto rpc = wire::decode_rpc(m.payload);
  if (!rpc) return;
  const auto reads = removed_from_body(m.reads, rpc->length);
  std::vector<std::uint64_t> written;
  if (m.kind == Kind::kReply) {
    for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
      written.push_back(0);
      for (const wire::Segment& s : segments) written.back() += s.length;
    });
  }
  auto found =
      decode::find_padding({m.align, m.thresh, m.header_length}, m.payload, {reads, written}, call);
  if (!found) return;
  m.padding = std::move(*found);
  m.padding_found = true;
  if (m.padding.empty()) return;
  unpadded = decode::without_padding(m.payload, m.padding);
  m.payload = unpadded;
}

void Model::Impl::decode_call_rpc(const roce::Connection& rc, Call& call, wire::Bytes rpc_message,
                                  const PredecodedSend* predecoded) {
  if (rpc_message.size() >= 4) call.message.rpc_xid = wire::load_be32(rpc_message.data());
  std::optional<wire::Result<wire::RpcView>> decoded;
  const wire::Result<wire::RpcView>& rpc =
      predecoded != nullptr ? predecoded->rpc : decoded.emplace(wire::decode_rpc(rpc_message));
  const std::uint32_t first = first_position(call.message);
  if (!rpc || rpc->type != MsgType::kCall || first < decode::kRpcProcedureEnd) return;
  RpcInfo& info = call.message.rpc;
  info.known = true;
  info.program = rpc->call.prog;
  info.version = rpc->call.vers;
  info.procedure = rpc->call.proc;
  call.identified = true;
  const std::uint32_t padding = padded_from(call.message);
  if (!decode::header_is_certain(*rpc, padding, first)) return;
  info.header_seen = true;
  info.cred_flavor = rpc->call.cred.flavor;
  info.wrapping = decode::wrapping_of(rpc->call.cred);
  if (is_configuration(info)) {
    const auto asked = wire::decode_rdmaconfig_request(rpc_message.subspan(rpc->length));
    at(call.message.connection).asked =
        asked ? std::optional<wire::RdmaConfigRequest>(*asked) : std::nullopt;
  }
  if (predecoded != nullptr && predecoded->ops) {
    info.ops = *predecoded->ops;
    call.results_asked = predecoded->results_asked;
    if (FileTracker::is_of_files(info)) {
      note_files(rc, call, *rpc, rpc_message, predecoded->items);
    }
    return;
  }
  KeptItems items;
  const CallArguments arguments =
      decode_arguments(rpc->call, rpc_message.subspan(rpc->length),
                       removed_by_reads(call, rpc->length), padding, items);
  info.ops = arguments.ops;
  call.results_asked = arguments.results_asked;
  if (FileTracker::is_of_files(info)) note_files(rc, call, *rpc, rpc_message, items);
}

void Model::Impl::note_files(const roce::Connection& rc, Call& call, const wire::RpcView& rpc,
                             wire::Bytes rpc_message, const KeptItems& items) {
  const auto arguments = decode::unwrap(call.message.rpc.wrapping, rpc_message.subspan(rpc.length));
  const std::uint32_t padding = padded_from(call.message);
  // The wrapping is an opaque too, and padding may precede it.
  if (!arguments || (padding != decode::kNotPadded && arguments->offset != 0)) return;
  call.has_file = true;
  const std::uint64_t server = capture::hash_value(rc.side[1U - call.message.caller].address);
  // In wrapped arguments, the items rest on other places of the chunks.
  if (items.complete() && (call.message.reads.empty() || arguments->offset == 0)) {
    return files.note_call(call.file, call.message.rpc, server, arguments->bytes, items);
  }
  files.note_call(call.file, call.message.rpc, server, arguments->bytes,
                  removed_by_reads(call, rpc.length + arguments->offset), padding);
}

// The source states the procedure, in the first words of the RPC message, and no more of it.
void Model::Impl::note_procedure(Call& call, wire::Bytes first_words) {
  constexpr std::size_t kProgram = 12;  // behind the XID, the msg_type and the version of RPC
  if (first_words.size() < kProgram + 12) return;
  RpcInfo& info = call.message.rpc;
  info.program = wire::load_be32(first_words.data() + kProgram);
  info.version = wire::load_be32(first_words.data() + kProgram + 4);
  info.procedure = wire::load_be32(first_words.data() + kProgram + 8);
  info.known = info.program != 0;
  call.identified = info.known;
}

void Model::Impl::decode_reply_rpc(Message& m, Call* call, wire::Bytes rpc_message,
                                   const PredecodedSend* predecoded) {
  if (rpc_message.size() >= 4) m.rpc_xid = wire::load_be32(rpc_message.data());
  std::optional<wire::Result<wire::RpcView>> decoded;
  const wire::Result<wire::RpcView>& rpc =
      predecoded != nullptr ? predecoded->rpc : decoded.emplace(wire::decode_rpc(rpc_message));
  if (!rpc || rpc->type != MsgType::kReply) return;
  const std::uint32_t first = first_position(m);
  if (!decode::header_is_certain(*rpc, padded_from(m), first)) return;
  m.rpc.header_seen = true;
  m.rpc.reply_stat = rpc->reply.stat;
  m.rpc.accept_stat = rpc->reply.accept;
  m.rpc.reject_stat = rpc->reply.reject;
  m.rpc.vers_low = rpc->reply.low;
  m.rpc.vers_high = rpc->reply.high;
  m.rpc.auth_stat = rpc->reply.auth_stat;
  m.rpc.wrapping = decode::wrapping_of_reply(m.rpc.wrapping, rpc->reply);
  const bool success = rpc->reply.stat == wire::ReplyStat::kAccepted &&
                       rpc->reply.accept == wire::AcceptStat::kSuccess;
  if (!success || !has_nfs_status(m.rpc)) return;
  const auto results = decode::unwrap(m.rpc.wrapping, rpc_message.subspan(rpc->length));
  // The wrapping is an opaque, and padding may precede it.
  if (!results || (results->offset != 0 && may_be_padded(m))) return;
  if (results->bytes.size() < 4 || first < rpc->length + results->offset + 4) return;
  m.rpc.has_status = true;
  m.rpc.status = wire::load_be32(results->bytes.data());
  if (call == nullptr || !call->has_file || may_be_padded(m)) return;
  // The data of a Read chunk is not joined to them.
  const std::size_t certain = first - rpc->length - results->offset;
  note_file_results(m, *call, results->bytes.first(std::min(certain, results->bytes.size())));
}

void Model::Impl::note_file_results(const Message& m, Call& call, wire::Bytes results) {
  std::array<std::uint64_t, 16> lengths{};
  std::size_t count = 0;
  for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    if (count == lengths.size()) return;
    for (const wire::Segment& s : segments) lengths[count] += s.length;
    ++count;
  });
  files.note_reply(call.file, m.rpc, results, std::span(lengths).first(count));
}

void Model::Impl::note_credits(Connection& c, Message& m) {
  CallerCounts& counts = c.pub.caller[m.caller];
  counts.credits.in_use = static_cast<std::uint32_t>(c.calls[m.caller].size());
  m.credits = counts.credits;
}

void Model::Impl::call(const roce::Connection& rc, Connection& c, const Incoming& in) {
  const roce::SendMessage& send = in.send;
  const wire::HeaderView* const h = in.header;
  const std::uint8_t caller = send.sender;
  CallTable& table = c.calls[caller];
  CallerCounts& counts = c.pub.caller[caller];
  const CallRef ref = pool.create();
  Call& call = *pool.get(ref);
  Message& m = call.message;
  begin_message(rc, in, m);
  call.losses_before = send.frame < rc.gap_known_frame ? kLossesUnknown : losses(rc);
  m.kind = Kind::kCall;
  if (h != nullptr) fill_lists(in, m);
  c.pub.version = m.version;
  ++counts.calls;
  c.latest_xid[caller] = m.xid;
  if (is_absent(m, roce::kAbsentCredit)) {
    note_absent(c, caller, roce::kAbsentRequests);
    counts.credits.requested_known = false;
  } else {
    counts.credits.requested = m.credit;
    counts.credits.requested_known = true;
    counts.requested_max = std::max(counts.requested_max, m.credit);
  }

  const CallRef old = table.find(m.xid);
  if (old.generation != 0) {
    ++counts.superseded;
    call.doubled = true;
    end_call(c, caller, old, Ending::kSuperseded, nullptr);
  }
  if (table.size() >= options.max_outstanding) {
    end_call(c, caller, table.oldest(), Ending::kForgotten, nullptr);
  }

  set_call_chunks(call);
  const PredecodedSend* const predecoded = in.predecoded;
  if (send.complete) {
    call.digest = predecoded != nullptr && predecoded->digest != 0 ? predecoded->digest
                                                                   : digest_of(m.payload);
  }
  if (h != nullptr && h->proc == Proc::kMsgp) [[unlikely]]
    find_padding(m, nullptr);
  const bool long_call = h != nullptr && h->proc == Proc::kNomsg;
  if (h != nullptr && is_absent(m, roce::kAbsentBytes)) {
    note_procedure(call, send.data.subspan(h->length));
  } else if (h != nullptr && !long_call) {
    if (!m.reads.empty() && !may_be_padded(m)) note_counts(call, m.payload);
    if (!in.tail_only) decode_call_rpc(rc, call, m.payload, predecoded);
  }
  for (const CallChunk& chunk : call.chunks) ++c.pub.chunks[static_cast<std::size_t>(chunk.list)];

  const bool callback =
      call.message.rpc.known && decode::is_transient_program(call.message.rpc.program);
  if (rc.setup == roce::Setup::kInferred && call.message.rpc.known) {
    decide_client(c, callback ? static_cast<std::uint8_t>(1 - caller) : caller, false);
  } else if (!call.segments.empty()) {
    decide_client(c, caller, false);
  }
  table.insert(pool, ref);
  count_outstanding(ref);
  DirectionState& direction_state = direction_state_of(c);
  if (send.ack_requested) direction_state.arrivals[caller].sent(send.psn, send.time_ns, ref);
  m.acknowledges_after_ns = direction_state.arrivals[1U - caller].usual_ns();
  c.had_early_operations = direction_state.early_operations[caller].offered_late(call);
  note_credits(c, call.message);
  counts.in_use_max = std::max(counts.in_use_max, counts.credits.in_use);
  observers.notify<&Observer::on_message>(MessageSeen{call.message, &call});
  call.message.payload = {};
}

void Model::Impl::count_outstanding(CallRef ref) {
  Call& call = *pool.get(ref);
  call.counted = call.footprint();
  outstanding_bytes += call.counted;
  while (outstanding_bytes > options.max_outstanding_bytes) {
    const CallRef oldest = pool.oldest();
    if (oldest.slot == ref.slot) return;
    const Call& forgotten = *pool.get(oldest);
    const Message& m = forgotten.message;
    if (forgotten.reply != nullptr) {
      end_reply_read(at(m.connection), m.caller, oldest);
    } else {
      end_call(at(m.connection), m.caller, oldest, Ending::kForgotten, nullptr);
    }
  }
}

// Sets the thresholds agreed by the Connection Configuration Protocol (RFC 5666 section 6.2).
void Model::Impl::note_configured(Connection& c, wire::Bytes rpc_message) {
  const auto rpc = wire::decode_rpc(rpc_message);
  if (!rpc || rpc->type != MsgType::kReply || !c.asked) return;
  const auto reply = wire::decode_rdmaconfig_reply(rpc_message.subspan(rpc->length));
  if (!reply) return;
  c.pub.thresholds.call = reply->maxcall_sendsize;
  c.pub.thresholds.reply = c.asked->maxreply_sendsize;
}

// An RDMA_ERROR for an OPTIONAL: it ends no Call.
bool Model::Impl::refuses_option(Connection& c, Message& m) {
  if (m.kind != Kind::kError) return false;
  for (Connection::Option& option : c.options) {
    if (option.frame == 0 || option.xid != m.xid || option.sender == m.sender) continue;
    m.match_frame = option.frame;
    m.latency_ns = m.time_ns - option.time_ns;
    option.frame = 0;
    return true;
  }
  return false;
}

void Model::Impl::note_absent(Connection& c, std::size_t caller, roce::Absent what) {
  c.pub.caller[caller].absent |= what;
  if (c.pub.client < 0 || static_cast<std::size_t>(c.pub.client) == caller) c.pub.absent |= what;
}

void Model::Impl::note_grant(Connection& c, CallerCounts& counts, const Message& m) {
  counts.credits.granted_known = !is_absent(m, roce::kAbsentCredit);
  if (!counts.credits.granted_known) {
    note_absent(c, m.caller, roce::kAbsentGrants);
    return;
  }
  counts.credits.granted = m.credit;
  counts.granted_max = std::max(counts.granted_max, m.credit);
  counts.granted_min = counts.granted_min == 0 ? m.credit : std::min(counts.granted_min, m.credit);
}

void Model::Impl::answer(Connection& c, const Incoming& in, Message& m) {
  const roce::SendMessage& send = in.send;
  const wire::HeaderView* const h = in.header;
  CallerCounts& counts = c.pub.caller[m.caller];
  if (send.ack_requested)
    direction_state_of(c).arrivals[send.sender].sent(send.psn, send.time_ns, {});
  // An ERR_VERS can copy a version that does not exist.
  if (m.version == 1 || m.version == 2) c.pub.version = m.version;
  if (m.kind == Kind::kReply) {
    decide_client(c, m.caller, false);
    note_grant(c, counts, m);
  }
  // An OPTIONAL may use the XID of a Call.
  const bool of_option =
      m.kind == Kind::kError && m.error == wire::RdmaErr::kInvalOption && refuses_option(c, m);
  const CallRef ref = of_option ? CallRef{} : c.calls[m.caller].find(m.xid);
  Call* call = ref.generation == 0 ? nullptr : pool.get(ref);
  c.draft02_answered |= call != nullptr && h != nullptr && m.kind == Kind::kReply &&
                        m.version == 2 && call->message.version == 2 &&
                        call->message.header_length != 0;
  if (call != nullptr) {
    m.rpc.known = call->message.rpc.known;
    m.rpc.program = call->message.rpc.program;
    m.rpc.version = call->message.rpc.version;
    m.rpc.procedure = call->message.rpc.procedure;
    m.rpc.ops = call->message.rpc.ops;
    m.rpc.wrapping = call->message.rpc.wrapping;
    m.match_frame = call->message.frame;
    m.latency_ns = m.time_ns - call->message.time_ns;
    call->message.match_frame = m.frame;
    call->message.latency_ns = m.latency_ns;
  }
  if (h != nullptr && m.kind == Kind::kReply && !is_absent(m, roce::kAbsentBytes)) {
    if (h->proc == Proc::kMsgp) [[unlikely]] {
      const decode::ProcedureId id = procedure_of(m.rpc);
      find_padding(m, m.rpc.known ? &id : nullptr);
    }
    if (h->proc != Proc::kNomsg) {
      if (!in.tail_only) decode_reply_rpc(m, call, m.payload, in.predecoded);
    } else if (call != nullptr) {
      for (const CallChunk& chunk : call->chunks) {
        if (chunk.list == ChunkList::kReply) decode_reply_rpc(m, call, chunk.data.head(), nullptr);
      }
    }
  }
  if (call != nullptr && h != nullptr && m.kind == Kind::kReply && is_configuration(m.rpc) &&
      !is_absent(m, roce::kAbsentBytes)) {
    note_configured(c, send.data.subspan(h->length));
  }
  if (call == nullptr) {
    if (!of_option && !refuses_option(c, m)) ++counts.unmatched_replies;
    note_credits(c, m);
    observers.notify<&Observer::on_message>(MessageSeen{m, nullptr});
    return;
  }
  if (m.kind == Kind::kError) {
    ++counts.errors;
  } else {
    if (counts.replies++ == 0) {
      counts.first_reply_frame = m.frame;
      counts.first_reply_ns = m.time_ns;
    }
    counts.last_reply_ns = m.time_ns;
  }
  // The credit ledger after this answer: its Call is no longer in flight.
  note_credits(c, m);
  --m.credits.in_use;
  counts.credits.in_use = m.credits.in_use;
  observers.notify<&Observer::on_message>(MessageSeen{m, call});
  end_call(c, m.caller, ref, m.kind == Kind::kError ? Ending::kError : Ending::kReplied, &m);
}

void Model::Impl::end_call(Connection& c, std::uint8_t caller, CallRef ref, Ending ending,
                           const Message* answer) {
  Call& call = *pool.get(ref);
  call.ending = ending;
  if (answer == nullptr) ++c.pub.caller[caller].unmatched_calls;
  if (!call.segments.empty()) direction_state_of(c).early_operations[caller].ended(call);
  observers.notify<&Observer::on_call_end>(CallEnded{call, answer});
  c.calls[caller].erase(pool, ref);
  c.pub.caller[caller].credits.in_use = static_cast<std::uint32_t>(c.calls[caller].size());
  if (ending == Ending::kReplied && !answer->reads.empty()) [[unlikely]] {
    return read_reply(c, caller, ref, *answer);
  }
  release(ref);
}

void Model::Impl::release(CallRef ref) {
  const Call& call = *pool.get(ref);
  for (const CallChunk& chunk : call.chunks) kept_bytes -= chunk.data.footprint();
  outstanding_bytes -= call.counted;
  pool.release(ref);
}

// Keeps a Call that has ended until the Read chunks of its Reply are read.
void Model::Impl::read_reply(Connection& c, std::uint8_t caller, CallRef ref,
                             const Message& reply) {
  if (c.reply_reads == nullptr) c.reply_reads = std::make_unique<ReplyReads>();
  CallTable& table = c.reply_reads->calls[caller];
  if (const CallRef old = table.find(reply.xid); old.generation != 0) {
    end_reply_read(c, caller, old);
  }
  if (table.size() >= options.max_outstanding) end_reply_read(c, caller, table.oldest());
  ReplyReads::Unreleased& unreleased = c.reply_reads->unreleased[c.reply_reads->next];
  c.reply_reads->next = (c.reply_reads->next + 1) % c.reply_reads->unreleased.size();
  unreleased = {caller, reply.xid, reply.frame, reply.time_ns};

  Call& call = *pool.get(ref);
  call.reply = std::make_shared<Message>(reply);
  call.reply->payload = {};
  call.own_segments = static_cast<std::uint32_t>(call.segments.size());
  const std::size_t own_chunks = call.chunks.size();
  add_read_chunks(call, ChunkList::kReplyRead, reply.reads);
  for (std::size_t i = own_chunks; i < call.chunks.size(); ++i) {
    ++c.pub.chunks[static_cast<std::size_t>(ChunkList::kRead)];
  }
  for (std::size_t i = call.own_segments; i < call.segments.size(); ++i) {
    if (call.segments[i].target.length != 0) ++call.unread_segments;
  }
  table.insert(pool, ref, call.own_segments);
  if (call.unread_segments == 0) return end_reply_read(c, caller, ref);
  outstanding_bytes -= call.counted;
  count_outstanding(ref);
}

void Model::Impl::end_reply_read(Connection& c, std::uint8_t caller, CallRef ref) {
  Call& call = *pool.get(ref);
  Message& reply = *call.reply;
  if (is_external(reply) && !reply.rpc.header_seen && !is_absent(reply, roce::kAbsentBytes)) {
    const auto held = std::find_if(call.chunks.begin(), call.chunks.end(), [](const CallChunk& k) {
      return k.list == ChunkList::kReplyRead && k.position == 0;
    });
    if (held != call.chunks.end()) {
      decode_reply_rpc(reply, &call, held->data.head(), nullptr);
      if (is_configuration(reply.rpc)) note_configured(c, held->data.head());
    }
  }
  observers.notify<&Observer::on_reply_read>(ReplyRead{call, reply});
  c.reply_reads->calls[caller].erase(pool, ref, call.own_segments);
  release(ref);
}

void Model::Impl::end_reply_reads(Connection& c) {
  for (std::uint8_t caller = 0; caller < 2; ++caller) {
    for (const CallRef ref : c.reply_reads->calls[caller].in_order()) {
      end_reply_read(c, caller, ref);
    }
  }
}

// An RDMA_DONE releases the memory of a Reply's Read chunks.
void Model::Impl::done(Connection& c, Message& m) {
  for (ReplyReads::Unreleased& reply : c.reply_reads->unreleased) {
    if (reply.frame == 0 || reply.xid != m.xid || reply.caller != m.caller) continue;
    m.match_frame = reply.frame;
    m.latency_ns = m.time_ns - reply.time_ns;
    reply.frame = 0;
  }
  const CallRef ref = c.reply_reads->calls[m.caller].find(m.xid);
  if (ref.generation != 0) end_reply_read(c, m.caller, ref);
}

// `owner` advertised memory in a Call, and its peer accessed it.
void Model::Impl::note_owner(Connection& c, std::uint8_t owner) {
  if (c.pub.client_by_operations && c.pub.client != owner) {
    // Both sides advertise memory: reverse Calls have chunks here, so chunks prove nothing.
    c.pub.client_certain = false;
    c.pub.both_offer_memory = true;
  } else if (!c.pub.client_certain && !c.pub.both_offer_memory) {
    decide_client(c, owner, true);
    c.pub.client_by_operations = true;
  }
}

void Model::on_operation(const roce::Connection& rc, roce::Operation& op) {
  Impl::Connection& c = impl_->at(rc.index);
  // The responder accesses memory of its peer, which advertised it in its own Call.
  const auto owner = static_cast<std::uint8_t>(1 - op.initiator);
  SegmentRef target = c.calls[owner].find_segment(impl_->pool, op.handle, op.offset, op.length);
  op.tag = 0;
  const bool in_flight = target.call.generation != 0;
  // Or the requester reads its Reply.
  if (!in_flight && c.reply_reads != nullptr) {
    target = c.reply_reads->calls[op.initiator].find_segment(impl_->pool, op.handle, op.offset,
                                                             op.length);
  }
  if (target.call.generation == 0) {
    if (c.pub.speaks == Speaks::kRpc) {
      ++c.pub.unmatched_operations;
      Impl::direction_state_of(c).early_operations[owner].unmatched(op, impl_->next_id);
    }
    impl_->observers.notify<&Observer::on_operation>(OperationSeen{rc, op, nullptr, 0});
    return;
  }
  if (in_flight) impl_->note_owner(c, owner);
  op.tag = make_tag(target.call, target.segment);
  Call& call = *impl_->pool.get(target.call);
  std::int64_t& first_ns = in_flight ? call.first_op_ns : call.first_reply_read_ns;
  if (first_ns < 0) first_ns = op.first_ns;
  const CallSegment& segment = call.segments[target.segment];
  const CallChunk& chunk = call.chunks[segment.chunk];
  const bool message_chunk =
      segment.list == ChunkList::kReply || (is_read_list(segment.list) && chunk.position == 0);
  op.want_data = impl_->options.keep_chunks || message_chunk;
  impl_->observers.notify<&Observer::on_operation>(OperationSeen{rc, op, &call, target.segment});
}

void Model::on_data(const roce::OperationData& event) {
  const roce::Operation& op = event.op;
  impl_->observers.notify<&Observer::on_operation_data>(OperationProgress{event.connection, op});
  Call* call = impl_->tagged(op.tag);
  const auto index = static_cast<std::uint32_t>(op.tag & 0xffff);
  if (call == nullptr || index >= call->segments.size()) return;
  const CallSegment& segment = call->segments[index];
  CallChunk& chunk = call->chunks[segment.chunk];
  const std::uint64_t at = segment.base + (op.offset - segment.target.offset) + event.offset;
  if (at >= chunk.length) return;
  std::uint64_t keep = std::min<std::uint64_t>(event.data.size(), chunk.length - at);
  if (!impl_->options.keep_chunks) {
    const std::uint32_t head = impl_->head_of(*call);
    keep = at < head ? std::min<std::uint64_t>(keep, head - at) : 0;
  }
  if (impl_->kept_bytes + keep > impl_->options.max_kept_bytes) {
    chunk.truncated = true;
    return;
  }
  const std::size_t before = chunk.data.footprint();
  static_cast<void>(chunk.data.store(at, event.data.first(static_cast<std::size_t>(keep))));
  chunk.truncated |= chunk.data.refused();
  impl_->kept_bytes += chunk.data.footprint() - before;
}

void Model::Impl::note_moved(Call& call, CallSegment& segment, const roce::Operation& op) {
  if ((op.kind == roce::OpKind::kRead) != is_read_list(segment.list)) return;
  // A READ that was answered with too few bytes requested all of them: its responses are at fault.
  const std::uint64_t length = op.answered ? op.length : op.bytes;
  const wire::Segment& target = segment.target;
  // Distances from the beginning of the segment that contains the operation's beginning
  // (CallTable::find_segment).
  const std::uint64_t begin = op.offset - target.offset;
  if (begin >= target.length) return;
  const std::uint64_t end = std::min<std::uint64_t>(begin + length, target.length);
  const std::size_t before = segment.coverage.footprint();
  segment.coverage.add(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  const std::size_t after = segment.coverage.footprint();
  call.counted = call.counted + after - before;
  outstanding_bytes = outstanding_bytes + after - before;
}

void Model::on_operation_end(const roce::Connection& rc, const roce::Operation& op) {
  Call* call = impl_->tagged(op.tag);
  const auto index = static_cast<std::uint32_t>(op.tag & 0xffff);
  if (call == nullptr || index >= call->segments.size()) {
    impl_->observers.notify<&Observer::on_operation_end>(OperationSeen{rc, op, nullptr, 0});
    return;
  }
  Impl::Connection& c = impl_->at(rc.index);
  CallSegment& segment = call->segments[index];
  CallChunk& chunk = call->chunks[segment.chunk];
  const bool of_reply = segment.list == ChunkList::kReplyRead;
  const bool was_read = segment.moved_of_it() >= segment.target.length;
  segment.moved += op.bytes;
  impl_->note_moved(*call, segment, op);
  chunk.moved += op.bytes;
  c.pub.chunk_bytes[static_cast<std::size_t>(counted_list(segment.list))] += op.bytes;
  std::int64_t& last_ns = of_reply ? call->last_reply_read_ns : call->last_op_ns;
  last_ns = std::max(last_ns, op.last_ns);
  ++call->operations_total;
  if (call->operations.size() < kMaxOperationsKept &&
      impl_->outstanding_bytes < impl_->options.max_outstanding_bytes) {
    call->counted += sizeof(ChunkOperation);
    impl_->outstanding_bytes += sizeof(ChunkOperation);
    ChunkOperation& o = call->operations.emplace_back();
    o.kind = op.kind;
    o.list = segment.list;
    o.chunk = chunk.index;
    o.segment = segment.index;
    o.handle = op.handle;
    o.length = op.length;
    o.offset = op.offset;
    o.bytes = op.bytes;
    o.first_frame = op.first_frame;
    o.last_frame = op.last_frame;
    o.first_ns = op.first_ns;
    o.last_ns = op.last_ns;
    o.complete = op.complete;
    o.suspect = op.suspect;
  }
  // The whole message, or as much as is kept, has arrived; or the rest never will, because only its
  // front was captured. Now the program can be decoded.
  const std::uint64_t wanted = impl_->options.keep_chunks
                                   ? chunk.length
                                   : std::min<std::uint64_t>(chunk.length, impl_->head_of(*call));
  if (segment.list == ChunkList::kRead && chunk.position == 0 && !call->identified &&
      (chunk.data.covers(wanted) || chunk.moved >= chunk.length)) {
    impl_->decode_call_rpc(rc, *call, chunk.data.head(), nullptr);
    if (call->identified) impl_->observers.notify<&Observer::on_identified>(*call);
  }
  impl_->observers.notify<&Observer::on_operation_end>(OperationSeen{rc, op, call, index});
  if (of_reply && !was_read && segment.moved_of_it() >= segment.target.length &&
      --call->unread_segments == 0) {
    const auto caller = call->message.caller;
    impl_->end_reply_read(c, caller, c.reply_reads->calls[caller].find(call->message.xid));
  }
}

bool Model::had_early_operations(const roce::Connection& connection) {
  return std::exchange(impl_->at(connection.index).had_early_operations, false);
}

bool Model::answers(const roce::Connection& connection, std::span<const std::uint8_t> first,
                    std::uint32_t handle) {
  Impl::Connection& c = impl_->at(connection.index);
  if (c.pub.speaks != Speaks::kRpc) return false;
  if (first.empty()) return c.calls[0].has_handle(handle);
  const auto prefix = wire::decode_prefix(first);
  return prefix && prefix->vers >= 1 && prefix->vers <= 2 &&
         c.calls[0].find(prefix->xid).generation != 0;
}

}  // namespace rpcrdma::model
