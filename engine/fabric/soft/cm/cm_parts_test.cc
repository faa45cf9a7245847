// The building blocks of the CM.
#include "cm_messages.h"
#include "cm_state.h"
#include "cm_timers.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;

TEST(CmIdsTest, NoneComesTwiceAndNoneIsZero) {
  CmIds ids(1);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t id = ids.next_communication();
    ASSERT_NE(id, 0U);
    ASSERT_TRUE(seen.insert(id).second) << i;
  }
}

TEST(CmIdsTest, AnotherSeedGivesOthers) {
  CmIds one(1), two(2);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(one.next_communication());
    seen.insert(two.next_communication());
  }
  EXPECT_EQ(seen.size(), 2000U);  // of 2^32: for 1 in 2000 pairs of seeds two coincide
  EXPECT_NE(one.next_transaction(), two.next_transaction());
}

TEST(CmIdsTest, TheSameSeedGivesTheSame) {
  CmIds one(1), two(1);
  EXPECT_EQ(one.next_communication(), two.next_communication());
  EXPECT_EQ(one.next_transaction(), two.next_transaction());
}

std::vector<CmId> due(CmTimers& timers, fabric::Time now) {
  std::vector<CmId> ids;
  while (CmConnection* const c = timers.take_due(now)) ids.push_back(c->id);
  return ids;
}

class CmTimersTest : public testing::Test {
 protected:
  CmTimersTest() {
    for (CmId i = 0; i < all.size(); ++i) all[i].id = i;
  }
  void set(CmId id, fabric::Time deadline) { timers.set(all[id].timer, all[id], deadline); }

  std::array<CmConnection, 4> all;
  CmTimers timers;
};

TEST_F(CmTimersTest, AreDueInOrder) {
  EXPECT_EQ(timers.next(), fabric::kNever);
  set(0, 30);
  set(1, 10);
  set(2, 20);
  EXPECT_EQ(timers.next(), 10);
  EXPECT_THAT(due(timers, 9), ElementsAre());
  EXPECT_THAT(due(timers, 20), ElementsAre(1, 2));
  EXPECT_EQ(timers.next(), 30);
}

TEST_F(CmTimersTest, AreMovedAndStopped) {
  set(0, 30);
  set(1, 10);
  set(2, 20);
  set(1, 40);
  set(0, 5);
  timers.stop(all[2].timer);
  timers.stop(all[2].timer);
  set(3, fabric::kNever);
  EXPECT_EQ(timers.size(), 2U);
  EXPECT_THAT(due(timers, 100), ElementsAre(0, 1));
  EXPECT_EQ(all[0].timer.deadline(), fabric::kNever);
}

// Compared with a sorted model, and with a bound on the cost.
TEST(CmTimersOrderTest, ManyAtRandom) {
  constexpr std::size_t kMany = 65'536;
  constexpr std::uint64_t kLevels = 17;
  std::mt19937_64 random(1);
  std::vector<CmConnection> all(kMany);
  std::multiset<fabric::Time> model;
  CmTimers timers;
  std::uint64_t operations = 0;
  const auto set = [&](CmConnection& c, fabric::Time deadline) {
    if (c.timer.deadline() != fabric::kNever) model.erase(model.find(c.timer.deadline()));
    timers.set(c.timer, c, deadline);
    model.insert(deadline);
    ++operations;
  };
  for (CmConnection& c : all) set(c, static_cast<fabric::Time>(random() % 1'000'000));
  for (std::size_t i = 0; i < kMany; ++i) {
    set(all[random() % kMany], static_cast<fabric::Time>(random() % 1'000'000));
    CmConnection& other = all[random() % kMany];
    if (other.timer.deadline() != fabric::kNever) {
      model.erase(model.find(other.timer.deadline()));
      timers.stop(other.timer);
      ++operations;
    }
    ASSERT_EQ(timers.next(), *model.begin());
  }
  while (!model.empty()) {
    ASSERT_EQ(timers.next(), *model.begin());
    ASSERT_NE(timers.take_due(*model.begin()), nullptr);
    model.erase(model.begin());
    ++operations;
  }
  EXPECT_EQ(timers.next(), fabric::kNever);
  EXPECT_LE(timers.moves(), operations * kLevels);
}

struct Element {
  int number = 0;
  CmLinks<Element> links;
};
using Elements = CmList<Element, &Element::links>;

std::vector<int> take_all(Elements& list) {
  std::vector<int> numbers;
  while (Element* const first = list.front()) {
    numbers.push_back(first->number);
    list.remove(*first);
  }
  return numbers;
}

TEST(CmListTest, LeavesFromAnywhere) {
  Element all[] = {{0, {}}, {1, {}}, {2, {}}, {3, {}}, {4, {}}};
  Elements list;
  for (Element& element : all) list.push_back(element);
  list.push_back(all[2]);  // already in the list
  list.remove(all[0]);
  list.remove(all[2]);
  list.remove(all[2]);  // no longer in the list
  list.remove(all[4]);
  list.push_back(all[0]);
  EXPECT_THAT(take_all(list), ElementsAre(1, 3, 0));
  list.push_back(all[4]);
  EXPECT_THAT(take_all(list), ElementsAre(4));
}

TEST(CmMessagesTest, TimesAreRoundedUp) {
  EXPECT_EQ(cm_time(0), 4096);
  EXPECT_EQ(cm_time(20), 4'294'967'296);
  EXPECT_EQ(cm_time(255), cm_time(31));
  EXPECT_EQ(cm_time_code(0), 0);
  EXPECT_EQ(cm_time_code(4096), 0);
  EXPECT_EQ(cm_time_code(4097), 1);
  EXPECT_EQ(cm_time_code(500 * fabric::kMillisecond), 17);  // 537 ms
  EXPECT_EQ(cm_time_code(fabric::kNever), 31);
}

TEST(CmMessagesTest, SourcePortOfAFlowLabel) {
  EXPECT_EQ(cm_source_port(0), 0xc000);
  // 0x97979: low 14 bits 11 1001 0111 1001, above them 10 0101.
  EXPECT_EQ(cm_source_port(0x97979), 0xc000 | 0x395c);
  EXPECT_EQ(cm_source_port(0xfffff), 0xc000 | 0x3fc0);
  for (std::uint32_t port = 0xc000; port <= 0xffff; ++port) {
    ASSERT_EQ(cm_source_port(cm_flow_label(static_cast<std::uint16_t>(port))), port);
  }
}

TEST(CmMessagesTest, GuidIsOfTheAddress) {
  const auto a = fabric::make_ipv4(10, 77, 0, 1), b = fabric::make_ipv4(10, 77, 0, 2);
  EXPECT_EQ(cm_guid(a), cm_guid(a));
  EXPECT_NE(cm_guid(a), cm_guid(b));
}

TEST(CmMessagesTest, Ipv4StandsInTheLastFourBytes) {
  EXPECT_THAT(cm_ip(fabric::make_ipv4(10, 77, 0, 1)),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 1));
  EXPECT_THAT(cm_ip(*fabric::parse_address("2001:db8::1")),
              ElementsAre(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
}

}  // namespace
}  // namespace rpcrdma::soft
