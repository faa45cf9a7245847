// Right and wrong passwords, and what guesses cost those who know theirs.
#include "passwords.h"

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::metrics {
namespace {

// "secret" and "other", by htpasswd with cost 4 to be fast; the last one with cost 12.
constexpr const char* kSecret = "$2y$04$rGmwTl1.H3BdrGrrw4EjXOt3Y9qcp48TmqNHmS8dLQGFMNlUXh/UO";
constexpr const char* kOther = "$2b$04$CNz4W8gDbLIpctbsEpv2C.BuN/TCG.SX79ZuhDMVdyacbu5CM5Yqe";
constexpr const char* kSlow = "$2y$12$q2lU1BKaHNmaeG6JDI.5p.kibcrssQ4rjxbVkUR1J942PqQ/R7WtS";

using Users = std::map<std::string, std::string>;

const PeerKey kPeer{1}, kStranger{2};

Verdict verdict(Passwords& passwords, const std::string& user, const std::string& password,
                const PeerKey& peer = kPeer) {
  if (const auto now = passwords.known(user, password)) return *now;
  const auto promise = std::make_shared<std::promise<Verdict>>();
  auto future = promise->get_future();
  const bool asked =
      passwords.ask(user, password, peer, [promise](Verdict v) { promise->set_value(v); });
  return asked ? future.get() : Verdict::kUnknown;
}

TEST(Passwords, OnlyTheUsersOwnIsRight) {
  Passwords passwords({{"alice", kSecret}, {"bob", kOther}});
  // Twice: computed, and remembered.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(verdict(passwords, "alice", "secret"), Verdict::kRight);
    EXPECT_EQ(verdict(passwords, "bob", "other"), Verdict::kRight);
    EXPECT_EQ(verdict(passwords, "alice", "other"), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "bob", "secret"), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "carol", "secret"), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "", ""), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "alice", ""), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "alice", std::string("secret\0x", 8)), Verdict::kWrong);
    EXPECT_EQ(verdict(passwords, "alice", std::string(5000, 'x')), Verdict::kWrong);
  }
  // The hash is no password.
  EXPECT_EQ(verdict(passwords, "alice", kSecret), Verdict::kWrong);
}

TEST(Passwords, ManyWrongOnesDoNotDisplaceARightOne) {
  Passwords passwords(Users{{"alice", kSecret}});
  ASSERT_EQ(verdict(passwords, "alice", "secret"), Verdict::kRight);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(verdict(passwords, "alice", std::to_string(i)), Verdict::kWrong);
  }
  EXPECT_EQ(passwords.known("alice", "secret"), Verdict::kRight);
}

// Guesses wait in a queue; who is known, and who comes from elsewhere, does not.
TEST(Passwords, GuessesDoNotDelayTheRightOne) {
  Passwords passwords({{"alice", kSecret}, {"slow", kSlow}});
  ASSERT_EQ(verdict(passwords, "alice", "secret"), Verdict::kRight);
  int asked = 0;
  for (int i = 0; i < 20; ++i) {
    if (passwords.ask("slow", std::to_string(i), kStranger, [](Verdict /*v*/) {})) ++asked;
  }
  EXPECT_GE(asked, 1);
  EXPECT_LE(asked, 5);
  EXPECT_EQ(passwords.known("alice", "secret"), Verdict::kRight);
  // Another peer takes its turn.
  EXPECT_EQ(verdict(passwords, "slow", "secret", kPeer), Verdict::kRight);
}

TEST(Passwords, TheEndAnswersThoseWhoWait) {
  std::vector<Verdict> verdicts;
  {
    Passwords passwords(Users{{"slow", kSlow}});
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(passwords.ask("slow", std::to_string(i), PeerKey{static_cast<std::uint8_t>(i)},
                                [&](Verdict v) { verdicts.push_back(v); }));
    }
  }
  EXPECT_EQ(verdicts.size(), 2U);
}

}  // namespace
}  // namespace rpcrdma::metrics
