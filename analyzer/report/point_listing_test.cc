// Tests the listing of messages that several sources show: what is joined, the times, the marks.
#include "ends_for_tests.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/report/point_listing.h>

namespace rpcrdma::report {
namespace {

using nlohmann::json;

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Client and server of connection 1, and the wire; the clock of the server is a second ahead.
ends::Ends three_points() {
  ends::Ends e = testing::ends_with("NFS v3 WRITE");
  e.sources[1].file = "server.dat";
  e.sources[1].clock.stretches = {{0, INT64_MAX, -kSecond, 0, 2'500, false}};
  e.sources[2].clock.stretches = {{0, INT64_MAX, 0, 0, 500, false}};
  return e;
}

capture::Address address(std::uint8_t last) {
  const std::uint8_t bytes[4] = {10, 0, 0, last};
  return capture::make_ipv4(bytes);
}

// `us`: from the start, by the clock of the reference.
Sighting seen(std::uint32_t source, model::Kind kind, std::uint32_t xid, std::int64_t us,
              const std::string& text = "") {
  constexpr std::uint32_t kIds[] = {1, 4, 2};
  Sighting s;
  s.file = source;
  s.connection = kIds[source];
  s.sender = address(kind == model::Kind::kCall ? 2 : 1);
  s.kind = kind;
  s.xid = xid;
  s.frame = 10 + source;
  s.time_ns = testing::kEndsStart + us * kMicro + (source == 1 ? kSecond : 0);
  s.has_bytes = source == 2;
  s.text = text.empty() ? "text " + std::to_string(source) : text;
  return s;
}

struct Listed {
  std::vector<std::string> lines;
  PointListing::Written counts;
};

Listed listed(PointListing& listing, const ends::Ends& ends) {
  Listed out;
  std::string text;
  out.counts = listing.write(ends, [&](std::string_view piece) { text += piece; });
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

using enum model::Kind;

TEST(PointListing, AMessageIsListedOnceWithItsTimeAtEachPoint) {
  PointListing listing({});
  listing.add(seen(1, kCall, 0x1001, 125));
  listing.add(seen(0, kCall, 0x1001, 100));
  listing.add(seen(2, kCall, 0x1001, 111));
  const Listed out = listed(listing, three_points());
  ASSERT_EQ(out.lines.size(), 4U);
  EXPECT_EQ(out.lines[0], "client.dat: the reference of all times");
  EXPECT_EQ(out.lines[1], "server.dat: clock -1.000 s, error at most 2.5 us");
  // The text is that of the packets, which show most.
  EXPECT_EQ(out.lines[3],
            "22:13:20.000100 client +0        wire +11 us    server +25 us    text 2");
  EXPECT_EQ(out.counts.messages, 1U);
  EXPECT_EQ(out.counts.seen_once, 0U);
}

TEST(PointListing, BelowAReplyAreTheStagesOfItsCall) {
  PointListing listing({});
  listing.add(seen(0, kReply, 0x1001, 20'050));
  listing.add(seen(1, kReply, 0x1001, 20'040));
  const Listed out = listed(listing, three_points());
  ASSERT_EQ(out.lines.size(), 5U);
  EXPECT_NE(out.lines[3].find("client +0        server -10 us"), std::string::npos);
  EXPECT_NE(out.lines[3].find("wire -"), std::string::npos);
  EXPECT_NE(out.lines[4].find("20 ms = client posting 40 us | network, to the server 10 us "
                              "+-2.5 us"),
            std::string::npos);
  EXPECT_TRUE(out.lines[4].ends_with("; server: executing"));
}

TEST(PointListing, WhatOnePointAloneSawIsMarked) {
  PointListing listing({});
  listing.add(seen(0, kCall, 1, 100));
  Sighting other = seen(1, kCall, 2, 200);
  other.connection = 77;
  listing.add(other);
  const Listed out = listed(listing, three_points());
  ASSERT_EQ(out.lines.size(), 5U);
  EXPECT_TRUE(out.lines[3].ends_with("(only at: client)"));
  EXPECT_TRUE(out.lines[4].ends_with("(only server.dat shows the connection)"));
  EXPECT_EQ(out.counts.seen_once, 1U);
}

TEST(PointListing, DifferentMessagesAreNotJoined) {
  PointListing listing({});
  listing.add(seen(0, kCall, 1, 0));
  listing.add(seen(1, kReply, 1, 10));
  listing.add(seen(1, kCall, 2, 20));
  // The same XID again, and a Call of the other side.
  listing.add(seen(0, kCall, 1, 30));
  Sighting reverse = seen(1, kCall, 1, 40);
  reverse.sender = address(1);
  listing.add(reverse);
  // Long after: not the Call that the client sent at 30.
  listing.add(seen(1, kCall, 1, 100'000'000));
  EXPECT_EQ(listed(listing, three_points()).counts.messages, 6U);
}

TEST(PointListing, MessagesAreInTheOrderOfTheReference) {
  PointListing listing({});
  listing.add(seen(1, kReply, 5, 50, "second"));
  listing.add(seen(0, kCall, 5, 20, "first"));
  listing.add(seen(0, kReply, 5, 60, "second"));
  const Listed out = listed(listing, three_points());
  ASSERT_EQ(out.lines.size(), 5U);
  EXPECT_NE(out.lines[3].find("first"), std::string::npos);
  EXPECT_NE(out.lines[4].find("second"), std::string::npos);
}

TEST(PointListing, WithoutAClockNoTimeIsInvented) {
  ends::Ends e = three_points();
  e.sources[1].clock = {};
  PointListing listing({});
  listing.add(seen(1, kCall, 1, 0));
  const Listed out = listed(listing, e);
  EXPECT_EQ(out.lines[1], "server.dat: its clock is not known; its times are its own");
  EXPECT_NE(out.lines[3].find("server its clock is not known"), std::string::npos);
  EXPECT_EQ(out.counts.not_aligned, 1U);
}

TEST(PointListing, MemoryIsBounded) {
  PointListingOptions options;
  options.most_bytes = 64 << 10;
  PointListing listing(options);
  for (int i = 0; i < 10'000; ++i) listing.add(seen(0, kCall, 100 + static_cast<unsigned>(i), i));
  // The listing ends for all sources where the first had no more memory.
  listing.add(seen(1, kCall, 1, 0));
  listing.add(seen(1, kCall, 1, 9'999));
  const Listed out = listed(listing, three_points());
  EXPECT_LT(out.counts.messages, 500U);
  EXPECT_EQ(out.counts.messages + out.counts.left_out, 10'002U);
}

TEST(PointListing, MostAndXid) {
  PointListingOptions options;
  options.most = 2;
  PointListing listing(options);
  for (std::uint32_t i = 0; i < 5; ++i) listing.add(seen(0, kCall, i, i));
  EXPECT_EQ(listed(listing, three_points()).counts.messages, 2U);
}

TEST(PointListing, Json) {
  PointListingOptions options;
  options.json = true;
  PointListing listing(options);
  listing.add(seen(0, kReply, 0x1001, 20'050, "{\"xid\":4097}\n"));
  listing.add(seen(1, kReply, 0x1001, 20'040, "{\"xid\":4097}\n"));
  const Listed out = listed(listing, three_points());
  ASSERT_EQ(out.lines.size(), 2U);
  const json head = json::parse(out.lines[0]);
  EXPECT_EQ(head["sources"][0]["reference"], true);
  EXPECT_EQ(head["sources"][1]["offset_ns"], -kSecond);
  EXPECT_EQ(head["sources"][1]["error_at_most_ns"], 2500);
  const json m = json::parse(out.lines[1]);
  EXPECT_EQ(m["xid"], 4097);
  EXPECT_EQ(m["shared_connection"], 1);
  ASSERT_EQ(m["points"].size(), 2U);
  EXPECT_EQ(m["points"][1]["point"], "server");
  EXPECT_EQ(m["points"][1]["file"], "server.dat");
  EXPECT_EQ(m["points"][1]["delta_us"], -10);
  EXPECT_EQ(m["points"][1]["own_time_ns"].get<std::int64_t>() - kSecond,
            m["points"][1]["aligned_ns"].get<std::int64_t>());
  EXPECT_EQ(m["not_seen_at"], json({"wire"}));
  EXPECT_EQ(m["call"]["side"], "server");
  EXPECT_EQ(m["call"]["stage"], "execute");
  EXPECT_EQ(m["call"]["stages_us"]["execute"], 19'500);
  EXPECT_TRUE(m["call"]["stages_us"]["write"].is_null());
  EXPECT_EQ(m["call"]["error_at_most_us"], 2.5);
}

// Names of files can hold anything.
TEST(PointListing, NamesCannotControlTheTerminal) {
  ends::Ends e = three_points();
  e.sources[1].file = "a\033[2Jb\n";
  PointListing listing({});
  Sighting s = seen(1, kCall, 1, 0);
  s.connection = 9;
  listing.add(s);
  const Listed out = listed(listing, e);
  EXPECT_EQ(out.lines.size(), 4U);
  for (const std::string& line : out.lines) EXPECT_EQ(line.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report
