// Tests which ranks call which servers, for all small numbers of ranks, hosts and servers.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include <rpcrdma/load_ranks/pattern.h>

namespace rpcrdma::load_ranks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// `per_host` ranks on each host, in turn.
std::vector<Place> places(std::size_t ranks, std::size_t hosts) {
  std::vector<Place> all;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::string host = std::to_string(i % hosts);
    all.push_back({"h" + host, "s" + host});
  }
  return all;
}

std::vector<std::string> servers(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("s" + std::to_string(i));
  return all;
}

using Calls = std::map<std::pair<std::size_t, std::string>, int>;  // rank and server: how often

Calls calls_of(const Schedule& s) {
  Calls calls;
  for (const auto& round : s.rounds) {
    for (std::size_t rank = 0; rank < round.size(); ++rank) {
      for (const std::string& server : round[rank]) ++calls[{rank, server}];
    }
  }
  return calls;
}

TEST(LoadPattern, PairwiseToGivenServersCallsEachOnceAndOneAtATime) {
  for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
    for (std::size_t count = 1; count <= 9; ++count) {
      const auto s = schedule(Pattern::kPairwise, places(ranks, ranks), servers(count));
      ASSERT_TRUE(s.has_value());
      EXPECT_EQ(s->rounds.size(), std::max(ranks, count));
      EXPECT_THAT(s->serving, IsEmpty());
      for (const auto& round : s->rounds) {
        ASSERT_EQ(round.size(), ranks);
        std::set<std::string> busy;
        for (const auto& called : round) {
          EXPECT_LE(called.size(), 1U);
          for (const std::string& server : called) EXPECT_TRUE(busy.insert(server).second);
        }
      }
      const Calls calls = calls_of(*s);
      EXPECT_EQ(calls.size(), ranks * count);
      for (const auto& [pair, times] : calls) EXPECT_EQ(times, 1);
    }
  }
}

TEST(LoadPattern, WithoutServersEachHostServesAndNobodyCallsItself) {
  for (std::size_t hosts = 2; hosts <= 6; ++hosts) {
    for (std::size_t ranks = hosts; ranks <= 12; ++ranks) {
      const std::vector<Place> where = places(ranks, hosts);
      for (const Pattern pattern : {Pattern::kPairwise, Pattern::kAllToAll}) {
        const auto s = schedule(pattern, where, {});
        ASSERT_TRUE(s.has_value());
        EXPECT_EQ(s->rounds.size(), pattern == Pattern::kPairwise ? hosts - 1 : 1);
        ASSERT_EQ(s->serving.size(), hosts);
        for (std::size_t i = 0; i < hosts; ++i) EXPECT_EQ(s->serving[i], i);
        const Calls calls = calls_of(*s);
        EXPECT_EQ(calls.size(), ranks * (hosts - 1));
        for (const auto& [pair, times] : calls) {
          EXPECT_EQ(times, 1);
          EXPECT_NE(pair.second, where[pair.first].address);
        }
        if (pattern == Pattern::kAllToAll) continue;
        // In a round, each host is called by the ranks of one other.
        for (const auto& round : s->rounds) {
          std::map<std::string, std::set<std::string>> callers;
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            callers[round[rank].front()].insert(where[rank].host);
          }
          EXPECT_EQ(callers.size(), hosts);
          for (const auto& [server, from] : callers) EXPECT_EQ(from.size(), 1U);
        }
      }
    }
  }
}

TEST(LoadPattern, ManyToOneAndOneToMany) {
  const std::vector<Place> where = places(5, 3);
  auto s = schedule(Pattern::kManyToOne, where, {});
  ASSERT_TRUE(s.has_value());
  EXPECT_THAT(s->serving, ElementsAre(0));
  using Servers = std::vector<std::string>;
  // Ranks 0 and 3 are on the host that serves.
  EXPECT_THAT(s->rounds, ElementsAre(ElementsAre(Servers{}, Servers{"s0"}, Servers{"s0"}, Servers{},
                                                 Servers{"s0"})));
  s = schedule(Pattern::kOneToMany, where, {});
  ASSERT_TRUE(s.has_value());
  EXPECT_THAT(s->serving, ElementsAre(1, 2));
  EXPECT_THAT(s->rounds, ElementsAre(ElementsAre(Servers{"s1", "s2"}, Servers{}, Servers{},
                                                 Servers{}, Servers{})));
  s = schedule(Pattern::kManyToOne, where, servers(1));
  ASSERT_TRUE(s.has_value());
  EXPECT_THAT(s->serving, IsEmpty());
  EXPECT_EQ(calls_of(*s).size(), 5U);
  s = schedule(Pattern::kOneToMany, where, servers(4));
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(calls_of(*s).size(), 4U);
  s = schedule(Pattern::kAllToAll, where, servers(4));
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(calls_of(*s).size(), 20U);
}

TEST(LoadPattern, WhatCannotBeIsRefused) {
  EXPECT_FALSE(schedule(Pattern::kManyToOne, places(2, 2), servers(2)).has_value());
  EXPECT_FALSE(schedule(Pattern::kPairwise, {}, servers(2)).has_value());
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const auto pattern = static_cast<Pattern>(i);
    EXPECT_FALSE(schedule(pattern, places(3, 1), {}).has_value());
    EXPECT_EQ(pattern_of(pattern_name(pattern)), pattern);
  }
  EXPECT_FALSE(pattern_of("ring").has_value());
}

}  // namespace
}  // namespace rpcrdma::load_ranks
