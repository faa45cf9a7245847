#include <array>

#include <gtest/gtest.h>

#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/selftest/shape.h>

namespace rpcrdma::selftest {
namespace {

// How a requester and a responder move a Transfer, planned from its lengths.
struct Planned {
  explicit Planned(const Transfer& t, const InlineTerms& terms) {
    limits.call_threshold = terms.call_threshold;
    limits.reply_threshold = terms.reply_threshold;
    limits.empty_header = terms.empty_header;
    limits.max_segment = 16U << 10;
    std::uint32_t rest = call_bytes(t);
    pieces.emplace_back();
    for (const std::uint32_t length : t.arguments) {
      pieces.push_back({wire::Bytes(kBytes).first(length), nullptr, true});
      rest -= static_cast<std::uint32_t>(wire::xdr_padded(length));
    }
    pieces[0].bytes = wire::Bytes(kBytes).first(rest);
    for (std::size_t i = 0; i < t.results.size(); ++i) {
      spaces.push_back({nullptr, t.room(i), nullptr});
    }
    call = protocol::plan_call(limits, pieces, spaces, max_reply(t)).value();
    if (!t.one_way) make_reply(t);
  }

  void make_reply(const Transfer& t) {
    protocol::Offer offer;
    if (call.write_list) {
      for (const protocol::ResultSpace& space : spaces) {
        offer.add_write_chunk(space.length, static_cast<std::uint32_t>(protocol::segment_count(
                                                space.length, limits.max_segment)));
      }
    }
    offer.has_reply_chunk = call.reply_chunk != 0;
    offer.reply_chunk = call.reply_chunk;
    offer.reply_segments =
        static_cast<std::uint32_t>(protocol::segment_count(call.reply_chunk, limits.max_segment));
    std::vector<protocol::Piece> message;
    std::uint32_t rest = reply_bytes(t);
    message.emplace_back();
    for (const std::uint32_t length : t.results) {
      message.push_back({wire::Bytes(kBytes).first(length), nullptr, true});
      rest -= static_cast<std::uint32_t>(wire::xdr_padded(length));
    }
    message[0].bytes = wire::Bytes(kBytes).first(rest);
    reply = protocol::plan_reply(limits, message, offer).value();
    for (std::size_t i = 1; i < message.size(); ++i) {
      if (reply.by_write[i]) written += message[i].bytes.size();
    }
  }

  inline static const std::vector<std::uint8_t> kBytes = std::vector<std::uint8_t>(1U << 20);
  protocol::Limits limits;
  std::vector<protocol::Piece> pieces;
  std::vector<protocol::ResultSpace> spaces;
  protocol::CallPlan call;
  protocol::ReplyPlan reply;
  std::uint64_t written = 0;
};

class Shapes : public ::testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::array<InlineTerms, 5> kTerms{
      {{1024, 1024, 28}, {4096, 4096, 28}, {4096, 4096, 36}, {1024, 8192, 28}, {8192, 1024, 36}}};
  [[nodiscard]] static Shape shape() { return static_cast<Shape>(GetParam()); }
};

TEST_P(Shapes, TravelAsTheySay) {
  for (const InlineTerms& terms : kTerms) {
    const auto all = transfers_of(shape(), terms);
    ASSERT_FALSE(all.empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      const Transfer& t = all[i];
      const Planned planned(t, terms);
      EXPECT_EQ(planned.call.long_call, t.long_call);
      EXPECT_EQ(planned.reply.long_reply, t.long_reply);
      std::uint64_t read = 0;
      for (std::size_t p = 0; p < planned.pieces.size(); ++p) {
        if (planned.call.by_read[p]) read += planned.pieces[p].bytes.size();
      }
      const protocol::MessageBytes bytes = expected_bytes(t);
      EXPECT_EQ(bytes.read_chunks, read);
      EXPECT_EQ(bytes.inline_calls, planned.call.inline_bytes);
      EXPECT_EQ(bytes.long_calls, t.long_call ? call_bytes(t) : 0);
      EXPECT_EQ(bytes.write_chunks, planned.written);
      EXPECT_LE(planned.call.segments, protocol::kMaxSegments);
      EXPECT_FALSE(t.one_way && t.needs_chunks());
      if (t.one_way) {
        EXPECT_EQ(bytes.inline_replies, 0U);
        continue;
      }
      EXPECT_EQ(bytes.inline_replies, t.long_reply ? 0 : planned.reply.stream_bytes);
      EXPECT_EQ(bytes.reply_chunks, t.long_reply ? planned.reply.stream_bytes : 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shapes, ::testing::Range<std::size_t>(0, kShapes),
                         [](const auto& param) {
                           std::string name = shape_name(static_cast<Shape>(param.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(ThresholdShape, IsExactOnEitherSide) {
  const InlineTerms terms{2048, 4096, 36};
  std::uint32_t calls = 0;
  std::uint32_t replies = 0;
  for (const Transfer& t : transfers_of(Shape::kThreshold, terms)) {
    const Planned planned(t, terms);
    if (planned.call.header_bytes + planned.call.inline_bytes == 2048) ++calls;
    if (planned.reply.header_bytes + planned.reply.stream_bytes == 4096) ++replies;
    EXPECT_FALSE(t.needs_chunks());
  }
  EXPECT_EQ(calls, 3U);
  EXPECT_EQ(replies, 3U);
  for (const Transfer& t : transfers_of(Shape::kOver, terms)) EXPECT_TRUE(t.needs_chunks());
}

TEST(ShapeNames, AreFoundAgain) {
  for (std::size_t i = 0; i < kShapes; ++i) {
    const auto shape = static_cast<Shape>(i);
    EXPECT_EQ(shape_from_name(shape_name(shape)), shape);
  }
  EXPECT_FALSE(shape_from_name("round"));
}

}  // namespace
}  // namespace rpcrdma::selftest
