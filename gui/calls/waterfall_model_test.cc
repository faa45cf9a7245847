// The bars of a waterfall, compared with the events and packets that they come from.
#include "waterfall_model.h"

#include "index_for_tests.h"
#include "joined_for_tests.h"

#include <atomic>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

using index::testing::Loaded;
using Kind = WaterfallBar::Kind;
using T = joined::JoinedTimes;

index::Excerpt excerpt_of(const Loaded& loaded, std::uint64_t id) {
  const std::atomic<bool> never{false};
  const auto stretch =
      loaded.store.read([id](const index::Content& c) { return index::stretch_of(c, id); });
  auto excerpt = index::read_excerpt(loaded.store, loaded.loading->frames(), stretch, never);
  EXPECT_TRUE(excerpt);
  return excerpt ? std::move(*excerpt) : index::Excerpt{};
}

// The message of the store with this XID, a Call or a Reply.
std::uint64_t message_of(const Loaded& loaded, std::uint32_t xid, model::Kind kind) {
  return loaded.store.read([&](const index::Content& c) -> std::uint64_t {
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (c.rows[i].xid == xid && c.rows[i].kind == kind) return i + 1;
    }
    return 0;
  });
}

const WaterfallBar* bar_of(const WaterfallPicture& picture, WaterfallLane lane, Kind kind) {
  for (const WaterfallBar& bar : picture.bars) {
    if (bar.lane == lane && bar.kind == kind) return &bar;
  }
  return nullptr;
}

std::int64_t length_of(const WaterfallPicture& picture, WaterfallLane lane, Kind kind) {
  const WaterfallBar* const bar = bar_of(picture, lane, kind);
  return bar == nullptr ? -1 : bar->to_ns - bar->from_ns;
}

TEST(Waterfall, ACallThatBothEndsRecordedHasTheStepsOfBoth) {
  const std::string folder = ::testing::TempDir();
  const Loaded loaded(
      {joined::joined_recording(folder, true), joined::joined_recording(folder, false)});
  for (const auto kind : {model::Kind::kCall, model::Kind::kReply}) {
    const std::uint64_t id = message_of(loaded, joined::kJoinedFirstXid + 4, kind);
    const WaterfallPicture p = waterfall_of(excerpt_of(loaded, id), id, "NULL");
    constexpr auto kClient = WaterfallLane::kClient;
    constexpr auto kWire = WaterfallLane::kWire;
    constexpr auto kServer = WaterfallLane::kServer;
    const std::string notes = p.notes.join('\n').toStdString();
    EXPECT_EQ(length_of(p, kClient, Kind::kWaiting), T::kWaitTo - T::kWaitFrom) << notes;
    EXPECT_EQ(length_of(p, kClient, Kind::kResponse), T::kBack - T::kSent);
    EXPECT_EQ(length_of(p, kClient, Kind::kCompletion), T::kEnded - T::kBack);
    EXPECT_EQ(length_of(p, kServer, Kind::kWaiting), T::kRead - T::kArrived) << notes;
    EXPECT_EQ(length_of(p, kServer, Kind::kWork), T::kReplied - T::kRead);
    EXPECT_EQ(length_of(p, kServer, Kind::kCompletion), T::kFreed - T::kReplied);
    // Only the sum of both ways does not depend on the clocks.
    EXPECT_EQ(length_of(p, kWire, Kind::kCall) + length_of(p, kWire, Kind::kReply),
              T::kArrived - T::kSent + T::kBack - T::kReplied);
    EXPECT_THAT(notes, ::testing::HasSubstr("clock"));
    EXPECT_THAT(notes, ::testing::Not(::testing::HasSubstr("not visible")));
    // Both ways took as long, so the clocks compare without an error.
    EXPECT_EQ(p.to_ns - p.from_ns, T::kFreed);
    const WaterfallBar* const work = bar_of(p, kServer, Kind::kWork);
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(work->from_ns - p.from_ns, T::kRead);
  }
}

TEST(Waterfall, WhatOneEndDoesNotShowIsSaid) {
  const Loaded loaded(joined::joined_recording(::testing::TempDir(), true));
  const std::uint64_t id = message_of(loaded, joined::kJoinedFirstXid, model::Kind::kCall);
  const WaterfallPicture p = waterfall_of(excerpt_of(loaded, id), id, {});
  EXPECT_EQ(bar_of(p, WaterfallLane::kServer, Kind::kWork), nullptr);
  EXPECT_THAT(p.notes.join('\n').toStdString(),
              ::testing::HasSubstr("server's part is not visible"));
  EXPECT_EQ(length_of(p, WaterfallLane::kClient, Kind::kResponse), T::kBack - T::kSent);
}

TEST(Waterfall, ACaptureShowsTheOperationsOfACall) {
  const Loaded loaded(index::testing::capture("linux-nfs41.pcap"));
  const std::uint64_t id = loaded.store.read([](const index::Content& c) -> std::uint64_t {
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (c.rows[i].kind == model::Kind::kCall && c.rows[i].operations > 2) return i + 1;
    }
    return 0;
  });
  const index::Excerpt excerpt = excerpt_of(loaded, id);
  const index::Excerpt::Message* const m = excerpt.find(id);
  ASSERT_NE(m, nullptr);
  ASSERT_NE(m->call, nullptr);
  const WaterfallPicture p = waterfall_of(excerpt, id, {});
  std::vector<std::pair<std::int64_t, std::int64_t>> drawn, seen;
  for (const WaterfallBar& bar : p.bars) {
    if (bar.kind == Kind::kRead || bar.kind == Kind::kWrite) {
      drawn.emplace_back(bar.from_ns, bar.to_ns);
    }
  }
  for (const model::ChunkOperation& o : m->call->operations) {
    seen.emplace_back(o.first_ns, o.last_ns);
  }
  EXPECT_THAT(drawn, ::testing::UnorderedElementsAreArray(seen));
  const std::int64_t latency =
      loaded.store.read([id](const index::Content& c) { return c.rows[id - 1].latency_ns; });
  EXPECT_EQ(length_of(p, WaterfallLane::kClient, Kind::kResponse), latency);
  EXPECT_EQ(p.call, id);
}

TEST(Waterfall, ClocksAreBoundedByTheOrderOfTheSteps) {
  index::Excerpt::Measured client;
  client.sent_ns = 1000;
  client.replied_ns = 2000;
  index::Excerpt::Measured server;
  server.called_ns = 5300;
  server.replied_ns = 5900;
  const auto clock = call_clock(client, server);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->ns, 4100);  // between 3900 and 4300
  EXPECT_EQ(clock->bound_ns, 200);
  // The server cannot take longer than the client waits.
  server.replied_ns = 6400;
  EXPECT_FALSE(call_clock(client, server));
  server.replied_ns = 0;
  EXPECT_FALSE(call_clock(client, server));
}

}  // namespace
}  // namespace rpcrdma::gui
