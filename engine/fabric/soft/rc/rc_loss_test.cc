// Faults of the network on single packets: on each one, and on each pair, of short exchanges.
#include "rc_exchange_for_tests.h"

#include <map>

namespace rpcrdma::soft {
namespace {

using testing::Exchange;
using testing::exchange_options;
using testing::Flying;
using testing::Pair;
using testing::PairOptions;

using Post = void (*)(Exchange&);

// Executed in this order; a Write that overlaps an earlier one reveals a second execution.
void everything(Exchange& e) {
  e.send(900);
  e.write(1500, 0);
  e.read(1500, 100);
  e.write(600, 2000);
  e.write(600, 2100);
  e.send(10);
  e.read(100, 200);
  e.send(0);
}
void reads(Exchange& e) {
  e.read(600, 0);
  e.read(0, 0);
  e.read(1, 5);
  e.read(2600, 10);
}
void sends(Exchange& e) {
  e.send(300);
  e.send(0);
  e.send(600);
}
void writes(Exchange& e) {
  e.write(600, 0);
  e.write(600, 0);
  e.write(600, 100);
  e.write(0, 0);
}
void read_first(Exchange& e) {
  e.read(600, 0);
  e.write(300, 0, true);
  e.read(300, 0);
}

// At most one fault per packet number, counted over both directions in sending order.
struct Fault {
  enum Kind : std::uint8_t { kDrop, kDuplicate, kLater } kind = kDrop;
  std::size_t later = 0;  // packets that overtake it (kLater) or its copy (kDuplicate)
};

class FaultyNetwork {
 public:
  explicit FaultyNetwork(std::map<std::size_t, Fault> faults) : faults_(std::move(faults)) {}

  std::vector<Flying> operator()(Flying f) {
    std::vector<Flying> out;
    const auto fault = faults_.find(number_);
    if (fault == faults_.end()) {
      out.push_back(f);
    } else {
      if (fault->second.kind == Fault::kDuplicate) out.push_back(f);
      if (fault->second.kind != Fault::kDrop) late_.emplace(number_ + fault->second.later, f);
    }
    for (; !late_.empty() && late_.begin()->first <= number_; late_.erase(late_.begin())) {
      out.push_back(late_.begin()->second);
    }
    ++number_;
    return out;
  }
  [[nodiscard]] std::size_t packets() const { return number_; }

 private:
  std::map<std::size_t, Fault> faults_;
  std::multimap<std::size_t, Flying> late_;
  std::size_t number_ = 0;
};

// Returns the number of packets; fails if the result is wrong.
std::size_t run(Post post, const PairOptions& options, const std::map<std::size_t, Fault>& faults) {
  Pair p(options);
  Exchange e(p);
  post(e);
  FaultyNetwork network(faults);
  p.network = [&](Flying f) { return network(std::move(f)); };
  EXPECT_TRUE(p.run(10'000));
  const std::string verdict = e.verdict();
  std::string what;
  for (const auto& [n, f] : faults) {
    what += " " + std::to_string(n) + ":" + std::to_string(f.kind) + "/" + std::to_string(f.later);
  }
  EXPECT_EQ(verdict, "") << "faults" << what;
  return network.packets();
}

std::vector<PairOptions> variants() {
  std::vector<PairOptions> all(5, exchange_options());
  all[1].parameters.read_packets = 2;
  all[1].parameters.initiator_depth = all[1].parameters.responder_resources = 1;
  all[2].parameters.window = 3;
  all[2].parameters.flow_control = false;
  all[3].client_psn = 0xfffffc;
  all[3].server_psn = 0xffffff;
  all[4].parameters.ack_hold = 10 * fabric::kMicrosecond;
  return all;
}

constexpr Post kExchanges[] = {everything, reads, sends, writes, read_first};

TEST(RcLoss, EachPacketLost) {
  for (const PairOptions& o : variants()) {
    for (const Post post : kExchanges) {
      for (std::size_t n = 0; n < run(post, o, {{n, {}}}); ++n) ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(RcLoss, EachTwoPacketsLost) {
  for (const PairOptions& o : variants()) {
    for (const Post post : kExchanges) {
      const std::size_t packets = 2 * run(post, o, {});
      for (std::size_t n = 0; n < packets; ++n) {
        for (std::size_t m = n + 1; m < packets; ++m) run(post, o, {{n, {}}, {m, {}}});
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST(RcLoss, EachPacketLostAndAnotherRepeatedOrLate) {
  for (const PairOptions& o : variants()) {
    const std::size_t packets = run(everything, o, {});
    for (std::size_t n = 0; n < packets; ++n) {
      for (std::size_t m = 0; m < packets; ++m) {
        if (m == n) continue;
        run(everything, o, {{n, {}}, {m, {Fault::kDuplicate, 4}}});
        run(everything, o, {{n, {}}, {m, {Fault::kLater, 3}}});
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(RcLoss, EachPacketRepeatedAtOnceAndLater) {
  for (const PairOptions& o : variants()) {
    for (const Post post : kExchanges) {
      for (std::size_t later = 0; later < 12; ++later) {
        for (std::size_t n = 0; n < run(post, o, {{n, {Fault::kDuplicate, later}}}); ++n) {
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

TEST(RcLoss, EachPacketOvertaken) {
  for (const PairOptions& o : variants()) {
    for (const Post post : kExchanges) {
      for (std::size_t later = 1; later < 12; ++later) {
        for (std::size_t n = 0; n < run(post, o, {{n, {Fault::kLater, later}}}); ++n) {
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

TEST(RcLoss, EachMtu) {
  for (const std::uint32_t mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
    PairOptions o = exchange_options();
    o.parameters.mtu = mtu;
    for (std::size_t n = 0; n < run(everything, o, {{n, {}}}); ++n) ASSERT_FALSE(HasFailure());
  }
}

TEST(RcLoss, NothingIsSentAgainWithoutLoss) {
  for (const PairOptions& o : variants()) {
    for (const Post post : kExchanges) {
      Pair p(o);
      Exchange e(p);
      post(e);
      ASSERT_TRUE(p.run());
      EXPECT_EQ(e.verdict(), "");
      EXPECT_EQ(p.client.qp.counters().retransmitted, 0U);
      EXPECT_EQ(p.client.qp.counters().timeouts, 0U);
      EXPECT_EQ(p.server.qp.counters().naks_out, 0U);
      EXPECT_EQ(p.now, 0);
    }
  }
}

// The peer is gone: the oldest request fails, the others are flushed, and later packets change
// nothing.
TEST(RcLoss, APeerThatIsGone) {
  for (std::size_t last = 0; last < 20; ++last) {
    Pair p(exchange_options());
    Exchange e(p);
    everything(e);
    std::size_t n = 0;
    p.network = [&](Flying f) {
      return n++ < last ? std::vector<Flying>{std::move(f)} : std::vector<Flying>{};
    };
    ASSERT_TRUE(p.run());
    EXPECT_EQ(p.client.qp.state(), QpState::kError);
    EXPECT_EQ(p.now, 255 * fabric::kMillisecond) << last;  // seven retries
    EXPECT_EQ(e.verdict(true), "") << last;
    const auto memory = p.client.buffer;
    p.network = [](Flying f) { return std::vector<Flying>{std::move(f)}; };
    for (const Flying& f : std::vector<Flying>(p.log)) p.deliver(f);
    ASSERT_TRUE(p.run());
    EXPECT_EQ(p.client.buffer, memory);
    EXPECT_TRUE(p.client.take().empty());
  }
}

}  // namespace
}  // namespace rpcrdma::soft
