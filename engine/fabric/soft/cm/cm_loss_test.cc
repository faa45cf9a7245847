// Every exchange with each of its messages lost, duplicated or delayed, one at a time and in pairs:
// both sides reach the same result, each owner gets one end event, and no state is left.
#include "cm_for_tests.h"

#include <fmt/core.h>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;

using enum CmEventType;

constexpr fabric::Time kLater = 20 * fabric::kSecond;  // set-up and its losses are over by then
const Bytes kReason = {'n', 'o'};

// One run of an exchange with these `fates`. Before it, A has proved its address to B by another
// connection, so that B may repeat its messages (cm_half_open_test.cc has the others).
class Exchange {
 public:
  explicit Exchange(const std::map<std::size_t, Link::Fate>& fates) {
    CmConnect request = connect_request();
    request.local.qpn = kEarlierQpn;
    earlier_ = link.a.connect(request, link.now).value();
    link.on_a = [this](const CmEvent& event) {
      if (event.type == kReply) link.a.establish(event.id, link.now);
    };
    link.on_b = [this](const CmEvent& event) {
      if (event.type != kRequest) return;
      EXPECT_TRUE(link.b.accept(event.id, {kEarlierQpn, 0x222222, 4, 4, 7, true}, {}, link.now));
    };
    link.run();
    EXPECT_EQ(types(link.events_b), (std::vector{kRequest, kEstablished}));
    link.events_a.clear();
    link.events_b.clear();
    link.sent.clear();
    link.fates = fates;
  }

  Link link;
  CmId id_a = 0, id_b = 0;

  void connect() {
    const auto id = link.a.connect(connect_request(), link.now);
    ASSERT_TRUE(id.has_value());
    id_a = *id;
    link.on_a = [this](const CmEvent& event) {
      if (event.type == kReply) link.a.establish(event.id, link.now);
    };
    link.on_b = [this](const CmEvent& event) {
      if (event.type != kRequest) return;
      id_b = event.id;
      EXPECT_TRUE(link.b.accept(event.id, {0x21, 0x222222, 4, 4, 7, true}, {}, link.now));
    };
  }

  void expect_nothing_left() {
    const std::vector<std::string> of_exchange = link.sent;
    link.fates.clear();
    link.a.disconnect(earlier_, link.now);
    link.run();
    link.sent = of_exchange;
    EXPECT_EQ(link.a.connections(), 0U);
    EXPECT_EQ(link.b.connections(), 0U);
    EXPECT_EQ(link.a.deadline(), fabric::kNever);
    EXPECT_EQ(link.b.deadline(), fabric::kNever);
  }

 private:
  static constexpr std::uint32_t kEarlierQpn = 0x77;
  CmId earlier_ = 0;
};

void expect_connected_and_over(Exchange& x) {
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kReply, kDisconnect));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest, kEstablished, kDisconnect));
  x.expect_nothing_left();
}

void active_disconnects(Exchange& x) {
  x.connect();
  x.link.at(kLater, [&x] { x.link.a.disconnect(x.id_a, x.link.now); });
  x.link.run();
  expect_connected_and_over(x);
}

void passive_disconnects(Exchange& x) {
  x.connect();
  x.link.at(kLater, [&x] { x.link.b.disconnect(x.id_b, x.link.now); });
  x.link.run();
  expect_connected_and_over(x);
}

void both_disconnect(Exchange& x) {
  x.connect();
  x.link.at(kLater, [&x] {
    x.link.a.disconnect(x.id_a, x.link.now);
    x.link.b.disconnect(x.id_b, x.link.now);
  });
  x.link.run();
  expect_connected_and_over(x);
}

void rejected(Exchange& x) {
  x.connect();
  x.link.on_b = [&x](const CmEvent& event) {
    if (event.type != kRequest) return;
    EXPECT_TRUE(x.link.b.reject(event.id, 28, kReason, x.link.now));
  };
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kRejected));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest));
  if (!x.link.events_a.empty()) {
    EXPECT_EQ(x.link.events_a[0].reason, 28);
    EXPECT_EQ(x.link.events_a[0].private_data.size(), fabric::kMaxRejectPrivateData);
    EXPECT_EQ(x.link.events_a[0].private_data[0], 'n');
  }
  x.expect_nothing_left();
}

// The owner of B takes longer than A waits for an answer: MRA.
void slow_answer(Exchange& x) {
  x.connect();
  x.link.on_b = [&x](const CmEvent& event) {
    if (event.type != kRequest) return;
    x.id_b = event.id;
    x.link.at(x.link.now + 8 * fabric::kSecond, [&x] {
      EXPECT_TRUE(x.link.b.accept(x.id_b, {0x21, 0x222222, 4, 4, 7, true}, {}, x.link.now));
    });
  };
  x.link.at(kLater, [&x] { x.link.a.disconnect(x.id_a, x.link.now); });
  x.link.run();
  expect_connected_and_over(x);
}

// The owner of A needs long to get ready after the REP: MRA of the REP.
void slow_ready(Exchange& x) {
  x.connect();
  x.link.on_a = [&x](const CmEvent& event) {
    if (event.type != kReply) return;
    x.link.at(x.link.now + 8 * fabric::kSecond, [&x] { x.link.a.establish(x.id_a, x.link.now); });
  };
  x.link.at(kLater, [&x] { x.link.a.disconnect(x.id_a, x.link.now); });
  x.link.run();
  expect_connected_and_over(x);
}

// A aborts after the REP, instead of sending an RTU.
void given_up_after_reply(Exchange& x) {
  x.connect();
  x.link.on_a = [&x](const CmEvent& event) {
    if (event.type == kReply) x.link.a.disconnect(x.id_a, x.link.now);
  };
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kReply, kDisconnect));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest, kRejected));
  x.expect_nothing_left();
}

// The owner of B does not answer, and A aborts: B's owner learns it by the REJ or by time-out.
void given_up_while_waiting(Exchange& x) {
  x.connect();
  x.link.on_b = nullptr;
  x.link.at(6 * fabric::kSecond, [&x] { x.link.a.disconnect(x.id_a, x.link.now); });
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kDisconnect));
  EXPECT_THAT(types(x.link.events_b),
              testing::AnyOf(ElementsAre(kRequest, kRejected), ElementsAre(kRequest, kTimedOut)));
  x.expect_nothing_left();
}

struct Case {
  const char* name;
  void (*run)(Exchange& x);
  std::vector<std::string> undisturbed;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const Case kCases[] = {
    {"ActiveDisconnects", active_disconnects, {"A REQ", "B REP", "A RTU", "A DREQ", "B DREP"}},
    {"PassiveDisconnects", passive_disconnects, {"A REQ", "B REP", "A RTU", "B DREQ", "A DREP"}},
    {"BothDisconnect",
     both_disconnect,
     {"A REQ", "B REP", "A RTU", "A DREQ", "B DREQ", "B DREP", "A DREP"}},
    {"Rejected", rejected, {"A REQ", "B REJ"}},
    {"SlowAnswer",
     slow_answer,
     {"A REQ", "A REQ", "B MRA", "A REQ", "B MRA", "B REP", "A RTU", "A DREQ", "B DREP"}},
    {"SlowReady",
     slow_ready,
     {"A REQ", "B REP", "B REP", "A MRA", "B REP", "A MRA", "A RTU", "A DREQ", "B DREP"}},
    {"GivenUpAfterReply", given_up_after_reply, {"A REQ", "B REP", "A REJ"}},
    {"GivenUpWhileWaiting",
     given_up_while_waiting,
     {"A REQ", "A REQ", "B MRA", "A REQ", "B MRA", "A REJ"}},
};

class CmLossTest : public testing::TestWithParam<Case> {
 protected:
  // A disturbed run can send more messages than an undisturbed one; those can be disturbed as well.
  [[nodiscard]] std::size_t reach() const { return GetParam().undisturbed.size() + 4; }

  // Runs with these fates, and names them on failure.
  static void run(const std::map<std::size_t, Link::Fate>& fates) {
    Exchange x(fates);
    GetParam().run(x);
    if (!HasFailure()) return;
    for (std::size_t i = 0; i < x.link.sent.size(); ++i) {
      std::string line = fmt::format("{} {}", i, x.link.sent[i]);
      if (const auto it = fates.find(i); it != fates.end()) {
        line += it->second.empty() ? " lost" : " disturbed";
      }
      ADD_FAILURE() << line;
    }
  }

  void one_and_two(const Link::Fate& fate) {
    for (std::size_t i = 0; i < reach() && !HasFailure(); ++i) {
      run({{i, fate}});
      for (std::size_t j = 0; j < i && !HasFailure(); ++j) run({{i, fate}, {j, fate}});
    }
  }
};

TEST_P(CmLossTest, Undisturbed) {
  Exchange x({});
  GetParam().run(x);
  EXPECT_EQ(x.link.sent, GetParam().undisturbed);
}

TEST_P(CmLossTest, OneOrTwoAreLost) {
  one_and_two({});
}

TEST_P(CmLossTest, OneOrTwoComeTwice) {
  one_and_two({Link::kLatency, 2 * Link::kLatency});
}

// Long after the message that answered it: after the answer, and after a retransmission.
TEST_P(CmLossTest, OneOrTwoComeAgainLate) {
  one_and_two({Link::kLatency, kTimeout / 2});
  one_and_two({Link::kLatency, 3 * kTimeout});
}

// Later than messages sent after them, and than their own retransmission.
TEST_P(CmLossTest, OneOrTwoAreLate) {
  one_and_two({kTimeout / 2});
  one_and_two({kTimeout + kTimeout / 2});
}

TEST_P(CmLossTest, OneIsLostAndAnotherLate) {
  for (std::size_t i = 0; i < reach() && !HasFailure(); ++i) {
    for (std::size_t j = 0; j < reach() && !HasFailure(); ++j) {
      if (i != j) run({{i, {}}, {j, {kTimeout + kTimeout / 2}}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Exchanges, CmLossTest, testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

// All messages of one kind from one side are lost: the other side ends by time-out.
TEST(CmSilenceTest, NobodyAnswersAReq) {
  Link link;
  for (std::size_t i = 0; i < 100; ++i) link.fates[i] = {};
  ASSERT_TRUE(link.a.connect(connect_request(), 0));
  link.run();
  EXPECT_THAT(types(link.events_a), ElementsAre(kTimedOut));
  // Eight REQs of one transaction, and the REJ that no answer is awaited any more.
  EXPECT_EQ(link.sent.size(), 9U);
  EXPECT_EQ(std::count(link.sent.begin(), link.sent.end(), "A REQ"), 8);
  EXPECT_EQ(link.sent.back(), "A REJ");
  EXPECT_EQ(link.a.counters().retried, 7U);
  EXPECT_EQ(link.a.connections(), 0U);
}

// It arrives long after A dropped the connection: B learns that there is no requester.
TEST(CmSilenceTest, ReqIsVeryLate) {
  Exchange x({});
  for (std::size_t i = 1; i < 9; ++i) x.link.fates[i] = {};
  x.link.fates[0] = {60 * fabric::kSecond};
  x.connect();
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kTimedOut));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest, kRejected));
  x.expect_nothing_left();
}

TEST(CmSilenceTest, NobodyAnswersARep) {
  Exchange x({});
  x.connect();
  for (std::size_t i = 1; i < 100; ++i) x.link.fates[i] = {};
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kTimedOut));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest, kTimedOut));
  EXPECT_EQ(std::count(x.link.sent.begin(), x.link.sent.end(), "B REP"), 8);
  x.expect_nothing_left();
}

// B does not know A's address, so that its REP is not repeated, and A's owner sends nothing.
TEST(CmSilenceTest, ALostRtuIsRepeated) {
  CmLimits limits;
  limits.rtu_repeats = 2;
  Link link(limits);
  ASSERT_TRUE(link.a.connect(connect_request(), link.now));
  link.on_a = [&](const CmEvent& event) {
    if (event.type == kReply) link.a.establish(event.id, link.now);
  };
  link.on_b = [&](const CmEvent& event) {
    if (event.type != kRequest) return;
    EXPECT_TRUE(link.b.accept(event.id, {0x21, 0x222222, 4, 4, 7, true}, {}, link.now));
  };
  link.fates[2] = {};
  link.fates[3] = {};
  link.run();
  EXPECT_EQ(link.sent, (std::vector<std::string>{"A REQ", "B REP", "A RTU", "A RTU", "A RTU"}));
  EXPECT_THAT(types(link.events_b), ElementsAre(kRequest, kEstablished));
  EXPECT_EQ(link.a.deadline(), fabric::kNever);
}

// A is established, B never learns so: B's time-out REJ ends it for A.
TEST(CmSilenceTest, NoRtuArrives) {
  Exchange x({});
  x.connect();
  std::size_t number = 0;
  x.link.fates[2] = {};                         // the RTU, and every second message after it: the
  for (number = 4; number < 18; number += 2) {  // RTUs that answer repeated REPs
    x.link.fates[number] = {};
  }
  x.link.run();
  EXPECT_EQ(std::count(x.link.sent.begin(), x.link.sent.end(), "A RTU"), 8);
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kReply, kDisconnect));
  EXPECT_THAT(types(x.link.events_b), ElementsAre(kRequest, kTimedOut));
  x.expect_nothing_left();
}

TEST(CmSilenceTest, NobodyAnswersADreq) {
  Exchange x({});
  x.connect();
  x.link.at(kLater, [&x] {
    for (std::size_t i = 3; i < 100; ++i) x.link.fates[i] = {};
    x.link.a.disconnect(x.id_a, x.link.now);
  });
  x.link.run();
  EXPECT_THAT(types(x.link.events_a), ElementsAre(kReply, kDisconnect));
  EXPECT_EQ(std::count(x.link.sent.begin(), x.link.sent.end(), "A DREQ"), 8);
  EXPECT_EQ(x.link.a.connections(), 1U);  // the earlier one
  EXPECT_EQ(x.link.b.connections(), 2U);  // and one whose end A did not report
}

}  // namespace
}  // namespace rpcrdma::soft
