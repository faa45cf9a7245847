#include "run.h"

#include "support/trace_builder.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::scenes {

Outcome run_file(const Bytes& file, rules::Profile profile) {
  const auto source = capture::open_memory(file);
  if (!source) {
    ADD_FAILURE() << source.error().message;
    return {};
  }
  session::Session session({.rules = rules::Findings::Options{profile, nullptr}});
  const auto read = session.pipeline().run(**source, nullptr, 1);
  EXPECT_TRUE(read) << read.error().message;
  session.pipeline().finish();
  session.finish_rules();
  return {session.findings().list(), session.findings().inconclusive()};
}

Outcome run(const Scene& scene, rules::Profile profile) {
  return run_file(scene.pcap(), profile);
}

Outcome run_recorded(const Scene& scene, rules::Profile profile, Side side,
                     bool sees_peer_operations) {
  const auto trace = trace_reader::testing::events_of_capture(
      scene.pcap(),
      {.side = static_cast<std::uint8_t>(side), .sees_peer_operations = sees_peer_operations});
  return run_file(trace.pcapng(), profile);
}

Outcome run_tracepoints(const Scene& scene, rules::Profile profile, Side side) {
  const auto trace = trace_reader::testing::events_of_capture(
      scene.pcap(), {.side = static_cast<std::uint8_t>(side),
                     .sees_peer_operations = false,
                     .source = trace::EventSource::kKernelTracepoints});
  return run_file(trace.pcapng(), profile);
}

}  // namespace rpcrdma::scenes
