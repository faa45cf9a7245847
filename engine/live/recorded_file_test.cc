// Files of a recording: each file of a ring can be read alone, and its Loss events add up.
#include "recorded_file.h"

#include "event_batch.h"
#include "make_event.h"
#include "support/event_stream.h"

#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class RecordedFileTest : public OwnRuntime {
 protected:
  void open(const base::RingOptions& ring = {}) {
    auto opened = RecordedFile::open(path("a.pcapng"), ring, "server", kStart);
    ASSERT_TRUE(opened) << opened.error().message;
    file_ = std::move(*opened);
    Endpoint endpoint;
    endpoint.name_bytes = 6;
    endpoint.process = 42;
    endpoint.wall = kStart;
    const std::string name = "server";
    write(make_event(0, 0, endpoint,
                     {reinterpret_cast<const std::uint8_t*>(name.data()), name.size()}));
  }

  void write(const std::vector<std::uint8_t>& event) {
    EventBatch batch;
    batch.put(announced(event).header, event, kStart);
    const auto written = file_->write(batch.blocks.bytes());
    ASSERT_TRUE(written) << written.error().message;
  }
  template <typename Event>
  void write(std::uint32_t ring, std::uint32_t connection, std::int64_t time, const Event& event) {
    auto bytes = make_event(ring, time, event);
    std::memcpy(bytes.data() + offsetof(EventHeader, connection), &connection, sizeof connection);
    write(bytes);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::unique_ptr<RecordedFile> file_;
};

TEST_F(RecordedFileTest, OneFile) {
  open();
  write(1, 5, 10, Invalidate{});
  write(2, 5, 20, Invalidate{});
  write(2, 0, 30, Loss{3, 2});
  ASSERT_TRUE(file_->finish(kStart + kSecond));
  EXPECT_EQ(file_->events(), 2U);
  EXPECT_EQ(file_->lost(), 2U);
  EventStream stream(file_->file());
  const auto emitted = stream.rest();
  ASSERT_THAT(emitted, SizeIs(4));
  EXPECT_EQ(emitted[0].as<Endpoint>().process, 42U);
  EXPECT_EQ(emitted[0].payload(), "server");
  EXPECT_EQ(emitted[1].wall, kStart + 10);
  EXPECT_EQ(stream.stats().dropped, 2U);
  EXPECT_EQ(stream.stats().damage, "");
}

TEST_F(RecordedFileTest, WhatIsWrittenCanBeReadAtOnce) {
  open();
  write(1, 5, 10, Invalidate{});
  EXPECT_THAT(EventStream(file_->file()).rest(), SizeIs(2));
}

// Connection 5 has ended before the second file, 6 is open, and the event of 7 did not fit into the
// first.
TEST_F(RecordedFileTest, EachFileOfARingStandsAlone) {
  open({.file_bytes = 0, .file_ns = kSecond, .files = 0});
  write(1, 0x01000005, 1, Connection{});
  write(1, 0x01000006, 2, Connection{});
  Credits credits;
  credits.granted = 17;
  write(1, 0x01000006, 3, credits);
  write(1, 0x01000005, 4, ConnectionEnd{});
  write(1, 0, 5, Loss{10, 6});
  write(2, 0, 6, Invalidate{});
  write(1, 0x01000007, kSecond + 9, Connection{});
  write(1, 0x01000007, kSecond + 10, Invalidate{});
  write(1, 0, kSecond + 11, Loss{15, 9});
  write(1, 0, kSecond + 12, Loss{15, 9});
  ASSERT_TRUE(file_->finish(kStart + 2 * kSecond));

  const auto found = files();
  ASSERT_THAT(found, SizeIs(2));
  EventStream first(found[0]);
  const auto emitted = first.rest();
  EXPECT_TRUE(first.audit.is_complete());
  EXPECT_EQ(first.audit.ring(1).emitted, 10U);
  EXPECT_EQ(first.audit.ring(1).lost, 6U);
  EXPECT_EQ(first.audit.ring(2).emitted, 1U);
  EXPECT_EQ(first.stats().dropped, 6U);

  EventStream second(found[1]);
  const auto more = second.rest();
  ASSERT_THAT(more, SizeIs(7));
  EXPECT_EQ(more[0].as<Endpoint>().process, 42U);
  EXPECT_EQ(more[0].payload(), "server");
  EXPECT_EQ(more[0].header.time, kSecond + 9);
  EXPECT_EQ(more[0].as<Endpoint>().wall, kStart + kSecond + 9);
  EXPECT_EQ(more[1].as<Connection>().replayed, 1);
  EXPECT_EQ(more[1].header.connection, 0x01000006U);
  EXPECT_EQ(more[1].header.time, 2);
  EXPECT_EQ(more[1].wall, more[0].wall);
  EXPECT_EQ(more[2].as<Credits>().granted, 17U);
  EXPECT_EQ(more[2].header.time, 3);
  EXPECT_EQ(more[2].wall, more[0].wall);
  EXPECT_EQ(more[3].header.connection, 0x01000007U);
  EXPECT_EQ(more[3].as<Connection>().replayed, 0);
  EXPECT_EQ(more[4].type(), EventType::kInvalidate);
  // Two replayed, two more, three lost.
  EXPECT_EQ(more[5].as<Loss>().emitted, 7U);
  EXPECT_EQ(second.audit.ring(1).lost, 3U);
  EXPECT_EQ(second.audit.ring(2).emitted, 0U);
  EXPECT_EQ(second.stats().dropped, 3U);
  EXPECT_EQ(file_->events(), 7U);
  EXPECT_EQ(file_->lost(), 9U);
}

// Its losses are in the first file's sums, and the second file's sums start at zero.
TEST_F(RecordedFileTest, AFileThatBeginsWithALoss) {
  open({.file_bytes = 0, .file_ns = kSecond, .files = 0});
  write(1, 0x01000005, 1, Connection{});
  Credits credits;
  credits.granted = 17;
  credits.waiting = 3;
  write(1, 0x01000005, 2, credits);
  write(1, 0, kSecond + 3, Loss{6, 4});
  write(1, 0x01000005, kSecond + 4, Invalidate{});
  ASSERT_TRUE(file_->finish(kStart + 2 * kSecond));

  const auto found = files();
  ASSERT_THAT(found, SizeIs(2));
  EventStream first(found[0]);
  EXPECT_THAT(first.rest(), SizeIs(4));
  EXPECT_EQ(first.audit.ring(1).emitted, 6U);
  EXPECT_EQ(first.audit.ring(1).lost, 4U);

  EventStream second(found[1]);
  const auto emitted = second.rest();
  ASSERT_THAT(emitted, SizeIs(5));
  EXPECT_EQ(emitted[1].type(), EventType::kConnection);
  EXPECT_EQ(emitted[2].as<Credits>().granted, 17U);
  EXPECT_EQ(emitted[2].as<Credits>().waiting, 3U);
  ASSERT_EQ(emitted[3].type(), EventType::kLoss);
  EXPECT_EQ(emitted[3].header.ring, 1U);
  EXPECT_EQ(emitted[3].as<Loss>().emitted, 2U);
  EXPECT_EQ(emitted[3].as<Loss>().lost, 0U);
  EXPECT_EQ(emitted[4].type(), EventType::kInvalidate);
}

// Events of two threads are not in order of time.
TEST_F(RecordedFileTest, NoFileBeginsBeforeTheOneBeforeItEnds) {
  open({.file_bytes = 0, .file_ns = kSecond, .files = 0});
  write(1, 0x01000005, 1, Connection{});
  write(1, 0x01000005, kSecond - 1, Invalidate{});
  write(2, 0x02000005, kSecond - 3, Connection{});
  write(2, 0x02000005, kSecond, Invalidate{});
  ASSERT_TRUE(file_->finish(kStart + 2 * kSecond));
  const auto found = files();
  ASSERT_THAT(found, SizeIs(2));
  const auto first = EventStream(found[0]).rest();
  const auto second = EventStream(found[1]).rest();
  for (const auto& event : first) EXPECT_LE(event.wall, second.front().wall);
}

// As on a full disk.
TEST_F(RecordedFileTest, OnlyWhatIsWrittenIsCounted) {
  open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 3000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EventBatch batch;
  const auto event = make_event(1, 10, Invalidate{});
  for (int i = 0; i < 100; ++i) batch.put(announced(event).header, event, kStart);
  const auto written = file_->write(batch.blocks.bytes());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  const auto emitted = EventStream(file_->file()).rest();
  EXPECT_GT(emitted.size(), 10U);
  EXPECT_EQ(file_->events(), emitted.size() - 1);
}

TEST_F(RecordedFileTest, ErrorsNameTheFile) {
  const auto opened = RecordedFile::open("/dev/full", {}, "server", kStart);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("/dev/full: cannot write"));
}

}  // namespace
}  // namespace rpcrdma::trace
