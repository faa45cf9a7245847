#include "support/rpc_messages.h"

#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/model/recognise.h>

namespace rpcrdma::model {
namespace {

using namespace testing;

TEST(Recognise, CallsAndReplies) {
  EXPECT_TRUE(recognise(message(header(7, 32), rpc_call(7, 100003, 3, 1))));
  EXPECT_TRUE(recognise(message(header(7, 32), rpc_reply(7))));
}

TEST(Recognise, VersionTwo) {
  wire::Header h = header(7, 32);
  h.vers = 2;
  EXPECT_TRUE(recognise(message(h, rpc_call(7, 100003, 4, 1))));
}

TEST(Recognise, LongCallsAndReplies) {
  const wire::ReadSegment zero{0, {1, 4096, 0x1000}};
  wire::Header call = header(7, 32, wire::Proc::kNomsg);
  call.reads = {&zero, 1};
  EXPECT_TRUE(recognise(message(call)));
  const wire::Segment segment{1, 4096, 0x1000};
  wire::Header reply = header(7, 32, wire::Proc::kNomsg);
  reply.reply = wire::WriteChunk(&segment, 1);
  EXPECT_TRUE(recognise(message(reply)));
  // An RDMA_NOMSG that cannot convey a message.
  EXPECT_FALSE(recognise(message(header(7, 32, wire::Proc::kNomsg))));
}

// 96 bytes of a frame hold 42 of a SEND.
TEST(Recognise, FrontsOfTruncatedMessages) {
  for (auto whole :
       {message(header(7, 32), rpc_call(7, 100003, 3, 1)), message(header(7, 32), rpc_reply(7))}) {
    whole.resize(42);
    EXPECT_TRUE(recognise_front(whole));
    whole.resize(36);
    EXPECT_TRUE(recognise_front(whole));
    whole.resize(35);
    EXPECT_FALSE(recognise_front(whole));
  }
  EXPECT_FALSE(recognise_front(message(header(7, 32), rpc_call(8, 100003, 3, 1))));
  EXPECT_FALSE(recognise_front(message(header(7, 1U << 20), rpc_call(7, 100003, 3, 1))));
  EXPECT_FALSE(recognise_front(std::vector<std::uint8_t>(42, 0)));
}

TEST(Recognise, XidsThatDifferAreNoMessage) {
  EXPECT_FALSE(recognise(message(header(7, 32), rpc_call(8, 100003, 3, 1))));
}

TEST(Recognise, ErrorsAndDoneAreTooShortToShow) {
  wire::Header h = header(7, 32, wire::Proc::kError);
  h.error = wire::RdmaErr::kChunk;
  EXPECT_FALSE(recognise(message(h)));
  EXPECT_FALSE(recognise(message(header(7, 32, wire::Proc::kDone))));
}

TEST(Recognise, CreditsBeyondBeliefAreNoMessage) {
  EXPECT_FALSE(recognise(message(header(7, 1U << 20), rpc_call(7, 100003, 3, 1))));
}

TEST(Resembles, OtherVersionsAndTypesButNotOtherPrograms) {
  wire::Header h = header(7, 32, wire::Proc::kError);
  h.error = wire::RdmaErr::kChunk;
  EXPECT_TRUE(resembles(message(h)));
  std::vector<std::uint8_t> other = message(header(7, 32));
  other[7] = 9;  // version
  EXPECT_TRUE(resembles(other));
  // rping: an address, a key, a length.
  EXPECT_FALSE(resembles(std::vector<std::uint8_t>{0, 0, 0x55, 0x8d, 0x4c, 0x1a, 0x92, 0xb0, 0, 0,
                                                   0x0c, 0x1c, 0, 0, 1, 0xf4}));
  EXPECT_FALSE(resembles(std::vector<std::uint8_t>(64, 0)));
}

// Typical SENDs of perftest and rping: zeros, counters, addresses with keys, text.
TEST(Recognise, OtherProgramsSends) {
  for (std::size_t n = 0; n < 200; ++n) {
    EXPECT_FALSE(recognise(std::vector<std::uint8_t>(n, 0)));
    EXPECT_FALSE(recognise(std::vector<std::uint8_t>(n, 1)));
  }
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    std::vector<std::uint8_t> bytes(16 + random() % 80);
    // Small words look like a header more often than random ones.
    for (std::size_t k = 3; k < bytes.size(); k += 4)
      bytes[k] = static_cast<std::uint8_t>(random() % 6);
    EXPECT_FALSE(recognise(bytes)) << ::testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace rpcrdma::model
