#include "calls_for_tests.h"

#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::service {
namespace {

using protocol::CallOutcome;
using protocol::CallStatus;
using testing::ByteVector;
using testing::words;

ByteVector bytes_of(const CallHeader& header) {
  return {header.piece().bytes.begin(), header.piece().bytes.end()};
}

TEST(CallHeader, AuthNone) {
  EXPECT_EQ(bytes_of({100003, 4, 1}), words(0, 0, 2, 100003, 4, 1, 0, 0, 0, 0));
}

TEST(CallHeader, AuthSys) {
  const std::array<std::uint32_t, 2> gids{4, 5};
  const ByteVector body = auth_sys_body("ab", 1000, 100, gids);
  EXPECT_EQ(body, words(0, 2, 0x61620000, 1000, 100, 2, 4, 5));
  EXPECT_EQ(bytes_of({100003, 4, 1, wire::Auth{1, body}}),
            testing::join({words(0, 0, 2, 100003, 4, 1, 1, 32), body, words(0, 0)}));
}

TEST(AuthSysBody, KeepsWithinItsLimits) {
  const std::vector<std::uint32_t> gids(100, 7);
  const ByteVector body = auth_sys_body(std::string(1000, 'x'), 1, 2, gids);
  ASSERT_LE(body.size(), wire::kMaxAuthBytes);
  const auto sys = wire::decode_auth_sys(body);
  ASSERT_TRUE(sys);
  EXPECT_EQ(sys->machine.size(), 255U);
  EXPECT_EQ(sys->gid_count, 16U);
}

struct Case {
  ByteVector reply;
  RpcStatus status;
  const char* text;
};

TEST(ReplyReader, ShowsEveryEnd) {
  const std::array<Case, 11> cases{
      Case{words(7, 1, 0, 0, 0, 0), RpcStatus::kSuccess, "success"},
      Case{words(7, 1, 0, 0, 0, 1), RpcStatus::kProgUnavail, "PROG_UNAVAIL"},
      Case{words(7, 1, 0, 0, 0, 2, 2, 4), RpcStatus::kProgMismatch,
           "PROG_MISMATCH: versions 2 to 4"},
      Case{words(7, 1, 0, 0, 0, 3), RpcStatus::kProcUnavail, "PROC_UNAVAIL"},
      Case{words(7, 1, 0, 0, 0, 4), RpcStatus::kGarbageArgs, "GARBAGE_ARGS"},
      Case{words(7, 1, 0, 0, 0, 5), RpcStatus::kSystemErr, "SYSTEM_ERR"},
      Case{words(7, 1, 1, 0, 2, 2), RpcStatus::kRpcMismatch, "RPC_MISMATCH: versions 2 to 2"},
      Case{words(7, 1, 1, 1, 1), RpcStatus::kAuthError, nullptr},
      Case{words(7, 1, 0, 0), RpcStatus::kMalformed, "malformed Reply"},
      Case{words(7, 1, 0, 0, 0, 6), RpcStatus::kMalformed, "malformed Reply"},
      Case{words(7, 0, 2, 1, 1, 1, 0, 0, 0, 0), RpcStatus::kMalformed, "malformed Reply"}};
  for (const Case& c : cases) {
    CallOutcome outcome;
    outcome.reply = c.reply;
    ReplyReader reader(outcome);
    EXPECT_EQ(reader.status(), c.status);
    if (c.text != nullptr) {
      EXPECT_EQ(describe(outcome, reader), c.text);
    }
  }
}

TEST(Describe, ShowsWhatBecameOfACallWithoutReply) {
  CallOutcome outcome;
  outcome.status = protocol::CallStatus::kTimedOut;
  outcome.reason = "no Reply in time";
  outcome.attempts = 1;
  const auto text = [&] { return describe(outcome, ReplyReader(outcome)); };
  EXPECT_EQ(text(), "timed out: no Reply in time");
  outcome.reason = "its connection ended before the Reply arrived";
  outcome.lost = true;
  EXPECT_EQ(text(), "timed out: its connection ended before the Reply arrived; sent 1 time");
  outcome.attempts = 3;
  outcome.lost_for = "a Write outside the memory advertised to it";
  EXPECT_EQ(text(),
            "timed out: its connection ended before the Reply arrived; sent 3 times; the last "
            "connection: a Write outside the memory advertised to it");
  CallOutcome refused;
  refused.status = protocol::CallStatus::kErrorVersion;
  refused.reason = "the peer supports none of our versions";
  refused.vers_low = 3;
  refused.vers_high = 4;
  EXPECT_EQ(describe(refused, ReplyReader(refused)),
            "ERR_VERS: the peer supports none of our versions; it supports 3 to 4");
}

TEST(ReplyReader, ReadsResultsWhereverTheyAre) {
  ByteVector space{1, 2, 3, 4, 5, 6, 7, 8};
  const protocol::ResultSpace result{space.data(), 8, nullptr};
  const ByteVector stream = words(7, 1, 0, 0, 0, 0, 42, 5);
  const std::array<std::uint32_t, 1> lengths{5};
  CallOutcome outcome;
  outcome.reply = stream;
  outcome.result_bytes = lengths;
  ReplyReader reader(outcome, {&result, 1});
  ASSERT_EQ(reader.status(), RpcStatus::kSuccess);
  EXPECT_EQ(reader.results().u32(), 42U);
  const auto data = reader.results().opaque_result();
  EXPECT_EQ(ByteVector(data.begin(), data.end()), (ByteVector{1, 2, 3, 4, 5}));
  EXPECT_TRUE(reader.results().at_end());
}

TEST(ReplyReader, BelievesNoLengthBeyondTheSpace) {
  ByteVector space(4);
  const protocol::ResultSpace result{space.data(), 4, nullptr};
  const ByteVector stream = words(7, 1, 0, 0, 0, 0, 400);
  const std::array<std::uint32_t, 1> lengths{400};
  CallOutcome outcome;
  outcome.reply = stream;
  outcome.result_bytes = lengths;
  ReplyReader reader(outcome, {&result, 1});
  EXPECT_TRUE(reader.results().opaque_result().empty());
  EXPECT_FALSE(reader.results().ok());
}

}  // namespace
}  // namespace rpcrdma::service
