// A filter that decides late keeps copies of messages, whose connections can be evicted meanwhile.
#include "support/hostile_traffic.h"

#include <rpcrdma/filter/filter.h>

namespace rpcrdma::report::testing {
namespace {

class HostileFilter : public Hostile {
 protected:
  // Passes two Calls on the n-th connection: one that shows that it speaks RPC-over-RDMA, and one
  // whose RPC message and header have different XIDs.
  void give_calls(std::uint32_t n) {
    give_send(n, 0, call_bytes(n));
    give_send(n, 1, message_bytes(with_xid(n + 1), {n, 0, 2, 100003, 3, 1, 0, 0, 0, 0}));
  }
  void give_send(std::uint32_t n, std::uint32_t psn, Bytes send) {
    give_to(
        filtered_.pipeline(),
        roce::testing::ip_packet(kClient, kServer, packet(Opcode::kSendOnly, n + 2, psn, send)));
  }

  Analysis filtered_{{.filter = *filter::compile("rpcrdma.finding == \"HDR-02\""),
                      .filter_text = "rpcrdma.finding == \"HDR-02\""}};
};

TEST_F(HostileFilter, MessagesOfConnectionsThatAreEvictedAreDecidedBefore) {
  constexpr std::uint32_t kConnections = 2 * kMostConnections + 100;
  for (std::uint32_t n = 0; n < kConnections; ++n) give_calls(n);
  filtered_.pipeline().finish();
  filtered_.finish({});
  const Report& r = filtered_.report();
  EXPECT_EQ(r.messages.kinds[static_cast<std::size_t>(model::Kind::kCall)], kConnections);
  EXPECT_EQ(r.not_listed.connections, kConnections - kMostConnections);
  std::uint64_t recorded = r.findings_omitted[0] + r.findings_omitted[1];
  for (const Finding& f : r.findings) recorded += f.rule == "HDR-02" ? f.count : 0;
  EXPECT_EQ(recorded, kConnections);
}

}  // namespace
}  // namespace rpcrdma::report::testing
