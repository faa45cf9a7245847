// Service response time by program and procedure: -z rpcrdma,srt.
#include "plugin.h"
#include "statistics.h"

#include <cstring>

namespace rpcrdma::wireshark {

namespace {

// A hostile capture can have as many programs as Calls.
constexpr int kMaxRows = 1024;

int row_of(srt_stat_table* table, const char* label) {
  for (int i = 0; i < table->num_procs; ++i) {
    const char* const known = table->procedures[i].procedure;
    if (known != nullptr && std::strcmp(known, label) == 0) return i;
  }
  if (table->num_procs >= kMaxRows) return -1;
  const int row = table->num_procs;
  init_srt_table_row(table, row, label);
  return row;
}

tap_packet_status on_answer(void* data, packet_info* pinfo, epan_dissect_t* edt, const void* queued,
                            tap_flags_t flags) {
  (void)flags;
  (void)edt;
  const auto& tapped = *static_cast<const Tapped*>(queued);
  if (tapped.note == nullptr || tapped.note->message == 0) return TAP_PACKET_DONT_REDRAW;
  const annotations::MessageNote& m = tapped.session->message(tapped.note->message);
  if (m.kind != model::Kind::kReply || m.latency_ns < 0 || m.label.empty()) {
    return TAP_PACKET_DONT_REDRAW;
  }
  const auto* const srt = static_cast<const srt_data_t*>(data);
  srt_stat_table* const table = g_array_index(srt->srt_array, srt_stat_table*, 0);
  const int row = row_of(table, m.label.c_str());
  if (row < 0) return TAP_PACKET_DONT_REDRAW;
  constexpr std::int64_t kSecond = 1'000'000'000;
  nstime_t latency;
  latency.secs = static_cast<time_t>(m.latency_ns / kSecond);
  latency.nsecs = static_cast<int>(m.latency_ns % kSecond);
  nstime_t called;
  nstime_delta(&called, &pinfo->abs_ts, &latency);
  add_srt_table_data(table, row, &called, pinfo);
  return TAP_PACKET_REDRAW;
}

void open_table(struct register_srt* srt, GArray* tables) {
  (void)srt;
  init_srt_table("RPC-over-RDMA Service Response Time", "RPC-over-RDMA", tables, 0, "Procedure",
                 nullptr, nullptr);
}

}  // namespace

void register_response_times() {
  register_srt_table(registered.protocol, nullptr, 1, on_answer, open_table, nullptr);
}

}  // namespace rpcrdma::wireshark
