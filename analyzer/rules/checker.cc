// Calls every check and diagnosis for each event of the model, and owns their state.
#include "checks/checks.h"
#include "diagnoses/diagnoses.h"
#include "diagnoses/refused_calls.h"

#include <memory>
#include <optional>

#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/rules/checker.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::rules {

namespace {

bool later_dialect(const CheckContext& context) {
  return context.model.dialect != wire::Dialect::kDraft02;
}

}  // namespace

struct Checker::Impl {
  Impl(Findings& f, const roce::Connections& c, const model::Model& m)
      : findings(f), diagnoses(f, c, m), refused_calls(f, c, m), connections(c), model(m) {}

  Findings& findings;
  Diagnoses diagnoses;
  RefusedCalls refused_calls;
  const roce::Connections& connections;
  const model::Model& model;

  struct Remembered {
    AnswerHistory answers;
    AgreedConfiguration agreed;
    bool later_dialect = false;  // earlier findings of the connection are dropped
  };
  roce::ByConnection<Remembered> remembered;  // open connections only
  Scratch scratch;

  History history;

  [[nodiscard]] CheckContext context(const model::Message& m) {
    return {findings,
            connections.connection(m.connection),
            model.connection(m.connection),
            model.reverse(m),
            history.of(m.connection),
            history};
  }
  // Without a message. Null if the connection has had no message yet.
  [[nodiscard]] std::optional<CheckContext> context(const roce::Connection& c) {
    ConnectionHistory* h = history.find(c.index);
    if (h == nullptr) return std::nullopt;
    return CheckContext{findings, c, model.connection(c.index), false, *h, history};
  }

  // Checks a connection that was set up or refused and had no message. It was for RPC-over-RDMA if
  // its private data or its port says so.
  void check_silent(const roce::Connection& c) {
    if (!c.side[0].cm.seen && !c.side[1].cm.seen) return;
    const model::ConnectionModel& of = model.connection(c.index);
    if (!asks_for_nfs(c) && of.speaks != model::Speaks::kRpc) return;
    check_private_data({findings, c, of, false, history.of(c.index), history});
  }
};

Checker::Checker(Findings& findings, const roce::Connections& connections,
                 const model::Model& model)
    : impl_(std::make_unique<Impl>(findings, connections, model)) {}
Checker::~Checker() = default;

void Checker::finish() {
  impl_->refused_calls.finish();
  impl_->diagnoses.finish();
  impl_->findings.finish();
}

const CaptureGaps& Checker::capture_gaps() const {
  return impl_->diagnoses.capture_gaps();
}

const std::vector<Silence>& Checker::silences() const {
  return impl_->diagnoses.silences();
}

Handover Checker::handover() const {
  Handover all = impl_->diagnoses.handover();
  impl_->history.for_each_past([&](const Past& past) {
    for (const LostCall& lost : past.lost.all()) {
      if (all.lost.size() < kLostCallsHandedOver) {
        all.lost.push_back(lost);
      } else {
        all.complete = false;
      }
    }
  });
  return all;
}

void Checker::leave_out(const model::Message& call) {
  impl_->diagnoses.first_calls().leave_out(call.connection, call.frame);
}

// There are no rules for the later dialects of version 2. Findings about the connection's messages
// before its dialect was known are retracted, and no more are added.
void Checker::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  const model::Call* const call = event.call;
  if (model::later_dialect(m)) {
    const roce::Connection& connection = impl_->connections.connection(m.connection);
    bool& known = impl_->remembered[m.connection].later_dialect;
    if (!known) {
      impl_->findings.take_back(connection);
      impl_->diagnoses.first_calls().drop(m.connection);
    }
    known = true;
    impl_->findings.message_seen(connection);
    return;
  }
  const CheckContext context = impl_->context(m);
  const bool known_again = impl_->diagnoses.message(m, call, context.connection, context.model);
  note_certainty(m, context);
  if (!context.history.begun) check_private_data(context);
  Impl::Remembered& r = impl_->remembered[m.connection];
  check_message(m, call, context, impl_->scratch);
  check_answers(m, call, context, r.answers);
  check_deprecated(m, call, context, r.agreed);
  const bool within_credit = check_credits(m, call, context);
  check_negotiation(m, within_credit, context);
  check_refused(m, within_credit, context);
  check_send_length(m, call, context);
  check_reverse(m, context);
  check_invalidation(m, call, context);
  if (m.kind == model::Kind::kCall && call != nullptr) {
    check_shared_memory(*call, context);
    check_sent_again(*call, known_again, context);
  }
  note_damage(m, context);
  note_violation(m, context);
  impl_->findings.message_seen(context.connection);
}

void Checker::on_identified(const model::Call& call) {
  if (model::later_dialect(call.message)) return;
  const CheckContext context = impl_->context(call.message);
  check_identified_xid(call, context);
  check_identified_program(call, context);
  check_identified_arguments(call, context, impl_->scratch);
  note_violation(call.message, context);
}

void Checker::on_call_end(const model::CallEnded& event) {
  const model::Call& call = event.call;
  const model::Message* const answer = event.answer;
  if (answer != nullptr) {
    impl_->refused_calls.answered(call, *answer);
  } else {
    impl_->refused_calls.unanswered(call);
  }
  const CheckContext context = impl_->context(call.message);
  if (later_dialect(context)) return;
  note_end(call, context.history);
  check_unidentified(call, context);
  note_violation(call.message, context);
  if (answer != nullptr) {
    check_bytes_written(*answer, call, context, impl_->scratch);
    check_bytes_read(*answer, call, context);
  }
  remember_segments(call, answer, context);
  check_reverse_end(call, answer, context);
  remember_lost_call(call, context);
  impl_->diagnoses.call_end(call, answer, context.history.may_be_one_way(call.message),
                            context.connection, context.model);
  note_call_end(call, answer, context, impl_->remembered[call.message.connection].answers);
}

void Checker::on_merge(const roce::Merge& event) {
  const roce::Connection& into = event.into;
  const roce::Connection& from = event.from;
  impl_->history.forget(from.index);
  impl_->history.forget(into.index);
  impl_->remembered.erase(from.index);
  impl_->remembered.erase(into.index);
  note_joined(impl_->history.of(into.index));
  impl_->diagnoses.merge(into, from);
  impl_->refused_calls.merge(into, from);
  impl_->findings.connections_merged(into, from);
}

void Checker::on_close(const roce::Connection& connection) {
  const auto context = impl_->context(connection);
  if (context) check_packets(*context);
  if (context && !later_dialect(*context)) {
    check_reconnect_end(*context);
    if (Begun* begun = impl_->diagnoses.first_calls().find(connection.index)) {
      begun->unsure = Findings::inconclusive_reason(RuleId::kFc08, renamed_evidence(*context));
    }
    check_invalidated_ever(*context);
    check_answers_at_close(*context, impl_->remembered[connection.index].answers);
  }
  if (!context) impl_->check_silent(connection);
  impl_->remembered.erase(connection.index);
  const bool departed = impl_->diagnoses.close(connection, impl_->history.find(connection.index));
  if (departed && context) pass_over_lost_calls(*context);
  impl_->refused_calls.close(connection);
  impl_->findings.connection_closed(connection);
  impl_->history.forget(connection.index);
}

void Checker::on_time(std::int64_t now_ns) {
  impl_->diagnoses.time(now_ns, impl_->history);
}

void Checker::on_evict(const roce::Connection& connection) {
  impl_->refused_calls.evict(connection);
  impl_->findings.connection_evicted(connection);
}

void Checker::on_refusal(const roce::Acknowledgement& event) {
  const int sender = event.sender;
  const wire::Aeth& aeth = event.aeth;
  const std::uint32_t psn = event.psn;
  impl_->diagnoses.refusal(event.connection, sender, aeth, psn, event.meta);
  const auto context = impl_->context(event.connection);
  constexpr auto kSequenceError = static_cast<std::uint8_t>(wire::NakCode::kPsnSequence);
  if (context && aeth.is_nak() && aeth.value() != kSequenceError) {
    context->history.note_cause(static_cast<std::size_t>(1 - sender), UINT64_MAX);
  }
  if (context && aeth.is_nak()) {
    note_refused(1 - sender, static_cast<wire::NakCode>(aeth.value()), psn, *context);
  }
  if (!aeth.is_rnr()) return;
  if (context && !later_dialect(*context)) check_rnr(sender, psn, event.meta.frame, *context);
}

void Checker::on_congestion(const roce::CongestionSignal& event) {
  impl_->diagnoses.congestion(event);
}

void Checker::on_pause(const model::PauseSeen& event) {
  impl_->diagnoses.pause(event);
}

void Checker::on_retransmission(const roce::Retransmission& event) {
  if (event.connection.recorded)
    impl_->diagnoses.reported_again(event.connection, event.sender, event.count, event.meta);
}

void Checker::on_sent_again(const roce::RepeatedRequest& event) {
  impl_->diagnoses.retransmission(event.connection, event.sender, event.psn, event.idle_ns,
                                  event.begins, event.meta);
}

void Checker::on_operation(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  const auto context = impl_->context(event.connection);
  if (context) impl_->diagnoses.worked(event.connection, op, false);
  if (context) note_operation(op, event.call, event.segment, *context);
  if (context && !later_dialect(*context)) check_operation(op, event.call, event.segment, *context);
}

void Checker::on_operation_end(const model::OperationSeen& event) {
  const auto context = impl_->context(event.connection);
  if (context) impl_->diagnoses.worked(event.connection, event.op, true);
  if (context && !later_dialect(*context))
    check_operation_end(event.op, event.call, event.segment, *context);
}

}  // namespace rpcrdma::rules
