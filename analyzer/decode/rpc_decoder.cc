// Reports the RPC message as fields: RPC header, credentials, COMPOUND operations, arguments and
// results.
#include "rpc_decoder.h"

#include "session_fields.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <optional>
#include <vector>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/rdmaconfig.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using wire::Bytes;

constexpr std::size_t kAuthHead = 8;  // flavor and length
constexpr std::size_t kCallCred = 24;
constexpr std::size_t kMaxChunks = 16;  // Read chunks of a message that are processed

const char* or_unknown(const char* name) {
  return name != nullptr ? name : "unknown";
}

std::size_t auth_length(const wire::Auth& auth) {
  return kAuthHead + static_cast<std::size_t>(wire::xdr_padded(auth.body.size()));
}

void auth_sys_fields(const FieldWriter& out, const wire::AuthSys& auth) {
  out.word(FieldId::kAuthSysStamp, 0, auth.stamp);
  out.text(FieldId::kAuthSysMachine, 8, auth.machine);
  std::size_t at = 8 + static_cast<std::size_t>(wire::xdr_padded(auth.machine.size()));
  out.word(FieldId::kAuthSysUid, at, auth.uid);
  out.word(FieldId::kAuthSysGid, at + 4, auth.gid);
  at += 12;  // includes the count of auxiliary groups
  for (std::size_t gid = 0; gid < auth.gids.size(); gid += 4) {
    out.word(FieldId::kAuthSysGids, at + gid, wire::load_be32(auth.gids.data() + gid));
  }
}

void gss_fields(const FieldWriter& out, const wire::GssCred& cred) {
  out.word(FieldId::kGssVersion, 0, cred.version);
  out.word(FieldId::kGssProcedure, 4, cred.gss_proc);
  out.word(FieldId::kGssSequence, 8, cred.seq_num);
  out.word(FieldId::kGssService, 12, cred.service);
  out.bytes(FieldId::kGssHandle, 20, cred.handle);
}

void credential(const FieldWriter& out, const wire::Auth& cred) {
  out.open(FieldId::kRpcCred, 0, auth_length(cred), wire::auth_flavor_name(cred.flavor));
  out.word(FieldId::kRpcCredFlavor, 0, cred.flavor);
  out.word(FieldId::kRpcCredLength, 4, static_cast<std::uint32_t>(cred.body.size()));
  const FieldWriter body = out.at(kAuthHead);
  const auto report = [&](const auto& decoded, auto fields) {
    if (decoded) {
      fields(body, *decoded);
    } else {
      body.error(decoded.error());
    }
  };
  switch (static_cast<wire::AuthFlavor>(cred.flavor)) {
    case wire::AuthFlavor::kSys:
      report(wire::decode_auth_sys(cred.body), auth_sys_fields);
      break;
    case wire::AuthFlavor::kRpcsecGss:
      report(wire::decode_gss_cred(cred.body), gss_fields);
      break;
    default:
      if (!cred.body.empty()) body.bytes(FieldId::kRpcCredBody, 0, cred.body);
      break;
  }
  out.close();
}

void verifier(const FieldWriter& out, const wire::Auth& verf) {
  out.open(FieldId::kRpcVerf, 0, auth_length(verf), wire::auth_flavor_name(verf.flavor));
  out.word(FieldId::kRpcVerfFlavor, 0, verf.flavor);
  out.word(FieldId::kRpcVerfLength, 4, static_cast<std::uint32_t>(verf.body.size()));
  if (!verf.body.empty()) out.bytes(FieldId::kRpcVerfBody, kAuthHead, verf.body);
  out.close();
}

const char* program_label(const ProcedureId& id) {
  return or_unknown(program_name(id.program, id.version, id.procedure));
}

const char* procedure_label(const ProcedureId& id) {
  return or_unknown(procedure_name(id.program, id.version, id.procedure));
}

bool is_conf_rdma(const ProcedureId& id) {
  return id.program == wire::kRdmaConfigProgram && id.version == wire::kRdmaConfigVersion &&
         id.procedure == wire::kRdmaConfigProcConf;
}

// Positions count in the unreduced stream of the whole RPC message; this converts them to offsets
// in the reduced arguments. A sender may list the chunks in any order. Returns nothing if there are
// too many, or if one lies in another or in the RPC header.
std::optional<std::size_t> removed_data(const wire::ReadListView& reads, std::uint64_t arguments,
                                        std::array<Removed, kMaxChunks>& removed) {
  std::size_t count = 0;
  for (const wire::ReadSegment& r : reads) {
    if (r.position == 0) continue;  // a Position Zero Read chunk is a message of its own
    const auto same = std::find_if(removed.begin(), removed.begin() + count,
                                   [&](const Removed& c) { return c.offset == r.position; });
    if (same == removed.begin() + count) {
      if (count == removed.size()) return std::nullopt;
      removed[count++] = {r.position, 0};
    }
    same->length += r.target.length;
  }
  std::sort(removed.begin(), removed.begin() + count,
            [](const Removed& a, const Removed& b) { return a.offset < b.offset; });
  std::uint64_t taken = arguments;  // subtracted from Positions: bytes not in the arguments
  std::uint64_t end = arguments;    // end of the previous chunk, as a Position
  for (Removed& chunk : std::span(removed).first(count)) {
    if (chunk.offset < end) return std::nullopt;
    end = chunk.offset + wire::xdr_padded(chunk.length);
    chunk.offset -= static_cast<std::uint32_t>(taken);
    taken += wire::xdr_padded(chunk.length);
  }
  return count;
}

std::uint32_t first_position(const wire::ReadListView& reads) {
  std::uint32_t first = UINT32_MAX;
  for (const wire::ReadSegment& r : reads) {
    if (r.position != 0) first = std::min(first, r.position);
  }
  return first;
}

class NfsItems final : public NfsItemSink {
 public:
  explicit NfsItems(Bytes stream) : stream_(stream) {}

  void item(const NfsItem& item) override { list_.push_back(item); }

  // Reports those of operations before `end` that were not reported yet.
  void report(const FieldWriter& out, std::uint32_t end) {
    for (; next_ < list_.size() && list_[next_].operation < end; ++next_) field(out, list_[next_]);
  }

 private:
  void field(const FieldWriter& out, const NfsItem& item) const {
    const Bytes bytes = stream_.subspan(item.offset, item.length);
    switch (item.kind) {
      case NfsItem::Kind::kHandle:
        return out.number(FieldId::kNfsFh, item.offset, item.length, item.value);
      case NfsItem::Kind::kName:
        return out.text(FieldId::kNfsName, item.offset, bytes);
      case NfsItem::Kind::kOffset:
        return out.number(FieldId::kNfsOffset, item.offset, item.length, item.value);
      case NfsItem::Kind::kCount:
        return out.number(FieldId::kNfsCount, item.offset, item.length, item.value);
      case NfsItem::Kind::kStateid:
        return out.bytes(FieldId::kNfsStateid, item.offset, bytes);
    }
  }

  Bytes stream_;
  std::vector<NfsItem> list_;
  std::size_t next_ = 0;
};

// Arguments in front of data that a Read chunk removed; none if there may be padding in them.
Bytes removed_front(Bytes args, std::span<const Removed> removed, std::uint32_t padded_from) {
  if (padded_from != kNotPadded) return {};
  for (const Removed& chunk : removed) {
    if (chunk.length != 0 && chunk.offset < args.size()) return args.first(chunk.offset);
  }
  return args;
}

// The offsets of single operations are not known: each points at the whole stream that contains it.
// What an operation names follows it.
void compound(const FieldWriter& out, const ProcedureId& id, const CompoundOps& ops,
              std::size_t length, bool reply, NfsItems& items, SessionFields sessions) {
  if (ops.announced == 0) return;
  const bool callback = is_transient_program(id.program);
  Summary summary;
  if (reply) {
    summary.add("%s", or_unknown(nfs4_status_name(ops.status)));
  } else {
    summary.add("minor version %" PRIu32, ops.minor);
  }
  const char* separator = ": ";
  for (std::uint32_t i = 0; i < ops.kept; ++i, separator = ", ") {
    summary.add("%s%s", separator, or_unknown(nfs4_op_name(ops.op[i], callback)));
  }
  if (!ops.complete) summary.add("%s...", separator);

  out.open(FieldId::kNfs, 0, length, summary.view());
  if (reply) {
    out.number(FieldId::kNfsStatus, 0, length, ops.status,
               or_unknown(nfs4_status_name(ops.status)));
  } else {
    out.number(FieldId::kNfsMinorVersion, 0, length, ops.minor);
  }
  for (std::uint32_t i = 0; i < ops.kept; ++i) {
    out.number(FieldId::kNfsOp, 0, length, ops.op[i],
               or_unknown(nfs4_op_name(ops.op[i], callback)));
    items.report(out, i + 1);
    sessions.report(out, i + 1);
  }
  out.close();
}

void conf_rdma_request(const FieldWriter& out, Bytes args) {
  const auto request = wire::decode_rdmaconfig_request(args);
  out.open(FieldId::kConfig, 0, args.size());
  if (request) {
    out.word(FieldId::kConfigMaxCallSendsize, 0, request->maxcall_sendsize);
    out.word(FieldId::kConfigMaxReplySendsize, 4, request->maxreply_sendsize);
    out.word(FieldId::kConfigMaxRdmaRead, 8, request->maxrdmaread);
  } else {
    out.error(request.error());
  }
  out.close();
}

void conf_rdma_reply(const FieldWriter& out, Bytes results) {
  const auto reply = wire::decode_rdmaconfig_reply(results);
  out.open(FieldId::kConfig, 0, results.size());
  if (reply) {
    out.word(FieldId::kConfigMaxCallSendsize, 0, reply->maxcall_sendsize);
    out.word(FieldId::kConfigAlign, 4, reply->align);
    out.word(FieldId::kConfigMaxRdmaRead, 8, reply->maxrdmaread);
  } else {
    out.error(reply.error());
  }
  out.close();
}

void procedure_words(const FieldWriter& out, std::uint32_t rpc_version, const ProcedureId& id) {
  out.word(FieldId::kRpcVersion, 8, rpc_version);
  out.word(FieldId::kRpcProgram, 12, id.program, program_label(id));
  out.word(FieldId::kRpcProgramVersion, 16, id.version);
  out.word(FieldId::kRpcProcedure, 20, id.procedure, procedure_label(id));
}

void call_fields(const FieldWriter& out, const wire::RpcCall& call, const ProcedureId& id) {
  procedure_words(out, call.rpcvers, id);
  credential(out.at(kCallCred), call.cred);
  verifier(out.at(kCallCred + auth_length(call.cred)), call.verf);
}

void call_arguments(const FieldWriter& out, const wire::RpcView& view, const ProcedureId& id,
                    Bytes args, const RpcContext& context) {
  // If they contain padding, they are not the arguments of the Call.
  const bool padded = context.padded_from != kNotPadded;
  if (!args.empty()) out.bytes(padded ? FieldId::kPayload : FieldId::kRpcArguments, 0, args);
  const auto plain = unwrap(wrapping_of(view.call.cred), args);
  // The wrapping is an opaque too, and padding may precede it.
  if (!plain || (padded && plain->offset != 0)) return;
  const FieldWriter inside = out.at(plain->offset);
  if (is_conf_rdma(id)) {
    conf_rdma_request(inside, plain->bytes);
    return;
  }
  std::array<Removed, kMaxChunks> removed;
  const auto count = removed_data(context.reads, view.length + plain->offset, removed);
  if (!count) return;
  const auto taken = std::span(removed).first(*count);
  NfsItems items(plain->bytes);
  find_nfs_items(id, plain->bytes, taken, context.padded_from, items);
  compound(inside, id, parse_compound_call(id, plain->bytes, taken, context.padded_from),
           plain->bytes.size(), false, items,
           SessionFields::of_call(id, removed_front(plain->bytes, taken, context.padded_from)));
  items.report(inside, UINT32_MAX);
}

void reply_fields(const FieldWriter& out, const wire::RpcReply& reply) {
  out.word(FieldId::kRpcReplyStat, 8, static_cast<std::uint32_t>(reply.stat));
  std::optional<std::size_t> mismatch;  // offset of low and high
  if (reply.stat == wire::ReplyStat::kAccepted) {
    verifier(out.at(12), reply.verf);
    const std::size_t at = 12 + auth_length(reply.verf);
    out.word(FieldId::kRpcAcceptStat, at, static_cast<std::uint32_t>(reply.accept));
    if (reply.accept == wire::AcceptStat::kProgMismatch) mismatch = at + 4;
  } else {
    out.word(FieldId::kRpcRejectStat, 12, static_cast<std::uint32_t>(reply.reject));
    if (reply.reject == wire::RejectStat::kRpcMismatch) {
      mismatch = 16;
    } else {
      out.word(FieldId::kRpcAuthStat, 16, reply.auth_stat);
    }
  }
  if (mismatch) {
    out.word(FieldId::kRpcMismatchLow, *mismatch, reply.low);
    out.word(FieldId::kRpcMismatchHigh, *mismatch + 4, reply.high);
  }
}

// Reports how RPCSEC_GSS protects a Reply: only the Call states it.
void gss_service_of_reply(const FieldWriter& out, const ProcedureId& id,
                          const wire::RpcReply& reply) {
  if (reply.stat != wire::ReplyStat::kAccepted ||
      reply.verf.flavor != static_cast<std::uint32_t>(wire::AuthFlavor::kRpcsecGss)) {
    return;
  }
  if (const auto service = gss_service(wrapping_of_reply(id.wrapping, reply))) {
    out.number(FieldId::kGssService, 0, 0, *service);
  }
}

// Reports the procedure that a Reply answers, from the Call.
void answered_call(const FieldWriter& out, const ProcedureId& id) {
  out.number(FieldId::kRpcProgram, 0, 0, id.program, program_label(id));
  out.number(FieldId::kRpcProgramVersion, 0, 0, id.version);
  out.number(FieldId::kRpcProcedure, 0, 0, id.procedure, procedure_label(id));
}

// `certain`: how many bytes of the results precede the data of the first Read chunk, which is not
// joined to them.
void reply_results(const FieldWriter& out, const wire::RpcReply& reply, Bytes results,
                   std::size_t certain, const RpcContext& context) {
  const bool padded = context.padded_from != kNotPadded;
  if (!results.empty()) out.bytes(padded ? FieldId::kPayload : FieldId::kRpcResults, 0, results);
  const bool success =
      reply.stat == wire::ReplyStat::kAccepted && reply.accept == wire::AcceptStat::kSuccess;
  if (context.call == nullptr || !success) return;
  const auto plain = unwrap(wrapping_of_reply(context.call->wrapping, reply), results);
  if (!plain) return;
  const FieldWriter inside = out.at(plain->offset);
  if (is_conf_rdma(*context.call)) {
    conf_rdma_reply(inside, plain->bytes);
    return;
  }
  if (padded) return;
  const std::size_t certain_inside = certain - std::min<std::size_t>(certain, plain->offset);
  const Bytes walked = plain->bytes.first(std::min(certain_inside, plain->bytes.size()));
  std::array<std::uint64_t, kMaxChunks> lengths{};
  std::size_t count = 0;
  for (const wire::WriteChunkView chunk : context.writes) {
    if (count == lengths.size()) break;
    lengths[count++] = wire::total_length(chunk);
  }
  CompoundOps ops;
  std::array<DdpItem, kMaxChunks> items;
  static_cast<void>(
      find_result_items(*context.call, walked, std::span(lengths).first(count), items, &ops));
  NfsItems found(walked);
  find_nfs_result_items(*context.call, walked, std::span(lengths).first(count), found);
  compound(inside, *context.call, ops, plain->bytes.size(), true, found,
           SessionFields::of_reply(*context.call, walked, std::span(lengths).first(count)));
  found.report(inside, UINT32_MAX);
}

Summary describe_rpc(const wire::RpcView& view, const ProcedureId* id) {
  Summary summary;
  summary.add("%s", view.type == wire::MsgType::kCall ? "Call" : "Reply");
  if (id != nullptr) {
    summary.add(", %s version %" PRIu32 " %s", program_label(*id), id->version,
                procedure_label(*id));
  }
  if (view.type == wire::MsgType::kReply) {
    const wire::RpcReply& reply = view.reply;
    summary.add(", %s", reply.stat == wire::ReplyStat::kAccepted
                            ? wire::accept_stat_name(static_cast<std::uint32_t>(reply.accept))
                            : wire::reject_stat_name(static_cast<std::uint32_t>(reply.reject)));
  }
  summary.add(", XID 0x%08" PRIx32,
              view.type == wire::MsgType::kCall ? view.call.xid : view.reply.xid);
  return summary;
}

void malformed_rpc(const FieldWriter& out, Bytes rpc, const wire::DecodeError& error) {
  out.open(FieldId::kRpc, 0, rpc.size(), "malformed");
  if (rpc.size() >= 4) out.word(FieldId::kRpcXid, 0, wire::load_be32(rpc.data()));
  if (rpc.size() >= 8) out.word(FieldId::kRpcMsgType, 4, wire::load_be32(rpc.data() + 4));
  out.error(error);
  out.close();
}

// Reports a message whose RPC header is incomplete, or mixed with other bytes.
void uncertain_rpc(const FieldWriter& out, Bytes rpc, std::uint32_t first) {
  out.open(FieldId::kRpc, 0, rpc.size(), "incomplete");
  const std::size_t certain = std::min<std::size_t>(rpc.size(), first);
  if (certain >= 4) out.word(FieldId::kRpcXid, 0, wire::load_be32(rpc.data()));
  const std::uint32_t type = certain >= 8 ? wire::load_be32(rpc.data() + 4) : UINT32_MAX;
  if (type <= 1) out.word(FieldId::kRpcMsgType, 4, type);
  if (type == 0 && certain >= kRpcProcedureEnd) {
    const ProcedureId id{wire::load_be32(rpc.data() + 12), wire::load_be32(rpc.data() + 16),
                         wire::load_be32(rpc.data() + 20)};
    procedure_words(out, wire::load_be32(rpc.data() + 8), id);
  }
  out.bytes(FieldId::kPayload, 0, rpc);
  out.close();
}

}  // namespace

void decode_rpc_fields(const FieldWriter& out, Bytes rpc, const RpcContext& context) {
  const auto decoded = wire::decode_rpc(rpc);
  const std::uint32_t first = first_position(context.reads);
  const bool certain = decoded
                           ? header_is_certain(*decoded, context.padded_from, first)
                           : context.padded_from == kNotPadded && decoded.error().offset < first;
  if (!certain) {
    uncertain_rpc(out, rpc, first);
    return;
  }
  if (!decoded) {
    malformed_rpc(out, rpc, decoded.error());
    return;
  }
  const wire::RpcView& view = *decoded;
  const bool is_call = view.type == wire::MsgType::kCall;
  const ProcedureId own{view.call.prog, view.call.vers, view.call.proc};
  const ProcedureId* id = is_call ? &own : context.call;

  out.open(FieldId::kRpc, 0, rpc.size(), describe_rpc(view, id).view());
  out.word(FieldId::kRpcXid, 0, is_call ? view.call.xid : view.reply.xid);
  out.word(FieldId::kRpcMsgType, 4, static_cast<std::uint32_t>(view.type));
  const FieldWriter rest = out.at(view.length);
  if (is_call) {
    call_fields(out, view.call, own);
    call_arguments(rest, view, own, rpc.subspan(view.length), context);
  } else {
    if (id != nullptr) {
      answered_call(out, *id);
      gss_service_of_reply(out, *id, view.reply);
    }
    reply_fields(out, view.reply);
    reply_results(rest, view.reply, rpc.subspan(view.length), first - view.length, context);
  }
  out.close();
}

void decode_rpc_message(Bytes rpc, Sink& sink, const ProcedureId* call) {
  decode_rpc_fields(FieldWriter(sink), rpc, {{}, {}, call, kNotPadded});
}

}  // namespace rpcrdma::decode
