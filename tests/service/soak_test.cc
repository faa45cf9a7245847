// The soak: many Calls over many connections in the simulated network, with every fault of
// docs/faults.md, connections that are cut, and servers and clients that are killed and begin
// again. Every byte of every Reply is checked; a Call that is not idempotent is executed once by
// each server; memory stays bounded and returns.
//
// RPCRDMA_SOAK_CALLS, RPCRDMA_SOAK_CONNECTIONS and RPCRDMA_SOAK_SEED make it longer and different:
// ./dev soak.
#include "soak_hosts.h"
#include "support/counting_new.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace rpcrdma::testing {
namespace {

using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;

constexpr std::uint32_t kClients = 10;
constexpr std::uint32_t kCallsOfEach = 2;  // in flight on each connection
// A server that keeps this many executed Calls knows those of every connection for long enough.
constexpr std::uint32_t kKept = 1 << 17;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

soft::FaultPlan some_faults(std::uint64_t seed) {
  return soft::parse_faults(
             fmt::format("drop rate=0.002 seed={}; duplicate rate=0.002 seed={}; "
                         "reorder rate=0.003 by=3 seed={}; corrupt rate=0.002 seed={}; "
                         "delay rate=0.003 by=200us jitter=300us seed={}; "
                         "drop op=cm rate=0.02 seed={}",
                         seed, seed + 1, seed + 2, seed + 3, seed + 4, seed + 5))
      .value();
}

class Soak {
 public:
  Soak(std::uint64_t calls, std::uint32_t connections, std::uint64_t seed)
      : calls_(calls), connections_(connections), random_(seed), net_(seed), books_(kKept) {
    start_server();
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients_.emplace_back();
      start_client(i);
    }
  }

  // Returns false if the Calls do not end.
  [[nodiscard]] bool run(bool report) {
    const std::uint64_t chapter = std::max<std::uint64_t>(calls_ / 30, 1);
    std::uint64_t next = chapter;
    Time moved = net_.clock;
    std::uint64_t ended = 0;
    bool half = false;
    while (totals.ended + lost_with_clients() < totals.made || totals.made < calls_) {
      if (!turn()) return false;
      if (totals.ended != ended) moved = net_.clock;
      ended = totals.ended;
      if (net_.clock - moved > 300 * kSecond) return false;
      if (!half && totals.ended >= calls_ / 2) {
        half = true;
        most_before = std::exchange(most_, wire::testing::live_bytes());
      }
      // A cut is over before anything else happens: the server that executed a Call answers it
      // again.
      if (totals.ended < next || totals.made >= calls_ || any_cut()) continue;
      next = totals.ended + chapter;
      disturb();
      if (report) print();
    }
    return true;
  }
  // Closes all connections in order. Returns false if some stay.
  [[nodiscard]] bool finish() {
    for (std::uint32_t i = 0; i < kClients; ++i) heal(i);
    for (const auto& client : clients_) client->client->finish();
    return until([&] {
      for (const auto& client : clients_) {
        if (!client->client->closed()) return false;
      }
      return server_->server->connections() == 0;
    });
  }
  [[nodiscard]] bool pool_at_rest() const {
    return server_->host.loop->memory().in_use() == server_->at_rest;
  }
  void count_server() {
    const service::ServerCounters counters = server_->server->counters();
    replayed += counters.duplicates.replayed;
    waited += counters.duplicates.waited;
    unprotected += counters.duplicates.unprotected + counters.duplicates.not_kept;
  }
  void print() const {
    fmt::print(
        "{} Calls ended after {} s: {} right, {} wrong, {} timed out, {} failed; {} connections "
        "made, {} lost; {} Calls sent again; {} MiB\n",
        totals.ended, net_.clock / kSecond, totals.right, totals.wrong, totals.timed_out,
        totals.failed, totals.established, totals.lost, totals.resent,
        wire::testing::live_bytes() >> 20U);
    std::fflush(stdout);
  }
  [[nodiscard]] const SoakBooks& books() const { return books_; }
  [[nodiscard]] Time clock() const { return net_.clock; }
  // The most memory during the second half of the Calls, without the books of the soak itself.
  [[nodiscard]] std::size_t most_after() const { return most_; }

  SoakTotals totals;
  std::uint64_t replayed = 0, waited = 0, unprotected = 0;
  std::size_t most_before = 0;  // bytes, during the first half
  std::uint32_t server_restarts = 0, client_restarts = 0, cuts = 0;

 private:
  [[nodiscard]] std::uint64_t lost_with_clients() const { return totals.abandoned; }
  void start_server() { server_ = std::make_unique<SoakServer>(net_, books_, connections_); }
  void start_client(std::uint32_t i) {
    clients_[i] = std::make_unique<SoakClient>(net_, static_cast<std::uint8_t>(i + 2),
                                               some_faults(random_.next() >> 8U), books_, totals,
                                               connections_ / kClients, kCallsOfEach, calls_);
  }
  [[nodiscard]] bool turn() {
    net_.net.run_for(kSoakTurn);
    net_.clock = net_.net.now();
    for (std::uint32_t i = 0; i < kClients; ++i) {
      if (cut_until_[i] != 0 && net_.clock >= cut_until_[i]) heal(i);
    }
    bool good = server_->host.turn();
    for (const auto& client : clients_) good = client->host.turn() && good;
    most_ = std::max(most_, wire::testing::live_bytes());
    return good;
  }
  template <typename Condition>
  [[nodiscard]] bool until(Condition condition) {
    const Time end = net_.clock + 120 * kSecond;
    while (!condition()) {
      if (net_.clock > end || !turn()) return false;
    }
    return true;
  }

  void disturb() {
    const std::uint64_t what = step_++ % 3;
    const auto victim = static_cast<std::uint32_t>(random_.below(kClients));
    if (what == 0) {
      // The server's link: long enough for connections to be lost, or so short that they live.
      const Time end = net_.clock + static_cast<Time>(30 + random_.below(2970)) * kMillisecond;
      for (std::uint32_t i = 0; i < kClients; ++i) {
        cut_until_[i] = end;
        set_loss(i, 1);
      }
      ++cuts;
    } else if (what == 1) {
      heal(victim);
      clients_[victim]->host.vanish();
      clients_[victim].reset();
      start_client(victim);
      ++client_restarts;
    } else {
      count_server();
      server_->host.vanish();
      server_.reset();
      books_.restart();
      start_server();
      ++server_restarts;
    }
  }
  [[nodiscard]] bool any_cut() const {
    return std::any_of(cut_until_.begin(), cut_until_.end(), [](Time until) { return until != 0; });
  }
  void heal(std::uint32_t client) {
    set_loss(client, 0);
    cut_until_[client] = 0;
  }
  void set_loss(std::uint32_t client, double loss) {
    soft::SimLink link = soak_link({});
    link.out.loss = link.in.loss = loss;
    const auto id = clients_[client]->host.id();
    net_.net.change(id, soft::FaultDirection::kOut, link.out);
    net_.net.change(id, soft::FaultDirection::kIn, link.in);
  }

  const std::uint64_t calls_;
  const std::uint32_t connections_;
  soft::Random random_;
  SoakNet net_;
  SoakBooks books_;
  std::unique_ptr<SoakServer> server_;
  std::vector<std::unique_ptr<SoakClient>> clients_;
  std::uint64_t step_ = 0;
  std::array<Time, kClients> cut_until_{};  // 0: not cut
  std::size_t most_ = 0;
};

// Runs one soak, and checks it. Returns the number of duplicates that were answered from the cache.
std::uint64_t soak_once(std::uint64_t calls, std::uint32_t connections, std::uint64_t seed,
                        bool report) {
  Soak soak(calls, connections, seed);
  EXPECT_TRUE(soak.run(report)) << "Calls do not end";
  EXPECT_TRUE(soak.finish()) << "connections do not end";
  EXPECT_TRUE(soak.pool_at_rest());
  soak.count_server();
  const SoakTotals& totals = soak.totals;
  if (report) soak.print();
  EXPECT_EQ(totals.wrong, 0U) << totals.first_wrong;
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.not_executed, 0U);
  EXPECT_EQ(totals.right + totals.timed_out, totals.ended);
  EXPECT_EQ(soak.books().wrong_arguments, 0U);
  EXPECT_EQ(soak.books().repeated, 0U) << "executed twice";
  EXPECT_EQ(soak.unprotected, 0U);
  EXPECT_LT(soak.most_after(), 2 * soak.most_before) << "memory grows";
  // The faults were there.
  EXPECT_GT(totals.resent, 0U);
  EXPECT_GT(soak.server_restarts, 0U);
  EXPECT_GT(soak.client_restarts, 0U);
  EXPECT_GT(soak.cuts, 0U);
  fmt::print(
      "{} Calls over {} connections, seed {}, {} simulated seconds: {} wrong bytes or Replies, "
      "{} executed twice ({} after the cache had to forget), {} duplicates answered from the "
      "cache; {} servers and {} clients killed, {} cuts; {} and {} MiB at most in each half\n",
      totals.ended, connections, seed, soak.clock() / kSecond, totals.wrong, soak.books().repeated,
      soak.books().forgotten, soak.replayed + soak.waited, soak.server_restarts,
      soak.client_restarts, soak.cuts, soak.most_before >> 20U, soak.most_after() >> 20U);
  return soak.replayed + soak.waited;
}

TEST(Soak, NoByteIsWrongAndNothingIsDoneTwice) {
  const std::uint64_t calls = number("RPCRDMA_SOAK_CALLS", 20'000);
  const auto connections = static_cast<std::uint32_t>(number("RPCRDMA_SOAK_CONNECTIONS", 100));
  const std::uint64_t seed = number("RPCRDMA_SOAK_SEED", 1);
  const bool report = std::getenv("RPCRDMA_SOAK_CALLS") != nullptr;
  {  // fills static memory
    Soak first(500, kClients, seed);
    EXPECT_TRUE(first.run(false) && first.finish());
  }
  const std::size_t before = wire::testing::live_bytes();
  // A Reply that is lost in a cut, and so a duplicate, is rare: soaks follow until there was one.
  constexpr std::uint64_t kMostSoaks = 4;
  std::uint64_t duplicates = 0;
  for (std::uint64_t n = 0; n < kMostSoaks && duplicates == 0; ++n) {
    duplicates = soak_once(calls, connections, seed + n, report);
  }
  EXPECT_GT(duplicates, 0U);
  EXPECT_EQ(wire::testing::live_bytes(), before) << "memory leaks";
}

}  // namespace
}  // namespace rpcrdma::testing
