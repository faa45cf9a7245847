// The RPC-over-RDMA transport header. Every item's offset follows from the items before it; where
// those are chunk lists their views say how many there are.
#include "field_writer.h"
#include "rpc_decoder.h"

#include <cinttypes>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using wire::HeaderView;
using wire::Proc;

constexpr std::size_t kWord = 4;
constexpr std::size_t kBody = wire::kPrefixBytes;

void segment_fields(const FieldWriter& out, std::size_t offset, const wire::Segment& segment) {
  out.word(FieldId::kSegmentHandle, offset, segment.handle);
  out.word(FieldId::kSegmentLength, offset + 4, segment.length);
  out.number(FieldId::kSegmentOffset, offset + 8, 8, segment.offset);
}

Summary& describe_segment(Summary& summary, const wire::Segment& segment) {
  return summary.add("%" PRIu32 " byte%s at 0x%016" PRIx64 ", handle 0x%08" PRIx32, segment.length,
                     plural(segment.length), segment.offset, segment.handle);
}

Summary describe_chunk(std::uint64_t bytes, std::uint32_t segments) {
  Summary summary;
  summary.add("%" PRIu64 " byte%s in %" PRIu32 " segment%s", bytes, plural(bytes), segments,
              plural(segments));
  return summary;
}

// The entries [first, end) of the list, which have one Position.
void read_chunk(const FieldWriter& out, std::size_t offset, const wire::ReadListView& reads,
                std::uint32_t first, std::uint32_t end) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = first; i < end; ++i) bytes += reads[i].target.length;
  Summary summary = describe_chunk(bytes, end - first);
  summary.add(" at Position %" PRIu32, reads[first].position);

  out.open(FieldId::kReadChunk, offset, (end - first) * wire::kReadEntryBytes, summary.view());
  for (std::uint32_t i = first; i < end; ++i, offset += wire::kReadEntryBytes) {
    const wire::ReadSegment entry = reads[i];
    Summary line;
    out.open(FieldId::kSegment, offset + kWord, wire::kReadEntryBytes - kWord,
             describe_segment(line, entry.target).view());
    out.word(FieldId::kReadPosition, offset + kWord, entry.position);
    segment_fields(out, offset + 2 * kWord, entry.target);
    out.close();
  }
  out.close();
}

// Returns the offset behind the list, as the next two do.
std::size_t read_list(const FieldWriter& out, std::size_t offset, const wire::ReadListView& reads) {
  const std::size_t length = reads.size() * wire::kReadEntryBytes + kWord;
  out.number(FieldId::kReadCount, offset, length, reads.size());
  for (std::uint32_t first = 0; first < reads.size();) {
    std::uint32_t end = first + 1;
    while (end < reads.size() && reads[end].position == reads[first].position) ++end;
    read_chunk(out, offset + first * wire::kReadEntryBytes, reads, first, end);
    first = end;
  }
  return offset + length;
}

// `offset` is that of the count word.
std::size_t chunk_segments(const FieldWriter& out, std::size_t offset, FieldId chunk_id,
                           FieldId count_id, const wire::WriteChunkView& chunk) {
  const std::size_t length = kWord + chunk.size() * wire::kSegmentBytes;
  out.open(chunk_id, offset, length,
           describe_chunk(wire::total_length(chunk), chunk.size()).view());
  out.word(count_id, offset, chunk.size());
  std::size_t at = offset + kWord;
  for (const wire::Segment segment : chunk) {
    Summary line;
    out.open(FieldId::kSegment, at, wire::kSegmentBytes, describe_segment(line, segment).view());
    segment_fields(out, at, segment);
    out.close();
    at += wire::kSegmentBytes;
  }
  out.close();
  return offset + length;
}

std::size_t write_list(const FieldWriter& out, std::size_t offset,
                       const wire::WriteListView& writes) {
  std::size_t end = offset + kWord;
  for (const wire::WriteChunkView chunk : writes) {
    end += 2 * kWord + chunk.size() * wire::kSegmentBytes;
  }
  out.number(FieldId::kWriteCount, offset, end - offset, writes.size());
  std::size_t at = offset;
  for (const wire::WriteChunkView chunk : writes) {
    at = chunk_segments(out, at + kWord, FieldId::kWriteChunk, FieldId::kWriteSegments, chunk);
  }
  return end;
}

void chunk_lists(const FieldWriter& out, std::size_t offset, const HeaderView& header) {
  offset = read_list(out, offset, header.reads);
  offset = write_list(out, offset, header.writes);
  out.number(FieldId::kReplyPresent, offset, kWord, header.reply.has_value() ? 1 : 0);
  if (header.reply) {
    chunk_segments(out, offset + kWord, FieldId::kReplyChunk, FieldId::kReplyCount, *header.reply);
  }
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
      out.word(FieldId::kDirection, kBody, static_cast<std::uint32_t>(header.direction));
      out.word(FieldId::kOptType, kBody + 4, header.opttype);
      out.bytes(FieldId::kOptInfo, kBody + 12, header.optinfo);
      break;
  }
}

void prefix_fields(const FieldWriter& out, const wire::Prefix& prefix, std::size_t available) {
  if (available >= 4) out.word(FieldId::kXid, 0, prefix.xid);
  if (available >= 8) out.word(FieldId::kVersion, 4, prefix.vers);
  if (available >= 12) out.word(FieldId::kCredit, 8, prefix.credit);
  if (available >= 16) {
    out.word(FieldId::kProc, 12, prefix.proc, wire::proc_name(prefix.vers, prefix.proc));
  }
}

void malformed_header(const FieldWriter& out, wire::Bytes send, const wire::DecodeError& error) {
  wire::XdrReader reader(send);
  wire::Prefix prefix;
  prefix.xid = reader.u32();
  prefix.vers = reader.u32();
  prefix.credit = reader.u32();
  prefix.proc = reader.u32();
  out.open(FieldId::kTransport, 0, send.size(), "malformed");
  prefix_fields(out, prefix, send.size());
  out.error(error);
  out.close();
}

}  // namespace

void decode_message(wire::Bytes send, Sink& sink, const ProcedureId* call) {
  const FieldWriter out(sink);
  const auto decoded = wire::decode_header(send);
  if (!decoded) {
    malformed_header(out, send, decoded.error());
    return;
  }
  const HeaderView& header = *decoded;
  const auto proc = static_cast<std::uint32_t>(header.proc);

  Summary summary;
  summary.add("version %" PRIu32 ", %s, XID 0x%08" PRIx32 ", credit %" PRIu32, header.vers,
              wire::proc_name(header.vers, proc), header.xid, header.credit);
  out.open(FieldId::kTransport, 0, header.length, summary.view());
  prefix_fields(out, {header.xid, header.vers, header.credit, proc}, wire::kPrefixBytes);
  body_fields(out, header);
  out.close();

  const wire::Bytes payload = send.subspan(header.length);
  if (header.proc == Proc::kMsg || header.proc == Proc::kMsgp) {
    if (payload.empty()) {
      out.error({wire::Errc::kTruncated, header.length, header.vers == 1 ? "HDR-07" : "V2-01",
                 "no RPC message follows the header"});
      return;
    }
    decode_rpc_fields(out.at(header.length), payload, {header.reads, header.writes, call});
  } else if (!payload.empty()) {
    out.bytes(FieldId::kPayload, header.length, payload);
  }
}

}  // namespace rpcrdma::decode
