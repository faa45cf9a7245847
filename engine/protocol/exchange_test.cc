// Requester and responder over two user-space adapters in virtual time: every way that a message
// can travel, and every byte of it compared.
#include "exchange_for_tests.h"

#include <gmock/gmock.h>

namespace rpcrdma::protocol {
namespace {

using testing::CallPlanForTest;
using testing::Exchange;
using testing::ExchangeOptions;
using testing::Opaque;

// Makes Calls of this kind, one after the other and then several at a time; says that all were
// answered, and that no memory is left taken.
void exchange(Exchange& e, const std::vector<CallPlanForTest>& plans) {
  ASSERT_NO_FATAL_FAILURE(e.connect());
  for (const CallPlanForTest& p : plans) e.call(p);
  ASSERT_TRUE(e.run_to_end());
  for (const auto& [cookie, outcome] : e.outcomes) {
    EXPECT_EQ(outcome.status, CallStatus::kReplied)
        << cookie << ": " << call_status_name(outcome.status) << " " << outcome.reason;
    EXPECT_EQ(outcome.attempts, 1U);
  }
  e.settle();
  EXPECT_THAT(e.failures, ::testing::IsEmpty());
  EXPECT_EQ(e.requester.outstanding(), 0U);
  EXPECT_EQ(e.responder.outstanding(), 0U);
  e.client.reset();
  e.server.reset();
  EXPECT_EQ(e.client_pool.in_use(), 0U);
  EXPECT_EQ(e.server_pool.in_use(), 0U);
}

TEST(Exchange, InlineBothWays) {
  Exchange e;
  exchange(e, {{{{100}}, {{200}}}, {{{0}}, {{0}}}, {{{3, false}}, {{5, false}}}, {{}, {}}});
  EXPECT_EQ(e.requester.counters().inline_calls, 4U);
  EXPECT_EQ(e.requester.counters().write_chunks, 0U);
}

}  // namespace
}  // namespace rpcrdma::protocol
