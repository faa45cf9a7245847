// COMPOUND Calls as a whole: their header, removed data, limits.
#include "upper_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CompoundCallTest, ShowsTheMinorVersionBehindATag) {
  const CompoundOps ops = parse_compound_call(kCompound, stream("5 *8 2 1 18"), {});
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(ops.minor, 2U);
  EXPECT_EQ(ops.announced, 1U);
  EXPECT_THAT(kept(ops), ElementsAre(24U));
}

TEST(CompoundCallTest, MayBeEmpty) {
  const CompoundOps ops = parse_compound_call(kCompound, stream("0 0 0"), {});
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(ops.announced, 0U);
}

TEST(CompoundCallTest, IsIncompleteWhenItsHeaderIsCut) {
  EXPECT_FALSE(parse_compound_call(kCompound, stream("0 0"), {}).complete);
  EXPECT_FALSE(parse_compound_call(kCompound, stream("40 *8"), {}).complete);
}

TEST(CompoundCallTest, StopsAtAnUnknownOperation) {
  const CompoundOps ops = parse_compound_call(kCompound, stream("0 1 3 18 4c 18"), {});
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.announced, 3U);
  EXPECT_THAT(kept(ops), ElementsAre(24U));
}

TEST(CompoundCallTest, KeepsTheFirst64Operations) {
  std::string text = "0 1 42";  // 66 operations
  for (int i = 0; i < 66; ++i) text += " 18";
  const CompoundOps ops = parse_compound_call(kCompound, stream(text), {});
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.announced, 66U);
  EXPECT_EQ(ops.kept, 64U);
}

TEST(CompoundCallTest, BelievesInFourBillionOperationsOnlyAsFarAsTheyGo) {
  const CompoundOps ops = parse_compound_call(kCompound, stream("0 1 ffffffff 18 18"), {});
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.announced, 0xffffffffU);
  EXPECT_EQ(ops.kept, 2U);
}

TEST(CompoundCallTest, IsOnlyProcedureOneOfVersionFour) {
  const ByteVector call = stream("0 1 1 18");
  for (const ProcedureId& id : {ProcedureId{kProgNfs, 4, 0}, ProcedureId{kProgNfs, 3, 1},
                                ProcedureId{kProgMount, 4, 1}, ProcedureId{0x40000000, 2, 1}}) {
    EXPECT_EQ(parse_compound_call(id, call, {}).announced, 0U) << id.program << ' ' << id.version;
  }
}

TEST(CompoundCallTest, OfACallbackHasItsOwnOperations) {
  const CompoundOps ops = parse_compound_call(kCallbackCompound, stream("0 1 0 1 a 5"), {});
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(10U));
}

// ---- removed data

// WRITE's count word is at offset 44; GETATTR follows at 48.
constexpr const char* kReducedWrite = "0 1 2 26 *16 *8 2 3009 9 1 18";

TEST(RemovedDataTest, IsNotLookedForInTheStream) {
  const Removed removed[] = {{48, 0x3009}};
  const CompoundOps ops = parse_compound_call(kCompound, stream(kReducedWrite), removed);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(38U, 9U));
}

TEST(RemovedDataTest, MayLieInAChunkWithItsRoundup) {
  const Removed removed[] = {{48, 0x300c}};
  EXPECT_TRUE(parse_compound_call(kCompound, stream(kReducedWrite), removed).complete);
}

TEST(RemovedDataTest, IsInTheStreamWhenNoChunkSaysOtherwise) {
  EXPECT_FALSE(parse_compound_call(kCompound, stream(kReducedWrite), {}).complete);
}

TEST(RemovedDataTest, IsInTheStreamWhenTheChunkIsEmpty) {
  const Removed removed[] = {{48, 0}};
  const ByteVector inline_write = stream("0 1 2 26 *16 *8 2 5 *8 9 1 18");
  EXPECT_TRUE(parse_compound_call(kCompound, inline_write, removed).complete);
  EXPECT_FALSE(parse_compound_call(kCompound, stream(kReducedWrite), removed).complete);
}

TEST(RemovedDataTest, AtAPlaceThatIsNoItemsEndsTheParsing) {
  const Removed removed[] = {{44, 0x3009}};
  const CompoundOps ops =
      parse_compound_call(kCompound, stream("0 1 2 26 *16 *8 2 0 9 1 18"), removed);
  EXPECT_FALSE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(38U));
}

TEST(RemovedDataTest, OfTwoWritesIsTakenInOrder) {
  // Counts at 44 and 80.
  const ByteVector call = stream("0 1 2 26 *16 *8 2 3009 26 *16 *8 2 1001");
  const Removed removed[] = {{48, 0x3009}, {84, 0x1001}};
  const CompoundOps ops = parse_compound_call(kCompound, call, removed);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(38U, 38U));
}

TEST(RemovedDataTest, OfALinkComesBeforeItsName) {
  // CREATE of NF4LNK: count at 20; then the name and a fattr4.
  const ByteVector call = stream("0 1 2 6 5 3e9 1 *4 0 0 a");
  const Removed removed[] = {{24, 0x3e9}};
  const CompoundOps ops = parse_compound_call(kCompound, call, removed);
  EXPECT_TRUE(ops.complete);
  EXPECT_THAT(kept(ops), ElementsAre(6U, 10U));
}

TEST(RemovedDataTest, AnEmptyChunkMayStandAnywhere) {
  const Removed removed[] = {{0, 0}, {48, 0x3009}, {50, 0}};
  EXPECT_TRUE(parse_compound_call(kCompound, stream(kReducedWrite), removed).complete);
}

// ---- results

TEST(CompoundReplyTest, ShowsItsStatusBehindATag) {
  const CompoundOps ops = result_ops(kCompound, stream("2718 5 *8 2 35 0 *36 16 2718"));
  EXPECT_TRUE(ops.complete);
  EXPECT_EQ(ops.status, 10008U);
  EXPECT_THAT(kept(ops), ElementsAre(53U, 22U));
}

TEST(CompoundReplyTest, OfAnotherProcedureHasNoOperations) {
  CompoundOps ops;
  ops.kept = 3;
  (void)find_result_items({kProgNfs, 3, 6}, stream("0 0 1 18 0"), {}, {}, &ops);
  EXPECT_EQ(ops.announced, 0U);
  EXPECT_THAT(kept(ops), IsEmpty());
}

// PUTFH with a handle of 20 bytes, and GETFH.
TEST(Compound, EndsAtTheFirstOpaqueThatMayBePadded) {
  const auto call = stream("0 0 2 16 14 *20 a");
  EXPECT_TRUE(parse_compound_call(kCompound, call, {}, 21).complete);
  const CompoundOps ops = parse_compound_call(kCompound, call, {}, 20);
  EXPECT_FALSE(ops.complete);
  EXPECT_EQ(ops.announced, 2U);
  ASSERT_EQ(ops.kept, 1U);
  EXPECT_EQ(ops.op[0], 22U);
  // Padding before opaques of any length, so before the tag too.
  EXPECT_EQ(parse_compound_call(kCompound, call, {}, 0).announced, 0U);
}

}  // namespace
}  // namespace rpcrdma::decode
