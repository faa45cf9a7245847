// Every counter is reported under its own name and labels.
#include "families.h"

#include "names.h"
#include "openmetrics.h"
#include "process.h"
#include "support/exposition.h"

#include <ctime>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <rpcrdma/version/version.h>

namespace rpcrdma::metrics {
namespace {

using testing::Exposition;
using ::testing::IsEmpty;

constexpr fabric::Time kNow = 100 * fabric::kSecond;

// Numbers that are all different, so that no two can be confused.
class Numbers {
 public:
  template <typename... T>
  void fill(T&... counters) {
    ((counters = static_cast<T>(++last_)), ...);
  }

 private:
  std::uint64_t last_ = 0;
};

Snapshot server_snapshot() {
  Snapshot s;
  s.taken = kNow;
  ServerFigures& f = s.server.emplace();
  protocol::ResponderCounters& r = f.counters.responder;
  service::DispatcherCounters& c = f.counters.calls;
  Numbers n;
  n.fill(r.calls, r.replies, r.error_version, r.error_chunk, r.ignored, r.over_credit,
         r.bytes.inline_calls, r.bytes.inline_replies, r.bytes.read_chunks, r.bytes.long_calls,
         r.bytes.write_chunks, r.bytes.reply_chunks);  // 1 to 12
  n.fill(c.prog_unavail, c.prog_mismatch, c.proc_unavail, c.garbage_args, c.system_err,
         c.rpc_mismatch, c.auth_error, c.cancelled);  // 13 to 20
  n.fill(f.counters.accepted, f.counters.rejected_full, f.counters.rejected_memory,
         f.counters.closed_peer, f.counters.closed_protocol, f.counters.closed_idle,
         f.counters.closed_handshake, f.counters.closed_stopped);  // 21 to 28
  f.counters.closed_memory = 34;
  c.one_way = 35;
  service::DuplicateCacheCounters& d = f.counters.duplicates;
  n.fill(d.calls, d.replayed, d.waited, d.dropped, d.evicted, d.expired, d.not_kept,
         d.unprotected);  // 29 to 36
  d.entries = 37;
  d.bytes = 38;
  f.connections = 10;
  f.outstanding = 7;
  f.granted = 8;
  f.most_credits = 32;
  r.delayed = 33;
  r.slow_pulls = 53;
  f.counters.durations.add(1500);
  f.counters.durations.add(3 * fabric::kMillisecond);
  s.procedures = {{"ECHO", "NULL", 29}, {"ECHO", "SINK", 30}};
  s.procedures[1].durations.add(3 * fabric::kMicrosecond);
  r.error_proc = 41;
  r.error_option = 42;
  r.cant_reply = 43;
  return s;
}

Snapshot client_snapshot() {
  Snapshot s;
  s.taken = kNow - fabric::kSecond / 4;
  ClientFigures& f = s.client.emplace();
  protocol::RequesterCounters& r = f.counters.requester;
  Numbers n;
  n.fill(r.calls, r.replies, r.timeouts, r.error_version, r.error_chunk, r.resent, r.unmatched,
         r.malformed, r.zero_grants, r.stalls, r.bytes.inline_calls, r.bytes.inline_replies,
         r.bytes.read_chunks, r.bytes.long_calls, r.bytes.write_chunks,
         r.bytes.reply_chunks);  // 1 to 16
  n.fill(f.counters.established, f.counters.rejected, f.counters.unreachable, f.counters.timed_out,
         f.counters.lost, f.counters.given_up);  // 17 to 22
  f.connections = 3;
  f.outstanding = 23;
  f.waiting = 24;
  f.granted = 25;
  f.credits_in_use = 26;
  f.most_credits = 9;
  f.counters.durations.whole.add(20 * fabric::kSecond);
  f.counters.durations.reply.add(fabric::kMicrosecond);
  r.one_way = 27;
  r.null_calls = 28;
  r.error_option = 45;
  r.cant_reply = 46;
  s.client_errors = {{ErrorClass::kRpcError, "PROG_UNAVAIL", 31},
                     {ErrorClass::kViolation, "wrong_data", 32}};

  soft::ProviderCounters& p = s.packets.emplace();
  n.fill(p.udp.received_packets, p.udp.sent_packets, p.udp.received_bytes, p.udp.sent_bytes,
         p.udp.icrc_bad, p.udp.too_short, p.adapter.malformed, p.adapter.strays, p.damaged,
         p.not_sent, p.udp.refused);  // 23 to 33
  soft::QpCounters& q = p.queue_pairs;
  n.fill(q.retransmitted, q.duplicates, q.out_of_order, q.timeouts, q.acks_in, q.acks_out,
         q.naks_in, q.naks_out, q.rnr_in, q.rnr_out, q.ghosts);  // 34 to 44
  q.dropped = 1;
  p.adapter.no_memory = 53;
  p.adapter.unproven = 54;
  p.adapter.requests_crowded = 55;
  p.adapter.half_open_evicted = 56;
  p.adapter.answers_withheld = 57;
  p.adapter.half_open = 58;
  s.memory = {50, 51, 52};
  s.trace = {60, 61, 62, 63};
  return s;
}

Snapshot kernel_snapshot() {
  Snapshot s;
  s.taken = kNow;
  KernelFigures& f = s.kernel.emplace();
  Numbers n;
  for (KernelRole* const r : {&f.client, &f.server}) {  // 1 to 13 and 14 to 26
    n.fill(r->connections, r->opened, r->closed, r->granted, r->in_use, r->waiting, r->requested,
           r->credit_waits, r->send_queue_full, r->resent_calls, r->flushed, r->invalid_headers);
    r->credit_wait_ns = 1'500'000'000;
    n.fill(r->opened);
  }
  for (const bool server : {false, true}) {  // 27 to 33 and 34 to 40
    KernelProcedure& p = f.procedures.emplace_back();
    p.server = server;
    p.program = "NFS";
    p.procedure = "READ";
    n.fill(p.calls, p.replies, p.errors, p.call_bytes, p.reply_bytes, p.read_chunk_bytes,
           p.write_chunk_bytes);
    p.latencies.add(3 * fabric::kMillisecond, 7);
    p.latencies.set_sum(22 * fabric::kMillisecond);
  }
  f.procedures.push_back(f.procedures.front());  // another version of the program
  f.procedures.back().procedure = "WRITE";
  s.trace = {60, 61, 62, 63, 64};
  return s;
}

Exposition emitted(const std::vector<Snapshot>& snapshots) {
  const std::string text = openmetrics(families(snapshots, kNow, nullptr).families);
  Exposition e(text);
  EXPECT_THAT(e.problems(), IsEmpty()) << text;
  return e;
}

Exposition parsed_text(const std::vector<Snapshot>& snapshots) {
  const std::string text =
      prometheus::TextSerializer().Serialize(families(snapshots, kNow, nullptr).families);
  Exposition e(text, testing::Syntax::kText);
  EXPECT_THAT(e.problems(), IsEmpty()) << text;
  return e;
}

using Expected = std::map<std::string, double>;

// All samples of these families, and no other.
void expect_samples(const Exposition& e, const Expected& expected) {
  std::set<std::string> names;
  for (const auto& [series, value] : expected) {
    EXPECT_EQ(e[series], value) << series;
    names.insert(series.substr(0, series.find('{')));
  }
  for (const auto& [series, value] : e.samples()) {
    if (!names.contains(series.substr(0, series.find('{')))) continue;
    EXPECT_TRUE(expected.contains(series)) << series;
  }
}

TEST(Families, OfAServer) {
  expect_samples(
      emitted({server_snapshot()}),
      {{R"(rpcrdma_calls_total{role="server"})", 1},
       {R"(rpcrdma_replies_total{role="server"})", 2},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="ERR_VERS",role="server"})", 3},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="ERR_CHUNK",role="server"})", 4},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="INVAL_PROC",role="server"})", 41},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="INVAL_OPTION",role="server"})", 42},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="CANT_REPLY",role="server"})", 43},
       {R"(rpcrdma_errors_total{class="violation",kind="ignored",role="server"})", 5},
       {R"(rpcrdma_errors_total{class="violation",kind="over_credit",role="server"})", 6},
       {R"(rpcrdma_errors_total{class="violation",kind="slow_pull",role="server"})", 53},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="PROG_UNAVAIL",role="server"})", 13},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="PROG_MISMATCH",role="server"})", 14},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="PROC_UNAVAIL",role="server"})", 15},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="GARBAGE_ARGS",role="server"})", 16},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="SYSTEM_ERR",role="server"})", 17},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="RPC_MISMATCH",role="server"})", 18},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="AUTH_ERROR",role="server"})", 19},
       {R"(rpcrdma_errors_total{class="failure",kind="cancelled",role="server"})", 20},
       {R"(rpcrdma_one_way_calls_total{role="server"})", 35},
       {R"(rpcrdma_duplicate_cache_calls_total{role="server"})", 29},
       {R"(rpcrdma_duplicate_calls_total{fate="replayed",role="server"})", 30},
       {R"(rpcrdma_duplicate_calls_total{fate="waited",role="server"})", 31},
       {R"(rpcrdma_duplicate_calls_total{fate="dropped",role="server"})", 32},
       {R"(rpcrdma_duplicate_cache_removed_total{reason="evicted",role="server"})", 33},
       {R"(rpcrdma_duplicate_cache_removed_total{reason="expired",role="server"})", 34},
       {R"(rpcrdma_duplicate_cache_missing_total{reason="reply_too_long",role="server"})", 35},
       {R"(rpcrdma_duplicate_cache_missing_total{reason="full",role="server"})", 36},
       {R"(rpcrdma_duplicate_cache_entries{role="server"})", 37},
       {R"(rpcrdma_duplicate_cache_bytes{role="server"})", 38},
       {R"(rpcrdma_message_bytes_total{kind="inline",message="call",role="server"})", 7},
       {R"(rpcrdma_message_bytes_total{kind="inline",message="reply",role="server"})", 8},
       {R"(rpcrdma_message_bytes_total{kind="read_chunk",message="call",role="server"})", 9},
       {R"(rpcrdma_message_bytes_total{kind="long_call",message="call",role="server"})", 10},
       {R"(rpcrdma_message_bytes_total{kind="write_chunk",message="reply",role="server"})", 11},
       {R"(rpcrdma_message_bytes_total{kind="reply_chunk",message="reply",role="server"})", 12},
       {R"(rpcrdma_procedure_calls_total{procedure="NULL",program="ECHO",role="server"})", 29},
       {R"(rpcrdma_procedure_calls_total{procedure="SINK",program="ECHO",role="server"})", 30},
       {R"(rpcrdma_connections_opened_total{role="server"})", 21},
       {R"(rpcrdma_connections_rejected_total{reason="full",role="server"})", 22},
       {R"(rpcrdma_connections_rejected_total{reason="memory",role="server"})", 23},
       {R"(rpcrdma_connections_closed_total{reason="peer",role="server"})", 24},
       {R"(rpcrdma_connections_closed_total{reason="protocol",role="server"})", 25},
       {R"(rpcrdma_connections_closed_total{reason="memory",role="server"})", 34},
       {R"(rpcrdma_connections_closed_total{reason="idle",role="server"})", 26},
       {R"(rpcrdma_connections_closed_total{reason="handshake",role="server"})", 27},
       {R"(rpcrdma_connections_closed_total{reason="stopped",role="server"})", 28},
       {R"(rpcrdma_connections{role="server"})", 10},
       {R"(rpcrdma_calls_delayed_total{role="server"})", 33},
       {R"(rpcrdma_calls_outstanding{role="server"})", 7},
       {R"(rpcrdma_credits_granted{role="server"})", 80},
       {R"(rpcrdma_credits_in_use{role="server"})", 7},
       {R"(rpcrdma_credits_limit{role="server"})", 320},
       {R"(rpcrdma_snapshot_age_seconds)", 0}});
}

TEST(Families, OfAClient) {
  expect_samples(
      emitted({client_snapshot()}),
      {{R"(rpcrdma_calls_total{role="client"})", 1},
       {R"(rpcrdma_replies_total{role="client"})", 2},
       {R"(rpcrdma_errors_total{class="failure",kind="timed_out",role="client"})", 3},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="ERR_VERS",role="client"})", 4},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="ERR_CHUNK",role="client"})", 5},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="INVAL_OPTION",role="client"})", 45},
       {R"(rpcrdma_errors_total{class="rdma_error",kind="CANT_REPLY",role="client"})", 46},
       {R"(rpcrdma_calls_resent_total{role="client"})", 6},
       {R"(rpcrdma_one_way_calls_total{role="client"})", 27},
       {R"(rpcrdma_null_calls_total{role="client"})", 28},
       {R"(rpcrdma_errors_total{class="violation",kind="unmatched",role="client"})", 7},
       {R"(rpcrdma_errors_total{class="violation",kind="malformed",role="client"})", 8},
       {R"(rpcrdma_errors_total{class="violation",kind="zero_grant",role="client"})", 9},
       {R"(rpcrdma_errors_total{class="rpc_error",kind="PROG_UNAVAIL",role="client"})", 31},
       {R"(rpcrdma_errors_total{class="violation",kind="wrong_data",role="client"})", 32},
       {R"(rpcrdma_credit_stalls_total{role="client"})", 10},
       {R"(rpcrdma_message_bytes_total{kind="inline",message="call",role="client"})", 11},
       {R"(rpcrdma_message_bytes_total{kind="inline",message="reply",role="client"})", 12},
       {R"(rpcrdma_message_bytes_total{kind="read_chunk",message="call",role="client"})", 13},
       {R"(rpcrdma_message_bytes_total{kind="long_call",message="call",role="client"})", 14},
       {R"(rpcrdma_message_bytes_total{kind="write_chunk",message="reply",role="client"})", 15},
       {R"(rpcrdma_message_bytes_total{kind="reply_chunk",message="reply",role="client"})", 16},
       {R"(rpcrdma_connections_opened_total{role="client"})", 17},
       {R"(rpcrdma_connections_rejected_total{reason="rejected",role="client"})", 18},
       {R"(rpcrdma_connections_rejected_total{reason="unreachable",role="client"})", 19},
       {R"(rpcrdma_connections_rejected_total{reason="timed_out",role="client"})", 20},
       {R"(rpcrdma_connections_closed_total{reason="lost",role="client"})", 21},
       {R"(rpcrdma_connections_closed_total{reason="given_up",role="client"})", 22},
       {R"(rpcrdma_connections{role="client"})", 3},
       {R"(rpcrdma_calls_outstanding{role="client"})", 23},
       {R"(rpcrdma_calls_waiting{role="client"})", 24},
       {R"(rpcrdma_credits_granted{role="client"})", 25},
       {R"(rpcrdma_credits_in_use{role="client"})", 26},
       {R"(rpcrdma_credits_limit{role="client"})", 27},
       {R"(rpcrdma_snapshot_age_seconds)", 0.25}});
}

TEST(Families, OfAProvider) {
  expect_samples(
      emitted({client_snapshot()}),
      {{R"(rpcrdma_packets_total{direction="in",role="client"})", 23},
       {R"(rpcrdma_packets_total{direction="out",role="client"})", 24},
       {R"(rpcrdma_packet_bytes_total{direction="in",role="client"})", 25},
       {R"(rpcrdma_packet_bytes_total{direction="out",role="client"})", 26},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="bad_icrc",role="client"})", 27},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="too_short",role="client"})", 28},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="malformed",role="client"})", 29},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="stray",role="client"})", 30},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="no_memory",role="client"})", 53},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="no_place",role="client"})", 55},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="unproven",role="client"})", 54},
       {R"(rpcrdma_half_open_connections{role="client"})", 58},
       {R"(rpcrdma_half_open_evicted_total{role="client"})", 56},
       {R"(rpcrdma_answers_withheld_total{role="client"})", 57},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="fault",role="client"})", 31},
       {R"(rpcrdma_packets_dropped_total{direction="in",reason="unexpected",role="client"})", 45},
       {R"(rpcrdma_packets_dropped_total{direction="out",reason="no_room",role="client"})", 32},
       {R"(rpcrdma_packets_dropped_total{direction="out",reason="refused",role="client"})", 33},
       {R"(rpcrdma_packets_retransmitted_total{role="client"})", 34},
       {R"(rpcrdma_packets_duplicate_total{role="client"})", 35},
       {R"(rpcrdma_packets_out_of_order_total{role="client"})", 36},
       {R"(rpcrdma_transport_timeouts_total{role="client"})", 37},
       {R"(rpcrdma_acknowledgements_total{direction="in",kind="ACK",role="client"})", 38},
       {R"(rpcrdma_acknowledgements_total{direction="out",kind="ACK",role="client"})", 39},
       {R"(rpcrdma_acknowledgements_total{direction="in",kind="NAK",role="client"})", 40},
       {R"(rpcrdma_acknowledgements_total{direction="out",kind="NAK",role="client"})", 41},
       {R"(rpcrdma_acknowledgements_total{direction="in",kind="RNR",role="client"})", 42},
       {R"(rpcrdma_acknowledgements_total{direction="out",kind="RNR",role="client"})", 43},
       {"rpcrdma_registered_memory_bytes", 50},
       {"rpcrdma_registered_memory_in_use_bytes", 51},
       {"rpcrdma_registered_memory_limit_bytes", 52}});
}

ProcessFigures process_figures() {
  return {1.5, 2.5, 3, 4, 5, 6, 7};
}

// The process is one, however many endpoints it has.
TEST(Families, OfTheProcess) {
  const ProcessFigures process = process_figures();
  const std::vector<Snapshot> snapshots{client_snapshot(), server_snapshot()};
  const Exposition e(openmetrics(families(snapshots, kNow, &process).families));
  EXPECT_THAT(e.problems(), IsEmpty());
  expect_samples(e, {{"process_start_time_seconds", 1.5},
                     {"process_cpu_seconds_total", 2.5},
                     {"process_resident_memory_bytes", 3},
                     {"process_virtual_memory_bytes", 4},
                     {"process_open_fds", 5},
                     {"process_max_fds", 6},
                     {"process_threads", 7}});
  EXPECT_EQ(e[fmt::format("rpcrdma_build_info{{version=\"{}\"}}", version::text())], 1);
}

TEST(Families, WhatTheKernelDoesNotStateIsAbsent) {
  const ProcessFigures process;
  const Exposition e(openmetrics(families({}, kNow, &process).families));
  EXPECT_THAT(e.problems(), IsEmpty());
  EXPECT_TRUE(std::isnan(e["process_open_fds"]));
}

TEST(Process, IsThisOne) {
  const double now = static_cast<double>(std::time(nullptr));
  const ProcessFigures p = read_process();
  ASSERT_TRUE(p.started);
  // The kernel states its boot time in whole seconds.
  EXPECT_LE(*p.started, now + 2);
  EXPECT_GT(*p.started, now - 3600);
  EXPECT_GT(p.cpu_seconds.value_or(0), 0);
  EXPECT_GT(p.resident_bytes.value_or(0), 100'000U);
  EXPECT_GT(p.virtual_bytes.value_or(0), p.resident_bytes.value_or(0));
  EXPECT_GE(p.open_files.value_or(0), 3U);
  EXPECT_GT(p.most_files.value_or(0), p.open_files.value_or(0));
  EXPECT_EQ(p.threads, 1U);
  const int one_more = ::dup(0);
  EXPECT_EQ(read_process().open_files, *p.open_files + 1);
  ::close(one_more);
}

TEST(Families, OfATrace) {
  expect_samples(emitted({client_snapshot()}),
                 {{"rpcrdma_trace_events_total", 60},
                  {R"(rpcrdma_trace_events_lost_total{where="ring"})", 61},
                  {R"(rpcrdma_trace_events_lost_total{where="recording"})", 62},
                  {R"(rpcrdma_trace_events_lost_total{where="readers"})", 63}});
  EXPECT_TRUE(std::isnan(emitted({server_snapshot()})["rpcrdma_trace_events_total"]));
}

TEST(Families, OfLinuxsOwnClientAndServer) {
  const Exposition e = emitted({kernel_snapshot()});
  expect_samples(
      e,
      {{R"(rpcrdma_calls_total{role="client"})", 2 * 27},
       {R"(rpcrdma_calls_total{role="server"})", 34},
       {R"(rpcrdma_replies_total{role="client"})", 2 * 28},
       {R"(rpcrdma_replies_total{role="server"})", 35},
       {R"(rpcrdma_errors_total{class="failure",kind="failed",role="client"})", 2 * 29},
       {R"(rpcrdma_errors_total{class="failure",kind="failed",role="server"})", 36},
       {R"(rpcrdma_procedure_calls_total{procedure="READ",program="NFS",role="client"})", 27},
       {R"(rpcrdma_procedure_calls_total{procedure="WRITE",program="NFS",role="client"})", 27},
       {R"(rpcrdma_procedure_calls_total{procedure="READ",program="NFS",role="server"})", 34},
       {R"(rpcrdma_send_bytes_total{message="call",role="client"})", 2 * 30},
       {R"(rpcrdma_send_bytes_total{message="reply",role="client"})", 2 * 31},
       {R"(rpcrdma_send_bytes_total{message="call",role="server"})", 37},
       {R"(rpcrdma_send_bytes_total{message="reply",role="server"})", 38},
       {R"(rpcrdma_message_bytes_total{kind="read_chunk",message="call",role="client"})", 2 * 32},
       {R"(rpcrdma_message_bytes_total{kind="write_chunk",message="reply",role="client"})", 2 * 33},
       {R"(rpcrdma_message_bytes_total{kind="read_chunk",message="call",role="server"})", 39},
       {R"(rpcrdma_message_bytes_total{kind="write_chunk",message="reply",role="server"})", 40},
       {R"(rpcrdma_connections{role="client"})", 1},
       {R"(rpcrdma_connections{role="server"})", 14},
       {R"(rpcrdma_connections_opened_total{role="client"})", 13},
       {R"(rpcrdma_connections_opened_total{role="server"})", 26},
       {R"(rpcrdma_connections_closed_total{reason="ended",role="client"})", 3},
       {R"(rpcrdma_connections_closed_total{reason="ended",role="server"})", 16},
       {R"(rpcrdma_credits_granted{role="client"})", 4},
       {R"(rpcrdma_credits_granted{role="server"})", 17},
       {R"(rpcrdma_credits_in_use{role="client"})", 5},
       {R"(rpcrdma_credits_in_use{role="server"})", 18},
       {R"(rpcrdma_calls_waiting{role="client"})", 6},
       {R"(rpcrdma_credits_limit{role="client"})", 7},
       {R"(rpcrdma_credits_limit{role="server"})", 20},
       {R"(rpcrdma_credit_stalls_total{role="client"})", 8},
       {R"(rpcrdma_credit_wait_seconds_total{role="client"})", 1.5},
       {R"(rpcrdma_send_queue_full_total{role="client"})", 9},
       {R"(rpcrdma_send_queue_full_total{role="server"})", 22},
       {R"(rpcrdma_calls_resent_total{role="client"})", 10},
       {R"(rpcrdma_completions_failed_total{role="client"})", 11},
       {R"(rpcrdma_completions_failed_total{role="server"})", 24},
       {R"(rpcrdma_invalid_headers_total{role="client"})", 12},
       {R"(rpcrdma_invalid_headers_total{role="server"})", 25},
       {R"(rpcrdma_trace_events_lost_total{where="ring"})", 61},
       {R"(rpcrdma_trace_events_lost_total{where="recording"})", 62},
       {R"(rpcrdma_trace_events_lost_total{where="readers"})", 63},
       {R"(rpcrdma_trace_events_lost_total{where="kernel"})", 64}});
  const std::string read = R"(procedure="READ",program="NFS",role="server")";
  const std::string name = "rpcrdma_procedure_duration_seconds";
  EXPECT_EQ(e[name + "_bucket{le=\"0.002\"," + read + "}"], 0);
  EXPECT_EQ(e[name + "_bucket{le=\"0.005\"," + read + "}"], 7);
  EXPECT_EQ(e[name + "_count{" + read + "}"], 7);
  EXPECT_DOUBLE_EQ(e[name + "_sum{" + read + "}"], 0.022);
  EXPECT_EQ(e[R"(rpcrdma_call_duration_seconds_count{role="client"})"], 14);
  // It has no memory of ours.
  EXPECT_TRUE(std::isnan(e["rpcrdma_registered_memory_bytes"]));
}

TEST(Families, AHistogramsBucketsHoldThoseBeforeThemToo) {
  const Exposition e = emitted({server_snapshot()});
  const auto bucket = [&](const std::string& le) {
    return e["rpcrdma_call_duration_seconds_bucket{le=\"" + le + "\",role=\"server\"}"];
  };
  EXPECT_EQ(bucket("1e-06"), 0);
  EXPECT_EQ(bucket("2e-06"), 1);
  EXPECT_EQ(bucket("0.002"), 1);
  EXPECT_EQ(bucket("0.005"), 2);
  EXPECT_EQ(bucket("10.0"), 2);
  EXPECT_EQ(bucket("+Inf"), 2);
  EXPECT_EQ(e[R"(rpcrdma_call_duration_seconds_count{role="server"})"], 2);
  EXPECT_DOUBLE_EQ(e[R"(rpcrdma_call_duration_seconds_sum{role="server"})"], 0.0030015);

  const Exposition c = emitted({client_snapshot()});
  EXPECT_EQ(c[R"(rpcrdma_call_duration_seconds_bucket{le="10.0",role="client"})"], 0);
  EXPECT_EQ(c[R"(rpcrdma_call_duration_seconds_bucket{le="+Inf",role="client"})"], 1);
  const auto part = [&](const std::string& name) {
    return c["rpcrdma_call_part_duration_seconds_count{part=\"" + name + "\",role=\"client\"}"];
  };
  EXPECT_EQ(part("credit"), 0);
  EXPECT_EQ(part("reply"), 1);
  EXPECT_EQ(part("fence"), 0);
}

TEST(Families, SeveralEndpointsAreOne) {
  const Exposition one = emitted({client_snapshot()});
  const Exposition two = emitted({client_snapshot(), client_snapshot(), server_snapshot()});
  for (const auto& [series, value] : one.samples()) {
    if (series == kAge.name) continue;
    EXPECT_EQ(two[series], 2 * value) << series;
  }
  EXPECT_EQ(two[R"(rpcrdma_calls_total{role="server"})"], 1);
  EXPECT_EQ(two[kAge.name], 0.25);
}

TEST(Families, BothTextsShowTheSame) {
  // Only the bounds are written in another way.
  const auto samples = [](const Exposition& e) {
    std::map<std::string, double> counted;
    for (const auto& [series, value] : e.samples()) {
      if (series.find("le=\"") == std::string::npos) counted[series] = value;
    }
    return counted;
  };
  const std::vector<Snapshot> snapshots{server_snapshot(), client_snapshot()};
  EXPECT_EQ(samples(emitted(snapshots)), samples(parsed_text(snapshots)));
  EXPECT_EQ(emitted(snapshots).samples().size(), parsed_text(snapshots).samples().size());
}

TEST(Families, HaveTheirUnits) {
  EXPECT_EQ(emitted({server_snapshot(), client_snapshot(), kernel_snapshot()}).units(),
            (std::map<std::string, std::string>{{"rpcrdma_call_duration_seconds", "seconds"},
                                                {"rpcrdma_call_part_duration_seconds", "seconds"},
                                                {"rpcrdma_credit_wait_seconds", "seconds"},
                                                {"rpcrdma_duplicate_cache_bytes", "bytes"},
                                                {"rpcrdma_message_bytes", "bytes"},
                                                {"rpcrdma_packet_bytes", "bytes"},
                                                {"rpcrdma_procedure_duration_seconds", "seconds"},
                                                {"rpcrdma_registered_memory_bytes", "bytes"},
                                                {"rpcrdma_registered_memory_in_use_bytes", "bytes"},
                                                {"rpcrdma_registered_memory_limit_bytes", "bytes"},
                                                {"rpcrdma_send_bytes", "bytes"},
                                                {"rpcrdma_snapshot_age_seconds", "seconds"}}));
}

// docs/metrics.md has a line for every metric, and for no other, by the name of its samples.
TEST(Families, AreDocumented) {
  std::ifstream docs(RPCRDMA_TEST_DOCS "/metrics.md");
  std::map<std::string, std::string> documented;
  for (std::string line; std::getline(docs, line);) {
    // | `name` | type | ...
    if (!line.starts_with("| `rpcrdma_") && !line.starts_with("| `process_")) continue;
    const std::size_t end = line.find('`', 3);
    const std::size_t type = line.find("| ", end) + 2;
    documented[line.substr(3, end - 3)] = line.substr(type, line.find(' ', type) - type);
  }
  const ProcessFigures process = process_figures();
  const std::vector<Snapshot> all{server_snapshot(), client_snapshot(), kernel_snapshot()};
  const Exposition e(prometheus::TextSerializer().Serialize(families(all, kNow, &process).families),
                     testing::Syntax::kText);
  EXPECT_EQ(documented, e.types());
}

}  // namespace
}  // namespace rpcrdma::metrics
