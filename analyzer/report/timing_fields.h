// Lists the JSON fields of a report's silences and of Calls above the user's limits, for both
// writer and reader.
#pragma once

#include "report_fields_base.h"

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

template <typename Archive>
void fields(Archive& a, Of<Archive, Silence>& s) {
  a.id("connection", s.connection);
  a.either("direction", s.reverse, "forward", "reverse");
  a("since_ns", s.since_ns);
  a("until_ns", s.until_ns);
  a.derived("length_ns", s.length_ns());
  a("ended", s.ended);
  a("calls", s.calls);
  a.nullable("frame", s.frame);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, SlowLimit>& l) {
  a.nullable("procedure", l.procedure);
  a.duration("limit_ns", l.limit_ns);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, LimitedCalls>& c) {
  a.id("connection", c.connection);
  a("client", c.client);
  a.object_of("limit", c.limit);
  a("calls", c.calls);
  a("slow", c.slow);
  a("unanswered", c.unanswered);
  a.duration("worst_ns", c.worst_ns);
  a.nullable("worst_frame", c.worst_frame);
  a.numbers("frames", c.frames, rules::kMaxFrames);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Timing>& t) {
  a.objects("silences", t.silences, kMaxSilences);
  a.objects("limits", t.limits, kMaxLimits);
  a.objects("limited", t.limited, kMaxLimitedCalls);
  a("omitted", t.omitted);
}

}  // namespace rpcrdma::report
