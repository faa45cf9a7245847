// The walk over a shape, one kind of field at a time. Layouts are from RFC 4506.
#include "xdr_shape.h"

#include "upper_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::decode {
namespace {

// Treats the data of the opaques selected by a bit mask as removed, and counts opaques.
class TestReduction final : public Reduction {
 public:
  explicit TestReduction(std::uint32_t removed = 0) : removed_(removed) {}
  bool is_removed(std::size_t, std::uint32_t, bool eligible) override {
    if (eligible) ++eligible_;
    return (removed_ >> asked_++ & 1) != 0;
  }
  std::uint32_t asked_ = 0;
  std::uint32_t eligible_ = 0;

 private:
  std::uint32_t removed_;
};

constexpr std::size_t kFailed = SIZE_MAX;

std::size_t skipped(Shape shape, const ByteVector& bytes,
                    TestReduction reduction = TestReduction()) {
  wire::XdrReader reader(bytes);
  skip_value(reader, shape, reduction);
  return reader.ok() ? reader.offset() : kFailed;
}

TEST(XdrShapeTest, VoidTakesNothing) {
  EXPECT_EQ(skipped({}, stream("1")), 0U);
}

TEST(XdrShapeTest, FixedTakesItsBytes) {
  EXPECT_EQ(skipped(kBytes<12>, stream("*12 1")), 12U);
  EXPECT_EQ(skipped(kBytes<12>, stream("*8")), kFailed);
}

TEST(XdrShapeTest, OpaqueTakesItsRoundup) {
  EXPECT_EQ(skipped(kOpaque, stream("5 *8 1")), 12U);
  EXPECT_EQ(skipped(kOpaque, stream("0 1")), 4U);
}

TEST(XdrShapeTest, OpaqueWithoutItsRoundupIsCutShort) {
  EXPECT_EQ(skipped(kOpaque, stream("5 *7")), kFailed);
}

TEST(XdrShapeTest, OpaqueOfFourGigabytesIsCutShort) {
  EXPECT_EQ(skipped(kOpaque, stream("ffffffff *64")), kFailed);
}

TEST(XdrShapeTest, RemovedDataAndItsRoundupTakeNothing) {
  constexpr Shape shape = kMembers<kOpaque, kOpaque>;
  EXPECT_EQ(skipped(shape, stream("ffffffff 3 *4"), TestReduction(0b01)), 12U);
  EXPECT_EQ(skipped(shape, stream("3 *4 ffffffff"), TestReduction(0b10)), 12U);
}

TEST(XdrShapeTest, OnlyTheMarkedOpaqueIsEligible) {
  constexpr Shape shape = kMembers<kOpaque, kDdpOpaque, kOpaque>;
  const ByteVector bytes = stream("0 0 0");
  wire::XdrReader reader(bytes);
  TestReduction reduction;
  skip_value(reader, shape, reduction);
  EXPECT_EQ(reduction.asked_, 3U);
  EXPECT_EQ(reduction.eligible_, 1U);
}

TEST(XdrShapeTest, ArrayTakesItsElements) {
  constexpr Shape shape = kArrayOf<kWord, kOpaque>;
  EXPECT_EQ(skipped(shape, stream("2 7 3 *4 7 0 9")), 24U);
  EXPECT_EQ(skipped(shape, stream("0 9")), 4U);
}

// Three elements of at least eight bytes do not fit into 20, whatever their content.
TEST(XdrShapeTest, ArrayThatCannotFitFailsBeforeItsElements) {
  constexpr Shape shape = kArrayOf<kWord, kOpaque>;
  const ByteVector bytes = stream("3 0 0 0 0 0");
  wire::XdrReader reader(bytes);
  TestReduction reduction;
  skip_value(reader, shape, reduction);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reduction.asked_, 0U);
}

TEST(XdrShapeTest, ListEndsWithFalse) {
  constexpr Shape shape = kListOf<kHyper>;
  EXPECT_EQ(skipped(shape, stream("1 *8 1 *8 0 9")), 28U);
  EXPECT_EQ(skipped(shape, stream("0 9")), 4U);
}

TEST(XdrShapeTest, ListWithoutAnEndIsCutShort) {
  EXPECT_EQ(skipped(kListOf<kHyper>, stream("1 *8 1 *8")), kFailed);
}

TEST(XdrShapeTest, ListMarkerIsABoolean) {
  EXPECT_EQ(skipped(kListOf<kHyper>, stream("2 *8 0")), kFailed);
}

constexpr Arm kArms[] = {{1, kHyper}, {5, kWord}, {7, {}}};
constexpr Field kClosed = union_of(kArms);
constexpr Field kOpen = union_of(kArms, kBytes<12>);

TEST(XdrShapeTest, UnionTakesTheArmOfItsDiscriminant) {
  EXPECT_EQ(skipped(kClosed, stream("1 *8 9")), 12U);
  EXPECT_EQ(skipped(kClosed, stream("5 *4 9")), 8U);
  EXPECT_EQ(skipped(kClosed, stream("7 9")), 4U);
}

TEST(XdrShapeTest, UnionFallsBackToItsDefaultArm) {
  EXPECT_EQ(skipped(kOpen, stream("2 *12 9")), 16U);
  EXPECT_EQ(skipped(kOpen, stream("5 *4 9")), 8U);
}

TEST(XdrShapeTest, UnionWithoutADefaultRejectsOtherDiscriminants) {
  EXPECT_EQ(skipped(kClosed, stream("2 *12 9")), kFailed);
}

TEST(XdrShapeTest, MinSizeCountsWhatIsAlwaysThere) {
  EXPECT_EQ(min_size(kMembers<kHyper, kOpaque, kOpen, kArrayOf<kHyper>, kListOf<kHyper>>), 24U);
  EXPECT_EQ(min_size(kMembers<kStruct<kWord, kOpaque>, kBytes<16>>), 24U);
}

}  // namespace
}  // namespace rpcrdma::decode
