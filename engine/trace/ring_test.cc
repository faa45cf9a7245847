// The ring between a tracer and its reader: order, losses, reserved space, and two threads.
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {
namespace {

constexpr std::size_t kBytes = 4096;

// Invalidates with growing handles and payloads of all lengths: all of them arrive whole and in
// order.
void emit(Tracer& tracer, std::uint32_t n) {
  std::vector<std::uint8_t> payload(n % 41, static_cast<std::uint8_t>(n));
  tracer.emit(7, n, Invalidate{n, 1, {}}, std::span(payload).first(payload.size() / 2),
              std::span(payload).subspan(payload.size() / 2));
}

void check(const EventHeader& header, std::span<const std::uint8_t> bytes, std::uint32_t n) {
  ASSERT_EQ(header.time, n);
  ASSERT_EQ(bytes.size() % 8, 0U);
  const auto view = view_event(bytes);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->header.connection, 7U);
  ASSERT_EQ(read_event<Invalidate>(*view).value().handle, n);
  ASSERT_EQ(view->payload.size(), n % 41);
  for (const std::uint8_t b : view->payload) ASSERT_EQ(b, static_cast<std::uint8_t>(n));
}

TEST(TraceRing, NobodyListensAtFirst) {
  Tracer tracer(0, kBytes);
  EXPECT_FALSE(on(&tracer));
  EXPECT_FALSE(on(nullptr));
  tracer.listen(true);
  EXPECT_TRUE(on(&tracer));
}

TEST(TraceRing, EventsComeInOrderAroundItsEnd) {
  Tracer tracer(3, kBytes);
  std::uint32_t read = 0;
  for (std::uint32_t n = 0; n < 10'000;) {
    for (std::uint32_t i = 0; i < 1 + n % 17; ++i) emit(tracer, n++);
    tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t> bytes) {
      EXPECT_EQ(h.ring, 3U);
      check(h, bytes, read++);
    });
    ASSERT_EQ(read, n);
  }
  EXPECT_EQ(tracer.ring().emitted(), read);
  EXPECT_EQ(tracer.ring().lost(), 0U);
}

TEST(TraceRing, AFullOneLosesTheNewestAndCounts) {
  Tracer tracer(0, kBytes);
  for (std::uint32_t n = 0; n < 1000; ++n) emit(tracer, n);
  std::uint32_t read = 0;
  tracer.ring().read(
      [&](const EventHeader& h,
          std::span<const std::uint8_t> bytes) {  // A short one may fit after one that was lost.
        check(h, bytes, static_cast<std::uint32_t>(h.time));
        ++read;
      });
  EXPECT_GT(read, 40U);
  EXPECT_EQ(tracer.ring().emitted(), 1000U);
  EXPECT_EQ(tracer.ring().lost(), 1000U - read);
}

TEST(TraceRing, AnEventLargerThanItIsLost) {
  Tracer tracer(0, kBytes);
  const std::vector<std::uint8_t> payload(kBytes);
  tracer.emit(1, 0, Invalidate{}, payload);
  EXPECT_EQ(tracer.ring().lost(), 1U);
}

TEST(TraceRing, AFullOneHasRoomForConnectionsAndTheirEnds) {
  Tracer tracer(0, kBytes);
  while (tracer.ring().lost() == 0) emit(tracer, 0);
  tracer.emit(7, 1, ConnectionEnd{});
  tracer.emit(8, 2, Connection{});
  EXPECT_EQ(tracer.ring().lost(), 1U);
  std::vector<EventType> last;
  tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t>) {
    if (h.time > 0) last.push_back(static_cast<EventType>(h.type));
  });
  EXPECT_EQ(last, (std::vector{EventType::kConnectionEnd, EventType::kConnection}));
}

TEST(TraceRing, AssembledEventsAreThoseOfTheirTypes) {
  Tracer assembled(3, kBytes);
  Tracer typed(3, kBytes);
  const std::vector<std::uint8_t> payload{1, 2, 3};
  const std::vector<std::uint8_t> more{4, 5, 6, 7, 8, 9};
  const auto same = [&](const auto& event) {
    EventHeader header;
    header.type = static_cast<std::uint16_t>(event.kType);
    header.fixed = sizeof event;
    header.payload = static_cast<std::uint32_t>(payload.size() + more.size());
    header.connection = 7;
    header.time = 12;
    assembled.emit_assembled(header, {reinterpret_cast<const std::uint8_t*>(&event), sizeof event},
                             payload, more);
    typed.emit(7, 12, event, payload, more);
  };
  same(Invalidate{77, 1, {}});
  same(Connection{});
  std::vector<std::vector<std::uint8_t>> events;
  typed.ring().read([&](const EventHeader&, std::span<const std::uint8_t> event) {
    events.emplace_back(event.begin(), event.end());
  });
  ASSERT_EQ(events.size(), 2U);
  std::size_t at = 0;
  assembled.ring().read([&](const EventHeader&, std::span<const std::uint8_t> event) {
    EXPECT_EQ(std::vector(event.begin(), event.end()), events.at(at++));
  });
  EXPECT_EQ(at, 2U);
  // In a full ring, too, connections have the reserved room.
  while (assembled.ring().lost() == 0) same(Invalidate{});
  same(Connection{});
  EXPECT_EQ(assembled.ring().lost(), 1U);
}

TEST(TraceRing, WhatWasLostBeforeItIsLostAndEmitted) {
  Tracer tracer(0, kBytes);
  emit(tracer, 0);
  tracer.lose(5);
  const Ring::Batch batch(tracer.ring());
  EXPECT_EQ(batch.lost(), 5U);
  EXPECT_EQ(tracer.ring().emitted(), 6U);
  EXPECT_FALSE(batch.empty());
}

TEST(TraceRing, GoesOnBehindWhatTookTheSpareRoom) {
  Tracer tracer(0, kBytes);
  std::int64_t time = 0;
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t lost = tracer.ring().lost();
    while (tracer.ring().lost() == lost) tracer.emit(7, time++, Invalidate{});
    --time;  // the last was lost
    while (tracer.ring().lost() == lost + 1) tracer.emit(7, time++, ConnectionEnd{});
    --time;
    std::int64_t next = -1;
    tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t>) {
      if (next >= 0) {
        EXPECT_EQ(h.time, next);
      }
      next = h.time + 1;
    });
    EXPECT_EQ(next, time);
  }
}

// Such an event uses none of the reserved space, even if it is an end.
TEST(TraceRing, WhatIsEmittedIfThereIsRoomLeavesThatToOthers) {
  Tracer tracer(3, kBytes);
  const std::vector<std::uint8_t> why(50, 'x');
  tracer.emit_if_room(tracer.no_connection(), 5, ConnectionEnd{}, why);
  tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t> bytes) {
    EXPECT_EQ(static_cast<EventType>(h.type), EventType::kConnectionEnd);
    EXPECT_EQ(h.connection, 0x03000000U);
    EXPECT_EQ(h.ring, 3U);
    EXPECT_EQ(h.time, 5);
    EXPECT_EQ(view_event(bytes)->payload.size(), why.size());
  });
  for (int i = 0; i < 1000; ++i)
    tracer.emit_if_room(tracer.no_connection(), 0, ConnectionEnd{}, why);
  const std::uint64_t lost = tracer.ring().lost();
  EXPECT_GT(lost, 900U);
  tracer.emit(7, 1, ConnectionEnd{});
  tracer.emit(8, 2, Connection{});
  EXPECT_EQ(tracer.ring().lost(), lost);
}

TEST(TraceRing, ARowIsThereWhenItEnds) {
  Tracer tracer(3, kBytes);
  std::uint32_t seen = 0;
  const auto see = [&](const EventHeader& header, std::span<const std::uint8_t> bytes) {
    ASSERT_EQ(header.ring, 3U);
    ASSERT_EQ(header.connection, 7U);
    ASSERT_EQ(header.time, 9);
    const auto view = view_event(bytes);
    ASSERT_TRUE(view);
    ASSERT_EQ(read_event<Invalidate>(*view).value().handle, seen);
    ASSERT_EQ(view->payload.size(), seen % 41);
    ++seen;
  };
  // Often enough that rows wrap around the ring.
  for (std::uint32_t emitted = 0; emitted < 1000;) {
    {
      Tracer::Row row(tracer, 7, 9);
      for (std::uint32_t i = 0; i < 1 + emitted % 7; ++i, ++emitted) {
        const std::vector<std::uint8_t> payload(emitted % 41);
        row.emit(Invalidate{emitted, 1, {}}, payload);
      }
      tracer.ring().read(see);
      EXPECT_EQ(tracer.ring().emitted(), seen);
    }
    EXPECT_EQ(tracer.ring().emitted(), emitted);
    tracer.ring().read(see);
    ASSERT_EQ(seen, emitted);
  }
  EXPECT_EQ(tracer.ring().lost(), 0U);
}

TEST(TraceRing, WhatDoesNotFitIntoARowIsLost) {
  Tracer tracer(0, kBytes);
  constexpr std::uint32_t kEmitted = 1000;
  {
    Tracer::Row row(tracer, 7, 9);
    for (std::uint32_t n = 0; n < kEmitted; ++n) row.emit(Invalidate{n, 1, {}}, {});
  }
  std::uint32_t seen = 0;
  tracer.ring().read([&](const EventHeader&, std::span<const std::uint8_t> bytes) {
    const auto view = view_event(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(read_event<Invalidate>(*view).value().handle, seen++);
  });
  EXPECT_GT(seen, 40U);
  EXPECT_EQ(tracer.ring().emitted(), kEmitted);
  EXPECT_EQ(tracer.ring().lost(), kEmitted - seen);
}

TEST(TraceRing, ABatchIsWhatWasThereWhenItWasMade) {
  Tracer tracer(0, kBytes);
  for (std::uint32_t n = 0; n < 3; ++n) emit(tracer, n);
  Ring::Batch batch(tracer.ring());
  emit(tracer, 3);
  for (std::uint32_t n = 0; n < 3; ++n) {
    ASSERT_FALSE(batch.empty());
    check(batch.header(), batch.event(), n);
    batch.next();
  }
  EXPECT_TRUE(batch.empty());
  batch.give_back();
  EXPECT_FALSE(Ring::Batch(tracer.ring()).empty());
}

TEST(TraceRing, RoomIsTheWritersOnlyWhenItIsGivenBack) {
  Tracer tracer(0, kBytes);
  while (tracer.ring().lost() == 0) emit(tracer, 40);
  Ring::Batch batch(tracer.ring());
  batch.next();
  emit(tracer, 40);
  EXPECT_EQ(tracer.ring().lost(), 2U);
  batch.next();
  batch.give_back();
  emit(tracer, 40);
  EXPECT_EQ(tracer.ring().lost(), 2U);
}

TEST(Tracer, NumbersOfConnectionsStayItsOwn) {
  Tracer tracer(5, kBytes);
  std::uint32_t last = tracer.new_connection();
  EXPECT_EQ(last, 0x05000001U);
  while (last != 0x05ffffffU) last = tracer.new_connection();
  EXPECT_EQ(tracer.new_connection(), 0x05000001U);
  EXPECT_EQ(tracer.no_connection(), 0x05000000U);
}

TEST(TraceRingThreads, WhatIsReadAndWhatIsLostIsAll) {
  constexpr std::uint32_t kEvents = 200'000;
  Tracer tracer(0, kBytes);
  std::thread writer([&] {
    for (std::uint32_t n = 0; n < kEvents; ++n) emit(tracer, n);
  });
  std::uint64_t read = 0;
  std::int64_t last = -1;
  const auto take = [&] {
    tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t> bytes) {
      ASSERT_GT(h.time, last);
      last = h.time;
      ++read;
      check(h, bytes, static_cast<std::uint32_t>(h.time));
    });
  };
  while (tracer.ring().emitted() < kEvents) take();
  take();
  EXPECT_EQ(read + tracer.ring().lost(), kEvents);
  writer.join();
}

TEST(TraceRingThreads, WhatIsSeenAsEmittedIsThereToBeRead) {
  constexpr std::uint64_t kEvents = 1'000'000;
  Tracer tracer(0, std::size_t{1} << 20);
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < kEvents; ++n) tracer.emit(7, 0, Invalidate{});
  });
  std::uint64_t read = 0, emitted = 0, missed = 0;
  while (emitted < kEvents) {
    emitted = tracer.ring().emitted();
    Ring::Batch batch(tracer.ring());
    for (; !batch.empty(); batch.next()) ++read;
    if (read + batch.lost() < emitted) ++missed;
    batch.give_back();
  }
  writer.join();
  EXPECT_EQ(missed, 0U);
}

// Events are numbered by their times: events missing before the newest of a batch are among the
// losses that the batch reports.
TEST(TraceRingThreads, ABatchKnowsWhatWasLostBeforeIt) {
  constexpr std::uint64_t kEvents = 500'000;
  Tracer tracer(0, kBytes);
  std::thread writer([&] {
    for (std::uint32_t n = 0; n < kEvents; ++n) emit(tracer, n);
  });
  std::uint64_t read = 0, emitted = 0, missed = 0;
  while (emitted < kEvents) {
    emitted = tracer.ring().emitted();
    Ring::Batch batch(tracer.ring());
    for (; !batch.empty(); batch.next()) {
      if (static_cast<std::uint64_t>(batch.header().time) > read + batch.lost()) ++missed;
      ++read;
    }
    batch.give_back();
  }
  writer.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(read + tracer.ring().lost(), kEvents);
}

}  // namespace
}  // namespace rpcrdma::trace
