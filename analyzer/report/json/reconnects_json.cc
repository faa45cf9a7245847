#include "reconnects_json.h"

namespace rpcrdma::report {

namespace {

// Calls are lists of numbers: there are many of them.
enum Flag : std::uint32_t { kVaries = 1, kKnown = 2, kForward = 4, kLeftOut = 8 };

void write_answered(JsonWriter& json, const char* key,
                    const std::vector<rules::Departed::Call>& calls) {
  json.array(key);
  for (const rules::Departed::Call& c : calls) {
    json.array();
    json.value(c.xid);
    json.value(c.program);
    json.value(c.procedure);
    json.value(c.digest);
    json.value(std::uint32_t{c.acknowledged ? 1U : 0U});
    json.end();
  }
  json.end();
}

void write_ended(JsonWriter& json, const EndedConnection& e) {
  json.object();
  json.field("client", e.address[0]);
  json.field("server", e.address[1]);
  json.field("end_time_ns", e.left.end_ns);
  json.field("broken", e.left.broken);
  write_answered(json, "unanswered", e.left.unanswered);
  write_answered(json, "answered", e.left.answered);
  json.end();
}

void write_lost(JsonWriter& json, const LostCall& lost) {
  json.object();
  json.field("caller", lost.caller);
  json.field("responder", lost.responder);
  json.field("lost_time_ns", lost.call.lost_ns);
  json.field("frame", lost.call.frame);
  json.field("xid", lost.call.xid);
  json.field("digest", lost.call.digest);
  json.field("reverse", lost.call.reverse);
  json.end();
}

void write_begun(JsonWriter& json, const BegunConnection& b) {
  json.object();
  json.field("connection", b.connection);
  json.field("client", b.address[0]);
  json.field("server", b.address[1]);
  json.field("first_time_ns", b.first_ns);
  json.field("ended_before", b.ended_before);
  json.field("more", b.more);
  json.optional("unsure", !b.unsure.empty(), b.unsure);
  json.array("calls");
  for (const rules::FirstCall& c : b.calls) {
    json.array();
    json.value(c.frame);
    json.value(c.time_ns - b.first_ns);
    json.value(c.xid);
    json.value(c.program);
    json.value(c.procedure);
    json.value(c.digest);
    json.value(std::uint32_t{(c.varies ? kVaries : 0U) | (c.known ? kKnown : 0U) |
                             (c.forward ? kForward : 0U) | (c.left_out ? kLeftOut : 0U)});
    json.end();
  }
  json.end();
  json.end();
}

// f(node) for each element of a list of at most so many.
template <typename Function>
void for_each_of(const JsonNode& list, std::size_t most, Function&& f) {
  if (list.size() > most) return list.fail("more than are kept");
  list.for_each(f);
}

bool has_numbers(const JsonNode& list, std::size_t count) {
  if (list.size() == count) return true;
  list.fail("not as many integers as a Call has");
  return false;
}

std::vector<rules::Departed::Call> read_answered(const JsonNode& list, std::size_t most) {
  std::vector<rules::Departed::Call> calls;
  for_each_of(list, most, [&](const JsonNode& n) {
    if (!has_numbers(n, 5)) return;
    rules::Departed::Call& c = calls.emplace_back();
    c.xid = n.at(0).u32();
    c.program = n.at(1).u32();
    c.procedure = n.at(2).u32();
    c.digest = n.at(3).u64();
    c.acknowledged = n.at(4).u32() != 0;
  });
  return calls;
}

void read_call(const JsonNode& n, std::int64_t first_ns, rules::FirstCall& c) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 62;
  c.frame = n.at(0).u64();
  c.time_ns = first_ns + n.at(1).ns();
  if (c.time_ns <= -kEnd || c.time_ns >= kEnd) n.at(1).fail("at a time beyond 2^62 ns");
  c.xid = n.at(2).u32();
  c.program = n.at(3).u32();
  c.procedure = n.at(4).u32();
  c.digest = n.at(5).u64();
  const std::uint32_t flags = n.at(6).u32();
  c.varies = (flags & kVaries) != 0;
  c.known = (flags & kKnown) != 0;
  c.forward = (flags & kForward) != 0;
  c.left_out = (flags & kLeftOut) != 0;
}

void read_begun(const JsonNode& n, std::uint32_t ids, BegunConnection& b) {
  n.into("connection", b.connection);
  if (b.connection == 0 || b.connection > ids) {
    n.get("connection").fail("not an ID of 1 to connection_ids");
  }
  n.into("client", b.address[0]);
  n.into("server", b.address[1]);
  n.into("first_time_ns", b.first_ns);
  b.ended_before = n.get("ended_before").u32();
  n.into("more", b.more);
  if (n.has("unsure")) n.into("unsure", b.unsure);
  for_each_of(n.get("calls"), rules::kBegunCalls, [&](const JsonNode& call) {
    if (has_numbers(call, 7)) read_call(call, b.first_ns, b.calls.emplace_back());
  });
}

}  // namespace

void write_reconnects(JsonWriter& json, const Reconnects& r) {
  json.object("reconnects");
  json.array("ended");
  for (const EndedConnection& e : r.ended) write_ended(json, e);
  json.end();
  json.array("lost");
  for (const LostCall& lost : r.lost) write_lost(json, lost);
  json.end();
  json.array("begun");
  for (const BegunConnection& b : r.begun) write_begun(json, b);
  json.end();
  json.field("complete", r.complete);
  json.field("unsought", r.unsought);
  json.end();
}

Reconnects read_reconnects(const JsonNode& node, std::uint32_t ids) {
  Reconnects r;
  for_each_of(node.get("ended"), rules::kDeparted, [&](const JsonNode& n) {
    EndedConnection& e = r.ended.emplace_back();
    n.into("client", e.address[0]);
    n.into("server", e.address[1]);
    n.into("end_time_ns", e.left.end_ns);
    n.into("broken", e.left.broken);
    e.left.unanswered = read_answered(n.get("unanswered"), rules::kUnanswered);
    e.left.answered = read_answered(n.get("answered"), rules::kAnswered);
  });
  for_each_of(node.get("lost"), rules::kLostCallsHandedOver, [&](const JsonNode& n) {
    LostCall& lost = r.lost.emplace_back();
    n.into("caller", lost.caller);
    n.into("responder", lost.responder);
    n.into("lost_time_ns", lost.call.lost_ns);
    n.into("frame", lost.call.frame);
    n.into("xid", lost.call.xid);
    n.into("digest", lost.call.digest);
    n.into("reverse", lost.call.reverse);
  });
  for_each_of(node.get("begun"), rules::kBegun,
              [&](const JsonNode& n) { read_begun(n, ids, r.begun.emplace_back()); });
  node.into("complete", r.complete);
  node.into("unsought", r.unsought);
  return r;
}

}  // namespace rpcrdma::report
