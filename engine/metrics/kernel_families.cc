// Metrics of Linux's own client and server.
#include "families.h"
#include "names.h"

namespace rpcrdma::metrics {

namespace {

void add_role(Families& f, const char* name, const KernelRole& r, bool is_client) {
  const Labels role{{"role", name}};
  f.add(kConnections, role, r.connections);
  f.add(kOpened, role, r.opened);
  f.add(kClosed, {{"role", name}, {"reason", "ended"}}, r.closed);
  f.add(kCreditsGranted, role, r.granted);
  f.add(kCreditsInUse, role, r.in_use);
  f.add(kCreditsLimit, role, r.requested);
  f.add(kSendQueueFull, role, r.send_queue_full);
  f.add(kFlushed, role, r.flushed);
  f.add(kInvalidHeaders, role, r.invalid_headers);
  if (!is_client) return;
  f.add(kWaiting, role, r.waiting);
  f.add(kStalls, role, r.credit_waits);
  f.add_seconds(kCreditWait, role, r.credit_wait_ns);
  f.add(kResent, role, r.resent_calls);
}

}  // namespace

void add(Families& f, const KernelFigures& kernel) {
  for (const KernelProcedure& p : kernel.procedures) {
    const char* const name = p.server ? "server" : "client";
    const Labels role{{"role", name}};
    const Labels procedure{{"role", name}, {"program", p.program}, {"procedure", p.procedure}};
    f.add(kCalls, role, p.calls);
    f.add(kReplies, role, p.replies);
    add_error(f, name, ErrorClass::kFailure, "failed", p.errors);
    f.add(kProcedureCalls, procedure, p.calls);
    f.add(kProcedureDuration, procedure, p.latencies);
    f.add(kDuration, role, p.latencies);
    const auto bytes = [&](const char* message, const char* kind, std::uint64_t value) {
      f.add(kMessageBytes, {{"role", name}, {"message", message}, {"kind", kind}}, value);
    };
    bytes("call", "read_chunk", p.read_chunk_bytes);
    bytes("reply", "write_chunk", p.write_chunk_bytes);
    f.add(kSendBytes, {{"role", name}, {"message", "call"}}, p.call_bytes);
    f.add(kSendBytes, {{"role", name}, {"message", "reply"}}, p.reply_bytes);
  }
  add_role(f, "client", kernel.client, true);
  add_role(f, "server", kernel.server, false);
}

}  // namespace rpcrdma::metrics
