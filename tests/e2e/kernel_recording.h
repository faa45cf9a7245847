// Recordings as Linux leads to them.
#pragma once

#include "support/trace_builder.h"

#include <string>

namespace rpcrdma::e2e {

// What the tracepoints of the client show of a capture, and how long a Call of it took to send.
inline std::string tracepoint_recording(const std::string& capture) {
  trace_reader::testing::TraceBuilder t = trace_reader::testing::events_of_capture(
      {reinterpret_cast<const std::uint8_t*>(capture.data()), capture.size()},
      {.sees_peer_operations = false, .source = trace::EventSource::kKernelTracepoints});
  trace::CallEnd end;
  end.xid = 0x1234;
  end.called = 1'000'000;
  end.sent = 1'200'000;
  end.replied = 1'900'000;
  end.ended = 2'000'000;
  end.slot_wait = 10'000;
  end.credit_wait = 20'000;
  end.marshal = 30'000;
  end.post = 40'000;
  t.emit(1, end);
  t.end();
  const auto bytes = t.pcapng();
  return {bytes.begin(), bytes.end()};
}

// A source that counts sends sums and no message.
inline std::string sums_recording() {
  trace_reader::testing::TraceBuilder t;
  t.begin("kernel", "Linux", 0, trace::EventSource::kKernelSums);
  trace::Connection connection = trace_reader::testing::plain_connection();
  connection.private_data_unknown = 1;
  t.emit(7, connection);
  trace::ProcedureSums sums;
  sums.program = 100003;
  sums.version = 3;
  sums.procedure = 6;  // READ
  sums.calls = 100;
  sums.replies = 98;
  sums.errors = 1;
  sums.call_bytes = 15'000;
  sums.reply_bytes = 12'000;
  sums.write_chunk_bytes = 400'000;
  sums.latency_ns = 98'000'000;
  sums.max_latency_ns = 1'900'000;
  const trace::SumBucket bucket{trace::sum_bucket(1'000'000), 0, 98};
  t.emit(7, sums, {reinterpret_cast<const std::uint8_t*>(&bucket), sizeof bucket});
  trace::ConnectionSums of;
  of.sends = 100;
  of.receives = 98;
  of.send_bytes = 15'000;
  of.receive_bytes = 12'000;
  of.credit_waits = 3;
  of.credit_wait_ns = 5'000'000;
  t.emit(7, of);
  t.end();
  const auto bytes = t.pcapng();
  return {bytes.begin(), bytes.end()};
}

}  // namespace rpcrdma::e2e
