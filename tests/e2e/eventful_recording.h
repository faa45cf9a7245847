#pragma once

#include "support/trace_builder.h"

#include <string>

namespace rpcrdma::e2e {

// A synthetic recording with nearly all event types; nine of its events were lost.
inline std::string eventful_recording() {
  trace_reader::testing::TraceBuilder t;
  t.begin("nfsd", "server on 192.0.2.1");
  trace_reader::testing::emit_plain_connection(t, 7);
  t.emit(7, trace::Receives{32, 32});
  trace::Advertise expose;
  expose.handle = 0x77;
  expose.length = 4096;
  expose.xid = 0x1234;
  t.emit(7, expose);
  t.emit(7, trace::Invalidate{0x77, 1, {}});
  t.emit(7, trace::CreditWait{0x1234, 1, {}});
  t.emit(7, trace::CreditWait{0x1234, 0, {}});
  trace::CallEnd end;
  end.xid = 0x1234;
  end.attempts = 1;
  end.called = 1'000'000;
  end.sent = 1'200'000;
  end.replied = 1'900'000;
  end.ended = 2'000'000;
  t.emit(7, end);
  end.side = 1;
  t.emit(7, end);
  trace::Error error;
  error.side = 1;
  t.emit(7, error, trace_reader::testing::bytes_of("a Reply \x1b[31mwithout its Call"));
  trace::Fault fault;
  fault.action = 1;
  fault.packets = 3;
  t.emit(0, fault, trace_reader::testing::bytes_of("drop op=send"));
  t.lose(9);
  t.emit(7, trace::Credits{});
  trace::ConnectionEnd closed;
  closed.established = 1;
  t.emit(7, closed, trace_reader::testing::bytes_of("disconnected"));
  t.end();
  const auto bytes = t.pcapng();
  return {bytes.begin(), bytes.end()};
}

}  // namespace rpcrdma::e2e
