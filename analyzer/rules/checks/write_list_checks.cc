// Compares the Write list that a Reply returns with that of its Call.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

bool failed(const model::RpcInfo& rpc) {
  return rpc.header_seen && (rpc.reply_stat != wire::ReplyStat::kAccepted ||
                             rpc.accept_stat != wire::AcceptStat::kSuccess);
}

// Returns the index of the first segment for which `wrong` is true; SIZE_MAX: none.
template <typename Wrong>
std::size_t first_segment(const model::Message& offered, const model::Message& returned,
                          const Wrong& wrong) {
  for (std::size_t i = 0; i < offered.write_segments.size(); ++i) {
    if (wrong(offered.write_segments[i], returned.write_segments[i])) return i;
  }
  return SIZE_MAX;
}

void check_targets(const model::Message& m, const model::Call& call, const CheckContext& context) {
  const std::size_t i = first_segment(call.message, m, [](const auto& a, const auto& b) {
    return a.handle != b.handle || a.offset != b.offset;
  });
  if (i == SIZE_MAX) return;
  context.findings.add(RuleId::kWr02, pair_evidence(m, call, context), [&] {
    const wire::Segment& a = call.message.write_segments[i];
    const wire::Segment& b = m.write_segments[i];
    return fmt::format(
        "Write segment {} has handle {:#010x} offset {:#x} in the Call but handle {:#010x} offset "
        "{:#x} in the Reply",
        i + 1, a.handle, a.offset, b.handle, b.offset);
  });
}

void check_lengths(const model::Message& m, const model::Call& call, const CheckContext& context) {
  const std::size_t i = first_segment(
      call.message, m, [](const auto& a, const auto& b) { return b.length > a.length; });
  if (i == SIZE_MAX) return;
  context.findings.add(RuleId::kWr03, pair_evidence(m, call, context), [&] {
    return fmt::format("Write segment {} has {} bytes in the Call but {} in the Reply", i + 1,
                       call.message.write_segments[i].length, m.write_segments[i].length);
  });
}

void check_gaps(const model::Message& m, const model::Call& call, const CheckContext& context) {
  std::size_t at = 0;
  for (const std::uint32_t count : call.message.write_counts) {
    const std::span offered = std::span(call.message.write_segments).subspan(at, count);
    const std::span returned = std::span(m.write_segments).subspan(at, count);
    const std::size_t i = segment_after_gap(offered, returned);
    if (i != SIZE_MAX) {
      return context.findings.add(RuleId::kWr04, pair_evidence(m, call, context), [&] {
        return fmt::format("Write segment {} has {} bytes after a segment that is not full",
                           at + i + 1, returned[i].length);
      });
    }
    at += count;
  }
}

void check_unused(const model::Message& m, const model::Call& call, const CheckContext& context) {
  if (!failed(m.rpc) || rules::total_length(m.write_segments) == 0) return;
  Evidence e = pair_evidence(m, call, context);
  e.topic = 1;
  context.findings.add(RuleId::kWr05, e, [&] {
    return fmt::format("the Reply has no results but returns {} bytes in Write chunks",
                       rules::total_length(m.write_segments));
  });
}

}  // namespace

void check_write_list(const model::Message& m, const model::Call& call,
                      const CheckContext& context) {
  if (m.write_counts.empty() && call.message.write_counts.empty()) return;
  if (m.write_counts.empty()) {
    return context.findings.add(RuleId::kWr05, pair_evidence(m, call, context), [&] {
      return fmt::format("the Call has {}, but the Reply has no Write list",
                         counted(call.message.write_counts.size(), "Write chunk"));
    });
  }
  if (m.write_counts != call.message.write_counts) {
    return context.findings.add(RuleId::kWr01, pair_evidence(m, call, context), [&] {
      return fmt::format("the Call has {} with {}, but the Reply returns {} with {}",
                         counted(call.message.write_counts.size(), "Write chunk"),
                         counted(call.message.write_segments.size(), "segment"),
                         counted(m.write_counts.size(), "Write chunk"),
                         counted(m.write_segments.size(), "segment"));
    });
  }
  check_targets(m, call, context);
  check_lengths(m, call, context);
  check_gaps(m, call, context);
  check_unused(m, call, context);
}

}  // namespace rpcrdma::rules
