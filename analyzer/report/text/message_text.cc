// Formats messages as lines and trees of text.
#include "end_text.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/content.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/file_text.h>
#include <rpcrdma/report/message_text.h>

namespace rpcrdma::report {

namespace {

// ANSI colours by kind, from the terminal's own palette.
constexpr const char* kReset = "\033[0m";

const char* colour_of(const model::Message& m, bool reverse) {
  switch (m.kind) {
    case model::Kind::kCall:
      return reverse ? "\033[35m" : "\033[36m";
    case model::Kind::kReply:
      return reverse ? "\033[35m" : "\033[32m";
    case model::Kind::kError:
    case model::Kind::kMalformed:
      return "\033[31m";
    case model::Kind::kDone:
    case model::Kind::kOption:
    case model::Kind::kControl:
      return "\033[33m";
  }
  return "";
}

std::uint64_t sum(std::span<const wire::Segment> segments) {
  std::uint64_t total = 0;
  for (const wire::Segment& s : segments) total += s.length;
  return total;
}

// "5003", or "4096/2" for 4096 bytes in two segments.
void put_amount(base::TextBuffer& out, std::uint64_t bytes, std::size_t segments) {
  out.put(bytes);
  if (segments != 1) out.put('/', segments);
}

void put_chunks(base::TextBuffer& out, const model::Message& m) {
  for (std::size_t i = 0; i < m.reads.size();) {
    std::size_t n = i;
    std::uint64_t bytes = 0;
    while (n < m.reads.size() && m.reads[n].position == m.reads[i].position) {
      bytes += m.reads[n++].target.length;
    }
    out.put(" read ");
    put_amount(out, bytes, n - i);
    out.put('@', m.reads[i].position);
    i = n;
  }
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    out.put(" write ");
    put_amount(out, sum(segments), segments.size());
  });
  if (m.has_reply_chunk) {
    out.put(" reply ");
    put_amount(out, sum(m.reply_segments), m.reply_segments.size());
  }
}

void put_error(base::TextBuffer& out, const model::Message& m) {
  out.put(' ', model::error_name(m));
  if (m.error == wire::RdmaErr::kVers) {
    out.put(" supports versions ", m.vers_low, " to ", m.vers_high);
  } else if (m.error == wire::RdmaErr::kCantReply && !model::later_dialect(m)) {
    out.put(" segment ", m.segment_index, " needs ", m.length_needed, " bytes",
            m.processed ? ", processed" : "");
  }
}

// The file that an RPC is about, short enough that the rest of the line stays in sight.
void put_file(base::TextBuffer& out, const model::Message& m, const model::Call* call) {
  constexpr std::size_t kMostName = 48;
  const model::FileUse* const use = call != nullptr ? call->file_use() : nullptr;
  if (use == nullptr) return;
  if (!use->handle && !use->offset && use->name().empty()) return;
  out.put(' ');
  put_file_text(out, *use, m.kind == model::Kind::kReply, kMostName);
}

void put_status(base::TextBuffer& out, const model::RpcInfo& rpc) {
  if (!rpc.header_seen) return;
  const char* const name = model::outcome_name(rpc);
  name != nullptr ? out.put(" | ", name) : out.put(" | status ", rpc.status);
}

void put_end(base::TextBuffer& out, const roce::Side& side) {
  out.put(capture::AddressText(side.address).view());
  side.qpn_known ? out.put('.', side.qpn) : out.put(".?");
}

void put_transport(base::TextBuffer& out, const model::Message& m, const roce::Connection& c,
                   bool reverse, const TextStyle& style) {
  if (style.colour) out.put(colour_of(m, reverse));
  out.put(reverse ? "reverse " : "", model::kind_name(m.kind));
  if (style.colour) out.put(kReset);
  out.put(" 0x", base::Hex32{m.xid}, ' ', model::type_name(m));
  if (!model::is_absent(m, roce::kAbsentCredit)) out.put(" credit ", m.credit);
  if (m.version > 1) out.put(" v", m.version);
  if (model::later_dialect(m)) out.put(" (", wire::dialect_name(m.dialect), ')');
  put_chunks(out, m);
  if (m.kind == model::Kind::kError) put_error(out, m);
  if (model::is_option(m)) out.put(" type ", m.opttype);
  if (m.has_invalidate) out.put(" inv 0x", base::Hex32{m.invalidated_handle});
  if (m.malformed) out.put(' ', std::string_view(wire::describe(*m.malformed)));
  if (model::is_absent(m, roce::kAbsentBytes)) {
    out.put(" (tracepoints)");
  } else if (model::cut_short(m, c)) {
    out.put(c.recorded ? " (the recording has only the start of its header)"
                       : " (incomplete in the capture)");
  } else if (const char* why = model::incomplete_reason(model::unfit_for_rebuild(m, nullptr), &c)) {
    out.put(" (", why, ')');
  }
  if (m.suspect) out.put(" (bad ICRC)");
}

void put_summary(base::TextBuffer& out, const model::Message& m, const model::Call* call,
                 const roce::Connection& c, bool reverse, const TextStyle& style) {
  put_transport(out, m, c, reverse, style);
  if (m.rpc.known) {
    out.put(" | ");
    model::put_rpc_label(out, m.rpc);
    put_file(out, m, call);
  }
  const bool reply = m.kind == model::Kind::kReply;
  if (reply) put_status(out, m.rpc);
  if (!reply && m.kind != model::Kind::kError) return;
  if (m.match_frame != 0) {
    out.put(" | answers ", m.match_frame, " after ", base::DurationText(m.latency_ns).view());
    return;
  }
  // The capture may contain the message that an RDMA_ERROR answers, but not as a decodable Call.
  out.put(reply ? " | its Call is not in the " : " | no decodable Call with its XID in the ",
          c.recorded ? "recording" : "capture");
}

}  // namespace

std::string end_text(const roce::Side& side) {
  base::TextBuffer text;
  put_end(text, side);
  return std::string(text.view());
}

void put_message_line(base::TextBuffer& out, const model::Message& m, const model::Call* call,
                      const Context& context, const TextStyle& style) {
  const roce::Connection& c = context.connection(m);
  const std::size_t sender = context.sender(m);
  out.put(base::Padded{m.frame, 6}, ' ');
  put_clock(out, m.time_ns);
  out.put(' ');
  put_end(out, c.side[sender]);
  out.put(" > ");
  put_end(out, c.side[1 - sender]);
  out.put(": ");
  put_summary(out, m, call, c, context.model->reverse(m), style);
}

std::string message_line(const model::Message& m, const model::Call* call, const Context& context,
                         const TextStyle& style) {
  base::TextBuffer text;
  put_message_line(text, m, call, context, style);
  return std::string(text.view());
}

std::string transport_summary(const model::Message& m, const Context& context,
                              const TextStyle& style) {
  base::TextBuffer text;
  put_transport(text, m, context.connection(m), context.model->reverse(m), style);
  return std::string(text.view());
}

std::string message_summary(const model::Message& m, const model::Call* call,
                            const Context& context, const TextStyle& style) {
  base::TextBuffer text;
  put_summary(text, m, call, context.connection(m), context.model->reverse(m), style);
  return std::string(text.view());
}

std::string message_tree(const model::Message& m, const model::Call* call, const Context& context) {
  using decode::FieldId;
  static const filter::FieldSet kBefore =
      filter::field_set({FieldId::kConnection, FieldId::kKind, FieldId::kReverse, FieldId::kPeer,
                         FieldId::kSource, FieldId::kSourceQpn, FieldId::kSourcePort,
                         FieldId::kDestination, FieldId::kDestinationQpn, FieldId::kDestinationPort,
                         FieldId::kTunnelType, FieldId::kTunnelSource, FieldId::kTunnelDestination,
                         FieldId::kTunnelKey, FieldId::kTunnelErspanSession, FieldId::kFieldsOnly});
  static const filter::FieldSet kBehind =
      filter::fields_of_answer() |
      filter::field_set({FieldId::kNfsPath, FieldId::kIncomplete, FieldId::kCreditRequested,
                         FieldId::kCreditGranted, FieldId::kCreditInUse, FieldId::kThresholdCall,
                         FieldId::kThresholdReply, FieldId::kInvalidatedHandle});
  const std::string length = model::is_absent(m, roce::kAbsentLengths)
                                 ? std::string("length unknown")
                                 : fmt::format("{} bytes", m.wire_length);
  std::string out = fmt::format("Frame {}: RPC-over-RDMA {}, {}, {}\n", m.frame,
                                model::kind_name(m.kind), length, format_time(m.time_ns));
  decode::TextSink sink(out, 1);
  // No field of the tree depends on the start of the capture.
  const filter::Inputs in = context.inputs(m, call, 0);
  filter::model_fields(in, kBefore, sink);
  model::decode_content(m, sink);
  filter::model_fields(in, kBehind, sink);
  return out;
}

}  // namespace rpcrdma::report
