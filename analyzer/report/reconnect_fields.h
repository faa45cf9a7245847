// Lists the JSON fields from which a merge finds Calls that a later connection resends, for both
// writer and reader. Calls are lists of integers, because there are many.
#pragma once

#include "report_fields_base.h"

#include <rpcrdma/report/reconnects.h>

namespace rpcrdma::report {

inline constexpr const char* kNoCall = "wrong number of integers for a Call";

// Stores a flag as a bit of an integer.
template <bool kReads, typename Flag>
void flag_bit(std::uint32_t& bits, std::uint32_t bit, Flag& flag) {
  if constexpr (kReads) {
    flag = (bits & bit) != 0;
  } else {
    bits |= flag ? bit : 0U;
  }
}

template <typename Archive, typename Calls>
void past_calls(Archive& a, const char* key, Calls& calls, std::size_t most) {
  a.rows(key, calls, {.columns = 5, .otherwise = kNoCall, .most = most}, [](auto& row, auto& c) {
    row(c.xid);
    row(c.program);
    row(c.procedure);
    row(c.digest);
    std::uint32_t acknowledged = c.acknowledged ? 1 : 0;
    row(acknowledged);
    if constexpr (Archive::kReads) c.acknowledged = acknowledged != 0;
  });
}

template <typename Archive>
void fields(Archive& a, Of<Archive, EndedConnection>& e) {
  a("client", e.address[0]);
  a("server", e.address[1]);
  a("end_time_ns", e.left.end_ns);
  a("broken", e.left.broken);
  past_calls(a, "unanswered", e.left.unanswered, rules::kUnanswered);
  past_calls(a, "answered", e.left.answered, rules::kAnswered);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, LostCall>& lost) {
  a("caller", lost.caller);
  a("responder", lost.responder);
  a("lost_time_ns", lost.call.lost_ns);
  a("frame", lost.call.frame);
  a("xid", lost.call.xid);
  a("digest", lost.call.digest);
  a("reverse", lost.call.reverse);
}

template <typename Archive, typename Row, typename Call>
void first_call(Row& row, Call& c, std::int64_t first_ns) {
  row(c.frame);
  std::int64_t after_ns = c.time_ns - first_ns;
  row(after_ns);
  if constexpr (Archive::kReads) {
    constexpr std::int64_t kEnd = std::int64_t{1} << 62;
    c.time_ns = first_ns + after_ns;
    if (c.time_ns <= -kEnd || c.time_ns >= kEnd) row.fail("at a time beyond 2^62 ns");
  }
  row(c.xid);
  row(c.program);
  row(c.procedure);
  row(c.digest);
  std::uint32_t flags = 0;
  if constexpr (Archive::kReads) row(flags);
  flag_bit<Archive::kReads>(flags, 1, c.varies);
  flag_bit<Archive::kReads>(flags, 2, c.known);
  flag_bit<Archive::kReads>(flags, 4, c.forward);
  flag_bit<Archive::kReads>(flags, 8, c.left_out);
  if constexpr (!Archive::kReads) row(flags);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, BegunConnection>& b) {
  a.id("connection", b.connection);
  a("client", b.address[0]);
  a("server", b.address[1]);
  a("first_time_ns", b.first_ns);
  auto before = static_cast<std::uint32_t>(b.ended_before);
  a("connections_ended_before", before);
  if constexpr (Archive::kReads) b.ended_before = before;
  a("more_calls", b.more);
  a.nullable("inconclusive", b.unsure);
  a.rows("calls", b.calls, {.columns = 7, .otherwise = kNoCall, .most = rules::kBegunCalls},
         [&](auto& row, auto& c) { first_call<Archive>(row, c, b.first_ns); });
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Reconnects>& r) {
  a.objects("ended", r.ended, rules::kDeparted);
  a.objects("lost", r.lost, rules::kLostCallsHandedOver);
  a.objects("successors", r.begun, rules::kBegun);
  a("complete", r.complete);
  a("not_searched", r.unsought);
}

}  // namespace rpcrdma::report
