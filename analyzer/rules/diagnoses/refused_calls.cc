// Counts refused Calls and faulty statuses by procedure, and keeps their findings up to date.
#include "refused_calls.h"

#include "checks/call_shape.h"
#include "nfs_faults.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/model/procedure_name.h>

namespace rpcrdma::rules {

namespace {

// Limits for one connection: whatever exceeds them counts with the last entry.
constexpr std::size_t kMostProcedures = 256;
constexpr std::size_t kMostKinds = 64;
constexpr std::size_t kMostStatuses = 4;  // of one procedure

struct ProcedureKey {
  std::uint32_t program = 0, version = 0, procedure = 0, operation = 0;
  std::uint8_t caller = 0;
  bool known = false;

  friend bool operator==(const ProcedureKey&, const ProcedureKey&) = default;
};

ProcedureKey key_of(const model::Message& call) {
  const model::RpcInfo& rpc = call.rpc;
  if (!rpc.known) return {0, 0, 0, 0, call.caller, false};
  return {rpc.program, rpc.version, rpc.procedure, model::principal_operation(rpc),
          call.caller, true};
}

// "NFS v4 READ". Few procedures need it.
std::string label_of(const ProcedureKey& key) {
  if (!key.known) return {};
  model::RpcInfo rpc;
  rpc.known = true;
  rpc.program = key.program;
  rpc.version = key.version;
  rpc.procedure = key.procedure;
  if (key.operation != UINT32_MAX) rpc.ops.op[rpc.ops.kept++] = key.operation;
  return model::procedure_label(rpc);
}

// The topic of a finding: distinct for each procedure and reason, and the same in every part of a
// capture.
class Topic {
 public:
  Topic& add(std::uint32_t word) {
    for (int i = 0; i < 4; ++i, word >>= 8) hash_ = (hash_ ^ (word & 0xff)) * 16777619U;
    return *this;
  }
  [[nodiscard]] std::uint32_t get() const { return hash_ >> 2; }

 private:
  std::uint32_t hash_ = 2166136261U;  // FNV-1a
};

Topic topic_of(const ProcedureKey& key) {
  return Topic()
      .add(key.program)
      .add(key.version)
      .add(key.procedure)
      .add(key.operation)
      .add(key.caller);
}

}  // namespace

struct RefusedCalls::Procedure {
  ProcedureKey key;
  bool others = false;  // it counts for all that exceed the limit
  std::uint64_t answers = 0;
  struct Status {
    std::uint32_t status = 0;
    std::uint64_t count = 0;
    std::array<std::uint64_t, 2> frames{};  // of the first and the latest
    StatusKind kind = StatusKind::kFault;
    bool reported = false;
    std::string clause;
  };
  std::vector<Status> statuses;

  [[nodiscard]] std::string label() const { return others ? "other" : label_of(key); }
};

struct RefusedCalls::Kind {
  Refusal refusal;
  std::uint32_t topic = 0;
  std::size_t procedure = 0;
  ShapeRange shapes;
  // Calls whose results may not fit their chunks, the smallest room, and the largest result size.
  std::uint64_t short_of_room = 0, least_room = 0, asked = 0;
  bool reported = false;
  bool suspect = false;
  std::string name, reason;
};

struct RefusedCalls::OfConnection {
  std::vector<Procedure> procedures;
  std::size_t latest = 0;
  std::vector<Kind> kinds;
  std::array<ShapeRange, 2> answered;  // by caller

  Procedure& procedure(const model::Message& call) {
    const ProcedureKey key = key_of(call);
    if (latest < procedures.size() && procedures[latest].key == key) return procedures[latest];
    const auto at = std::find_if(procedures.begin(), procedures.end(),
                                 [&](const Procedure& p) { return p.key == key; });
    latest = static_cast<std::size_t>(at - procedures.begin());
    if (at != procedures.end()) return *at;
    if (procedures.size() == kMostProcedures) {
      latest = kMostProcedures - 1;
      procedures[latest].others = true;
      return procedures[latest];
    }
    Procedure& p = procedures.emplace_back();
    p.key = key;
    return p;
  }

  Kind& kind(const Refusal& refusal) {
    const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) {
      return k.refusal == refusal && k.procedure == latest;
    });
    if (at != kinds.end()) return *at;
    if (kinds.size() == kMostKinds) return kinds.back();
    Kind& k = kinds.emplace_back();
    k.refusal = refusal;
    k.procedure = latest;
    k.topic = topic_of(procedures[latest].key)
                  .add(static_cast<std::uint32_t>(refusal.by))
                  .add(refusal.code)
                  .get();
    return k;
  }

  // "the Reply chunk has 512 B, but the Calls request 32 KiB"
  [[nodiscard]] std::string shortage(const Kind& k) const;
  [[nodiscard]] std::string clause(const Kind& k) const;
};

std::string RefusedCalls::OfConnection::shortage(const Kind& k) const {
  if (k.short_of_room == 0 || k.short_of_room != k.shapes.calls) return {};
  const CallShape& most = k.shapes.most;
  const char* const chunks = most.of[CallShape::kReplyBytes] == 0   ? "the Write chunks have"
                             : most.of[CallShape::kWriteBytes] == 0 ? "the Reply chunk has"
                                                                    : "the chunks for results have";
  return fmt::format("{} {}, but the Calls request {}", chunks, base::format_bytes(k.least_room),
                     base::format_bytes(k.asked));
}

std::string RefusedCalls::OfConnection::clause(const Kind& k) const {
  const Procedure& p = procedures[k.procedure];
  const std::string label = p.label();
  std::string text =
      fmt::format("{}{}Calls refused with {}", label, label.empty() ? "" : " ", k.name);
  std::string why = k.reason;
  const auto add = [&](const std::string& more) {
    if (more.empty()) return;
    why += why.empty() ? more : "; " + more;
  };
  // An ERR_CHUNK does not state what was wrong with the header.
  if (k.refusal ==
      Refusal{RefusedBy::kTransport, static_cast<std::uint32_t>(wire::RdmaErr::kChunk)}) {
    const std::string missing = shortage(k);
    const ShapeRange& others = answered[p.key.caller];
    add(missing);
    // Without answered Calls to compare with, their shape is less useful than the shortage.
    if (missing.empty() || others.calls != 0) add(difference(k.shapes, others));
  }
  return why.empty() ? text : text + ": " + why;
}

RefusedCalls::RefusedCalls(Findings& findings, const roce::Connections& connections,
                           const model::Model& model)
    : findings_(findings), connections_(connections), model_(model) {}
RefusedCalls::~RefusedCalls() = default;

void RefusedCalls::answered(const model::Call& call, const model::Message& answer) {
  // With two Calls of one XID it is not known which Call it answers (HDR-09).
  if (call.doubled) return;
  OfConnection& c = open_[call.message.connection];
  Procedure& procedure = c.procedure(call.message);
  ++procedure.answers;
  if (!probes_.empty()) report(probes_.take_due(answer.time_ns));
  if (const auto refusal = refusal_of(answer)) return refused(c, procedure, call, answer, *refusal);
  succeeded(c, procedure, call, answer);
}

void RefusedCalls::unanswered(const model::Call& call) {
  if (probes_.empty()) return;
  probes_.for_each_of(call.message.connection, [&](Probe& p) {
    if (p.caller == call.message.caller && is_next_attempt(p, call, shape_of(call).room())) {
      p.awaits = true;
    }
  });
}

void RefusedCalls::succeeded(OfConnection& c, Procedure& procedure, const model::Call& call,
                             const model::Message& answer) {
  const CallShape shape = shape_of(call);
  const std::uint8_t caller = call.message.caller;
  c.answered[caller].add(shape);
  if (!probes_.empty()) {
    const roce::Connection& connection = connections_.connection(call.message.connection);
    const std::array<capture::Address, 2> address{connection.side[caller].address,
                                                  connection.side[1U - caller].address};
    for (const Probe& p : probes_.succeeded(call, answer, shape.room(), address)) {
      Evidence e;
      e.connection = &connections_.connection(p.connection);
      e.frames = p.frames;
      e.topic = p.topic;
      e.count = p.count;
      findings_.add(RuleId::kProbe, e,
                    [&] { return fmt::format("{}; {}", p.clause, success_text(p, call, answer)); });
    }
  }
  if (answer.rpc.has_status) note_status(procedure, call, answer);
}

void RefusedCalls::note_status(Procedure& p, const model::Call& call,
                               const model::Message& answer) {
  const StatusKind kind = status_kind(answer.rpc);
  if (kind == StatusKind::kOrdinary) return;
  auto at = std::find_if(p.statuses.begin(), p.statuses.end(),
                         [&](const auto& s) { return s.status == answer.rpc.status; });
  if (at == p.statuses.end()) {
    if (p.statuses.size() == kMostStatuses) return;
    const char* const name = model::nfs_status_name(answer.rpc);
    at = p.statuses.insert(p.statuses.end(), Procedure::Status{});
    at->status = answer.rpc.status;
    at->kind = kind;
    at->frames[0] = answer.frame;
    at->clause = fmt::format(
        "{} Calls ended with {}", p.label(),
        name != nullptr ? std::string(name) : fmt::format("status {}", answer.rpc.status));
  }
  ++at->count;
  at->frames[1] = answer.frame;
  if (!at->reported && !is_many(kind, at->count, p.answers)) return;
  Evidence e;
  e.connection = &connections_.connection(call.message.connection);
  e.message = answer.id;
  e.topic = topic_of(p.key).add(at->status).get();
  e.count = at->reported ? 1 : at->count;
  e.frames = at->reported ? std::array<std::uint64_t, 2>{answer.frame, 0} : at->frames;
  e.of = p.answers;
  at->reported = true;
  findings_.add(RuleId::kNfsStatus, e, [&] { return at->clause; });
}

void RefusedCalls::refused(OfConnection& c, Procedure& procedure, const model::Call& call,
                           const model::Message& answer, const Refusal& refusal) {
  const model::Message& m = call.message;
  const CallShape shape = shape_of(call);
  const bool reverse = model_.connection(m.connection).reverse(m.caller);
  Kind& k = c.kind(refusal);
  k.shapes.add(shape);
  if (call.results_asked && shape.room() != 0 && shape.room() < *call.results_asked) {
    k.least_room = k.short_of_room == 0 ? shape.room() : std::min(k.least_room, shape.room());
    k.asked = std::max(k.asked, *call.results_asked);
    ++k.short_of_room;
  }
  k.suspect = answer.suspect || m.suspect;
  k.name = refusal_name(refusal, answer);
  k.reason = refusal_reason(refusal, call, answer, reverse ? "client" : "server");

  const roce::Connection& connection = connections_.connection(m.connection);
  Probe p;
  p.connection = m.connection;
  p.caller = m.caller;
  p.address = {connection.side[m.caller].address, connection.side[1U - m.caller].address};
  p.refusal = refusal;
  p.rpc = m.rpc;
  p.version = m.version;
  p.room = shape.room();
  p.count = 1;
  p.of = procedure.answers;
  p.frames = {m.frame, answer.frame};
  p.latest_ns = answer.time_ns;
  p.topic = k.topic;
  p.name = k.name;
  p.clause = c.clause(k);
  if (!k.reported && may_be_probed(refusal, m.rpc) && probes_.hold(p)) return;
  k.reported = true;
  report(p, answer.id, k.suspect);
}

void RefusedCalls::report(const Probe& p, std::uint64_t message, bool suspect, const char* unsure) {
  Evidence e;
  e.connection = &connections_.connection(p.connection);
  e.message = message;
  e.frames = p.frames;
  e.topic = p.topic;
  e.count = p.count;
  e.of = p.of;
  e.suspect = suspect;
  e.unsure = unsure;
  // The server works correctly and states its limit.
  if (p.refusal.by == RefusedBy::kMinorVersion) e.at_most = Level::kWarning;
  findings_.add(
      RuleId::kCallRefused, e, [&] { return p.clause; }, refusal_advice(p.refusal));
}

void RefusedCalls::report(const std::vector<Probe>& refused) {
  for (const Probe& p : refused) {
    report(p, 0, false);
    OfConnection* const c = open_.find(p.connection);
    if (c == nullptr) continue;
    for (Kind& k : c->kinds) k.reported |= k.topic == p.topic;
  }
}

void RefusedCalls::merge(const roce::Connection& into, const roce::Connection& from) {
  for (const std::uint32_t index : {into.index, from.index}) {
    open_.erase(index);
    probes_.drop(index);
  }
}

void RefusedCalls::close(const roce::Connection& connection) {
  OfConnection* const c = open_.find(connection.index);
  if (c == nullptr) return;
  probes_.for_each_of(connection.index, [&](Probe& p) {
    for (const Kind& k : c->kinds) {
      if (k.topic == p.topic) p.of = c->procedures[k.procedure].answers;
    }
  });
  Evidence e;
  e.connection = &connection;
  for (const Kind& k : c->kinds) {
    if (!k.reported) continue;
    e.topic = k.topic;
    e.suspect = k.suspect;
    e.of = c->procedures[k.procedure].answers;
    findings_.restate(
        RuleId::kCallRefused, e, [&] { return c->clause(k); }, refusal_advice(k.refusal));
  }
  e.suspect = false;
  for (const Procedure& p : c->procedures) {
    for (const Procedure::Status& s : p.statuses) {
      if (!s.reported) continue;
      e.topic = topic_of(p.key).add(s.status).get();
      e.of = p.answers;
      if (is_many(s.kind, s.count, p.answers)) {
        findings_.restate(RuleId::kNfsStatus, e, [&] { return s.clause; });
      } else {
        findings_.retract(RuleId::kNfsStatus, e);
      }
    }
  }
  open_.erase(connection.index);
}

void RefusedCalls::evict(const roce::Connection& connection) {
  if (!probes_.empty()) report(probes_.take_of(connection.index));
}

void RefusedCalls::finish() {
  for (const Probe& p : probes_.take_all()) {
    report(p, 0, false,
           p.awaits ? "the capture has no Reply to the requester's next attempt" : nullptr);
  }
}

}  // namespace rpcrdma::rules
