// Tests captures with an unlimited number of connections: the number that is tracked is bounded,
// and the sums include all of them.
#include "support/hostile_traffic.h"

#include <random>

#include <rpcrdma/wire/cm.h>

namespace rpcrdma::report::testing {
namespace {

constexpr std::size_t kMostBytes = 64 * kMiB;
// Enough connections that some are evicted.
constexpr std::uint32_t kMoreThanFollowed = kMostConnections + kMostConnections / 4;

class HostileConnections : public Hostile {
 protected:
  void cm(std::uint8_t src, std::uint8_t dst, wire::CmMessage message) {
    std::vector<std::uint8_t> mad(wire::kMadBytes);
    ASSERT_TRUE(wire::encode_cm({{}, std::move(message)}, mad));
    wire::RocePacket p = packet(Opcode::kUdSendOnly, wire::kGsiQp, 0, mad);
    give(src, dst, p);
  }
  void request(std::uint32_t id, std::uint32_t qpn) {
    wire::CmReq req;
    req.local_comm_id = id;
    req.local_qpn = qpn;
    cm(kClient, kServer, req);
  }
  void accept(std::uint32_t id, std::uint32_t qpn) {
    wire::CmRep rep;
    rep.local_comm_id = ~id;
    rep.remote_comm_id = id;
    rep.local_qpn = qpn;
    cm(kServer, kClient, rep);
  }
  void hang_up(std::uint32_t id, std::uint32_t qpn) {
    wire::CmDreq dreq;
    dreq.local_comm_id = id;
    dreq.remote_comm_id = ~id;
    dreq.remote_qpn = qpn;
    cm(kClient, kServer, dreq);
  }
  // Two Calls and their Replies, between the QPs 2n and 2n + 1.
  void talk(std::uint32_t n) {
    for (std::uint32_t psn = 0; psn < 2; ++psn) {
      give(kClient, kServer, packet(Opcode::kSendOnly, 2 * n + 1, psn, call_bytes(n * 2 + psn)));
      give(kServer, kClient, packet(Opcode::kSendOnly, 2 * n, psn, reply_bytes(n * 2 + psn)));
    }
  }
  void connection(std::uint32_t n) {
    request(n, 2 * n);
    accept(n, 2 * n + 1);
    talk(n);
  }

  static Direction sum_of_all(const Report& r) {
    Direction sum;
    const auto add = [&](const Direction& d) {
      sum.calls += d.calls;
      sum.replies += d.replies;
      sum.unmatched_calls += d.unmatched_calls;
      sum.unmatched_replies += d.unmatched_replies;
    };
    for (const Direction& d : r.not_listed.direction) add(d);
    for (const Connection& c : r.connections) {
      for (const Direction& d : c.direction) add(d);
    }
    return sum;
  }
  // Expects the same totals, whichever connections are listed.
  void expect_sums(std::uint32_t connections) {
    const Report& r = analysis_.report();
    EXPECT_EQ(r.connections.size() + r.not_listed.connections, connections);
    EXPECT_LE(r.connections.size(), roce::kMaxConnections);
    const Direction sum = sum_of_all(r);
    EXPECT_EQ(sum.calls, 2 * connections);
    EXPECT_EQ(sum.replies, 2 * connections);
    EXPECT_EQ(sum.unmatched_calls + sum.unmatched_replies, 0U);
    std::uint64_t latencies = 0;
    for (const auto& [key, p] : r.procedures) latencies += p.total.count();
    EXPECT_EQ(latencies, 2 * connections);
    EXPECT_EQ(r.edges.open_calls.size() + r.edges.early_replies.size(), 0U);
  }
};

TEST_F(HostileConnections, OneAfterTheOther) {
  constexpr std::uint32_t kConnections = many(100000, kMoreThanFollowed);
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= kConnections; ++n) {
          connection(n);
          hang_up(n, 2 * n + 1);
        }
      },
      [] {
        return Limits{kMostBytes, 40};
      });
  expect_sums(kConnections);
}

TEST_F(HostileConnections, NoneThatIsClosed) {
  constexpr std::uint32_t kConnections = many(100000, kMoreThanFollowed);
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= kConnections; ++n) connection(n);
      },
      [] {
        return Limits{kMostBytes, 40};
      });
  expect_sums(kConnections);
}

// Only the QPN in a new REQ shows that the previous connection has ended.
TEST_F(HostileConnections, OneQpForAll) {
  constexpr std::uint32_t kConnections = many(100000, kMoreThanFollowed);
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= kConnections; ++n) {
          request(n, kClientQp);
          accept(n, kServerQp);
        }
      },
      [] {
        return Limits{kMostBytes, 40};
      });
  EXPECT_EQ(analysis_.report().connections.size(), roce::kMaxConnections);
  EXPECT_EQ(analysis_.report().not_listed.connections, kConnections - kMostConnections);
}

TEST_F(HostileConnections, RequestsThatNobodyAnswers) {
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= many(200000, kMoreThanFollowed); ++n) request(n, n);
      },
      [] {
        return Limits{kMostBytes / 8 * 5, 20};
      });
}

TEST_F(HostileConnections, RequestsThatAreRejected) {
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= many(100000, kMoreThanFollowed); ++n) {
          request(n, n);
          wire::CmRej rej;
          rej.remote_comm_id = n;
          rej.reason = 28;
          cm(kServer, kClient, rej);
        }
      },
      [] {
        return Limits{kMostBytes / 8 * 5, 20};
      });
}

TEST_F(HostileConnections, OneDirectionOfEach) {
  constexpr std::uint32_t kConnections = many(1000000, kMoreThanFollowed);
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < kConnections; ++i) {
          give(kClient, kServer, packet(Opcode::kSendOnly, i + 2, i * 77));
        }
      },
      [] {
        return Limits{kMostBytes, 20};
      });
  EXPECT_EQ(analysis_.report().connections.size(), roce::kMaxConnections);
  EXPECT_EQ(analysis_.report().not_listed.connections, kConnections - kMostConnections);
}

// The connections send in rotation, so that each is evicted just before its next packet.
TEST_F(HostileConnections, OneMoreThanAreFollowed) {
  constexpr std::uint32_t kRounds = many(8, 2);
  expect_within(
      [&] {
        for (std::uint32_t round = 0; round < kRounds; ++round) {
          for (std::uint32_t n = 0; n <= kMostConnections; ++n) {
            give(kClient, kServer,
                 packet(Opcode::kSendOnly, n + 2, round, call_bytes(round * 100000 + n)));
          }
        }
      },
      [] {
        return Limits{kMostBytes, 60};
      });
  EXPECT_EQ(sum_of_all(analysis_.report()).calls, kRounds * (kMostConnections + 1));
}

// Every message violates many rules, each on another connection.
TEST_F(HostileConnections, EachWithFindings) {
  const wire::ReadSegment reads[] = {
      {5, {7, 0, 0}}, {3, {7, UINT32_MAX, UINT64_MAX}}, {9, {7, 9, 1}}};
  const wire::Segment segments[] = {{7, 0, 0}, {7, UINT32_MAX, UINT64_MAX}};
  const wire::WriteChunk writes[] = {segments, {}};
  wire::Header h;
  h.credit = 0;
  h.reads = reads;
  h.writes = writes;
  expect_within(
      [&] {
        for (std::uint32_t n = 0; n < many(50000, kMoreThanFollowed); ++n) {
          h.xid = n;
          give(kClient, kServer, packet(Opcode::kSendOnly, n + 2, 0, call_bytes(h)));
        }
      },
      [] {
        return Limits{kMostBytes + kMostBytes / 2, 250};
      });
  // The limit does not include findings on the capture itself.
  const auto& findings = analysis_.report().findings;
  EXPECT_LE(std::count_if(findings.begin(), findings.end(),
                          [](const Finding& f) { return !f.concluded; }),
            static_cast<std::ptrdiff_t>(kMaxFindings));
  EXPECT_LE(findings.size(), kMaxFindings + 8);
  EXPECT_GT(analysis_.report().findings_omitted[0], 0U);
}

// Advertised memory is remembered for a time after the Reply, up to a limit for all connections
// together.
TEST_F(HostileConnections, EachWithMemoryThatWasOffered) {
  std::vector<wire::ReadSegment> reads(160);
  for (std::uint32_t i = 0; i < reads.size(); ++i) reads[i] = {4 + 4 * i, {i, 4, 0}};
  wire::Header h;
  h.credit = 1;
  h.reads = reads;
  expect_within(
      [&] {
        for (std::uint32_t n = 1; n <= many(kMostConnections, kMostConnections / 4); ++n) {
          request(n, 2 * n);
          accept(n, 2 * n + 1);
          for (std::uint32_t psn = 0; psn < 2; ++psn) {
            h.xid = 2 * n + psn;
            give(kClient, kServer, packet(Opcode::kSendOnly, 2 * n + 1, psn, call_bytes(h)));
            give(kServer, kClient, packet(Opcode::kSendOnly, 2 * n, psn, reply_bytes(h.xid)));
          }
        }
      },
      [] {
        return Limits{kMostBytes / 8 * 11, 250};
      });
}

// SENDs without a last packet.
TEST_F(HostileConnections, EachWithHalfAMessage) {
  const std::vector<std::uint8_t> data(4096);
  const auto half = [&](std::uint32_t packets) {
    for (std::uint32_t psn = 0; psn < packets; ++psn) {
      for (std::uint32_t n = 0; n < 1000; ++n) {
        give(kClient, kServer,
             packet(psn == 0 ? Opcode::kSendFirst : Opcode::kSendMiddle, n + 2, psn, data));
      }
    }
  };
  expect_within([&] { half(60); }, [] { return Limits{kMostBytes, 10}; });
}

// Valid packets from an unlimited number of ports: a bounded number of ports is remembered as
// sending valid ICRCs.
TEST_F(HostileConnections, PortsWithoutEnd) {
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < many(300000); ++i) {
          wire::CmRej rej;
          rej.remote_comm_id = i;
          std::vector<std::uint8_t> mad(wire::kMadBytes);
          ASSERT_TRUE(wire::encode_cm({{}, rej}, mad));
          give_from(i, packet(Opcode::kUdSendOnly, wire::kGsiQp, 0, mad));
        }
      },
      [] {
        return Limits{8 * kMiB, 20};
      });
}

TEST_F(Hostile, PsnsAtRandom) {
  std::mt19937 random(1);
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < many(100000); ++i) {
          give(kClient, kServer,
               packet(Opcode::kSendOnly, kServerQp, static_cast<std::uint32_t>(random())));
        }
      },
      [&] {
        return Limits{analysis_.pipeline().connections().connection_count() * 4096, 20};
      });
}

TEST_F(Hostile, PsnsAtRandomThatMayBeLoss) {
  std::mt19937 random(1);
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < many(100000); ++i) {
          give(kClient, kServer,
               packet(Opcode::kSendOnly, kServerQp, static_cast<std::uint32_t>(random() % 60000)));
        }
      },
      [] {
        return Limits{kMiB, 10};
      });
}

}  // namespace
}  // namespace rpcrdma::report::testing
