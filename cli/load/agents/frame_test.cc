#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/load_agents/frame.h>

namespace rpcrdma::load_agents {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint8_t> framed(FrameType type, std::string_view body) {
  std::vector<std::uint8_t> bytes;
  append_frame(bytes, type, base::as_bytes(body));
  return bytes;
}

std::string text_of(const Frame& frame) {
  return std::string(base::as_text(frame.body));
}

TEST(Frames, ArriveInAnyPieces) {
  std::vector<std::uint8_t> all(13, 'b');
  for (const std::string body : {"one", "", "three"}) {
    append_frame(all, FrameType::kHello, base::as_bytes(body));
  }
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    FrameReader reader(100);
    std::vector<std::string> bodies;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      reader.append(Bytes(all).subspan(at, std::min(piece, all.size() - at)));
      for (;;) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame) << frame.error().message;
        if (!*frame) break;
        EXPECT_EQ((*frame)->type, FrameType::kHello);
        bodies.push_back(text_of(**frame));
      }
    }
    EXPECT_THAT(bodies, ::testing::ElementsAre("one", "", "three")) << piece;
    EXPECT_EQ(reader.banner(), std::string(13, 'b'));
    EXPECT_TRUE(reader.begun());
  }
}

TEST(Frames, TextThatNeverEndsIsAnError) {
  FrameReader reader(1000);
  const std::string line(90, 'x');
  for (int i = 0; i < 11; ++i) {
    reader.append(base::as_bytes(line));
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    EXPECT_FALSE(*frame);
  }
  EXPECT_FALSE(reader.begun());
  for (int i = 0; i < 3; ++i) {
    reader.append(base::as_bytes(line));
    const auto frame = reader.next();
    if (i != 0) {
      ASSERT_FALSE(frame);
      EXPECT_THAT(frame.error().message, HasSubstr("something else"));
    }
  }
  EXPECT_EQ(reader.banner().size(), 1000U);
}

TEST(Frames, TextAfterTheFirstFrameIsAnError) {
  FrameReader reader(1000);
  auto bytes = framed(FrameType::kHello, "a");
  const std::string noise = "Broadcast message from root\n";
  bytes.insert(bytes.end(), noise.begin(), noise.end());
  reader.append(bytes);
  EXPECT_TRUE(*reader.next());
  EXPECT_FALSE(reader.next());
  reader.append(framed(FrameType::kHello, "b"));
  EXPECT_FALSE(reader.next());  // still
}

TEST(Frames, AForgedLengthOrTypeIsAnError) {
  for (const std::size_t at : {8U, 12U}) {
    auto bytes = framed(FrameType::kPong, "a");
    bytes[at] = 0xff;
    FrameReader reader(0);
    reader.append(bytes);
    const auto frame = reader.next();
    ASSERT_FALSE(frame);
    EXPECT_THAT(frame.error().message, HasSubstr(at == 8 ? "unknown type" : "too long"));
  }
  auto bytes = framed(FrameType::kPong, std::string(*most_body_bytes(FrameType::kPong), 'x'));
  FrameReader reader(0);
  reader.append(bytes);
  EXPECT_TRUE(*reader.next());
  bytes = framed(FrameType::kPong, std::string(*most_body_bytes(FrameType::kPong) + 1, 'x'));
  reader.append(bytes);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace rpcrdma::load_agents
