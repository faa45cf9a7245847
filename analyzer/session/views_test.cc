// The same traffic from several sources is counted once, wherever and by whichever clock it was
// recorded, and views that disagree show it.
#include "support/rpc_messages.h"
#include "support/trace_builder.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <rpcrdma/session/align.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::session {
namespace {

using trace_reader::testing::EventSource;
using ViewSource = EventSource::Options;
constexpr std::int64_t kSecond = 1'000'000'000;

std::string bytes_of_capture(const std::string& name) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string recording_of(const std::string& capture, const ViewSource& options) {
  const auto events = trace_reader::testing::events_of_capture(
      {reinterpret_cast<const std::uint8_t*>(capture.data()), capture.size()}, options);
  const auto file = events.pcapng();
  return {file.begin(), file.end()};
}

// A classic pcap file as records.
struct ViewCapture {
  std::string header;
  std::vector<std::string> records;

  explicit ViewCapture(const std::string& file) : header(file.substr(0, 24)) {
    for (std::size_t at = 24; at + 16 <= file.size();) {
      std::uint32_t captured = 0;
      std::memcpy(&captured, file.data() + at + 8, 4);
      records.push_back(file.substr(at, 16 + captured));
      at += 16 + captured;
    }
  }
  [[nodiscard]] std::string file() const {
    std::string all = header;
    for (const std::string& r : records) all += r;
    return all;
  }
};

// What the model reports.
struct Totals final : model::Observer {
  void on_open(const roce::Connection&) override { ++opened; }
  void on_message(const model::MessageSeen& event) override {
    ++messages;
    bytes += event.message.wire_length;
  }
  void on_call_end(const model::CallEnded& event) override {
    ++calls;
    answered += event.answer != nullptr ? 1 : 0;
    for (const model::CallChunk& chunk : event.call.chunks) moved += chunk.moved;
  }
  std::size_t opened = 0, messages = 0, calls = 0, answered = 0;
  std::uint64_t bytes = 0, moved = 0;
};

struct Reading {
  Totals totals;
  std::vector<std::vector<View>> views;  // of each listed connection
};

class Views : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }

  std::string put(const std::string& content) {
    const std::string path = ::testing::TempDir() + "views-" + std::to_string(::getpid()) + "-" +
                             std::to_string(paths_.size());
    std::ofstream(path, std::ios::binary) << content;
    paths_.push_back(path);
    return path;
  }

  Reading read(const std::vector<std::string>& contents) {
    std::vector<std::string> paths;
    for (const std::string& content : contents) paths.push_back(put(content));
    Reading reading;
    const auto session =
        std::make_unique<Session>(Options{}, Observers{.before_rules = {&reading.totals}});
    const auto source = open_aligned(paths);
    EXPECT_TRUE(source) << source.error().message;
    if (!source) return reading;
    EXPECT_TRUE(session->pipeline().run(**source, {}, 1));
    session->pipeline().finish();
    const roce::Connections& all = session->pipeline().connections();
    for (std::uint32_t i = 0; i < all.connection_count(); ++i) {
      const roce::Connection* const c = all.find(i);
      if (c != nullptr && !c->merged_away)
        reading.views.push_back(session->pipeline().views().of(i));
    }
    return reading;
  }

  std::vector<std::string> paths_;
};

std::uint64_t in_both(const View& v) {
  return v.counts[0].both + v.counts[1].both;
}
std::uint64_t in_one(const View& v) {
  std::uint64_t n = 0;
  for (const ViewCounts& k : v.counts) n += k.only_here + k.only_there + k.differ;
  return n;
}

void expect_one(const Reading& reading, const Reading& alone, std::size_t other_views) {
  EXPECT_EQ(reading.totals.opened, alone.totals.opened);
  EXPECT_EQ(reading.totals.messages, alone.totals.messages);
  EXPECT_EQ(reading.totals.calls, alone.totals.calls);
  EXPECT_EQ(reading.totals.answered, alone.totals.answered);
  EXPECT_EQ(reading.totals.bytes, alone.totals.bytes);
  EXPECT_EQ(reading.totals.moved, alone.totals.moved);
  ASSERT_EQ(reading.views.size(), alone.views.size());
  std::uint64_t both = 0;
  for (const auto& views : reading.views) {
    EXPECT_EQ(views.size(), other_views);
    for (const View& v : views) {
      both += in_both(v);
      EXPECT_EQ(in_one(v), 0U);
    }
  }
  EXPECT_EQ(both, alone.totals.messages * other_views);
}

class ViewsOf : public Views, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string packets = bytes_of_capture(GetParam());
  std::string client = recording_of(packets, {.side = 0, .process = 1});
  std::string server = recording_of(packets, {.side = 1, .process = 2});
};

TEST_P(ViewsOf, PacketsAndClient) {
  expect_one(read({packets, client}), read({packets}), 1);
}
TEST_P(ViewsOf, ServerAndPackets) {
  expect_one(read({server, packets}), read({packets}), 1);
}
TEST_P(ViewsOf, BothEnds) {
  expect_one(read({server, client}), read({client}), 1);
}
TEST_P(ViewsOf, AllThree) {
  expect_one(read({server, packets, client}), read({packets}), 2);
}
TEST_P(ViewsOf, ClocksThatDiffer) {
  for (const std::int64_t by : {3 * kSecond, -3600 * kSecond, 3600 * kSecond}) {
    const std::string off = recording_of(packets, {.side = 1, .process = 2, .clock_ns = by});
    expect_one(read({client, off}), read({client}), 1);
    expect_one(read({off, packets}), read({packets}), 1);
  }
}
TEST_P(ViewsOf, ClocksThatDrift) {
  const std::string fast =
      recording_of(packets, {.side = 1, .process = 2, .clock_ns = 5 * kSecond, .clock_rate = 1.01});
  expect_one(read({client, fast}), read({client}), 1);
  expect_one(read({packets, fast}), read({packets}), 1);
}
INSTANTIATE_TEST_SUITE_P(Captures, ViewsOf,
                         ::testing::Values("linux-nfs3.pcap", "linux-nfs41.pcap"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           return name.substr(6, name.find('.') - 6);
                         });

// Handmade recordings of one end of some connections.
class ViewRecording {
 public:
  enum class End : std::uint8_t { kClient, kServer };

  explicit ViewRecording(End end) : server_(end == End::kServer) {
    trace_.begin("test", server_ ? "server" : "client", server_ ? 2 : 1);
  }

  void open(std::uint32_t connection, std::uint32_t client_qpn, std::uint32_t server_qpn) {
    trace::Connection c = trace_reader::testing::plain_connection();
    c.local_qpn = client_qpn;
    c.peer_qpn = server_qpn;
    if (server_) {
      std::swap(c.local, c.peer);
      std::swap(c.local_qpn, c.peer_qpn);
      c.active = 0;
    }
    trace_reader::testing::emit_plain_connection(trace_, connection, c);
  }
  void call(std::uint32_t connection, std::uint32_t xid, std::uint32_t argument = 0) {
    constexpr std::uint32_t kNfs = 100003;
    const std::array<std::uint8_t, 4> bytes{0, 0, static_cast<std::uint8_t>(argument >> 8U),
                                            static_cast<std::uint8_t>(argument)};
    send(connection, server_ ? 1 : 0,
         model::testing::message(model::testing::header(xid, 16),
                                 model::testing::rpc_call(xid, kNfs, 3, 0, bytes)));
  }
  void reply(std::uint32_t connection, std::uint32_t xid) {
    send(connection, server_ ? 0 : 1,
         model::testing::message(model::testing::header(xid, 16), model::testing::rpc_reply(xid)));
  }
  void close(std::uint32_t connection) {
    trace::ConnectionEnd end;
    end.side = server_ ? 1 : 0;
    end.established = 1;
    trace_.emit(connection, end);
  }
  std::string file() {
    trace_.end();
    const auto bytes = trace_.pcapng();
    return {bytes.begin(), bytes.end()};
  }

  trace_reader::testing::TraceBuilder& trace() { return trace_; }

 private:
  void send(std::uint32_t connection, std::uint8_t side, const std::vector<std::uint8_t>& bytes) {
    trace::Message m;
    m.side = side;
    m.length = static_cast<std::uint32_t>(bytes.size());
    trace_.emit(connection, m, bytes);
  }

  bool server_;
  trace_reader::testing::TraceBuilder trace_;
};
using End = ViewRecording::End;

std::size_t joined(const Reading& r) {
  std::size_t n = 0;
  for (const auto& views : r.views) n += views.size();
  return n;
}

TEST_F(Views, TheKernelsOfBothEndsAndThePackets) {
  const std::string packets = bytes_of_capture("linux-nfs41.pcap");
  constexpr auto kFields = trace::EventSource::kKernelTracepoints;
  const std::string client = recording_of(
      packets, {.side = 0, .sees_peer_operations = false, .source = kFields, .process = 1});
  const std::string server = recording_of(packets, {.side = 1,
                                                    .sees_peer_operations = false,
                                                    .source = kFields,
                                                    .process = 2,
                                                    .clock_ns = -1'700'000'000 * kSecond});
  const Reading one = read({packets});
  const Reading both = read({client, server});
  EXPECT_EQ(both.totals.messages, one.totals.messages);
  EXPECT_EQ(both.totals.calls, one.totals.calls);
  EXPECT_EQ(joined(both), one.views.size());
  const Reading all = read({server, client, packets});
  EXPECT_EQ(all.totals.messages, one.totals.messages);
  EXPECT_EQ(all.totals.moved, one.totals.moved);
  EXPECT_EQ(joined(all), 2 * one.views.size());
}

TEST_F(Views, ACallThatTheServerNeverReceived) {
  ViewRecording client(End::kClient), server(End::kServer);
  for (ViewRecording* r : {&client, &server}) {
    r->open(1, 0x100, 0x200);
    for (std::uint32_t xid = 1; xid < 10; ++xid) {
      if (r == &client || xid != 5) r->call(1, xid);
      if (xid != 5) r->reply(1, xid);
    }
    r->close(1);
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.calls, 9U);
  EXPECT_EQ(r.totals.answered, 8U);
  ASSERT_EQ(joined(r), 1U);
  const View& v = r.views[0][0];
  EXPECT_EQ(v.recorder, 1);
  EXPECT_EQ(v.counts[0].only_here, 1U);
  EXPECT_EQ(in_one(v), 1U);
  ASSERT_EQ(v.differences.size(), 1U);
  EXPECT_EQ(v.differences[0].xid, 5U);
}

TEST_F(Views, BytesThatChangedOnTheWay) {
  ViewRecording client(End::kClient), server(End::kServer);
  for (ViewRecording* r : {&client, &server}) {
    r->open(1, 0x100, 0x200);
    for (std::uint32_t xid = 1; xid < 10; ++xid) {
      r->call(1, xid, r == &server && xid == 7 ? 1 : 0);
      r->reply(1, xid);
    }
    r->close(1);
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.calls, 9U);
  ASSERT_EQ(joined(r), 1U);
  EXPECT_EQ(r.views[0][0].counts[0].differ, 1U);
  EXPECT_EQ(in_one(r.views[0][0]), 1U);
}

// Two runs of one program can use the same addresses, QPNs and XIDs.
TEST_F(Views, OfDifferentConnectionsAreNotJoined) {
  ViewRecording client(End::kClient), server(End::kServer);
  client.open(1, 0x100, 0x200);
  server.open(1, 0x100, 0x200);
  for (std::uint32_t xid = 1; xid < 10; ++xid) {
    client.call(1, xid, 1);
    client.reply(1, xid);
    server.call(1, xid, 2);
    server.reply(1, xid + 100);
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.calls, 18U);
  EXPECT_EQ(r.views.size(), 2U);
  EXPECT_EQ(joined(r), 0U);
}

TEST_F(Views, OfConnectionsThatReuseTheirNumbers) {
  ViewRecording client(End::kClient), server(End::kServer);
  for (ViewRecording* r : {&client, &server}) {
    for (std::uint32_t c = 1; c <= 3; ++c) {
      r->open(c, 0x100, 0x200);
      for (std::uint32_t xid = 1; xid < 10; ++xid) {
        r->call(c, xid, c);
        r->reply(c, xid);
      }
      r->close(c);
    }
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.calls, 27U);
  EXPECT_EQ(r.views.size(), 3U);
  EXPECT_EQ(joined(r), 3U);
  for (const auto& views : r.views) {
    for (const View& v : views) EXPECT_EQ(in_one(v), 0U);
  }
}

TEST_F(Views, OfAThousandConnectionsOfTwoHosts) {
  constexpr std::uint32_t kConnections = 1000;
  ViewRecording client(End::kClient), server(End::kServer);
  for (ViewRecording* r : {&client, &server}) {
    for (std::uint32_t c = 1; c <= kConnections; ++c) r->open(c, c, 10'000 + c);
    for (std::uint32_t c = 1; c <= kConnections; ++c) {
      r->call(c, 1);
      r->reply(c, 1);
    }
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.opened, kConnections);
  EXPECT_EQ(r.totals.calls, kConnections);
  EXPECT_EQ(joined(r), kConnections);
}

TEST_F(Views, ARecordingThatBeginsInTheMiddle) {
  const std::string packets = bytes_of_capture("linux-nfs41.pcap");
  ViewCapture late(packets);
  late.records.erase(late.records.begin(),
                     late.records.begin() + static_cast<std::ptrdiff_t>(late.records.size() / 2));
  const std::string server = recording_of(late.file(), {.side = 1, .process = 2});
  const std::string client = recording_of(packets, {.side = 0, .process = 1});
  const Reading one = read({client});
  const Reading two = read({server, client});
  EXPECT_EQ(two.totals.messages, one.totals.messages);
  EXPECT_GE(joined(two), 1U);
  for (const auto& views : two.views) {
    for (const View& v : views) {
      EXPECT_EQ(in_one(v), 0U);
      EXPECT_GT(in_both(v), 0U);
    }
  }
}

TEST_F(Views, PacketsThatBeginInTheMiddle) {
  const std::string packets = bytes_of_capture("linux-nfs41.pcap");
  ViewCapture late(packets);
  late.records.erase(late.records.begin(),
                     late.records.begin() + static_cast<std::ptrdiff_t>(late.records.size() / 2));
  const std::string client = recording_of(packets, {.side = 0, .process = 1});
  const Reading one = read({client});
  const Reading two = read({late.file(), client});
  EXPECT_EQ(two.totals.messages, one.totals.messages);
  EXPECT_EQ(two.totals.calls, one.totals.calls);
}

// Two captures of packets have one tracker, which counts the second copy of a packet as such.
TEST_F(Views, PacketsOfBothEndsWhoseClocksDiffer) {
  const std::string packets = bytes_of_capture("linux-nfs41.pcap");
  ViewCapture later(packets);
  for (std::string& record : later.records) {
    std::uint32_t seconds = 0;
    std::memcpy(&seconds, record.data(), sizeof seconds);
    seconds += 100;
    std::memcpy(record.data(), &seconds, sizeof seconds);
  }
  const Reading one = read({packets});
  const Reading two = read({packets, later.file()});
  EXPECT_EQ(two.totals.messages, one.totals.messages);
  EXPECT_EQ(two.totals.calls, one.totals.calls);
  EXPECT_EQ(two.views.size(), one.views.size());
}

// A recording can claim the QPNs of others and contain anything.
TEST_F(Views, AFloodOfOtherMessagesOnTheSameNumbers) {
  ViewRecording client(End::kClient), server(End::kServer);
  client.open(1, 0x100, 0x200);
  server.open(1, 0x100, 0x200);
  for (std::uint32_t xid = 1; xid < 5; ++xid) {
    client.call(1, xid);
    server.call(1, xid);
  }
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    client.call(1, 1000 + i);
    server.call(1, 900'000 + i);
  }
  const Reading r = read({client.file(), server.file()});
  EXPECT_EQ(r.totals.messages, 20'004U);
  ASSERT_EQ(joined(r), 1U);
  const ViewCounts& k = r.views[0][0].counts[0];
  EXPECT_EQ(k.both, 4U);
  EXPECT_EQ(k.only_here + k.only_there + k.not_compared, 40'000U);
}

}  // namespace
}  // namespace rpcrdma::session
