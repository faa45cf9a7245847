// Formats messages as lines and trees of text.
#include "end_text.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/model/content.h>
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

// Returns "5003", or "4096/2" for 4096 bytes in two segments.
std::string amount(std::uint64_t bytes, std::size_t segments) {
  return segments == 1 ? fmt::format("{}", bytes) : fmt::format("{}/{}", bytes, segments);
}

std::string chunks_text(const model::Message& m) {
  std::string text;
  for (std::size_t i = 0; i < m.reads.size();) {
    std::size_t n = i;
    std::uint64_t bytes = 0;
    while (n < m.reads.size() && m.reads[n].position == m.reads[i].position) {
      bytes += m.reads[n++].target.length;
    }
    text += fmt::format(" read {}@{}", amount(bytes, n - i), m.reads[i].position);
    i = n;
  }
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    text += fmt::format(" write {}", amount(sum(segments), segments.size()));
  });
  if (m.has_reply_chunk) {
    text += fmt::format(" reply {}", amount(sum(m.reply_segments), m.reply_segments.size()));
  }
  return text;
}

std::string error_text(const model::Message& m) {
  std::string text = fmt::format(" {}", model::error_name(m));
  if (m.error == wire::RdmaErr::kVers) {
    text += fmt::format(" supports versions {} to {}", m.vers_low, m.vers_high);
  } else if (m.error == wire::RdmaErr::kCantReply && !model::later_dialect(m)) {
    text += fmt::format(" segment {} needs {} bytes{}", m.segment_index, m.length_needed,
                        m.processed ? ", processed" : "");
  }
  return text;
}

// The file that an RPC is about, short enough that the rest of the line stays in sight.
std::string file_part(const model::Message& m, const model::Call* call) {
  constexpr std::size_t kMostName = 48;
  const model::FileUse* const use = call != nullptr ? call->file_use() : nullptr;
  if (use == nullptr) return {};
  const std::string text = file_text(*use, m.kind == model::Kind::kReply, kMostName);
  return text.empty() ? text : fmt::format(" {}", text);
}

}  // namespace

std::string end_text(const roce::Side& side) {
  return side.qpn_known ? fmt::format("{}.{}", side.address.to_string(), side.qpn)
                        : side.address.to_string() + ".?";
}

std::string message_line(const model::Message& m, const model::Call* call, const Context& context,
                         const TextStyle& style) {
  const roce::Connection& c = context.connection(m);
  const std::size_t sender = context.sender(m);
  return fmt::format("{:>6} {} {} > {}: {}", m.frame, format_clock(m.time_ns),
                     end_text(c.side[sender]), end_text(c.side[1 - sender]),
                     message_summary(m, call, context, style));
}

std::string transport_summary(const model::Message& m, const Context& context,
                              const TextStyle& style) {
  const roce::Connection& c = context.connection(m);
  const bool reverse = context.model->reverse(m);
  std::string line;
  if (style.colour) line += colour_of(m, reverse);
  line += fmt::format("{}{}", reverse ? "reverse " : "", model::kind_name(m.kind));
  if (style.colour) line += kReset;
  line += fmt::format(" {:#010x} {}", m.xid, model::type_name(m));
  if (!model::is_absent(m, roce::kAbsentCredit)) line += fmt::format(" credit {}", m.credit);
  if (m.version > 1) line += fmt::format(" v{}", m.version);
  if (model::later_dialect(m)) line += fmt::format(" ({})", wire::dialect_name(m.dialect));
  line += chunks_text(m);
  if (m.kind == model::Kind::kError) line += error_text(m);
  if (model::is_option(m)) line += fmt::format(" type {}", m.opttype);
  if (m.has_invalidate) line += fmt::format(" inv {:#010x}", m.invalidated_handle);
  if (m.malformed) line += fmt::format(" {}", wire::describe(*m.malformed));
  if (model::is_absent(m, roce::kAbsentBytes)) {
    line += " (tracepoints)";
  } else if (model::cut_short(m, c)) {
    line += c.recorded ? " (the recording has only the start of its header)"
                       : " (incomplete in the capture)";
  } else if (const char* why = model::incomplete_reason(model::unfit_for_rebuild(m, nullptr), &c)) {
    line += fmt::format(" ({})", why);
  }
  if (m.suspect) line += " (bad ICRC)";
  return line;
}

std::string message_summary(const model::Message& m, const model::Call* call,
                            const Context& context, const TextStyle& style) {
  std::string line = transport_summary(m, context, style);
  const std::string label = rpc_label(m.rpc);
  if (!label.empty()) line += fmt::format(" | {}{}", label, file_part(m, call));
  if (m.kind == model::Kind::kReply) {
    const std::string status = reply_status(m.rpc);
    if (!status.empty()) line += fmt::format(" | {}", status);
  }
  if (m.kind == model::Kind::kReply || m.kind == model::Kind::kError) {
    // The capture may contain the message that an RDMA_ERROR answers, but not as a decodable Call.
    const char* const missing =
        m.kind == model::Kind::kError ? "no decodable Call with its XID in" : "its Call is not in";
    line +=
        m.match_frame != 0
            ? fmt::format(" | answers {} after {}", m.match_frame, format_duration(m.latency_ns))
            : fmt::format(" | {} the {}", missing,
                          context.connection(m).recorded ? "recording" : "capture");
  }
  return line;
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
