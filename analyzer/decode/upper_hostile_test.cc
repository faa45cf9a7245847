// Maliciously crafted bytes.
#include "nfs4_shapes.h"
#include "upper_for_tests.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

constexpr ProcedureId kIds[] = {{kProgNfs, 4, 1}, {kProgNfs, 3, 6},         {kProgNfs, 3, 7},
                                {kProgNfs, 2, 6}, {kProgNfsCallback, 1, 1}, {0x20000001, 1, 7}};

void expect_sound(const CompoundOps& ops) {
  EXPECT_LE(ops.kept, CompoundOps::kMaxKept);
  EXPECT_LE(ops.kept, ops.announced);
  EXPECT_TRUE(!ops.complete || ops.kept == ops.announced);
}

void exercise(wire::Bytes bytes) {
  const std::array<Removed, 2> removed = {{{48, 4096}, {112, 65536}}};
  const std::array<std::uint64_t, 2> chunks = {4096, 0};
  for (const ProcedureId& id : kIds) {
    expect_sound(parse_compound_call(id, bytes, removed));
    (void)file_range(id, bytes, removed);
    std::array<DdpItem, 4> items;
    CompoundOps ops;
    const std::size_t count = find_result_items(id, bytes, chunks, items, &ops);
    expect_sound(ops);
    for (std::size_t i = 0; i < count; ++i) EXPECT_LE(items[i].count_offset + 4, bytes.size());
  }
}

// Calls and Replies with much structure: EXCHANGE_ID, CREATE_SESSION, OPEN, READDIR.
const ByteVector kSeeds[] = {
    stream("0 1 2 2a *8 4 *4 101 2 0 0 1 b *12 2 9 *12 1 *4 4 2 0 18"),
    stream("0 1 1 2b *8 1 3 *24 0 *24 1 8 40000000 2 1 0 3 *4 0 0 1 0 6 1 4 *4 8 *8"),
    stream("0 1 3 16 14 *20 12 0 1 0 *8 4 *4 1 3 *8 1 2 4 *4 0 3 *4 9 1 2"),
    stream("0 0 2 16 0 1a 0 *8 1 *8 5 *8 1 2 4 *4 1 *8 1 *4 0 0 0 1"),
    stream("0 0 2 12 0 *16 1 *8 *8 4 0 2 *16 0 1 *8 0 0 1 6 *8 19 0 1 1000"),
    stream("0 1 77 2 b *16 1 0 0 1 2 *16 2 1 0 2 0 *16 0 4 *16 0 14 *20"),
};

TEST(UpperLayerHostileTest, EveryTruncation) {
  for (const ByteVector& seed : kSeeds) {
    for (std::size_t size = 0; size <= seed.size(); ++size) {
      exercise(wire::Bytes(seed).first(size));
    }
  }
}

TEST(UpperLayerHostileTest, EveryWordAsALargeCount) {
  for (const ByteVector& seed : kSeeds) {
    for (std::size_t at = 0; at + 4 <= seed.size(); at += 4) {
      for (const std::uint8_t high : std::to_array<std::uint8_t>({0xff, 0x7f, 0x3f})) {
        ByteVector bytes = seed;
        bytes[at] = high;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 1, 3, 0xff);
        exercise(bytes);
      }
    }
  }
}

TEST(UpperLayerHostileTest, RandomMutations) {
  std::mt19937 random(20260);
  for (int round = 0; round < 20000; ++round) {
    ByteVector bytes = kSeeds[random() % std::size(kSeeds)];
    const std::uint32_t changes = 1 + random() % 4;
    for (std::uint32_t i = 0; i < changes; ++i) {
      std::uint8_t& byte = bytes[random() % bytes.size()];
      byte = static_cast<std::uint8_t>(random() % 2 == 0 ? random() % 8 : random());
    }
    bytes.resize(bytes.size() - random() % 8);
    exercise(bytes);
  }
}

TEST(UpperLayerHostileTest, RandomBytes) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    ByteVector bytes(random() % 256);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 80);
    exercise(bytes);
  }
}

class CountingReduction final : public Reduction {
 public:
  bool is_removed(std::size_t, std::uint32_t, bool) override {
    ++asked_;
    return true;  // so that no length ends the walk
  }
  std::size_t asked_ = 0;
};

// For any bytes, a walk meets no more opaques than there are words.
TEST(UpperLayerHostileTest, WorkIsBoundedByTheStream) {
  std::mt19937 random(8);
  for (int round = 0; round < 500; ++round) {
    ByteVector bytes(4096);
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
      bytes[i + 3] = static_cast<std::uint8_t>(random() % 4);
    }
    for (std::uint32_t op = 3; op <= 75; ++op) {
      for (const Shape shape : {find_operation(op)->arguments, find_operation(op)->results}) {
        wire::XdrReader reader(bytes);
        CountingReduction reduction;
        skip_value(reader, shape, reduction);
        EXPECT_LE(reduction.asked_, bytes.size() / 4) << op;
      }
    }
  }
}

// Removed entries that are out of order or never match are passed once and not searched.
TEST(UpperLayerHostileTest, ManyRemovedEntries) {
  std::vector<Removed> removed(100000, Removed{0, 1});
  EXPECT_FALSE(parse_compound_call(kCompound, kSeeds[2], removed).complete);
  for (Removed& r : removed) r.offset = UINT32_MAX;
  EXPECT_TRUE(parse_compound_call(kCompound, kSeeds[2], removed).complete);
}

}  // namespace
}  // namespace rpcrdma::decode
