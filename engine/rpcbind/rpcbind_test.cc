// The rpcbind client against a scripted server, with hostile answers.
#include "support/rpcbind_server.h"

#include <filesystem>

#include <gmock/gmock.h>

#include <rpcrdma/rpcbind/announcement.h>
#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::rpcbind {
namespace {

using ::testing::AnyOf;
using testing::entry;
using testing::FakeServer;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::record;
using testing::reply;
using testing::word_at;
using testing::words;

constexpr std::uint32_t kNfs = 100003;

Server at(const FakeServer& fake) {
  Server server = machine(fabric::make_ipv4(127, 0, 0, 1));
  server.port = fake.port;
  return server;
}
// With a short timeout, for tests of a server that never sends enough.
Server impatient(const FakeServer& fake) {
  Server server = at(fake);
  server.timeout = 50 * fabric::kMillisecond;
  return server;
}
FakeServer::Answer lists(const std::string& entries) {
  return [entries](const std::string& call) { return reply(call, entries + words({0})); };
}

TEST(Rpcbind, TheDumpIsRead) {
  std::string asked;
  const FakeServer fake([&asked](const std::string& call) {
    asked = call;
    return reply(call, entry(kNfs, 4, "rdma", "192.0.2.1.78.82", "root") + words({0}));
  });
  const auto all = dump(at(fake));
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ((*all)[0].program, kNfs);
  EXPECT_EQ((*all)[0].version, 4U);
  EXPECT_EQ((*all)[0].netid, "rdma");
  EXPECT_EQ((*all)[0].address, "192.0.2.1.78.82");
  EXPECT_EQ((*all)[0].owner, "root");
  // A Call of RPC version 2, of rpcbind version 4, RPCBPROC_DUMP.
  EXPECT_EQ(word_at(asked, 4), 0U);
  EXPECT_EQ(word_at(asked, 8), 2U);
  EXPECT_EQ(word_at(asked, 12), 100000U);
  EXPECT_EQ(word_at(asked, 16), 4U);
  EXPECT_EQ(word_at(asked, 20), 4U);
}

TEST(Rpcbind, AnAnswerMayComeInFragments) {
  const FakeServer fake([](const std::string& call) {
    const std::string whole = reply(call, entry(kNfs, 4, "rdma", "192.0.2.1.78.82") + words({0}));
    std::string parts;
    for (std::size_t at = 4; at < whole.size(); at += 4) {
      const bool last = at + 4 == whole.size();
      parts += words({(last ? 0x80000000U : 0U) | 4U}) + whole.substr(at, 4);
    }
    return parts;
  });
  const auto all = dump(at(fake));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 1U);
}

TEST(Rpcbind, Version3IsAskedWhereThereIsNoVersion4) {
  const FakeServer fake([](const std::string& call) {
    if (word_at(call, 16) == 4) {
      return record(words({word_at(call, 0), 1, 0, 0, 0, 2, 2, 3}));  // PROG_MISMATCH, 2 to 3
    }
    return reply(call, entry(kNfs, 3, "rdma", "192.0.2.1.78.82") + words({0}));
  });
  const auto all = dump(at(fake));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 1U);
}

TEST(Rpcbind, AProgramIsFoundByNetidAndVersion) {
  const FakeServer fake(lists(
      entry(kNfs, 3, "tcp", "0.0.0.0.8.1") + entry(kNfs, 3, "rdma", "192.0.2.1.78.83") +
      entry(kNfs, 4, "rdma", "192.0.2.1.78.84") + entry(kNfs, 4, "rdma6", "2001:db8::1.78.85")));
  EXPECT_EQ(find(at(fake), kNfs, 3, "rdma").value()->port, 20051);
  EXPECT_EQ(find(at(fake), kNfs, 4, "rdma").value()->port, 20052);
  EXPECT_EQ(find(at(fake), kNfs, 4, "rdma6").value()->port, 20053);
  // For another version, the program's address is returned, and the program itself refuses it.
  EXPECT_TRUE(find(at(fake), kNfs, 2, "rdma").value());
  EXPECT_FALSE(find(at(fake), kNfs + 1, 4, "rdma").value());
}

TEST(Rpcbind, OverTcpItIsAskedForTheAddress) {
  std::string answer = "192.0.2.1.8.1";
  const FakeServer fake([&answer](const std::string& call) {
    EXPECT_EQ(word_at(call, 16), 3U);
    EXPECT_EQ(word_at(call, 20), 3U);
    return reply(call, testing::text(answer));
  });
  EXPECT_EQ(find_tcp(at(fake), 100005, 3).value()->port, 2049);
  answer = "";
  EXPECT_FALSE(find_tcp(at(fake), 100005, 3).value());
  answer = "nowhere";
  EXPECT_FALSE(find_tcp(at(fake), 100005, 3));
}

TEST(Rpcbind, AnAddressThatMakesNoSenseIsEmittedHarmlessly) {
  for (const std::string& strange : {std::string("\x1b[2Jgarbage"), std::string(250, '\xff')}) {
    const FakeServer fake(lists(entry(kNfs, 4, "rdma", strange)));
    const auto found = find(at(fake), kNfs, 4, "rdma");
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("invalid address for program 100003: \"?"));
    EXPECT_THAT(found.error().message, Not(HasSubstr("\x1b")));
    EXPECT_LT(found.error().message.size(), 200U);
  }
}

TEST(Rpcbind, AnswersThatAreNoneAreOneErrorEach) {
  const auto endless = [](const std::string& call) {
    std::string entries;
    while (entries.size() < 300U << 10) entries += entry(kNfs, 4, "tcp", "0.0.0.0.8.1");
    return reply(call, entries + words({0}));
  };
  const auto huge_text = [](const std::string& call) {
    return reply(call, words({1, kNfs, 4, 0xfffffff0U}) + std::string(1000, 'x'));
  };
  const auto long_text = [](const std::string& call) {
    return reply(call, entry(kNfs, 4, "rdma", std::string(256, '1')) + words({0}));
  };
  const auto huge_record = [](const std::string&) { return words({0xffffffffU}); };
  const auto cut_short = [](const std::string& call) {
    return reply(call, entry(kNfs, 4, "rdma", "192.0.2.1.78.82"));
  };
  const auto empty = [](const std::string&) { return record(""); };
  const auto other_xid = [](const std::string& call) {
    return record(words({word_at(call, 0) + 1, 1, 0, 0, 0, 0, 0}));
  };
  const auto a_call = [](const std::string& call) { return record(call); };
  const auto no_rpc = [](const std::string&) {
    return std::string("HTTP/1.1 400 Bad Request\r\n");
  };
  for (const FakeServer::Answer& answer :
       {FakeServer::Answer(endless), FakeServer::Answer(huge_text), FakeServer::Answer(long_text),
        FakeServer::Answer(huge_record), FakeServer::Answer(cut_short), FakeServer::Answer(empty),
        FakeServer::Answer(other_xid), FakeServer::Answer(a_call), FakeServer::Answer(no_rpc)}) {
    const FakeServer fake(answer);
    const auto found = find(at(fake), kNfs, 4, "rdma");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, fabric::Errc::kSystem) << found.error().message;
    EXPECT_THAT(found.error().message, ::testing::StartsWith("rpcbind: it"));
  }
}

TEST(Rpcbind, ARefusalIsEmittedInTheWordsOfRpc) {
  const FakeServer fake([](const std::string& call) {
    return record(words({word_at(call, 0), 1, 1, 1, 5}));  // MSG_DENIED, AUTH_ERROR, AUTH_TOOWEAK
  });
  const auto all = dump(at(fake));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, fabric::Errc::kBadArgument);
  EXPECT_THAT(all.error().message, HasSubstr("rpcbind: "));
}

TEST(Rpcbind, OneThatNeverAnswersIsNotWaitedForLong) {
  const FakeServer fake([](const std::string&) { return std::string(); });
  const auto all = dump(impatient(fake));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, fabric::Errc::kNotConnected);
  EXPECT_EQ(all.error().message, "rpcbind: no answer in time");
}

// Each empty fragment is a sign of life, but the deadline holds.
TEST(Rpcbind, OneThatKeepsAnsweringNothingIsNotWaitedForLong) {
  const FakeServer fake([](const std::string&) { return std::string(64U << 20, '\0'); });
  const auto all = dump(impatient(fake));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().message, "rpcbind: no answer in time");
}

TEST(Rpcbind, NobodyThereIsSaidWithTheAddress) {
  Server server;
  {
    const FakeServer fake([](const std::string&) { return std::string(); });
    server = at(fake);
  }
  const auto all = dump(server);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, fabric::Errc::kNotConnected);
  EXPECT_THAT(all.error().message, HasSubstr("rpcbind at 127.0.0.1 TCP port "));
  EXPECT_THAT(all.error().message, HasSubstr("Connection refused"));
}

TEST(Rpcbind, WithoutALocalSocketTcpIsTried) {
  const FakeServer fake(lists(""));
  Server server = at(fake);
  server.socket = "/nowhere/rpcbind.sock";
  EXPECT_TRUE(dump(server));
  server.socket = std::string(500, '/');
  EXPECT_TRUE(dump(server));
}

TEST(Rpcbind, ProgramsHaveNumbers) {
  EXPECT_EQ(program_by_name("portmapper"), 100000U);
  EXPECT_EQ(program_by_name("rpcbind"), 100000U);  // an alias
  EXPECT_FALSE(program_by_name("no such program"));
}

// Like rpcbind, with room for one registration.
struct OneEntry {
  std::string there;  // argument of SET; empty: nothing
  std::uint32_t unset_result = 1;
  std::vector<std::uint32_t> procedures;

  std::string answer(const std::string& call) {
    const std::uint32_t procedure = word_at(call, 20);
    procedures.push_back(procedure);
    // After credentials of any length and a verifier without a body.
    const std::size_t verifier = 32 + word_at(call, 28);
    const std::string argument = call.substr(verifier + 8);
    switch (procedure) {
      case 1: {
        if (!there.empty() && there != argument) return reply(call, words({0}));
        there = argument;
        return reply(call, words({1}));
      }
      case 2:
        if (unset_result != 0) there.clear();
        return reply(call, words({unset_result}));
      default:
        return reply(call, (there.empty() ? "" : words({1}) + there) + words({0}));
    }
  }
};

class Announcing : public ::testing::Test {
 protected:
  static std::string registered(const std::string& address, const std::string& owner = "") {
    return entry(0x20000001, 1, "rdma", address, owner).substr(4);
  }
  fabric::Expected<Announcement> announce() const {
    const std::array<Program, 1> programs{{{0x20000001, 1}}};
    return Announcement::make(at(fake_), {fabric::make_ipv4(192, 0, 2, 1), 20050}, programs);
  }

  OneEntry state_;
  const FakeServer fake_{[this](const std::string& call) { return state_.answer(call); }};
};

TEST_F(Announcing, RegistersAndUnregisters) {
  auto announced = announce();
  ASSERT_TRUE(announced) << announced.error().message;
  EXPECT_EQ(state_.there, registered("192.0.2.1.78.82"));
  EXPECT_EQ(announced->registered().size(), 1U);
  EXPECT_TRUE(announced->replaced().empty());
  EXPECT_TRUE(announced->unregister());
  EXPECT_EQ(state_.there, "");
  const std::size_t calls = state_.procedures.size();
  EXPECT_TRUE(announced->unregister());
  EXPECT_EQ(state_.procedures.size(), calls);
}

TEST_F(Announcing, UnregistersWhenItGoes) {
  { const auto announced = announce(); }
  EXPECT_EQ(state_.there, "");
}

TEST_F(Announcing, WhatWasLeftBehindIsReplaced) {
  state_.there = registered("192.0.2.1.78.81");
  const auto announced = announce();
  ASSERT_TRUE(announced) << announced.error().message;
  EXPECT_EQ(state_.there, registered("192.0.2.1.78.82"));
  ASSERT_EQ(announced->replaced().size(), 1U);
  EXPECT_EQ(announced->replaced()[0].address, "192.0.2.1.78.81");
}

TEST_F(Announcing, WhatIsAnothersStays) {
  state_.there = registered("192.0.2.1.78.81", "some\none");
  state_.unset_result = 0;
  const auto announced = announce();
  ASSERT_FALSE(announced);
  EXPECT_THAT(announced.error().message,
              HasSubstr("for netid rdma: it has \"192.0.2.1.78.81\", registered by \"some?one\""));
  EXPECT_EQ(state_.there, registered("192.0.2.1.78.81", "some\none"));
}

TEST_F(Announcing, WhatTookItsPlaceMeanwhileStays) {
  auto announced = announce();
  ASSERT_TRUE(announced) << announced.error().message;
  state_.there = registered("192.0.2.1.78.90");
  EXPECT_TRUE(announced->unregister());
  EXPECT_EQ(state_.there, registered("192.0.2.1.78.90"));
}

TEST_F(Announcing, ThatItIsNotUnregisteredIsEmitted) {
  auto announced = announce();
  ASSERT_TRUE(announced);
  state_.unset_result = 0;
  EXPECT_FALSE(announced->unregister());
}

}  // namespace
}  // namespace rpcrdma::rpcbind
