// Reports each field that the model knows of a message, if a filter wants it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/content.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::filter {

namespace {

using decode::FieldId;
using model::Kind;
using model::Message;

std::size_t address_length(capture::AddressKind kind) {
  switch (kind) {
    case capture::AddressKind::kNone:
      return 0;
    case capture::AddressKind::kIpv4:
      return 4;
    case capture::AddressKind::kIpv6:
    case capture::AddressKind::kGid:
      return 16;
    case capture::AddressKind::kLid:
      return 2;
  }
  return 0;
}

// The difference as a duration field: in two's complement, so that no time in a file overflows.
std::uint64_t difference(std::int64_t later, std::int64_t earlier) {
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
}

const FieldSet& operation_fields() {
  static const FieldSet set = field_set(
      {FieldId::kOp, FieldId::kOpKind, FieldId::kOpHandle, FieldId::kOpOffset, FieldId::kOpLength,
       FieldId::kOpBytes, FieldId::kOpFirstFrame, FieldId::kOpLastFrame, FieldId::kOpTime});
  return set;
}

class Reporter {
 public:
  Reporter(const Inputs& in, const FieldSet& wanted, decode::Sink& sink)
      : in_(in), m_(*in.message), wanted_(wanted), sink_(sink) {}

  void run() {
    capture_fields();
    prefix();
    if (m_.header_length != 0) lists();
    if (m_.kind == Kind::kError) {
      const auto code = static_cast<std::uint32_t>(m_.error);
      number(FieldId::kError, code, model::error_name(m_));
    }
    if (m_.kind == Kind::kCall || m_.kind == Kind::kReply) rpc();
    ledger();
    whole_call();
    for (const std::string_view id : in_.findings) text(FieldId::kFinding, id);
  }

 private:
  [[nodiscard]] bool absent(roce::Absent what) const { return model::is_absent(m_, what); }
  [[nodiscard]] bool wanted(FieldId id) const { return wanted_[static_cast<std::size_t>(id)]; }
  void number(FieldId id, std::uint64_t value, const char* name = nullptr) {
    if (wanted(id)) sink_.number(id, 0, 0, value, name);
  }
  void text(FieldId id, std::string_view value) {
    if (wanted(id)) sink_.text(id, 0, 0, value);
  }
  void subtree(FieldId id) {
    if (!wanted(id)) return;
    sink_.open(id, 0, 0, {});
    sink_.close();
  }

  void side(const roce::Side* side, FieldId address, FieldId qpn, FieldId port) {
    if (side == nullptr) return;
    const wire::Bytes bytes(side->address.bytes.data(), address_length(side->address.kind));
    for (const FieldId id : {address, FieldId::kAddress}) {
      if (wanted(id) && !bytes.empty()) sink_.bytes(id, 0, 0, bytes);
    }
    if (!side->qpn_known) return;
    number(side->is_port ? port : qpn, side->qpn);
    number(side->is_port ? FieldId::kPort : FieldId::kQpn, side->qpn);
  }

  void tunnels(const roce::Side* side) {
    if (side == nullptr) return;
    const auto address = [&](FieldId id, const capture::Address& a) {
      const wire::Bytes bytes(a.bytes.data(), address_length(a.kind));
      if (wanted(id) && !bytes.empty()) sink_.bytes(id, 0, 0, bytes);
    };
    for (const roce::TunnelsSeen& seen : side->tunnels) {
      const capture::Tunnels& t = seen.tunnels;
      for (std::size_t i = 0; i < t.count; ++i) {
        text(FieldId::kTunnelType, capture::tunnel_name(t.kind[i]));
        if (t.has_key(i)) number(FieldId::kTunnelKey, t.key[i]);
      }
      address(FieldId::kTunnelSource, t.src);
      address(FieldId::kTunnelDestination, t.dst);
      if (t.erspan_session != capture::Tunnels::kNoSession) {
        number(FieldId::kTunnelErspanSession, t.erspan_session);
      }
    }
  }

  void capture_fields() {
    number(FieldId::kFrameNumber, m_.frame);
    number(FieldId::kFrameTime, static_cast<std::uint64_t>(m_.time_ns));
    number(FieldId::kFrameTimeRelative, difference(m_.time_ns, in_.start_ns));
    number(FieldId::kConnection, in_.connection);
    text(FieldId::kKind, model::kind_name(m_.kind));
    number(FieldId::kReverse, in_.reverse ? 1 : 0);
    // A malformed message may be a Call or a Reply.
    if (m_.kind != Kind::kMalformed) {
      text(FieldId::kPeer, (m_.sender == m_.caller) != in_.reverse ? "client" : "server");
    }
    side(in_.sender, FieldId::kSource, FieldId::kSourceQpn, FieldId::kSourcePort);
    side(in_.receiver, FieldId::kDestination, FieldId::kDestinationQpn, FieldId::kDestinationPort);
    tunnels(in_.sender);
    if (!absent(roce::kAbsentLengths)) number(FieldId::kSendLength, m_.wire_length);
    if (absent(roce::kAbsentBytes)) text(FieldId::kFieldsOnly, model::kFieldsOnly);
    number(FieldId::kComplete, m_.complete ? 1 : 0);
    number(FieldId::kBadIcrc, m_.suspect ? 1 : 0);
    number(FieldId::kCongestion, m_.ce ? 1 : 0);
    if (!wanted(FieldId::kIncomplete)) return;
    const model::Incomplete unfit = model::unfit_for_rebuild(m_, in_.call);
    if (const char* why = model::incomplete_reason(unfit)) text(FieldId::kIncomplete, why);
  }

  void prefix() {
    subtree(FieldId::kTransport);
    // The message is too short, or was truncated by the capture: the model has zeros then.
    const bool short_send = !absent(roce::kAbsentLengths) && m_.wire_length < wire::kPrefixBytes;
    if (short_send || (!m_.complete && m_.version == 0)) return;
    number(FieldId::kXid, m_.xid);
    number(FieldId::kVersion, m_.version);
    if (!absent(roce::kAbsentCredit)) number(FieldId::kCredit, m_.credit);
    number(FieldId::kProc, m_.proc, model::type_name(m_));
  }

  void segment(const wire::Segment& s) {
    subtree(FieldId::kSegment);
    number(FieldId::kSegmentHandle, s.handle);
    number(FieldId::kSegmentLength, s.length);
    number(FieldId::kSegmentOffset, s.offset);
  }

  void lists() {
    const auto proc = static_cast<wire::Proc>(m_.proc);
    const bool plain =
        proc == wire::Proc::kMsg || proc == wire::Proc::kNomsg || proc == wire::Proc::kMsgp;
    if (!plain &&
        !(model::later_dialect(m_) && (m_.kind == Kind::kCall || m_.kind == Kind::kReply))) {
      return;
    }
    // Where lists may be incomplete, their sizes are not known.
    const bool whole = !absent(roce::kAbsentChunks);
    if (whole) number(FieldId::kReadCount, m_.reads.size());
    if (!m_.reads.empty()) subtree(FieldId::kReadChunk);
    for (const wire::ReadSegment& read : m_.reads) {
      number(FieldId::kReadPosition, read.position);
      segment(read.target);
    }
    if (whole) number(FieldId::kWriteCount, m_.write_counts.size());
    model::for_each_write_chunk(m_, [&](std::uint32_t, std::span<const wire::Segment> segments) {
      subtree(FieldId::kWriteChunk);
      if (whole) number(FieldId::kWriteSegments, segments.size());
      for (const wire::Segment& s : segments) segment(s);
    });
    if (whole || m_.has_reply_chunk) number(FieldId::kReplyPresent, m_.has_reply_chunk ? 1 : 0);
    if (!m_.has_reply_chunk) return;
    subtree(FieldId::kReplyChunk);
    if (whole) number(FieldId::kReplyCount, m_.reply_segments.size());
    for (const wire::Segment& s : m_.reply_segments) segment(s);
  }

  void rpc() {
    const model::RpcInfo& rpc = m_.rpc;
    if (rpc.known || rpc.header_seen) subtree(FieldId::kRpc);
    if (m_.rpc_xid) number(FieldId::kRpcXid, *m_.rpc_xid);
    number(FieldId::kRpcMsgType, m_.kind == Kind::kCall ? 0 : 1);
    if (rpc.known) procedure(rpc);
    if (m_.kind == Kind::kReply && rpc.header_seen) outcome(rpc);
  }

  void procedure(const model::RpcInfo& rpc) {
    const char* program = decode::program_name(rpc.program, rpc.version, rpc.procedure);
    const char* procedure = decode::procedure_name(rpc.program, rpc.version, rpc.procedure);
    number(FieldId::kRpcProgram, rpc.program, program);
    number(FieldId::kRpcProgramVersion, rpc.version);
    number(FieldId::kRpcProcedure, rpc.procedure, procedure);
    if (program != nullptr) text(FieldId::kRpcProgramName, program);
    if (procedure != nullptr) text(FieldId::kRpcProcedureName, procedure);
    if (m_.kind == Kind::kCall && rpc.header_seen) {
      number(FieldId::kRpcCredFlavor, rpc.cred_flavor);
    }
    if (rpc.program == decode::kProgNfs || decode::is_transient_program(rpc.program)) {
      nfs(rpc, procedure);
    }
    if (in_.call != nullptr && in_.call->file_use() != nullptr) file(*in_.call->file_use());
  }

  // What the Call names, and which file it is about. A Reply has the same.
  void file(const model::FileUse& use) {
    using Item = decode::NfsItem::Kind;
    const bool reply = m_.kind == Kind::kReply;
    for (const model::FileUse::Value& value : use.values) {
      switch (value.kind) {
        case Item::kHandle:
          number(FieldId::kNfsFh, value.number);
          break;
        case Item::kName:
          text(FieldId::kNfsName, use.text_of(value));
          break;
        case Item::kOffset:
          number(FieldId::kNfsOffset, value.number);
          break;
        case Item::kCount:
          if (!reply || !use.moved) number(FieldId::kNfsCount, value.number);
          break;
        case Item::kStateid: {
          const std::string_view id = use.text_of(value);
          if (!wanted(FieldId::kNfsStateid)) break;
          sink_.bytes(FieldId::kNfsStateid, 0, 0,
                      {reinterpret_cast<const std::uint8_t*>(id.data()), id.size()});
          break;
        }
      }
    }
    if (reply && use.moved) number(FieldId::kNfsCount, *use.moved);
    file_name(use);
  }

  // The path, and its last component, where no item has them.
  void file_name(const model::FileUse& use) {
    const std::string_view path = use.name();
    const std::string_view last = path.substr(path.rfind('/') + 1);
    const auto is_item = [&](std::string_view name) {
      return std::any_of(use.values.begin(), use.values.end(), [&](const auto& value) {
        return value.kind == decode::NfsItem::Kind::kName && use.text_of(value) == name;
      });
    };
    if (!path.empty()) {
      text(FieldId::kNfsPath, path);
    } else if (use.handle && wanted(FieldId::kNfsPath)) {
      text(FieldId::kNfsPath, fmt::format("fh:{:08x}", *use.handle));
    }
    if (!path.empty() && !is_item(path)) text(FieldId::kNfsName, path);
    if (!last.empty() && last.size() != path.size() && !is_item(last)) {
      text(FieldId::kNfsName, last);
    }
  }

  // `procedure`: its name, null if it has none.
  void nfs(const model::RpcInfo& rpc, const char* procedure) {
    // A transient program counts as NFS callbacks if the procedure is one of theirs.
    const bool callback = rpc.program != decode::kProgNfs;
    if (callback && procedure == nullptr) return;
    subtree(FieldId::kNfs);
    if (procedure != nullptr && !callback && rpc.version < 4) {
      text(FieldId::kNfsOpName, procedure);
    }
    if (rpc.ops.announced == 0) return;
    number(FieldId::kNfsMinorVersion, rpc.ops.minor);
    for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
      const char* const name = decode::nfs4_op_name(rpc.ops.op[i], callback);
      number(FieldId::kNfsOp, rpc.ops.op[i], name);
      if (name != nullptr) text(FieldId::kNfsOpName, name);
    }
  }

  void outcome(const model::RpcInfo& rpc) {
    number(FieldId::kRpcReplyStat, static_cast<std::uint64_t>(rpc.reply_stat));
    if (rpc.reply_stat == wire::ReplyStat::kAccepted) {
      number(FieldId::kRpcAcceptStat, static_cast<std::uint64_t>(rpc.accept_stat));
    } else {
      number(FieldId::kRpcRejectStat, static_cast<std::uint64_t>(rpc.reject_stat));
    }
    if (rpc.has_status) number(FieldId::kNfsStatus, rpc.status, model::nfs_status_name(rpc));
    if (const char* name = model::outcome_name(rpc)) text(FieldId::kRpcStatus, name);
  }

  void ledger() {
    if (m_.credits.requested_known) number(FieldId::kCreditRequested, m_.credits.requested);
    if (m_.credits.granted_known) number(FieldId::kCreditGranted, m_.credits.granted);
    number(FieldId::kCreditInUse, m_.credits.in_use);
    if (in_.thresholds.call != 0) number(FieldId::kThresholdCall, in_.thresholds.call);
    if (in_.thresholds.reply != 0) number(FieldId::kThresholdReply, in_.thresholds.reply);
    if (m_.has_invalidate) number(FieldId::kInvalidatedHandle, m_.invalidated_handle);
  }

  void whole_call() {
    if (m_.match_frame != 0) number(FieldId::kMatchFrame, m_.match_frame);
    if (m_.latency_ns >= 0) number(FieldId::kLatency, static_cast<std::uint64_t>(m_.latency_ns));
    if (in_.call == nullptr) return;
    number(FieldId::kExchange, in_.call->message.id);
    // Nothing seen is nothing known.
    if (absent(roce::kAbsentOperations) && in_.call->operations_total == 0) return;
    number(FieldId::kOperations, in_.call->operations_total);
    if (wanted(FieldId::kMoved)) {
      std::uint64_t moved = 0;
      for (const model::CallChunk& chunk : in_.call->chunks) moved += chunk.moved;
      number(FieldId::kMoved, moved);
    }
    if ((wanted_ & operation_fields()).none()) return;
    // Only those that had to end before this message could be sent or answered.
    // And the Reads of a Reply's Read chunks.
    for (const model::ChunkOperation& o : in_.call->operations) {
      if (model::is_of_reply(o) != (m_.kind == Kind::kCall)) operation(o);
    }
  }

  void operation(const model::ChunkOperation& o) {
    const char* kind = o.kind == roce::OpKind::kRead ? "RDMA READ" : "RDMA WRITE";
    if (wanted(FieldId::kOp)) {
      std::array<char, 160> summary;
      const auto end =
          fmt::format_to_n(summary.data(), summary.size(), "{} of {} chunk {} segment {}, {} bytes",
                           kind, model::chunk_list_name(o.list), o.chunk, o.segment, o.bytes);
      sink_.open(FieldId::kOp, 0, 0, {summary.data(), std::min(end.size, summary.size())});
    }
    text(FieldId::kOpKind, kind);
    number(FieldId::kOpHandle, o.handle);
    number(FieldId::kOpOffset, o.offset);
    number(FieldId::kOpLength, o.length);
    number(FieldId::kOpBytes, o.bytes);
    number(FieldId::kOpFirstFrame, o.first_frame);
    number(FieldId::kOpLastFrame, o.last_frame);
    number(FieldId::kOpTime, difference(o.last_ns, o.first_ns));
    if (wanted(FieldId::kOp)) sink_.close();
  }

  const Inputs& in_;
  const Message& m_;
  const FieldSet& wanted_;
  decode::Sink& sink_;
};

}  // namespace

FieldSet field_set(std::initializer_list<FieldId> ids) {
  FieldSet set;
  for (const FieldId id : ids) set.set(static_cast<std::size_t>(id));
  return set;
}

const FieldSet& fields_of_answer() {
  static const FieldSet set =
      operation_fields() |
      field_set({FieldId::kMatchFrame, FieldId::kLatency, FieldId::kOperations, FieldId::kMoved});
  return set;
}

const FieldSet& fields_of_model() {
  static const FieldSet set = fields_of_answer() | field_set({FieldId::kFrameNumber,
                                                              FieldId::kFrameTime,
                                                              FieldId::kFrameTimeRelative,
                                                              FieldId::kConnection,
                                                              FieldId::kKind,
                                                              FieldId::kReverse,
                                                              FieldId::kPeer,
                                                              FieldId::kSource,
                                                              FieldId::kDestination,
                                                              FieldId::kAddress,
                                                              FieldId::kSourceQpn,
                                                              FieldId::kDestinationQpn,
                                                              FieldId::kQpn,
                                                              FieldId::kTunnelType,
                                                              FieldId::kTunnelSource,
                                                              FieldId::kTunnelDestination,
                                                              FieldId::kTunnelKey,
                                                              FieldId::kTunnelErspanSession,
                                                              FieldId::kSourcePort,
                                                              FieldId::kDestinationPort,
                                                              FieldId::kPort,
                                                              FieldId::kSendLength,
                                                              FieldId::kFieldsOnly,
                                                              FieldId::kComplete,
                                                              FieldId::kIncomplete,
                                                              FieldId::kBadIcrc,
                                                              FieldId::kCongestion,
                                                              FieldId::kFinding,
                                                              FieldId::kTransport,
                                                              FieldId::kXid,
                                                              FieldId::kVersion,
                                                              FieldId::kCredit,
                                                              FieldId::kProc,
                                                              FieldId::kReadCount,
                                                              FieldId::kReadChunk,
                                                              FieldId::kReadPosition,
                                                              FieldId::kWriteCount,
                                                              FieldId::kWriteChunk,
                                                              FieldId::kWriteSegments,
                                                              FieldId::kReplyPresent,
                                                              FieldId::kReplyChunk,
                                                              FieldId::kReplyCount,
                                                              FieldId::kSegment,
                                                              FieldId::kSegmentHandle,
                                                              FieldId::kSegmentLength,
                                                              FieldId::kSegmentOffset,
                                                              FieldId::kError,
                                                              FieldId::kRpc,
                                                              FieldId::kRpcXid,
                                                              FieldId::kRpcMsgType,
                                                              FieldId::kRpcProgram,
                                                              FieldId::kRpcProgramVersion,
                                                              FieldId::kRpcProcedure,
                                                              FieldId::kRpcProgramName,
                                                              FieldId::kRpcProcedureName,
                                                              FieldId::kRpcStatus,
                                                              FieldId::kRpcCredFlavor,
                                                              FieldId::kRpcReplyStat,
                                                              FieldId::kRpcAcceptStat,
                                                              FieldId::kRpcRejectStat,
                                                              FieldId::kNfs,
                                                              FieldId::kNfsMinorVersion,
                                                              FieldId::kNfsStatus,
                                                              FieldId::kNfsOp,
                                                              FieldId::kNfsOpName,
                                                              FieldId::kNfsFh,
                                                              FieldId::kNfsName,
                                                              FieldId::kNfsPath,
                                                              FieldId::kNfsOffset,
                                                              FieldId::kNfsCount,
                                                              FieldId::kNfsStateid,
                                                              FieldId::kCreditRequested,
                                                              FieldId::kCreditGranted,
                                                              FieldId::kCreditInUse,
                                                              FieldId::kThresholdCall,
                                                              FieldId::kThresholdReply,
                                                              FieldId::kInvalidatedHandle,
                                                              FieldId::kExchange});
  return set;
}

void model_fields(const Inputs& in, const FieldSet& wanted, decode::Sink& sink) {
  Reporter(in, wanted, sink).run();
}

}  // namespace rpcrdma::filter
