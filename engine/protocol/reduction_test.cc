// Parts that travel inline and parts that travel in chunks, by examples computed by hand.
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Errc;

// Bytes that are counted but never read.
Piece plain(std::size_t bytes) {
  static const std::vector<std::uint8_t> memory(1 << 20);
  return {wire::Bytes(memory).first(bytes), nullptr, false};
}

Piece eligible(std::size_t bytes) {
  Piece piece = plain(bytes);
  piece.ddp = true;
  return piece;
}

ResultSpace space(std::uint32_t bytes) {
  return {nullptr, bytes, nullptr};
}

CallPlan call_plan(const Limits& limits, std::vector<Piece> message,
                   std::vector<ResultSpace> results, std::uint32_t max_reply) {
  const auto plan = plan_call(limits, message, results, max_reply);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan.value_or(CallPlan{});
}

Errc call_error(const Limits& limits, std::vector<Piece> message, std::vector<ResultSpace> results,
                std::uint32_t max_reply) {
  const auto plan = plan_call(limits, message, results, max_reply);
  EXPECT_FALSE(plan);
  if (plan) return Errc::kSystem;
  EXPECT_NE(plan.error().message, "");
  return plan.error().code;
}

TEST(PlanCallTest, AShortCallIsInline) {
  const CallPlan plan = call_plan({}, {plain(100), eligible(5), plain(8)}, {space(64)}, 200);
  EXPECT_FALSE(plan.long_call);
  EXPECT_EQ(plan.by_read, (std::array<bool, kMaxPieces>{}));
  EXPECT_FALSE(plan.write_list);
  EXPECT_EQ(plan.reply_chunk, 0U);
  EXPECT_EQ(plan.header_bytes, 28U);
  EXPECT_EQ(plan.inline_bytes, 116U);
  EXPECT_EQ(plan.segments, 0U);
}

TEST(PlanCallTest, TheThresholdCountsTheHeader) {
  EXPECT_FALSE(call_plan({}, {plain(996)}, {}, 0).long_call);
  EXPECT_TRUE(call_plan({}, {plain(1000)}, {}, 0).long_call);
}

TEST(PlanCallTest, AnItemThatDoesNotFitIsAReadChunkWithoutItsRoundup) {
  const CallPlan plan = call_plan({}, {plain(100), eligible(4093), plain(8)}, {}, 200);
  EXPECT_FALSE(plan.long_call);
  EXPECT_TRUE(plan.by_read[1]);
  EXPECT_EQ(plan.header_bytes, 28U + 24U);
  EXPECT_EQ(plan.inline_bytes, 108U);
  EXPECT_EQ(plan.segments, 1U);
}

TEST(PlanCallTest, TheRoundupCountsWhereAnItemIsInline) {
  EXPECT_FALSE(call_plan({}, {plain(96), eligible(897)}, {}, 0).by_read[1]);
  EXPECT_TRUE(call_plan({}, {plain(96), eligible(901)}, {}, 0).by_read[1]);
}

TEST(PlanCallTest, TheLargestItemGoesFirstAndNoMoreThanNeeded) {
  const CallPlan plan =
      call_plan({}, {plain(100), eligible(300), plain(4), eligible(900), eligible(500)}, {}, 200);
  EXPECT_FALSE(plan.by_read[1]);
  EXPECT_TRUE(plan.by_read[3]);
  EXPECT_FALSE(plan.by_read[4]);
  EXPECT_EQ(plan.header_bytes + plan.inline_bytes, 28U + 24U + 100U + 300U + 4U + 500U);
}

TEST(PlanCallTest, AnItemShorterThanItsReadSegmentsIsLeftInline) {
  // 44 bytes would need two Read segments of 24 bytes each.
  const CallPlan plan =
      call_plan({.max_segment = 40}, {plain(928), eligible(44), eligible(40)}, {}, 200);
  EXPECT_FALSE(plan.long_call);
  EXPECT_FALSE(plan.by_read[1]);
  EXPECT_TRUE(plan.by_read[2]);
  EXPECT_EQ(plan.header_bytes + plan.inline_bytes, 28U + 24U + 928U + 44U);
}

TEST(PlanCallTest, ALongCallIsAllInAPositionZeroChunk) {
  const CallPlan plan = call_plan({}, {plain(1020), eligible(4093), plain(8)}, {}, 200);
  EXPECT_TRUE(plan.long_call);
  EXPECT_EQ(plan.by_read, (std::array<bool, kMaxPieces>{}));
  EXPECT_EQ(plan.header_bytes, 28U + 24U);
  EXPECT_EQ(plan.inline_bytes, 0U);
  EXPECT_EQ(plan.segments, 1U);
}

TEST(PlanCallTest, AnEmptyMessageHasNoChunk) {
  const CallPlan plan = call_plan({}, {}, {}, 0);
  EXPECT_EQ(plan.header_bytes, 28U);
  EXPECT_EQ(plan.inline_bytes, 0U);
}

TEST(PlanCallTest, ALongChunkHasSeveralSegments) {
  const Limits limits{.max_segment = 4096};
  EXPECT_EQ(call_plan(limits, {plain(100), eligible(8192)}, {}, 0).header_bytes, 28U + 48U);
  EXPECT_EQ(call_plan(limits, {plain(100), eligible(8193)}, {}, 0).header_bytes, 28U + 72U);
  // The roundup of an item is part of a Position Zero chunk.
  EXPECT_EQ(call_plan(limits, {plain(4096), eligible(4094)}, {}, 0).segments, 2U);
  EXPECT_EQ(call_plan(limits, {plain(4096), eligible(4097)}, {}, 0).segments, 3U);
}

TEST(PlanCallTest, AWriteListIsOfferedOnlyIfTheReplyMayNotFit) {
  // 28 + 96 + 900 = 1024.
  EXPECT_FALSE(call_plan({}, {plain(100)}, {space(897)}, 96).write_list);
  const CallPlan plan = call_plan({}, {plain(100)}, {space(901)}, 96);
  EXPECT_TRUE(plan.write_list);
  EXPECT_EQ(plan.reply_chunk, 0U);
  EXPECT_EQ(plan.header_bytes, 28U + 8U + 16U);
  EXPECT_EQ(plan.segments, 1U);
}

TEST(PlanCallTest, EachResultHasItsWriteChunk) {
  const Limits limits{.max_segment = 4096};
  const CallPlan plan = call_plan(limits, {plain(100)}, {space(4097), space(1), space(0)}, 96);
  EXPECT_TRUE(plan.write_list);
  EXPECT_EQ(plan.header_bytes, 28U + (8U + 32U) + (8U + 16U) + 8U);
  EXPECT_EQ(plan.segments, 3U);
}

TEST(PlanCallTest, AReplyChunkIsOfferedIfTheReplyMayStillNotFit) {
  // With the Write list: 28 + 24 + 972 = 1024.
  EXPECT_EQ(call_plan({}, {plain(100)}, {space(4096)}, 972).reply_chunk, 0U);
  const CallPlan plan = call_plan({}, {plain(100)}, {space(4096)}, 976);
  EXPECT_TRUE(plan.write_list);
  EXPECT_EQ(plan.reply_chunk, 976U);
  EXPECT_EQ(plan.header_bytes, 28U + 24U + 20U);
  EXPECT_EQ(plan.segments, 2U);
}

TEST(PlanCallTest, AReplyWithoutResultsHasAReplyChunkAlone) {
  EXPECT_EQ(call_plan({}, {plain(100)}, {}, 996).reply_chunk, 0U);
  const CallPlan plan = call_plan({}, {plain(100)}, {}, 5000);
  EXPECT_FALSE(plan.write_list);
  EXPECT_EQ(plan.reply_chunk, 5000U);
  EXPECT_EQ(plan.header_bytes, 28U + 20U);
}

TEST(PlanCallTest, ResultsOfNoBytesNeedNoWriteList) {
  const CallPlan plan = call_plan({}, {plain(100)}, {space(0)}, 5000);
  EXPECT_FALSE(plan.write_list);
  EXPECT_EQ(plan.header_bytes, 28U + 20U);
}

TEST(PlanCallTest, TheChunksOfTheReplyCanMakeTheCallTooLong) {
  EXPECT_FALSE(call_plan({}, {plain(976)}, {}, 100).long_call);
  const CallPlan plan = call_plan({}, {plain(980)}, {}, 5000);
  EXPECT_TRUE(plan.long_call);
  EXPECT_EQ(plan.header_bytes, 28U + 20U + 24U);
}

TEST(PlanCallTest, TheThresholdsAreTwo) {
  const Limits limits{.call_threshold = 4096, .reply_threshold = 1024};
  const CallPlan plan = call_plan(limits, {plain(2000)}, {space(2000)}, 100);
  EXPECT_EQ(plan.inline_bytes, 2000U);
  EXPECT_TRUE(plan.write_list);
}

TEST(PlanCallTest, WhatCannotBeSentIsRefused) {
  EXPECT_EQ(call_error({}, std::vector<Piece>(9), {}, 0), Errc::kBadArgument);
  EXPECT_EQ(call_error({}, {}, std::vector<ResultSpace>(5), 0), Errc::kBadArgument);
  EXPECT_EQ(call_error({.max_segment = 0}, {plain(5000)}, {}, 0), Errc::kBadArgument);
  EXPECT_EQ(call_error({}, {plain(6), eligible(8)}, {}, 0), Errc::kBadArgument);
  // 2 GiB, of which no byte is read.
  EXPECT_EQ(call_error({}, {}, {}, 1U << 31), Errc::kBadArgument);
  EXPECT_EQ(call_error({}, {}, {space(UINT32_MAX), space(UINT32_MAX)}, 40), Errc::kBadArgument);
  // 65 segments; 64 are valid if the threshold allows.
  const Limits limits{.call_threshold = 4096, .max_segment = 1024};
  EXPECT_EQ(call_plan(limits, {plain(64 * 1024)}, {}, 0).segments, 64U);
  EXPECT_EQ(call_error(limits, {plain(64 * 1024 + 4)}, {}, 0), Errc::kBadArgument);
  // 42 Read segments of 24 bytes do not fit, 41 do.
  const Limits small{.max_segment = 256};
  EXPECT_EQ(call_plan(small, {plain(41 * 256)}, {}, 0).header_bytes, 28U + 41U * 24U);
  EXPECT_EQ(call_error(small, {plain(42 * 256)}, {}, 0), Errc::kBadArgument);
  // A header that fits the Call's threshold and not the Reply's.
  const Limits uneven{.call_threshold = 4096, .reply_threshold = 64, .max_segment = 1024};
  EXPECT_EQ(call_error(uneven, {plain(40)}, {space(1024), space(1024)}, 100), Errc::kBadArgument);
}

TEST(PlanCallTest, ItemsWithTooManySegmentsGoIntoOneChunk) {
  // Eight items of 9 segments each exceed the limit; the whole stream has 64.
  const Limits limits{.call_threshold = 2048, .max_segment = 1000};
  std::vector<Piece> message(8, eligible(8000));
  EXPECT_TRUE(call_plan(limits, message, {}, 0).by_read[7]);
  message.assign(8, eligible(8004));
  EXPECT_EQ(call_error(limits, message, {}, 0), Errc::kBadArgument);
  message.assign(8, eligible(7004));
  message[0] = eligible(8000);
  const CallPlan plan = call_plan(limits, message, {}, 0);
  EXPECT_FALSE(plan.long_call);
  message[0] = eligible(8004);
  EXPECT_TRUE(call_plan(limits, message, {}, 0).long_call);
}

ReplyPlan reply_plan(const Limits& limits, std::vector<Piece> message, const Offer& offer) {
  const auto plan = plan_reply(limits, message, offer);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan.value_or(ReplyPlan{});
}

Errc reply_error(const Limits& limits, std::vector<Piece> message, const Offer& offer) {
  const auto plan = plan_reply(limits, message, offer);
  EXPECT_FALSE(plan);
  if (plan) return Errc::kSystem;
  EXPECT_NE(plan.error().message, "");
  return plan.error().code;
}

Offer write_chunks(std::vector<std::uint64_t> bytes) {
  Offer offer;
  for (const std::uint64_t length : bytes) {
    offer.add_write_chunk(length, length == 0 ? 0 : 1);
  }
  return offer;
}

Offer with_reply_chunk(Offer offer, std::uint64_t bytes, std::uint32_t segments = 1) {
  offer.has_reply_chunk = true;
  offer.reply_chunk = bytes;
  offer.reply_segments = segments;
  return offer;
}

TEST(PlanReplyTest, AShortReplyIsInline) {
  const ReplyPlan plan = reply_plan({}, {plain(28), eligible(5)}, {});
  EXPECT_FALSE(plan.long_reply);
  EXPECT_EQ(plan.header_bytes, 28U);
  EXPECT_EQ(plan.stream_bytes, 36U);
}

TEST(PlanReplyTest, AWriteChunkIsUsedEvenIfTheResultWouldFit) {
  const ReplyPlan plan = reply_plan({}, {plain(28), eligible(5), plain(8)}, write_chunks({100}));
  EXPECT_TRUE(plan.by_write[1]);
  EXPECT_EQ(plan.header_bytes, 28U + 24U);
  EXPECT_EQ(plan.stream_bytes, 36U);
}

TEST(PlanReplyTest, TheWriteListComesBackWhole) {
  const ReplyPlan plan = reply_plan({}, {plain(28)}, write_chunks({100, 200}));
  EXPECT_EQ(plan.header_bytes, 28U + 48U);
}

TEST(PlanReplyTest, ResultsGoToTheChunksInOrder) {
  // The first has no bytes and leaves its chunk unused; for the third there is none.
  const ReplyPlan plan = reply_plan(
      {}, {plain(28), eligible(0), eligible(200), plain(4), eligible(9)}, write_chunks({100, 200}));
  EXPECT_FALSE(plan.by_write[1]);
  EXPECT_TRUE(plan.by_write[2]);
  EXPECT_FALSE(plan.by_write[4]);
  EXPECT_EQ(plan.stream_bytes, 28U + 4U + 12U);
}

TEST(PlanReplyTest, AnEmptyWriteChunkAsksForTheResultInline) {
  const ReplyPlan plan =
      reply_plan({}, {plain(28), eligible(8), eligible(16)}, write_chunks({0, 16}));
  EXPECT_FALSE(plan.by_write[1]);
  EXPECT_TRUE(plan.by_write[2]);
  EXPECT_EQ(plan.header_bytes, 28U + 8U + 24U);
  EXPECT_EQ(plan.stream_bytes, 36U);
}

TEST(PlanReplyTest, AReplyThatDoesNotFitGoesIntoTheReplyChunk) {
  const Offer offer = with_reply_chunk({}, 1000, 2);
  const ReplyPlan fits = reply_plan({}, {plain(996)}, offer);
  EXPECT_FALSE(fits.long_reply);
  EXPECT_EQ(fits.header_bytes, 28U);  // the Reply chunk is not returned
  const ReplyPlan plan = reply_plan({}, {plain(1000)}, offer);
  EXPECT_TRUE(plan.long_reply);
  EXPECT_EQ(plan.header_bytes, 28U + 4U + 32U);
  EXPECT_EQ(plan.stream_bytes, 1000U);
}

TEST(PlanReplyTest, ALongReplyUsesItsWriteChunksToo) {
  const ReplyPlan plan =
      reply_plan({}, {plain(1000), eligible(4096)}, with_reply_chunk(write_chunks({4096}), 1000));
  EXPECT_TRUE(plan.long_reply);
  EXPECT_TRUE(plan.by_write[1]);
  EXPECT_EQ(plan.header_bytes, 28U + 24U + 20U);
  EXPECT_EQ(plan.stream_bytes, 1000U);
}

TEST(PlanReplyTest, TheRoundupOfAResultIsNotPartOfItsChunk) {
  EXPECT_TRUE(reply_plan({}, {plain(28), eligible(5)}, write_chunks({5})).by_write[1]);
}

TEST(PlanReplyTest, ChunksThatAreTooSmallOrMissingAreRefused) {
  EXPECT_EQ(reply_error({}, {plain(28), eligible(101)}, write_chunks({100})), Errc::kNoRoom);
  EXPECT_EQ(reply_error({}, {plain(1000)}, {}), Errc::kNoRoom);
  EXPECT_EQ(reply_error({}, {plain(1004)}, with_reply_chunk({}, 1003)), Errc::kNoRoom);
  // 62 segments of 16 bytes: the header is 1024 bytes long; with 63 it is too long.
  EXPECT_EQ(reply_plan({}, {plain(1000)}, with_reply_chunk({}, 5000, 62)).header_bytes, 1024U);
  EXPECT_EQ(reply_error({}, {plain(1000)}, with_reply_chunk({}, 5000, 63)), Errc::kNoRoom);
}

TEST(PlanReplyTest, TooManyPiecesAreRefused) {
  EXPECT_EQ(reply_error({}, std::vector<Piece>(9), {}), Errc::kBadArgument);
}

}  // namespace
}  // namespace rpcrdma::protocol
