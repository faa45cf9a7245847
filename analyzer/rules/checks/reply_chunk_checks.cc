#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

bool is_nomsg(const model::Message& m) {
  return m.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg);
}

// The message in the chunk is one run of bytes, as the data in a Write chunk is.
void check_gaps(const model::Message& m, const model::Call& call, const CheckContext& context) {
  const std::size_t i = segment_after_gap(call.message.reply_segments, m.reply_segments);
  if (i == SIZE_MAX) return;
  Evidence e = pair_evidence(m, call, context);
  e.topic = 1;
  context.findings.add(RuleId::kWr04, e, [&] {
    return fmt::format(
        "segment {} of the Reply chunk has {} bytes after a segment that is not full", i + 1,
        m.reply_segments[i].length);
  });
}

void check_same_segments(const model::Message& m, const model::Call& call,
                         const CheckContext& context) {
  const auto& a = call.message.reply_segments;
  const auto& b = m.reply_segments;
  const auto add = [&](const auto& text) {
    context.findings.add(RuleId::kRp01, pair_evidence(m, call, context), text);
  };
  if (!call.message.has_reply_chunk) {
    return add([&] {
      return fmt::format("the Reply has a Reply chunk of {} bytes, but its Call provides none",
                         rules::total_length(b));
    });
  }
  if (a.size() != b.size()) {
    return add([&] {
      return fmt::format("the Reply chunk has {} in the Call but {} in the Reply",
                         counted(a.size(), "segment"), counted(b.size(), "segment"));
    });
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].handle == b[i].handle && a[i].offset == b[i].offset && b[i].length <= a[i].length) {
      continue;
    }
    return add([&] {
      return fmt::format(
          "segment {} of the Reply chunk has handle {:#010x} offset {:#x} length {} in the Call "
          "but handle {:#010x} offset {:#x} length {} in the Reply",
          i + 1, a[i].handle, a[i].offset, a[i].length, b[i].handle, b[i].offset, b[i].length);
    });
  }
  check_gaps(m, call, context);
}

// Checks for a Send over the threshold, instead of which the responder could have used a Reply
// chunk or an error. Applies only to the forward direction of version 1, where the threshold is
// certain.
void check_too_long(const model::Message& m, const model::Call& call, const CheckContext& context) {
  if (is_nomsg(m) || m.version != 1 || context.reverse) return;
  const std::uint32_t limit = send_limit(m.sender, context);
  if (limit == 0 || m.wire_length <= limit) return;
  context.findings.add(RuleId::kRp04, pair_evidence(m, call, context), [&] {
    return fmt::format(
        "the responder sent a Reply of {} bytes inline, over the threshold of {}; the Call "
        "provides {}",
        m.wire_length, limit,
        call.message.has_reply_chunk ? fmt::format("a Reply chunk of {} bytes",
                                                   rules::total_length(call.message.reply_segments))
                                     : std::string("no Reply chunk"));
  });
}

}  // namespace

void check_offered_reply_chunk(const model::Message& m, const CheckContext& context) {
  if (!m.has_reply_chunk) return;
  const auto empty = std::find_if(m.reply_segments.begin(), m.reply_segments.end(),
                                  [](const wire::Segment& s) { return s.length == 0; });
  if (!m.reply_segments.empty() && empty == m.reply_segments.end()) return;
  context.findings.add(RuleId::kRp05, evidence(m, context.connection, m.sender), [&] {
    return m.reply_segments.empty() ? std::string("the Reply chunk has no segment")
                                    : fmt::format("segment {} of the Reply chunk has length 0",
                                                  empty - m.reply_segments.begin() + 1);
  });
}

void check_used_reply_chunk(const model::Message& m, const CheckContext& context) {
  const std::uint64_t length = rules::total_length(m.reply_segments);
  if (is_nomsg(m) == (length != 0) || !m.complete) return;
  // RFC 5666 section 5.2 lets a long Reply be read.
  const bool is_read = is_nomsg(m) && has_position_zero(m.reads);
  if (is_read && context.findings.profile() == Profile::k5666) return;
  context.findings.add(
      is_nomsg(m) ? RuleId::kRp02 : RuleId::kRp03, evidence(m, context.connection, m.sender), [&] {
        return is_nomsg(m)
                   ? fmt::format("an {} Reply has {}", wire::proc_name(m.version, m.proc),
                                 m.has_reply_chunk ? "an empty Reply chunk" : "no Reply chunk")
                   : fmt::format("an {} Reply has a Reply chunk of {} bytes",
                                 wire::proc_name(m.version, m.proc), length);
      });
}

void check_reply_chunk(const model::Message& m, const model::Call& call,
                       const CheckContext& context) {
  if (m.has_reply_chunk) check_same_segments(m, call, context);
  check_too_long(m, call, context);
}

}  // namespace rpcrdma::rules
