// Decodes the RPC-over-RDMA transport header. Every item's offset follows from the items before it;
// the views of chunk lists know their lengths.
#include "field_writer.h"
#include "rpc_decoder.h"
#include "transport_fields.h"

#include <cinttypes>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/options.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using wire::HeaderView;
using wire::Proc;

constexpr std::size_t kBody = wire::kPrefixBytes;

void chunk_lists(const FieldWriter& out, std::size_t offset, const HeaderView& header) {
  offset = read_list(out, offset, FieldId::kReadCount, header.reads);
  offset = write_list(out, offset, header.writes);
  reply_chunk(out, offset, header.reply);
}

void error_fields(const FieldWriter& out, const HeaderView& header) {
  const auto code = static_cast<std::uint32_t>(header.error);
  out.word(FieldId::kError, kBody, code, wire::rdma_err_name(header.vers, code));
  if (header.error == wire::RdmaErr::kVers) {
    out.word(FieldId::kErrorVersLow, kBody + 4, header.vers_low);
    out.word(FieldId::kErrorVersHigh, kBody + 8, header.vers_high);
  } else if (header.error == wire::RdmaErr::kCantReply) {
    out.word(FieldId::kErrorProcessed, kBody + 4, header.processed ? 1 : 0);
    out.word(FieldId::kErrorSegmentIndex, kBody + 8, header.segment_index);
    out.word(FieldId::kErrorLengthNeeded, kBody + 12, header.length_needed);
  }
}

void option_fields(const FieldWriter& out, const HeaderView& header) {
  const bool is_time_echo = header.opttype == wire::kTimeEchoOption;
  out.word(FieldId::kDirection, kBody, static_cast<std::uint32_t>(header.direction));
  out.word(FieldId::kOptType, kBody + 4, header.opttype, is_time_echo ? "TIME_ECHO" : nullptr);
  constexpr std::size_t kInfo = kBody + 12;
  const wire::Bytes info = header.optinfo;
  out.bytes(FieldId::kOptInfo, kInfo, info);
  if (!is_time_echo) return;
  if (info.size() == wire::kTimeEchoCallBytes || info.size() == wire::kTimeEchoReplyBytes) {
    out.number(FieldId::kTimeEchoSent, kInfo, 8, wire::load_be64(info.data()));
  }
  if (info.size() == wire::kTimeEchoReplyBytes) {
    out.number(FieldId::kTimeEchoAnswered, kInfo + 8, 8, wire::load_be64(info.data() + 8));
  }
}

void body_fields(const FieldWriter& out, const HeaderView& header) {
  switch (header.proc) {
    case Proc::kMsg:
    case Proc::kNomsg:
      if (header.vers == 1) {
        chunk_lists(out, kBody, header);
      } else {
        out.word(FieldId::kDirection, kBody, static_cast<std::uint32_t>(header.direction));
        out.word(FieldId::kInvHandle, kBody + 4, header.inv_handle);
        chunk_lists(out, kBody + 8, header);
      }
      break;
    case Proc::kMsgp:
      out.word(FieldId::kMsgpAlign, kBody, header.align);
      out.word(FieldId::kMsgpThresh, kBody + 4, header.thresh);
      chunk_lists(out, kBody + 8, header);
      break;
    case Proc::kDone:
      break;
    case Proc::kError:
      error_fields(out, header);
      break;
    case Proc::kOptional:
      option_fields(out, header);
      break;
  }
}

void prefix_fields(const FieldWriter& out, const wire::Prefix& prefix, std::size_t available,
                   const char* proc_name) {
  if (available >= 4) out.word(FieldId::kXid, 0, prefix.xid);
  if (available >= 8) out.word(FieldId::kVersion, 4, prefix.vers);
  if (available >= 12) out.word(FieldId::kCredit, 8, prefix.credit);
  if (available >= 16) out.word(FieldId::kProc, 12, prefix.proc, proc_name);
}

const char* proc_name(const wire::Prefix& prefix, wire::Dialect dialect) {
  return prefix.vers == 2 ? wire::later_type_name(dialect, prefix.proc)
                          : wire::proc_name(prefix.vers, prefix.proc);
}

void malformed_header(const FieldWriter& out, wire::Bytes send, const wire::DecodeError& error,
                      wire::Dialect dialect) {
  wire::XdrReader reader(send);
  wire::Prefix prefix;
  prefix.xid = reader.u32();
  prefix.vers = reader.u32();
  prefix.credit = reader.u32();
  prefix.proc = reader.u32();
  out.open(FieldId::kTransport, 0, send.size(), "malformed");
  prefix_fields(out, prefix, send.size(), proc_name(prefix, dialect));
  out.error(error);
  out.close();
}

void later_message(const FieldWriter& out, wire::Bytes send, wire::Dialect dialect,
                   const ProcedureId* call) {
  const auto decoded = wire::decode_later_header(dialect, send);
  if (!decoded) return malformed_header(out, send, decoded.error(), dialect);
  const wire::LaterHeader& header = *decoded;
  const char* const type = wire::later_type_name(dialect, header.type);
  Summary summary;
  summary.add("version 2 (%s), %s, XID 0x%08" PRIx32 ", credit %" PRIu32,
              wire::dialect_name(dialect), type, header.xid, header.credit);
  out.open(FieldId::kTransport, 0, header.length, summary.view());
  prefix_fields(out, {header.xid, 2, header.credit, header.type}, wire::kPrefixBytes, type);
  later_fields(out, header);
  out.close();

  const wire::Bytes payload = send.subspan(header.length);
  // Only the first part of a split RPC message contains its header.
  const bool begins = payload.size() >= 4 && wire::load_be32(payload.data()) == header.xid;
  if (header.use == wire::HeaderUse::kInline && begins) {
    decode_rpc_fields(out.at(header.length), payload,
                      {header.reads.value_or(wire::ReadListView()),
                       header.writes.value_or(wire::WriteListView()), call});
  } else if (!payload.empty()) {
    out.bytes(FieldId::kPayload, header.length, payload);
  }
}

// An RDMA_MSGP. Offsets behind padding count without it.
void padded_rpc(const FieldWriter& out, wire::Bytes payload, const HeaderView& header,
                RpcContext context) {
  context.padded_from = padded_from(header.align, header.thresh, payload.size());
  const auto rpc = wire::decode_rpc(payload);
  if (context.padded_from == kNotPadded || !rpc || !header.reads.empty() ||
      !header.writes.empty()) {
    return decode_rpc_fields(out, payload, context);
  }
  const auto padding =
      find_padding({header.align, header.thresh, header.length}, payload, {}, context.call);
  if (!padding) return decode_rpc_fields(out, payload, context);
  context.padded_from = kNotPadded;
  decode_rpc_fields(out, without_padding(payload, *padding), context);
}

}  // namespace

bool begins_with_rpc(wire::Bytes payload, std::uint32_t xid) {
  const auto rpc = wire::decode_rpc(payload);
  return rpc && (rpc->type == wire::MsgType::kCall ? rpc->call.xid : rpc->reply.xid) == xid;
}

void decode_message(wire::Bytes send, Sink& sink, const ProcedureId* call, wire::Dialect dialect) {
  const FieldWriter out(sink);
  const auto prefix = wire::decode_prefix(send);
  if (dialect != wire::Dialect::kDraft02 && prefix && prefix->vers == 2) {
    return later_message(out, send, dialect, call);
  }
  const auto decoded = wire::decode_header(send);
  if (!decoded) {
    malformed_header(out, send, decoded.error(), wire::Dialect::kDraft02);
    return;
  }
  const HeaderView& header = *decoded;
  const auto proc = static_cast<std::uint32_t>(header.proc);

  Summary summary;
  summary.add("version %" PRIu32 ", %s, XID 0x%08" PRIx32 ", credit %" PRIu32, header.vers,
              wire::proc_name(header.vers, proc), header.xid, header.credit);
  out.open(FieldId::kTransport, 0, header.length, summary.view());
  prefix_fields(out, {header.xid, header.vers, header.credit, proc}, wire::kPrefixBytes,
                wire::proc_name(header.vers, proc));
  body_fields(out, header);
  out.close();

  const wire::Bytes payload = send.subspan(header.length);
  if (header.proc == Proc::kMsg || header.proc == Proc::kMsgp) {
    if (payload.empty()) {
      out.error({wire::Errc::kTruncated, header.length, header.vers == 1 ? "HDR-07" : "V2-01",
                 "no RPC message follows the header"});
      return;
    }
    RpcContext context{header.reads, header.writes, call};
    if (header.proc == Proc::kMsgp) {
      padded_rpc(out.at(header.length), payload, header, context);
    } else {
      decode_rpc_fields(out.at(header.length), payload, context);
    }
  } else if (header.proc == Proc::kOptional && begins_with_rpc(payload, header.xid)) {
    decode_rpc_fields(out.at(header.length), payload, {{}, {}, call});
  } else if (!payload.empty()) {
    out.bytes(FieldId::kPayload, header.length, payload);
  }
}

}  // namespace rpcrdma::decode
