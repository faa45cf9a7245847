// The small parts of a channel.
#include "chunk_writer.h"
#include "credits.h"
#include "fixed_ring.h"
#include "slot_list.h"
#include "work_id.h"
#include "xid_table.h"

#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace rpcrdma::protocol {
namespace {

using ::testing::ElementsAre;

TEST(WorkId, ComesBackAsItWas) {
  const WorkId id{WorkKind::kProbe, 0xabcde, 0x9abcdef, 0xf1a};
  const WorkId back = WorkId::decode(id.encode());
  EXPECT_EQ(back.kind, id.kind);
  EXPECT_EQ(back.slot, id.slot);
  EXPECT_EQ(back.generation, id.generation);
  EXPECT_EQ(back.part, id.part);
}

TEST(CreditRequest, FollowsTheDemandBetweenItsBounds) {
  CreditRequest r(2, 100);
  EXPECT_EQ(r.latest(), 2U);
  r.next(1);
  EXPECT_EQ(r.latest(), 2U);
  r.next(33);
  EXPECT_EQ(r.latest(), 64U);
  r.next(1000);
  EXPECT_EQ(r.latest(), 100U);
  // Down to the highest demand of the last Calls.
  for (int i = 0; i < 63; ++i) r.next(i == 5 ? 9 : 1);
  EXPECT_EQ(r.latest(), 100U);
  r.next(1);
  EXPECT_EQ(r.latest(), 16U);
  for (int i = 0; i < 64; ++i) r.next(1);
  EXPECT_EQ(r.latest(), 2U);
  // Without room between the bounds it is constant.
  CreditRequest fixed(32, 8);
  fixed.next(1);
  EXPECT_EQ(fixed.latest(), 8U);
}

TEST(Refusals, AreCountedByReasonUpToABound) {
  Refusals r;
  r.add("ERR_CHUNK", "a");
  r.add("ERR_CHUNK", "a");
  r.add("ERR_VERS", "a");
  Refusals sum;
  sum += r;
  sum += r;
  ASSERT_EQ(sum.reasons().size(), 2U);
  EXPECT_EQ(sum.reasons()[0].count, 4U);
  EXPECT_STREQ(sum.reasons()[1].error, "ERR_VERS");
  for (int i = 0; i < 100; ++i) sum.add("ERR_CHUNK", std::to_string(i));
  EXPECT_EQ(sum.reasons().size(), 32U);
  EXPECT_EQ(sum.reasons().back().why, "other reasons");
  std::uint64_t all = 0;
  for (const auto& reason : sum.reasons()) all += reason.count;
  EXPECT_EQ(all, 106U);
}

TEST(Credits, OneUntilThereIsAGrant) {
  Credits c(4);
  EXPECT_TRUE(c.may_send());
  c.sent();
  EXPECT_FALSE(c.may_send());
  c.ended();
  c.grant(100);
  EXPECT_EQ(c.limit(), 4U);
  c.grant(0);
  EXPECT_EQ(c.limit(), 1U);
  c.grant(3);
  c.sent();
  c.restart();
  EXPECT_EQ(c.limit(), 1U);
  EXPECT_EQ(c.outstanding(), 0U);
}

TEST(FixedRing, GoesRound) {
  FixedRing<int> ring(3);
  for (int i = 0; i < 20; ++i) {
    ring.push(2 * i);
    ring.push(2 * i + 1);
    EXPECT_FALSE(ring.full());
    EXPECT_EQ(ring.front(), 2 * i);
    ring.pop();
    EXPECT_EQ(ring.front(), 2 * i + 1);
    ring.pop();
    EXPECT_TRUE(ring.empty());
  }
  for (int i = 0; i < 3; ++i) ring.push(i);
  EXPECT_TRUE(ring.full());
}

TEST(FixedRing, LosesFromAnywhere) {
  for (std::size_t begin = 0; begin < 4; ++begin) {
    for (std::size_t out = 0; out < 4; ++out) {
      FixedRing<std::size_t> ring(4);
      for (std::size_t i = 0; i < begin; ++i) {
        ring.push(9);
        ring.pop();
      }
      for (std::size_t i = 0; i < 4; ++i) ring.push(i);
      ring.remove(out);
      ring.push(4);
      std::vector<std::size_t> left;
      for (std::size_t i = 0; i < ring.size(); ++i) left.push_back(ring[i]);
      std::vector<std::size_t> expected{0, 1, 2, 3, 4};
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(out));
      EXPECT_EQ(left, expected) << begin << " " << out;
    }
  }
}

struct Node {
  std::uint32_t generation = 0;
  std::uint32_t previous = kNoSlot, next = kNoSlot;
};

TEST(Slots, AreBoundedAndNamedAgain) {
  Slots<Node> slots(2);
  const std::uint32_t a = slots.acquire();
  const std::uint32_t b = slots.acquire();
  EXPECT_EQ(slots.acquire(), kNoSlot);
  EXPECT_TRUE(slots.full());
  const std::uint32_t before = slots[a].generation;
  EXPECT_NE(slots.find(a, before), nullptr);
  slots.give(a);
  EXPECT_EQ(slots.find(a, before), nullptr);
  EXPECT_EQ(slots.find(7, 1), nullptr);
  EXPECT_EQ(slots.acquire(), a);
  EXPECT_EQ(slots.in_use(), 2U);
  slots[b].generation = (1U << kGenerationBits) - 1;
  slots.give(b);
  EXPECT_EQ(slots[b].generation, 1U);
}

std::vector<std::uint32_t> content(const SlotList<Node>& list, Slots<Node>& slots) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = list.front(); i != kNoSlot; i = slots[i].next) all.push_back(i);
  EXPECT_EQ(all.size(), list.size());
  return all;
}

TEST(SlotList, LosesFromAnywhereAndJoins) {
  Slots<Node> slots(10);
  for (int i = 0; i < 10; ++i) (void)slots.acquire();
  SlotList<Node> a(slots);
  SlotList<Node> b(slots);
  for (std::uint32_t i = 0; i < 5; ++i) a.push_back(i);
  for (std::uint32_t i = 5; i < 8; ++i) b.push_back(i);
  a.remove(0);
  a.remove(4);
  a.remove(2);
  EXPECT_THAT(content(a, slots), ElementsAre(1, 3));
  b.take_before(a);
  EXPECT_THAT(content(b, slots), ElementsAre(1, 3, 5, 6, 7));
  EXPECT_TRUE(a.empty());
  b.take_before(a);
  a.take_before(b);
  EXPECT_THAT(content(a, slots), ElementsAre(1, 3, 5, 6, 7));
  a.push_back(9);
  for (const std::uint32_t i : {1U, 3U, 5U, 6U, 7U}) a.remove(i);
  EXPECT_THAT(content(a, slots), ElementsAre(9));
  a.remove(9);
  EXPECT_TRUE(a.empty());
}

TEST(XidTable, KnowsWhatAMapKnows) {
  constexpr std::uint32_t kLimit = 40;
  XidTable table;
  std::map<std::uint32_t, std::uint32_t> model;
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    // Many collisions.
    const auto xid = static_cast<std::uint32_t>(random() % 8 * 128 + random() % 20 - 5);
    const auto found = model.find(xid);
    ASSERT_EQ(table.find(xid), found == model.end() ? kNoSlot : found->second);
    if (found != model.end()) {
      table.erase(xid);
      model.erase(found);
    } else if (model.size() < kLimit) {
      const auto slot = static_cast<std::uint32_t>(i);
      table.insert(xid, slot);
      model[xid] = slot;
    }
  }
}

// Random sources into random segments: all bytes in order, each segment full before the next.
TEST(ChunkWriter, FillsSegmentsInOrder) {
  std::mt19937 random(2);
  std::vector<std::uint8_t> bytes(4096);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
  for (int round = 0; round < 2000; ++round) {
    ChunkWriter writer;
    writer.clear();
    std::vector<wire::Segment> segments;
    std::vector<std::uint8_t> expected;
    std::map<std::uint32_t, std::vector<std::uint8_t>> written;
    for (int chunk = 0; chunk < 3; ++chunk) {
      const ChunkRange range{static_cast<std::uint32_t>(segments.size()),
                             static_cast<std::uint32_t>(1 + random() % 5)};
      std::uint32_t room = 0;
      for (std::uint32_t i = 0; i < range.count; ++i) {
        const std::uint32_t length =
            random() % 4 == 0 ? 0 : static_cast<std::uint32_t>(random() % 50);
        segments.push_back({static_cast<std::uint32_t>(segments.size()), length, 1000});
        room += length;
      }
      if (random() % 4 == 0) continue;
      writer.begin(range);
      for (int i = 0; i < 5; ++i) {
        const auto length = static_cast<std::uint32_t>(random() % (room + 1));
        const std::size_t from = random() % 3800;
        writer.add({bytes.data() + from, length, 1});
        expected.insert(expected.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from),
                        bytes.begin() + static_cast<std::ptrdiff_t>(from + length));
        room -= length;
      }
    }
    std::vector<std::uint8_t> all;
    WorkRequest work;
    while (work = {}, writer.next(segments, UINT32_MAX, work)) {
      EXPECT_FALSE(work.request.signaled);
      EXPECT_GE(work.slice_count, 1U);
      std::vector<std::uint8_t>& there = written[work.request.remote_handle];
      EXPECT_EQ(work.request.remote_offset, 1000 + there.size());
      for (std::uint32_t i = 0; i < work.slice_count; ++i) {
        const fabric::Slice& s = work.slices[i];
        EXPECT_NE(s.length, 0U);
        there.insert(there.end(), s.data, s.data + s.length);
        all.insert(all.end(), s.data, s.data + s.length);
      }
      ASSERT_LE(there.size(), segments[work.request.remote_handle].length);
    }
    ASSERT_EQ(all, expected);
  }
}

}  // namespace
}  // namespace rpcrdma::protocol
