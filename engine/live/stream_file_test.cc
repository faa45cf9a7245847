#include "event_batch.h"
#include "make_event.h"
#include "support/event_stream.h"

#include <algorithm>

#include <gmock/gmock.h>

#include <rpcrdma/live/stream_file.h>

namespace rpcrdma::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class StreamFileTest : public OwnRuntime {
 protected:
  void open(const base::RingOptions& ring = {}) {
    auto opened = StreamFile::open(path("a.pcapng"), ring, "server", kStart);
    ASSERT_TRUE(opened) << opened.error().message;
    file_ = std::move(*opened);
  }
  template <typename Event>
  base::Expected<void> write(std::uint32_t ring, std::int64_t time, const Event& event,
                             std::uint32_t connection = 0) {
    auto bytes = make_event(ring, time, event);
    std::memcpy(bytes.data() + offsetof(EventHeader, connection), &connection, sizeof connection);
    return write(bytes, kStart + time);
  }
  base::Expected<void> write(std::span<const std::uint8_t> event, std::int64_t wall) {
    std::vector<std::uint8_t> data(kUpperPduTags.begin(), kUpperPduTags.end());
    data.insert(data.end(), event.begin(), event.end());
    base::Frame frame;
    frame.time_ns = wall;
    frame.data = data;
    return file_->write(frame);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::unique_ptr<StreamFile> file_;
};

TEST_F(StreamFileTest, EachFileOfARingStandsAlone) {
  open({.file_bytes = 0, .file_ns = kSecond, .files = 0});
  ASSERT_TRUE(write(0, 0, Endpoint{}));
  ASSERT_TRUE(write(1, 1, Connection{}, 0x01000005));
  ASSERT_TRUE(write(1, 2, Loss{8, 7}));
  ASSERT_TRUE(write(1, kSecond + 9, Invalidate{}, 0x01000005));
  ASSERT_TRUE(file_->flush());
  EXPECT_THAT(files(), SizeIs(2));
  ASSERT_TRUE(file_->finish(kStart + 2 * kSecond));
  EXPECT_EQ(file_->events(), 2U);
  EXPECT_EQ(file_->lost(), 7U);
  for (const std::string& name : files()) {
    EventStream stream(name);
    const auto emitted = stream.rest();
    ASSERT_GE(emitted.size(), 2U);
    EXPECT_EQ(emitted[0].type(), EventType::kEndpoint);
    EXPECT_EQ(emitted[1].type(), EventType::kConnection);
    EXPECT_EQ(stream.stats().damage, "");
  }
}

TEST_F(StreamFileTest, WhatIsNoStreamOfAnEndpointIsRefused) {
  const auto refused = [&](const base::Expected<void>& written, const char* why) {
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr(why));
  };
  open();
  refused(write(1, 0, Invalidate{}), "does not identify its endpoint");
  const auto endpoint = make_event(0, 0, Endpoint{});
  refused(write(std::span(endpoint).first(endpoint.size() - 1), kStart), "not an endpoint's event");
  refused(write(endpoint, -1), "not an endpoint's event");
  ASSERT_TRUE(write(endpoint, kStart));
  refused(write(endpoint, kStart), "starts a second time");
  refused(write(256, 0, Invalidate{}), "not an endpoint's event");
  base::Frame other;
  other.time_ns = kStart;
  refused(file_->write(other), "not an endpoint's event");
  // Times that no clock has.
  ASSERT_TRUE(write(make_event(1, INT64_MIN, Invalidate{}), INT64_MAX));
  ASSERT_TRUE(write(make_event(255, INT64_MAX, Loss{0, UINT64_MAX}), 0));
  ASSERT_TRUE(file_->finish(kStart));
}

}  // namespace
}  // namespace rpcrdma::trace
