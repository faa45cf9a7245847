// Declares all checks. A check is a small function: it gets a message or an operation and its
// context, and adds violations to the findings. checker.cc calls the groups of checks.
#pragma once

#include "../diagnoses/answer_history.h"
#include "../history.h"
#include "lists.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

struct CheckContext {
  Findings& findings;
  const roce::Connection& connection;
  const model::ConnectionModel& model;
  bool reverse = false;  // the message is of the reverse direction
  ConnectionHistory& history;
  History& all;
};

// Returns the evidence for a violation by the responder of a rule about a Call and its answer.
[[nodiscard]] Evidence pair_evidence(const model::Message& answer, const model::Call& call,
                                     const CheckContext& context);

// Notes that the receiver may refuse this message, or end the connection for it.
inline void note_faulty(const model::Message& m, const CheckContext& context) {
  context.history.faulty.note(m.id);
  context.history.note_cause(m.sender, m.id);
}
// Notes a violation as cause for the receiver to end the connection, if it is an error: the
// receiver relies on that rule.
inline void note_violation(const model::Message& m, const CheckContext& context) {
  const Violation& violation = context.findings.latest_violation(m.sender);
  if (violation.evidence.message != m.id) return;
  if (context.findings.level(violation) == Level::kError)
    context.history.note_cause(m.sender, m.id);
  Cause& latest = context.history.latest_cause[m.sender];
  if (latest.message == m.id) latest.violation = violation;
}
// Returns whether the upper-layer binding is known. Other programs may have the program numbers of
// NFSv4 callbacks, but clients call those.
[[nodiscard]] inline bool has_binding(const model::RpcInfo& rpc, const CheckContext& context) {
  return rpc.known && !may_be_wrapped(rpc) && decode::has_binding(procedure_of(rpc)) &&
         (context.reverse || !decode::is_transient_program(rpc.program));
}

// header_checks.cc: one message on its own.
void check_header(const model::Message& m, const model::Call* call, const CheckContext& context);
// Called for a Call in a Position Zero Read chunk, when the responder has read the chunk.
void check_identified_xid(const model::Call& call, const CheckContext& context);
void check_unidentified(const model::Call& call, const CheckContext& context);
// Returns the RPC message that a header conveys, as far as it was captured.
[[nodiscard]] wire::Bytes rpc_message(const model::Message& m, const model::Call* call);

// read_list_checks.cc
void check_read_list(const model::Message& call, const CheckContext& context, Scratch& scratch);
void check_identified_arguments(const model::Call& call, const CheckContext& context,
                                Scratch& scratch);
void check_reply_reads(const model::Message& reply, const CheckContext& context);

// roundup_checks.cc: bytes that round up XDR items.
void check_roundup(const model::Message& m, const model::Call* call, const CheckContext& context,
                   Scratch& scratch);
// Called for a Call with Read chunks when Scratch::removed holds what they removed from `rpc`.
void check_removed_roundup(const model::Message& call, wire::Bytes rpc, const Scratch& scratch,
                           const CheckContext& context);

// segment_checks.cc: memory that a Call advertises.
void check_segments(const model::Message& m, const model::Call& call, const CheckContext& context,
                    Scratch& scratch);

// write_list_checks.cc
void check_write_list(const model::Message& reply, const model::Call& call,
                      const CheckContext& context);

// result_checks.cc: results in Write chunks, by the upper-layer binding.
void check_results(const model::Message& reply, const model::Call& call,
                   const CheckContext& context, Scratch& scratch);

// reply_chunk_checks.cc
void check_offered_reply_chunk(const model::Message& call, const CheckContext& context);
void check_used_reply_chunk(const model::Message& reply, const CheckContext& context);
void check_reply_chunk(const model::Message& reply, const model::Call& call,
                       const CheckContext& context);

// error_checks.cc: RDMA_ERROR.
void check_error(const model::Message& error, const CheckContext& context);
// `refused`: the version of the message that the ERR_VERS `error` answers.
void check_refused_version(const model::Message& error, std::uint32_t refused,
                           const Evidence& evidence, const CheckContext& context);
void check_roundup_accepted(const model::Message& answer, const model::Call& call,
                            const CheckContext& context, Scratch& scratch);

// version2_checks.cc
void check_version2(const model::Message& m, const model::Call* call, const CheckContext& context);

// answer_checks.cc: answers without a Call, Calls without an answer.
void check_answers(const model::Message& m, const model::Call* call, const CheckContext& context,
                   AnswerHistory& history);
void note_call_end(const model::Call& call, const model::Message* answer,
                   const CheckContext& context, AnswerHistory& history);
void check_answers_at_close(const CheckContext& context, const AnswerHistory& history);

// deprecated_checks.cc: features of RFC 5666 that RFC 8166 removed.
struct AgreedConfiguration {
  std::uint64_t frame = 0;      // of the Reply that states it; 0: none
  std::uint32_t max_call = 0;   // bytes
  std::uint32_t max_reads = 0;  // RDMA Reads in flight at the server
  // maxrdmaread of the latest CONF_RDMA Call, and its XID.
  std::optional<std::uint32_t> asked_reads;
  std::uint32_t asked_xid = 0;
};
void check_deprecated(const model::Message& m, const model::Call* call, const CheckContext& context,
                      AgreedConfiguration& agreed);
void check_identified_program(const model::Call& call, const CheckContext& context);

// message_checks.cc: calls all checks above that need one message, or an answer and its Call.
void check_message(const model::Message& m, const model::Call* call, const CheckContext& context,
                   Scratch& scratch);

// certainty.cc: notes missing data before all other checks of a message.
void note_certainty(const model::Message& m, const CheckContext& context);
// Returns ConnectionHistory::lists_unsure, or the reason that a Send after the latest message was
// truncated too much to be decoded as a message.
[[nodiscard]] const char* lists_unsure(const CheckContext& context);
void note_damage(const model::Message& m,
                 const CheckContext& context);  // after all other checks of the message
void note_joined(ConnectionHistory& h);         // when two directions were merged
void note_end(const model::Call& call, ConnectionHistory& h);
// Returns why the messages of `side` before message `by` are not known; null: they are. Its first
// packets may be missing without a trace if neither a REQ or REP nor an earlier message shows their
// PSN.
[[nodiscard]] const char* unheard(std::size_t side, std::uint64_t by, const CheckContext& context);

// credit_checks.cc: the two credit ledgers. Returns whether a Call or RDMA_DONE had a credit.
bool check_credits(const model::Message& m, const model::Call* call, const CheckContext& context);

// receive_checks.cc: Receives that were not posted, as RNR NAKs show.
void check_refused(const model::Message& m, bool within_credit, const CheckContext& context);
void check_rnr(int sender, std::uint32_t psn, std::uint64_t frame, const CheckContext& context);

// inline_checks.cc: the length of a Send.
void check_send_length(const model::Message& m, const model::Call* call,
                       const CheckContext& context);
// Returns the maximum length of a Send of `side`, in bytes; 0: not known.
[[nodiscard]] std::uint32_t send_limit(std::size_t side, const CheckContext& context);

// reverse_checks.cc: Calls by the RPC server.
void check_reverse(const model::Message& m, const CheckContext& context);
void check_reverse_end(const model::Call& call, const model::Message* answer,
                       const CheckContext& context);

// setup_checks.cc: the CM exchange and its private data.
void check_private_data(const CheckContext& context);

// invalidation_checks.cc: Send With Invalidate.
void check_invalidation(const model::Message& m, const model::Call* call,
                        const CheckContext& context);
void check_invalidated_ever(const CheckContext& context);  // when the connection closes

// operation_checks.cc: RDMA Reads and Writes.
void check_operation(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                     const CheckContext& context);
void check_operation_end(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                         const CheckContext& context);
void check_bytes_written(const model::Message& reply, const model::Call& call,
                         const CheckContext& context, Scratch& scratch);
void check_bytes_read(const model::Message& reply, const model::Call& call,
                      const CheckContext& context);
void check_shared_memory(const model::Call& call, const CheckContext& context);
void remember_segments(const model::Call& call, const model::Message* answer,
                       const CheckContext& context);
void check_packets(const CheckContext& context);  // when the connection closes

// access_checks.cc: whose fault it is that an adapter refused an operation.
void note_operation(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                    const CheckContext& context);
void note_refused(int initiator, wire::NakCode code, std::uint32_t psn,
                  const CheckContext& context);

// negotiation_checks.cc: version 2 with peers that do not support it.
void check_negotiation(const model::Message& m, bool within_credit, const CheckContext& context);

// reconnect_checks.cc: Calls that are resent on another connection.
// `known_again`: by its XID, the Call is one of the previous connection.
void check_sent_again(const model::Call& call, bool known_again, const CheckContext& context);
void remember_lost_call(const model::Call& call, const CheckContext& context);
void check_reconnect_end(const CheckContext& context);  // when the connection closes
// Called when the connection has closed and others may follow it.
void pass_over_lost_calls(const CheckContext& context);
// Returns the evidence for FC-08 about a Call that was resent with another XID, without the Call.
[[nodiscard]] Evidence renamed_evidence(const CheckContext& context);

// capture_checks.cc: gaps of the capture itself, reported once for all connections.
// Called when a connection that speaks RPC-over-RDMA closes. `cut_short`: the number of its
// messages that are truncated in the capture.
// Unless a report presents the sums itself.
void report_pauses(const capture::PauseFrames::BySource& pauses, Findings& findings);
// Notes a connection that ends, by its set-up: `any` collects those of any age
// (CaptureGaps::silent).
void note_silent(CaptureGaps::Gap& silent, CaptureGaps::Gap& any,
                 const roce::Connection& connection);
void note_closed(CaptureGaps& capture_gaps, const roce::Connection& connection,
                 std::uint64_t cut_short);
// Called at the end of the capture.
void report_capture_gaps(const CaptureGaps& capture_gaps, const roce::PacketStats& packets,
                         Findings& findings);

}  // namespace rpcrdma::rules
