// Lists the JSON fields of a report's series and procedures, for both writer and reader.
#pragma once

#include "field_reader.h"
#include "field_writer.h"

#include <optional>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

template <typename Archive>
void fields(Archive& a, Of<Archive, ProcedureKey>& k) {
  a.either("direction", k.reverse, "forward", "reverse");
  const bool known = a.optional("program", k.known(), k.program);
  a.given("version", known, k.version);
  a.given("procedure", known, k.procedure);
  a.optional("operation", known && k.operation != UINT32_MAX, k.operation);
  bool others = k == ProcedureKey::others(k.reverse);
  a("others", others);
  if constexpr (Archive::kReads) {
    if (others) k = ProcedureKey::others(k.reverse);
    if (!others && !known) {
      const bool reverse = k.reverse;
      k = {};
      k.reverse = reverse;
    }
  }
}

template <typename Archive>
void fields(Archive& a, Of<Archive, SlowCall>& s) {
  a.derived("latency_us", microseconds(s.latency_ns));
  a.duration("latency_ns", s.latency_ns);
  a("frame", s.frame);
  a("reply_frame", s.reply_frame);
  a("time_ns", s.time_ns);
  a("xid", s.xid);
  a.id("connection", s.connection);
  a.either("direction", s.reverse, "forward", "reverse");
  a("name", s.label);
  if (a.present("parts_ns", s.data_ns >= 0)) {
    a.object("parts_ns", [&](auto& in) {
      in.duration("call_to_first_operation", s.before_data_ns);
      in.duration("operations", s.data_ns);
      in.duration("last_operation_to_reply", s.after_data_ns);
    });
  }
}

template <typename Archive>
void slow_calls(Archive& a, const char* key, Of<Archive, SlowCalls>& calls) {
  if constexpr (Archive::kReads) {
    std::vector<SlowCall> list;
    a.objects(key, list, SIZE_MAX);
    for (const SlowCall& s : list) calls.offer(s);
  } else {
    a.objects(key, calls.list(), SIZE_MAX);
  }
}

template <typename Archive>
void procedure_fields(Archive& a, Of<Archive, ProcedureKey>& k, Of<Archive, Procedure>& p) {
  a("name", p.label);
  fields(a, k);
  a("calls", p.calls);
  a("replies", p.replies);
  a("errors", p.errors);
  a("unmatched", p.unmatched);
  a.object("bytes", [&](auto& in) {
    for (std::size_t list = 0; list < p.bytes.size(); ++list) {
      in(model::chunk_list_name(static_cast<model::ChunkList>(list)), p.bytes[list]);
    }
  });
  a.object_of("latency_us", p.total);
  if (a.present("parts_us", p.data.count() != 0)) {
    a.object("parts_us", [&](auto& in) {
      in.object_of("call_to_first_operation", p.before_data);
      in.object_of("operations", p.data);
      in.object_of("last_operation_to_reply", p.after_data);
    });
  }
  if (a.present("in_responder_us", true)) {
    a.object_of("in_responder_us", p.in_responder);
  }
  slow_calls(a, "slowest", p.slowest);
}

// Called with each procedure that is read from `node`.
inline void insert_entry(const JsonNode& node, Procedures& to, Procedures::node_type&& entry) {
  // The entry "all others" exists once for each direction.
  if (to.size() >= kMaxProcedures + 2) return node.fail("too many procedures");
  if (!to.insert(std::move(entry)).inserted) node.fail("duplicate of an earlier entry");
}

template <typename Archive>
void fields(Archive& a, Of<Archive, TrafficBin>& b) {
  a("calls", b.calls);
  a("replies", b.replies);
  a("errors", b.errors);
  a("read_bytes", b.read_bytes);
  a("write_bytes", b.write_bytes);
  a("inline_bytes", b.inline_bytes);
  a("retransmitted", b.retransmitted);
  a("nak", b.naks);
  a("rnr", b.rnrs);
  unless_zero(a, "ce", b.ce);
  unless_zero(a, "cnp", b.cnps);
  unless_zero(a, "pause_frames", b.pauses);
  a("in_flight_max", b.outstanding_max);
  a.object("latency_ns", [&](auto& in) {
    in("count", b.latency_count);
    in("sum", b.latency_sum);
    in.duration("max", b.latency_max);
    in.sparse("log2", b.latency);
  });
}

// Writes bin `n` as an object.
inline void write_bin(FieldWriter& a, std::int64_t n, std::int64_t width_ns, const TrafficBin& b) {
  a.json().object();
  a.derived("bin", n);
  a.derived("time_ns", n * width_ns);
  fields(a, b);
  a.json().end();
}
[[nodiscard]] inline std::int64_t number_of_bin(const JsonNode& bin, const TrafficSeries&) {
  return bin.get("bin").ns();
}
inline void read_bin(const JsonNode& bin, TrafficBin& to) {
  FieldReader a(bin, 0);
  fields(a, to);
}

// Writes bin `n` as a list of integers. A sixth integer marks a bin whose grants were all zero.
inline void write_bin(FieldWriter& a, std::int64_t n, std::int64_t /*width_ns*/,
                      const CreditBin& b) {
  a.json().array();
  a.json().value(n);
  for (const std::uint32_t v : {b.requested_max, b.granted_min, b.granted_max, b.in_use_max}) {
    a.json().value(v);
  }
  if (b.granted && b.granted_max == 0) a.json().value(1);
  a.json().end();
}
[[nodiscard]] inline std::int64_t number_of_bin(const JsonNode& bin, const CreditSeries&) {
  if (bin.size() == 5 || bin.size() == 6) return bin.at(0).ns();
  bin.fail("expected five or six integers");
  return 0;
}
inline void read_bin(const JsonNode& bin, CreditBin& to) {
  if (bin.size() < 5) return;
  to = {bin.at(1).u32(), bin.at(2).u32(), bin.at(3).u32(), bin.at(4).u32()};
  to.granted = to.granted_max != 0 || (bin.size() == 6 && bin.at(5).u32() != 0);
}

template <typename Bin>
void read_bins(const JsonNode& n, unsigned shift, Series<Bin>& to) {
  const std::int64_t end = std::int64_t{1} << (Series<Bin>::kMaxShift - shift);
  std::optional<std::int64_t> first;
  std::int64_t last = 0;
  n.get("bins").for_each([&](const JsonNode& bin) {
    const std::int64_t number = number_of_bin(bin, to);
    if (number < -end || number >= end) return bin.fail("at a time beyond 2^62 ns");
    if (first && number <= last) return bin.fail("not later than the bin before");
    if (!first) first = number;
    if (number - *first >= static_cast<std::int64_t>(Series<Bin>::kBins)) {
      return bin.fail("more than 255 bins after the first");
    }
    last = number;
    read_bin(bin, to.restore(shift, number));
  });
}

template <typename Archive, typename Bin>
void series_fields(Archive& a, Of<Archive, Series<Bin>>& series) {
  if constexpr (Archive::kReads) {
    const std::uint32_t shift = a.node().get("shift").u32();
    if (shift < Series<Bin>::kMinShift || shift > Series<Bin>::kMaxShift) {
      return a.fail("shift", fmt::format("expected an integer from {} to {}",
                                         Series<Bin>::kMinShift, Series<Bin>::kMaxShift));
    }
    read_bins(a.node(), shift, series);
  } else {
    a("shift", series.shift());
    a.bins("bins", series);
  }
}

template <typename Archive>
void fields(Archive& a, Of<Archive, TrafficSeries>& series) {
  series_fields<Archive, TrafficBin>(a, series);
}
template <typename Archive>
void fields(Archive& a, Of<Archive, CreditSeries>& series) {
  series_fields<Archive, CreditBin>(a, series);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, ConnectionCredits>& c) {
  a.id("connection", c.connection);
  a.object_of("forward", c.direction[0]);
  a.object_of("reverse", c.direction[1]);
}

}  // namespace rpcrdma::report
