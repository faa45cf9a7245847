// Metrics of servers and clients.
#include "families.h"
#include "names.h"

namespace rpcrdma::metrics {

namespace {

struct Count {
  const char* name;
  std::uint64_t value;
};

void add_by(Families& f, const Metric& metric, const char* role, const char* label,
            std::initializer_list<Count> counts) {
  for (const Count& c : counts) f.add(metric, {{"role", role}, {label, c.name}}, c.value);
}

void add_errors(Families& f, const char* role, ErrorClass what,
                std::initializer_list<Count> counts) {
  for (const Count& c : counts) add_error(f, role, what, c.name, c.value);
}

void add_bytes(Families& f, const char* role, const protocol::MessageBytes& bytes) {
  const auto add = [&](const char* message, const char* kind, std::uint64_t value) {
    f.add(kMessageBytes, {{"role", role}, {"message", message}, {"kind", kind}}, value);
  };
  add("call", "inline", bytes.inline_calls);
  add("call", "read_chunk", bytes.read_chunks);
  add("call", "long_call", bytes.long_calls);
  add("reply", "inline", bytes.inline_replies);
  add("reply", "write_chunk", bytes.write_chunks);
  add("reply", "reply_chunk", bytes.reply_chunks);
}

void add_duplicates(Families& f, const char* role, const service::DuplicateCacheCounters& c) {
  const Labels of{{"role", role}};
  f.add(kProtectedCalls, of, c.calls);
  add_by(f, kDuplicateCalls, role, "fate",
         {{"replayed", c.replayed}, {"waited", c.waited}, {"dropped", c.dropped}});
  add_by(f, kCacheRemoved, role, "reason", {{"evicted", c.evicted}, {"expired", c.expired}});
  add_by(f, kCacheMissing, role, "reason",
         {{"reply_too_long", c.not_kept}, {"full", c.unprotected}});
  f.add(kCacheEntries, of, c.entries);
  f.add(kCacheBytes, of, c.bytes);
}

}  // namespace

void add(Families& f, const ServerFigures& s) {
  constexpr const char* kRole = "server";
  const Labels role{{"role", kRole}};
  const service::ServerCounters& c = s.counters;
  f.add(kCalls, role, c.responder.calls);
  f.add(kReplies, role, c.responder.replies);
  add_errors(f, kRole, ErrorClass::kRdmaError,
             {{"ERR_VERS", c.responder.error_version},
              {"ERR_CHUNK", c.responder.error_chunk},
              {"INVAL_PROC", c.responder.error_proc},
              {"INVAL_OPTION", c.responder.error_option},
              {"CANT_REPLY", c.responder.cant_reply}});
  add_errors(f, kRole, ErrorClass::kRpcError,
             {{"PROG_UNAVAIL", c.calls.prog_unavail},
              {"PROG_MISMATCH", c.calls.prog_mismatch},
              {"PROC_UNAVAIL", c.calls.proc_unavail},
              {"GARBAGE_ARGS", c.calls.garbage_args},
              {"SYSTEM_ERR", c.calls.system_err},
              {"RPC_MISMATCH", c.calls.rpc_mismatch},
              {"AUTH_ERROR", c.calls.auth_error}});
  add_errors(f, kRole, ErrorClass::kViolation,
             {{"over_credit", c.responder.over_credit},
              {"slow_pull", c.responder.slow_pulls},
              {"ignored", c.responder.ignored}});
  add_errors(f, kRole, ErrorClass::kFailure, {{"cancelled", c.calls.cancelled}});
  f.add(kDelayed, role, c.responder.delayed);
  f.add(kOneWay, role, c.calls.one_way);
  add_duplicates(f, kRole, c.duplicates);
  f.add(kOutstanding, role, s.outstanding);
  f.add(kDuration, role, c.durations);
  add_bytes(f, kRole, c.responder.bytes);

  f.add(kCreditsGranted, role, std::uint64_t{s.granted} * s.connections);
  f.add(kCreditsInUse, role, s.outstanding);
  f.add(kCreditsLimit, role, std::uint64_t{s.most_credits} * s.connections);

  f.add(kConnections, role, s.connections);
  f.add(kOpened, role, c.accepted);
  add_by(f, kRejected, kRole, "reason", {{"full", c.rejected_full}, {"memory", c.rejected_memory}});
  add_by(f, kClosed, kRole, "reason",
         {{"peer", c.closed_peer},
          {"protocol", c.closed_protocol},
          {"memory", c.closed_memory},
          {"idle", c.closed_idle},
          {"handshake", c.closed_handshake},
          {"stopped", c.closed_stopped}});
}

void add(Families& f, const ClientFigures& s) {
  constexpr const char* kRole = "client";
  const Labels role{{"role", kRole}};
  const service::ClientCounters& c = s.counters;
  f.add(kCalls, role, c.requester.calls);
  f.add(kReplies, role, c.requester.replies);
  add_errors(f, kRole, ErrorClass::kRdmaError,
             {{"ERR_VERS", c.requester.error_version},
              {"ERR_CHUNK", c.requester.error_chunk},
              {"INVAL_OPTION", c.requester.error_option},
              {"CANT_REPLY", c.requester.cant_reply}});
  add_errors(f, kRole, ErrorClass::kViolation,
             {{"unmatched", c.requester.unmatched},
              {"malformed", c.requester.malformed},
              {"zero_grant", c.requester.zero_grants}});
  add_errors(f, kRole, ErrorClass::kFailure, {{"timed_out", c.requester.timeouts}});
  f.add(kResent, role, c.requester.resent);
  f.add(kOneWay, role, c.requester.one_way);
  f.add(kNullCalls, role, c.requester.null_calls);
  f.add(kOutstanding, role, s.outstanding);
  f.add(kWaiting, role, s.waiting);
  f.add(kDuration, role, c.durations.whole);
  const auto add_part = [&](const char* part, const protocol::Durations& durations) {
    f.add(kPartDuration, {{"role", kRole}, {"part", part}}, durations);
  };
  add_part("credit", c.durations.credit);
  add_part("reply", c.durations.reply);
  add_part("fence", c.durations.fence);
  add_bytes(f, kRole, c.requester.bytes);

  f.add(kCreditsGranted, role, s.granted);
  f.add(kCreditsInUse, role, s.credits_in_use);
  f.add(kCreditsLimit, role, std::uint64_t{s.most_credits} * s.connections);
  f.add(kStalls, role, c.requester.stalls);

  f.add(kConnections, role, s.connections);
  f.add(kOpened, role, c.established);
  add_by(f, kRejected, kRole, "reason",
         {{"rejected", c.rejected}, {"unreachable", c.unreachable}, {"timed_out", c.timed_out}});
  add_by(f, kClosed, kRole, "reason", {{"lost", c.lost}, {"given_up", c.given_up}});
}

}  // namespace rpcrdma::metrics
