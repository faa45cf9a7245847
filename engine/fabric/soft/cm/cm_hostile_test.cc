// Bytes that no honest peer sends. Randomly changed messages of real exchanges reach both sides
// between the unchanged ones: nothing breaks or grows, and every owner still gets the end of each
// connection.
#include "cm_for_tests.h"

#include <map>
#include <random>
#include <set>

namespace rpcrdma::soft {
namespace {

using testing::IsEmpty;

using enum CmEventType;

class CmHostileTest : public testing::Test {
 protected:
  CmHostileTest() { cm.listen(kPort); }
  ConnectionManager cm{CmLimits{}, 1};
};

TEST_F(CmHostileTest, NotAMessageOfTheCm) {
  const Bytes good = HandMadeReq().bytes();
  cm.receive(kFromB, {}, 0);
  cm.receive(kFromB, wire::Bytes(good).first(255), 0);
  for (const std::size_t at : {0U, 1U, 2U, 3U, 16U, 17U}) {  // versions, class, method, attribute
    Bytes bad = good;
    bad[at] ^= 0x80;
    cm.receive(kFromB, bad, 0);
  }
  EXPECT_EQ(cm.counters().dropped, 8U);
  EXPECT_THAT(events_of(cm), IsEmpty());
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

TEST_F(CmHostileTest, MessagesOfNothing) {
  const std::vector<wire::CmMessage> all = {wire::CmMra{1, 2, 0, 31, {}},
                                            wire::CmRej{1, 2, 0, 28, {}, {}},
                                            wire::CmRej{1, 0, 2, 4, {}, {}},
                                            wire::CmRtu{1, 2, {}},
                                            wire::CmDrep{1, 2, {}},
                                            wire::CmRtu{},
                                            wire::CmDrep{}};
  for (const wire::CmMessage& message : all) cm.receive(kFromB, mad_bytes(message), 0);
  EXPECT_EQ(cm.counters().dropped, all.size());
  EXPECT_THAT(events_of(cm), IsEmpty());
  EXPECT_THAT(sent_by(cm), IsEmpty());
}

// One side of the run below: acts like an owner, and records the events of each ID.
class Owner {
 public:
  Owner(std::mt19937_64& random, std::uint64_t seed) : cm(limits(), seed), random_(random) {
    cm.listen(kPort);
  }

  static CmLimits limits() {
    CmLimits limits;
    limits.connections = 64;
    limits.half_open = 16;
    return limits;
  }

  void connect(const Path& path, fabric::Time now) {
    CmConnect request = connect_request();
    request.path = path;
    request.local.qpn = next_qpn_++;
    if (const auto id = cm.connect(request, now)) live_.insert(*id);
  }

  void look(fabric::Time now) {
    CmEvent event;
    while (cm.next_event(event)) {
      switch (event.type) {
        case kRequest:
          ASSERT_TRUE(live_.insert(event.id).second);
          answer(event.id, now);
          break;
        case kReply:
          ASSERT_TRUE(live_.contains(event.id));
          if (random_() % 8 != 0) cm.establish(event.id, now);
          break;
        case kEstablished:
          ASSERT_TRUE(live_.contains(event.id));
          break;
        case kRejected:
        case kTimedOut:
        case kDisconnect:
          ASSERT_EQ(live_.erase(event.id), 1U);  // the first end of this ID, and the only one
          ++ended;
          break;
      }
    }
    ASSERT_LE(cm.connections(), limits().connections);
    ASSERT_LE(live_.size(), limits().connections);
  }

  void disconnect_one(fabric::Time now) {
    if (live_.empty()) return;
    auto it = live_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_() % live_.size()));
    cm.disconnect(*it, now);
  }

  void disconnect_all(fabric::Time now) {
    const std::set<CmId> all = live_;
    for (const CmId id : all) cm.disconnect(id, now);
  }

  [[nodiscard]] bool all_ended() const { return live_.empty(); }

  ConnectionManager cm;
  std::uint64_t accepted = 0, ended = 0;

 private:
  void answer(CmId id, fabric::Time now) {
    const auto what = random_() % 8;
    if (what == 0) return;  // later, or never
    // It may already be over: then its end comes after the request.
    if (what == 1) {
      if (cm.reject(id, 28, {}, now)) live_.erase(id);
    } else {
      accepted += cm.accept(id, {next_qpn_++, 0, 4, 4, 7, true}, {}, now).has_value();
    }
  }

  std::mt19937_64& random_;
  std::set<CmId> live_;
  std::uint32_t next_qpn_ = 16;
};

TEST(CmMutationTest, HonestAndOther) {
  constexpr std::uint64_t kMutated = 20'000;
  std::mt19937_64 random(20049);
  Owner a(random, 1), b(random, 2);
  std::vector<Bytes> seen;  // a sample of the latest messages of either side
  std::uint64_t mutated = 0;
  fabric::Time now = 0;

  const auto carry = [&](Owner& from, Owner& to, const Path& path) {
    for (const Sent& sent : sent_by(from.cm)) {
      if (seen.size() < 256) {
        seen.push_back(sent.bytes);
      } else {
        seen[random() % seen.size()] = sent.bytes;
      }
      if (random() % 8 != 0) to.cm.receive(path, sent.bytes, now);
    }
  };
  const auto mutate = [&](Owner& to, const Path& path) {
    Bytes bytes = seen[random() % seen.size()];
    // Unchanged, or with a few bits or bytes changed.
    for (auto changes = random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] = static_cast<std::uint8_t>(random());
      } else {
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 1U << random() % 8);
      }
    }
    to.cm.receive(path, bytes, now);
    ++mutated;
  };

  while (mutated < kMutated) {
    if (random() % 4 == 0) a.connect(kFromA, now);
    if (random() % 4 == 0) b.connect(kFromB, now);
    if (random() % 8 == 0) a.disconnect_one(now);
    if (random() % 8 == 0) b.disconnect_one(now);
    carry(a, b, kFromB);
    carry(b, a, kFromA);
    for (int i = 0; i < 4 && !seen.empty(); ++i) {
      mutate(a, kFromA);
      mutate(b, kFromB);
    }
    now += static_cast<fabric::Time>(random() % (100 * fabric::kMillisecond));
    a.cm.expire(now);
    b.cm.expire(now);
    a.look(now);
    b.look(now);
    if (HasFatalFailure()) return;
  }

  // Every connection ends and is removed.
  a.disconnect_all(now);
  b.disconnect_all(now);
  for (int steps = 0; steps < 10'000; ++steps) {
    carry(a, b, kFromB);
    carry(b, a, kFromA);
    a.look(now);
    b.look(now);
    // Connections from a late REQ.
    a.disconnect_all(now);
    b.disconnect_all(now);
    const fabric::Time next = std::min(a.cm.deadline(), b.cm.deadline());
    if (next == fabric::kNever) break;
    now = std::max(now, next);
    a.cm.expire(now);
    b.cm.expire(now);
  }
  EXPECT_TRUE(a.all_ended());
  EXPECT_TRUE(b.all_ended());
  EXPECT_EQ(a.cm.connections() + b.cm.connections(), 0U);
  for (const Owner* owner : {&a, &b}) {
    EXPECT_GT(owner->accepted, 100U);
    EXPECT_GT(owner->ended, 100U);
    const auto& counters = owner->cm.counters();
    EXPECT_GT(counters.dropped, 0U);
    EXPECT_LE(counters.dropped + counters.duplicates, counters.received);
  }
}

// Random bytes after a valid header.
TEST(CmMutationTest, Noise) {
  std::mt19937_64 random(1);
  ConnectionManager cm(CmLimits{}, 1);
  cm.listen(kPort);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(wire::kMadBytes);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const Bytes header = mad_bytes(wire::CmRtu{});
    std::copy_n(header.begin(), 24, bytes.begin());
    bytes[17] = static_cast<std::uint8_t>(0x10 + random() % 8);
    cm.receive(kFromB, bytes, i);
  }
  EXPECT_EQ(cm.connections(), 0U);
  EXPECT_THAT(events_of(cm), IsEmpty());
}

}  // namespace
}  // namespace rpcrdma::soft
