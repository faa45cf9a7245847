// Tests refused Calls whose next attempt has no Reply in the capture.
#include "exchanges.h"
#include "run.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::scenes {
namespace {

bool refused(const Outcome& outcome) {
  return std::ranges::any_of(outcome.findings,
                             [](const auto& f) { return f.rule == "CALL-REFUSED"; });
}

std::string reason(const Outcome& outcome) {
  for (const rules::Inconclusive& i : outcome.inconclusive) {
    if (i.rule == "CALL-REFUSED") return i.reason;
  }
  return {};
}

Scene refused_version(const Message& next) {
  Scene s;
  Connection& c = s.connect();
  c.call(version2(call(1)));
  c.reply(err_vers(1));
  c.call(next);
  return s;
}

TEST(NextAttempt, IsAwaited) {
  const Outcome outcome = run(refused_version(call(2)), rules::Profile::k8166);
  EXPECT_FALSE(refused(outcome));
  EXPECT_EQ(reason(outcome), "the capture has no Reply to the requester's next attempt");
}

TEST(NextAttempt, OfTheRefusedVersionIsNone) {
  const Outcome outcome = run(refused_version(version2(call(2))), rules::Profile::k8166);
  EXPECT_TRUE(refused(outcome));
  EXPECT_EQ(reason(outcome), "");
}

TEST(NextAttempt, WithoutAnyTheCallWasRefused) {
  Scene s;
  Connection& c = s.connect();
  c.call(version2(call(1)));
  c.reply(err_vers(1));
  EXPECT_TRUE(refused(run(s, rules::Profile::k8166)));
}

}  // namespace
}  // namespace rpcrdma::scenes
