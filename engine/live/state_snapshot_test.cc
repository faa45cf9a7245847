#include "state_snapshot.h"

#include "make_event.h"
#include "support/event_stream.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rpcrdma::trace {
namespace {

using Trace = std::vector<std::string>;

const Connection kConnection = [] {
  Connection connection;
  connection.port = 20049;
  return connection;
}();

class StandingTest : public ::testing::Test {
 protected:
  template <typename Event>
  void take(std::uint32_t connection, const Event& event) {
    auto bytes = make_event(0, ++time_, event);
    EventHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.connection = connection;
    std::memcpy(bytes.data(), &header, sizeof header);
    snapshot_.take(header, bytes);
  }

  // "5": a connection. "5:1=64": its side 1 was granted 64. "5 sends 8", "5 side 0 calls 20": sums.
  Trace emitted() const {
    Trace trace;
    snapshot_.emit([&](const EventHeader& header, std::span<const std::uint8_t> event) {
      const Emitted one = announced(event);
      EXPECT_EQ(header.time, one.header.time);
      std::string text = std::to_string(header.connection);
      if (one.type() == EventType::kConnection) {
        EXPECT_EQ(one.as<Connection>().replayed, 1);
        EXPECT_EQ(one.as<Connection>().port, 20049);
      }
      if (one.type() == EventType::kCredits) {
        const auto credits = one.as<Credits>();
        text += ":" + std::to_string(credits.side) + "=" + std::to_string(credits.granted);
      }
      if (one.type() == EventType::kConnectionSums) {
        text += " sends " + std::to_string(one.as<ConnectionSums>().sends);
      }
      if (one.type() == EventType::kProcedureSums) {
        const auto sums = one.as<ProcedureSums>();
        text += " side " + std::to_string(sums.side) + " calls " + std::to_string(sums.calls);
      }
      trace.push_back(text);
    });
    return trace;
  }

  static Credits granted(std::uint8_t side, std::uint32_t credits) {
    Credits event;
    event.side = side;
    event.granted = credits;
    return event;
  }

  StateSnapshot snapshot_;
  std::int64_t time_ = 0;
};

TEST_F(StandingTest, ConnectionsThatAreUp) {
  take(5, kConnection);
  take(7, kConnection);
  take(6, kConnection);
  take(7, ConnectionEnd{});
  take(7, ConnectionEnd{});
  take(9, ConnectionEnd{});
  take(5, Invalidate{});
  EXPECT_EQ(emitted(), (Trace{"5", "6"}));
}

TEST_F(StandingTest, TheLatestCreditsOfEachSide) {
  take(5, granted(0, 1));  // not open yet
  take(5, kConnection);
  take(6, kConnection);
  take(5, granted(0, 32));
  take(5, granted(1, 8));
  take(5, granted(0, 64));
  take(5, granted(2, 99));  // no such side
  EXPECT_EQ(emitted(), (Trace{"5", "5:0=64", "5:1=8", "6"}));
  take(5, ConnectionEnd{});
  EXPECT_EQ(emitted(), (Trace{"6"}));
}

TEST_F(StandingTest, CreditsAreForgottenConnectionsAreNot) {
  take(5, kConnection);
  take(5, granted(0, 32));
  snapshot_.forget_credits();
  EXPECT_EQ(emitted(), (Trace{"5"}));
  take(5, granted(0, 33));
  EXPECT_EQ(emitted(), (Trace{"5", "5:0=33"}));
}

TEST_F(StandingTest, TheLatestSumsOfEachProcedure) {
  const auto procedure = [](std::uint32_t number, std::uint8_t side, std::uint64_t calls) {
    ProcedureSums sums;
    sums.program = 100003;
    sums.version = 4;
    sums.procedure = number;
    sums.side = side;
    sums.calls = calls;
    return sums;
  };
  take(5, procedure(1, 0, 1));  // not open yet
  take(5, kConnection);
  take(5, procedure(1, 0, 10));
  take(5, procedure(1, 0, 20));
  take(5, procedure(1, 1, 3));
  take(5, ConnectionSums{.sends = 7});
  take(5, ConnectionSums{.sends = 8});
  EXPECT_EQ(emitted(), (Trace{"5", "5 sends 8", "5 side 0 calls 20", "5 side 1 calls 3"}));
  snapshot_.forget_credits();
  EXPECT_EQ(emitted().size(), 4U);
  take(5, ConnectionEnd{});
  EXPECT_EQ(emitted(), Trace{});
}

TEST_F(StandingTest, SumsOfAConnectionAreLimited) {
  take(5, kConnection);
  for (std::uint32_t n = 0; n < StateSnapshot::kMostProcedures + 5; ++n) {
    ProcedureSums sums;
    sums.procedure = n;
    take(5, sums);
  }
  EXPECT_EQ(emitted().size(), 1 + StateSnapshot::kMostProcedures);
}

TEST_F(StandingTest, AConnectionEmittedAgainTakesThePlaceOfTheFirst) {
  take(5, kConnection);
  take(5, kConnection);
  EXPECT_EQ(snapshot_.connections(), 1U);
}

// End events may have been lost. The oldest of the ring are dropped, not those of others.
TEST_F(StandingTest, OfEachRingThereIsALimit) {
  constexpr auto kMostConnections = static_cast<std::uint32_t>(StateSnapshot::kMostOfARing);
  take(0x01000001, kConnection);
  take(0x03000001, kConnection);
  for (std::uint32_t n = 1; n <= kMostConnections + 2; ++n) take(0x02000000 | n, kConnection);
  EXPECT_EQ(snapshot_.connections(), kMostConnections + 2U);
  const Trace all = emitted();
  EXPECT_EQ(all[0], std::to_string(0x01000001));
  EXPECT_EQ(all[1], std::to_string(0x02000003));
  EXPECT_EQ(all.back(), std::to_string(0x03000001));
  take(0x02000003, ConnectionEnd{});
  take(0x02ffffff, kConnection);
  EXPECT_EQ(emitted()[1], std::to_string(0x02000004));
}

// Events of a stream may be as large as the sender likes.
TEST_F(StandingTest, TheirBytesHaveALimit) {
  StateSnapshot snapshot(1000);
  const std::vector<std::uint8_t> payload(400);
  for (std::uint32_t n = 1; n <= 10; ++n) {
    const auto event = make_event(1, 0, kConnection, payload);
    EventHeader header;
    std::memcpy(&header, event.data(), sizeof header);
    header.connection = 0x01000000 | n;
    snapshot.take(header, event);
    EXPECT_EQ(snapshot.connections(), std::min<std::size_t>(n, 1000U / event.size()));
  }
}

}  // namespace
}  // namespace rpcrdma::trace
