#include "outbox.h"

#include "collected_events_for_tests.h"

#include <gmock/gmock.h>

namespace rpcrdma::tracepoints {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

trace::CreditWait numbered(std::uint32_t n) {
  trace::CreditWait e;
  e.xid = n;
  return e;
}

std::vector<std::uint32_t> numbers(const CollectedEvents& sink) {
  std::vector<std::uint32_t> n;
  for (const auto& e : sink.of<trace::CreditWait>()) n.push_back(e.event.xid);
  return n;
}

TEST(Outbox, EventsPassThrough) {
  CollectedEvents sink;
  Outbox outbox(sink);
  outbox.emit(1, 10, numbered(1));
  EXPECT_THAT(numbers(sink), ElementsAre(1));
  EXPECT_EQ(sink.all[0].header.time, 10);
  EXPECT_EQ(sink.all[0].header.connection, 1U);
}

TEST(Outbox, EventsWaitBehindAPlace) {
  CollectedEvents sink;
  Outbox outbox(sink);
  Outbox::Place place = outbox.reserve(10);
  outbox.emit(1, 20, numbered(2));
  outbox.put(place, 1, numbered(9));
  outbox.put(place, 1, numbered(1));
  EXPECT_THAT(sink.all, IsEmpty());
  outbox.release(place);
  EXPECT_THAT(numbers(sink), ElementsAre(1, 2));
  EXPECT_EQ(sink.all[0].header.time, 10);
  EXPECT_EQ(place, 0U);
}

TEST(Outbox, AnEmptyPlaceVanishes) {
  CollectedEvents sink;
  Outbox outbox(sink);
  Outbox::Place first = outbox.reserve(10);
  Outbox::Place second = outbox.reserve(11);
  outbox.emit(1, 20, numbered(2));
  outbox.release(second);
  EXPECT_THAT(sink.all, IsEmpty());
  outbox.release(first);
  EXPECT_THAT(numbers(sink), ElementsAre(2));
}

TEST(Outbox, NothingWaitsForever) {
  CollectedEvents sink;
  Outbox outbox(sink);
  Outbox::Place place = outbox.reserve(10);
  outbox.put(place, 1, numbered(1));
  outbox.emit(1, 20, numbered(2));
  outbox.expire(10 + Outbox::kLongestWait);
  EXPECT_THAT(sink.all, IsEmpty());
  outbox.expire(11 + Outbox::kLongestWait);
  EXPECT_THAT(numbers(sink), ElementsAre(1, 2));
  EXPECT_FALSE(outbox.is_here(place));
  outbox.put(place, 1, numbered(3));
  outbox.release(place);
  EXPECT_THAT(numbers(sink), ElementsAre(1, 2));
}

TEST(Outbox, HoldsABoundedNumber) {
  CollectedEvents sink;
  Outbox outbox(sink);
  const Outbox::Place place = outbox.reserve(0);
  for (std::uint32_t i = 1; i < Outbox::kMost; ++i) outbox.emit(1, i, numbered(i));
  EXPECT_THAT(sink.all, IsEmpty());
  EXPECT_TRUE(outbox.is_here(place));
  outbox.emit(1, Outbox::kMost, numbered(Outbox::kMost));
  EXPECT_FALSE(outbox.is_here(place));
  EXPECT_EQ(sink.all.size(), Outbox::kMost);
}

TEST(Outbox, TimesNeverStepBack) {
  CollectedEvents sink;
  Outbox outbox(sink);
  outbox.emit(1, 50, numbered(1));
  outbox.emit(1, 40, numbered(2));
  EXPECT_EQ(sink.all[1].header.time, 50);
}

}  // namespace
}  // namespace rpcrdma::tracepoints
