// Writes a timeline in the Trace Event Format. A connection is a process of the trace, and its
// Calls are slices on threads of that process. Calls can overlap, but slices of one thread must be
// disjoint or nested. Therefore each caller has as many threads, called rows here, as it has Calls
// in flight at once, and a Call is drawn in the first free row. RDMA Reads and Writes are nested in
// the slice of their Call. Operations of a Call that overlap have rows of their own below it, which
// no other Call uses meanwhile.
//
// Slices are complete events (X) on threads, because every program that reads the format shows them
// and because they need no order. If two start at the same time, however, Perfetto draws the first
// one as the outer one. Therefore a Call and its operations are written together, when the Call
// ends.
#include "names.h"
#include "perfetto_ends.h"
#include "rows.h"
#include "trace_events.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/timeline/perfetto.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::timeline {

namespace {

// Thread IDs. That of a row is computed from the side, the row, and the place among the rows of one
// Call.
constexpr std::uint32_t kConnectionThread = 1;
constexpr std::uint32_t kFirstRowThread = 64;
// The number of overlapping operations of one Call that are drawn in parallel. More overlap only if
// a peer permits more RDMA Reads than any device does.
constexpr std::uint32_t kAbreast = 128;

Track connection_track(const roce::Connection& c) {
  return {id_of(c), kConnectionThread};
}

Track row_track(const Origin& caller, std::uint32_t row, std::uint32_t place) {
  return {caller.id(), kFirstRowThread + (row * kAbreast + place) * 2 + caller.caller};
}

std::string hex(std::uint32_t value) {
  return fmt::format("{:#010x}", value);
}

class Perfetto final : public Format {
 public:
  Perfetto(Write write, const ends::Ends* ends, std::int64_t shift_ns)
      : trace_(std::move(write)), ends_(ends), shift_ns_(shift_ns) {}

  void begin(std::int64_t reference_ns, Vantage /*vantage*/) override {
    reference_ns_ = reference_ns;
    trace_.begin(reference_ns);
  }
  void end() override {
    if (ends_ != nullptr) write_ends(trace_, *ends_, {reference_ns_, shift_ns_});
    trace_.end();
  }

  void opened(const roce::Connection& c, int client, std::int64_t time_ns) override {
    changed(c, client, time_ns);
    trace_.instant(connection_track(c), "connection opened", "connection", time_ns);
    args_.field("setup", c.setup == roce::Setup::kCm ? "cm" : "inferred");
    args_.field("first_frame", c.first_frame);
    trace_.close();
  }

  void changed(const roce::Connection& c, int client, std::int64_t time_ns) override {
    (void)time_ns;
    connections_[c.index].client = client;
    name_connection(c);
  }

  void joined(const roce::Connection& into, const roce::Connection& from,
              std::int64_t time_ns) override {
    Connection& old = connections_[from.index];
    Connection& now = connections_[into.index];
    trace_.name_process(id_of(from), fmt::format("connection {}: one direction of connection {}",
                                                 id_of(from), id_of(into)));
    no_credits(id_of(from), old, time_ns);
    // Side 0 of `from` is side 1 of `into`.
    now.caller[1] = std::move(old.caller[0]);
    now.caller[1].named = false;
    old.caller[0] = {};
    trace_.instant(connection_track(into), "connections joined", "connection", time_ns);
    args_.field("connection", id_of(from));
    trace_.close();
  }

  void private_data(const roce::Connection& c, int sender, const wire::PrivateData* data,
                    std::int64_t time_ns) override {
    if (data == nullptr) return;
    name_connection(c);
    trace_.instant(connection_track(c), "private data", "connection", time_ns);
    sender_field(c, sender);
    args_.field("send_size", data->send_size());
    args_.field("receive_size", data->recv_size());
    args_.field("remote_invalidation", data->remote_invalidation());
    trace_.close();
  }

  void closed(const roce::Connection& c, std::int64_t time_ns) override {
    name_connection(c);
    const bool rejected = c.state == roce::State::kRejected;
    const bool closed = c.state == roce::State::kClosed;
    trace_.instant(connection_track(c),
                   rejected ? "connection rejected"
                   : closed ? "connection closed"
                            : "capture ends",
                   "connection", time_ns);
    args_.field("state", last_state(c));
    if (c.closed_by >= 0) {
      args_.field("by", end_of(c.side[static_cast<std::size_t>(c.closed_by)]));
      args_.field("frame", c.closed_frame);
    }
    if (rejected) args_.field("reason", wire::cm_rej_reason(c.reject_reason));
    trace_.close();
    no_credits(id_of(c), connections_[c.index], time_ns);
  }

  void evict(std::uint32_t connection) override { connections_.erase(connection); }

  void credits(const model::Credits& credits, const Origin& origin, std::int64_t time_ns) override {
    Caller& caller = connections_[origin.connection].caller[origin.caller];
    const std::string_view track = origin.reverse ? "credits reverse" : "credits forward";
    if (caller.ledger_track == track && same(caller.ledger, credits)) return;
    if (caller.ledger_track != track) no_credits(origin.id(), caller, time_ns);
    caller.ledger_track = track;
    caller.ledger = credits;
    counter(origin.id(), caller, credits, time_ns);
  }

  void call_begun(const model::Call& call, const Origin& origin) override {
    outstanding_[call.message.id] =
        connections_[origin.connection].caller[origin.caller].free.take();
  }

  void call_ended(const EndedCall& ended, bool shown) override {
    const auto it = outstanding_.find(ended.call.message.id);
    if (it == outstanding_.end()) return;
    const std::uint32_t row = it->second;
    outstanding_.erase(it);
    Caller& caller = connections_[ended.origin.connection].caller[ended.origin.caller];
    caller.free.give_back(row);
    if (shown) show(ended, caller, row);
  }

  void unmatched_operation(const roce::Connection& c, const roce::Operation& op) override {
    trace_.instant(connection_track(c),
                   op.kind == roce::OpKind::kRead ? "unmatched RDMA Read" : "unmatched RDMA Write",
                   "operation", op.last_ns);
    sender_field(c, op.initiator);
    args_.field("handle", hex(op.handle));
    args_.field("offset", fmt::format("{:#018x}", op.offset));
    args_.field("length", op.length);
    args_.field("bytes", op.bytes);
    args_.field("first_frame", op.first_frame);
    args_.field("last_frame", op.last_frame);
    trace_.close();
  }

  void refusal(const roce::Connection& c, int sender, const wire::Aeth& aeth, std::uint32_t psn,
               const roce::PacketMeta& meta) override {
    trace_.instant(connection_track(c), aeth.is_rnr() ? "RNR NAK" : "NAK", "refusal", meta.time_ns);
    sender_field(c, sender);
    args_.field("code", refusal_name(aeth));
    args_.field("psn", psn);
    args_.field("frame", meta.frame);
    trace_.close();
  }

  void retransmission(const roce::Connection& c, int sender, std::uint64_t count,
                      const roce::PacketMeta& meta) override {
    trace_.instant(connection_track(c), "retransmission", "retransmission", meta.time_ns);
    sender_field(c, sender);
    args_.field("packets", count);
    args_.field("frame", meta.frame);
    trace_.close();
  }

  void finding(const Found& found) override {
    const rules::Occurrence& o = found.occurrence;
    const rules::Evidence& e = o.evidence;
    if (found.connection_id == 0 && !std::exchange(capture_named_, true)) {
      trace_.name_process(0, "capture");
      trace_.name_thread({0, kConnectionThread}, "findings");
    }
    trace_.instant({found.connection_id, kConnectionThread}, o.rule.name, "finding", found.time_ns);
    args_.field("severity", rules::severity_name(o.severity));
    args_.field("text", o.text);
    if (e.count != 1) args_.field("count", e.count);
    if (e.frames[0] != 0) args_.field("frame", e.frames[0]);
    if (e.frames[1] != 0) args_.field("last_frame", e.frames[1]);
    if (e.connection != nullptr && e.side >= 0) {
      args_.field("peer", end_of(e.connection->side[static_cast<std::size_t>(e.side)]));
    }
    if (found.role != nullptr) args_.field("role", found.role);
    args_.field("rule", o.rule.sentence);
    if (o.rule.section[0] != '\0') args_.field("section", o.rule.section);
    args_.field("advice", o.advice);
    trace_.close();
  }

 private:
  struct Row {
    std::int64_t end_ns = INT64_MIN;  // of its last slice
    std::uint32_t named = 0;          // number of its threads that have a name
  };
  // The rows and the credit ledger of one side's Calls.
  struct Caller {
    Rows free;
    std::vector<Row> rows;
    bool named = false;  // the rows have names, which state `reverse`
    bool reverse = false;
    std::string_view ledger_track;  // empty: no ledger was drawn
    model::Credits ledger;
    std::int64_t ledger_ns = INT64_MIN;  // time at which it was drawn last
  };
  struct Connection {
    std::string name;
    int client = -1;
    std::array<Caller, 2> caller;
  };

  static bool same(const model::Credits& a, const model::Credits& b) {
    return a.requested == b.requested && a.granted == b.granted && a.in_use == b.in_use;
  }

  // Returns address and QPN: "10.0.0.1.17".
  static std::string end_of(const roce::Side& side) {
    return side.qpn_known ? fmt::format("{}.{}", side.address.to_string(), side.qpn)
                          : side.address.to_string() + ".?";
  }

  // Draws the ledger. A message that waited behind a gap is late, but a counter's time never
  // decreases.
  void counter(std::uint32_t process, Caller& caller, const model::Credits& credits,
               std::int64_t time_ns) {
    caller.ledger_ns = std::max(caller.ledger_ns, time_ns);
    trace_.counter({process, kConnectionThread}, caller.ledger_track, "credits", caller.ledger_ns);
    if (credits.requested_known) args_.field("requested", credits.requested);
    if (credits.granted_known) args_.field("granted", credits.granted);
    args_.field("in_use", credits.in_use);
    trace_.close();
  }

  // Draws zeros, because a counter track otherwise keeps its last value.
  void no_credits(std::uint32_t process, Caller& caller, std::int64_t time_ns) {
    if (!caller.ledger_track.empty()) counter(process, caller, {}, time_ns);
    caller.ledger_track = {};
  }
  void no_credits(std::uint32_t process, Connection& connection, std::int64_t time_ns) {
    for (Caller& caller : connection.caller) no_credits(process, caller, time_ns);
  }

  void name_connection(const roce::Connection& c) {
    Connection& known = connections_[c.index];
    // Names the client first.
    const std::size_t first = known.client == 1 ? 1 : 0;
    std::string name = fmt::format("connection {}: {} > {}", id_of(c), end_of(c.side[first]),
                                   end_of(c.side[1 - first]));
    if (name == known.name) return;
    if (known.name.empty()) trace_.name_thread(connection_track(c), "connection");
    known.name = std::move(name);
    trace_.name_process(id_of(c), known.name);
  }

  void sender_field(const roce::Connection& c, int sender) {
    args_.field("sender", end_of(c.side[static_cast<std::size_t>(sender)]));
  }

  // Returns the track of a row, and names it. Rows are renamed at their next use if it turns out
  // later which caller is the client.
  Track track(Caller& caller, const Origin& origin, std::uint32_t row, std::uint32_t place) {
    if (!std::exchange(caller.named, true) || caller.reverse != origin.reverse) {
      caller.reverse = origin.reverse;
      for (Row& r : caller.rows) r.named = 0;
    }
    Row& r = caller.rows[row];
    for (; r.named <= place; ++r.named) {
      std::string name = fmt::format("{} Calls {}", direction_name(origin.reverse), row + 1);
      if (r.named != 0) name += fmt::format(": overlapping operations {}", r.named);
      trace_.name_thread(row_track(origin, row, r.named), name);
    }
    return row_track(origin, row, place);
  }

  void show(const EndedCall& ended, Caller& caller, std::uint32_t row) {
    const model::Call& call = ended.call;
    if (caller.rows.size() <= row) caller.rows.resize(row + 1);
    // Without this, a clock that steps back would make slices overlap.
    const std::int64_t begin =
        std::max({call.message.time_ns, caller.rows[row].end_ns, reference_ns_});
    const std::int64_t end = std::max(begin, ended.end_ns);
    trace_.slice(track(caller, ended.origin, row, 0), report::procedure_label(call.message.rpc),
                 "call", begin, end);
    call_arguments(ended);
    trace_.close();

    abreast_.assign(1, begin);  // the time from which each place is free
    for (const model::ChunkOperation& o : call.operations) {
      const std::uint32_t place = place_of(std::clamp(o.first_ns, begin, end));
      const std::int64_t from = std::clamp(o.first_ns, abreast_[place], end);
      abreast_[place] = std::clamp(o.last_ns, from, end);
      show_operation(track(caller, ended.origin, row, place), o, call.message.xid, from,
                     abreast_[place]);
    }
    caller.rows[row].end_ns = end;
  }

  // Returns the first place that is free at a time. Place 0 is in the Call's own row.
  std::uint32_t place_of(std::int64_t from_ns) {
    auto place = std::find_if(abreast_.begin(), abreast_.end(),
                              [&](std::int64_t free_ns) { return free_ns <= from_ns; });
    if (place == abreast_.end() && abreast_.size() < kAbreast) {
      place = abreast_.insert(place, from_ns);
    }
    if (place == abreast_.end()) place = std::min_element(abreast_.begin(), abreast_.end());
    return static_cast<std::uint32_t>(place - abreast_.begin());
  }

  void call_arguments(const EndedCall& ended) {
    const model::Call& call = ended.call;
    const model::Message& m = call.message;
    const model::Message* const answer = ended.answer;
    args_.field("xid", hex(m.xid));
    args_.field("type", model::type_name(m));
    if (m.rpc.known) {
      args_.field("rpc", report::rpc_label(m.rpc));
      args_.field("program", m.rpc.program);
      args_.field("version", m.rpc.version);
      args_.field("procedure", m.rpc.procedure);
    }
    args_.field("ended", ending_name(call.ending));
    const std::string result = outcome(answer);
    if (!result.empty()) args_.field("outcome", result);
    args_.field("frame", m.frame);
    if (answer != nullptr) {
      args_.field("answer_frame", answer->frame);
      args_.field("latency_us", microseconds(answer->time_ns - m.time_ns));
    }
    if (Parts parts; parts_of(call, answer, parts)) {
      args_.field("call_to_first_operation_us", microseconds(parts.before_ns));
      args_.field("operations_us", microseconds(parts.operations_ns));
      args_.field("last_operation_to_reply_us", microseconds(parts.after_ns));
    }
    if (!model::is_absent(m, roce::kAbsentLengths)) args_.field("call_bytes", m.wire_length);
    if (answer != nullptr && !model::is_absent(*answer, roce::kAbsentLengths)) {
      args_.field("answer_bytes", answer->wire_length);
    }
    std::array<std::uint64_t, 3> moved{};
    for (const model::CallChunk& chunk : call.chunks) {
      moved[static_cast<std::size_t>(model::counted_list(chunk.list))] += chunk.moved;
    }
    // Where the source does not show operations, none seen is no zero.
    if (!model::is_absent(m, roce::kAbsentOperations) || call.operations_total != 0) {
      args_.field("read_bytes", moved[0]);
      args_.field("write_bytes", moved[1]);
      args_.field("reply_chunk_bytes", moved[2]);
      args_.field("operations", call.operations_total);
    }
    if (!model::is_absent(m, roce::kAbsentCredit)) args_.field("requested", m.credit);
    if (answer != nullptr && !model::is_absent(*answer, roce::kAbsentCredit)) {
      args_.field("granted", answer->credit);
    }
    args_.field("in_use", m.credits.in_use);
  }

  void show_operation(Track track, const model::ChunkOperation& o, std::uint32_t xid,
                      std::int64_t from_ns, std::int64_t to_ns) {
    trace_.slice(track, o.kind == roce::OpKind::kRead ? "RDMA Read" : "RDMA Write", "operation",
                 from_ns, to_ns);
    args_.field("xid", hex(xid));
    args_.field("list", model::chunk_list_name(o.list));
    args_.field("chunk", o.chunk);
    args_.field("segment", o.segment);
    args_.field("handle", hex(o.handle));
    args_.field("offset", fmt::format("{:#018x}", o.offset));
    args_.field("length", o.length);
    args_.field("bytes", o.bytes);
    args_.field("first_frame", o.first_frame);
    args_.field("last_frame", o.last_frame);
    args_.field("complete", o.complete);
    trace_.close();
  }

  TraceEvents trace_;
  report::JsonWriter& args_ = trace_.args();
  const ends::Ends* ends_;  // null: the source shows one end only
  std::int64_t shift_ns_;   // from the clock of *ends_
  std::int64_t reference_ns_ = 0;
  bool capture_named_ = false;
  roce::ByConnection<Connection> connections_;
  tsl::robin_map<std::uint64_t, std::uint32_t> outstanding_;  // rows by Message::id of the Call
  std::vector<std::int64_t> abreast_;                         // of the Call that is being drawn
};

}  // namespace

std::unique_ptr<Format> make_perfetto(Write write) {
  return make_perfetto(std::move(write), nullptr, 0);
}

std::unique_ptr<Format> make_perfetto(Write write, const ends::Ends* ends, std::int64_t shift_ns) {
  return std::make_unique<Perfetto>(std::move(write), ends, shift_ns);
}

}  // namespace rpcrdma::timeline
