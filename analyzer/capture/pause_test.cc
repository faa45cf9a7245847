#include "capture_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/pause.h>

namespace rpcrdma::capture {
namespace {

Unread read_pause(const std::string& control, const std::string& tag = "") {
  const ByteVector data = from_hex("0180c2000001 020000000007 " + tag + " 8808 " + control);
  Frame frame;
  frame.link = LinkType::kEthernet;
  frame.data = data;
  frame.original = static_cast<std::uint32_t>(data.size());
  TransportPacket packet;
  return unread_of(frame, dissect_link(frame, packet));
}

TEST(PauseFrame, OfClasses) {
  const std::string times = "0001 0000 0000 ffff 0000 0000 0000 0000 ";
  for (const char* tag : {"", "8100 6000"}) {
    const Unread u = read_pause("0101 000b " + times, tag);
    ASSERT_EQ(u.kind, UnreadKind::kPause);
    const Pause p = pause_in(u);
    EXPECT_TRUE(p.by_class);
    EXPECT_EQ(p.source, 0x020000000007U);
    EXPECT_EQ(p.paused, 0b1001);
    EXPECT_EQ(p.resumed, 0b0010);
    EXPECT_EQ(p.longest, 0xffff);
  }
}

TEST(PauseFrame, OfTheWholeLink) {
  const Pause p = pause_in(read_pause("0001 0100"));
  EXPECT_FALSE(p.by_class);
  EXPECT_EQ(p.paused, 1);
  EXPECT_EQ(p.longest, 0x0100);
  EXPECT_EQ(pause_in(read_pause("0001 0000")).resumed, 1);
}

TEST(PauseFrame, NothingElseIsOne) {
  EXPECT_EQ(read_pause("0002 0000").kind, UnreadKind::kNothing);
  EXPECT_EQ(read_pause("0101").kind, UnreadKind::kNothing);
  EXPECT_EQ(read_pause("").kind, UnreadKind::kNothing);
  // Fewer times than classes: only those that are there count.
  EXPECT_EQ(pause_in(read_pause("0101 00ff 0001")).paused, 1);
}

TEST(PauseFrames, AreCountedBySourceAndClass) {
  PauseFrames frames;
  Pause p;
  p.by_class = true;
  p.paused = 8;
  p.source = 7;
  p.longest = 100;
  frames.note(p, 3);
  frames.note(p, 9);
  const auto sources = frames.by_source();
  ASSERT_EQ(sources.size(), 1U);
  const PauseCounts& c = sources.at("00:00:00:00:00:07");
  EXPECT_EQ(c.paused[3], 2U);
  EXPECT_EQ(c.first_frame, 3U);
  EXPECT_EQ(c.last_frame, 9U);
  EXPECT_EQ(pause_text(sources), "2 of class 3 by 00:00:00:00:00:07 (longest 100 quanta)");
  for (std::uint64_t i = 100; i < 1000; ++i) {
    p.source = i;
    frames.note(p, i);
  }
  EXPECT_EQ(frames.by_source().size(), PauseFrames::kMostSources + 1);
  EXPECT_EQ(frames.by_source().at("others").paused[3], 900U - 63U);
}

}  // namespace
}  // namespace rpcrdma::capture
