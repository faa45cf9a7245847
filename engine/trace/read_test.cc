#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace {
namespace {

template <typename Event>
std::vector<std::uint8_t> bytes_of(const Event& event, std::uint16_t fixed, std::uint32_t payload) {
  EventHeader header;
  header.type = static_cast<std::uint16_t>(Event::kType);
  header.fixed = fixed;
  header.payload = payload;
  std::vector<std::uint8_t> bytes(event_bytes(header));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &event, std::min<std::size_t>(fixed, sizeof event));
  return bytes;
}

TEST(TraceRead, OfAnOlderFormatTheRestHasItsDefault) {
  Advertise event;
  event.handle = 5;
  event.length = 6;
  event.access = 3;
  const auto bytes = bytes_of(event, 8, 0);
  const auto read = read_event<Advertise>(view_event(bytes).value()).value();
  EXPECT_EQ(read.handle, 5U);
  EXPECT_EQ(read.length, 6U);
  EXPECT_EQ(read.access, 0U);
}

TEST(TraceRead, OfANewerFormatWhatIsKnown) {
  const auto bytes = bytes_of(Invalidate{9, 1, {}}, 64, 3);
  const auto view = view_event(bytes).value();
  EXPECT_EQ(read_event<Invalidate>(view).value().handle, 9U);
  EXPECT_EQ(view.payload.size(), 3U);
}

TEST(TraceRead, AnotherTypeIsNotTaken) {
  const auto bytes = bytes_of(Invalidate{9, 1, {}}, sizeof(Invalidate), 0);
  EXPECT_FALSE(read_event<Advertise>(view_event(bytes).value()));
}

TEST(TraceRead, LengthsThatLieAreFound) {
  auto bytes = bytes_of(Invalidate{9, 1, {}}, sizeof(Invalidate), 16);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(view_event(std::span(bytes).first(n)));
  }
  EXPECT_TRUE(view_event(bytes));
  const std::uint32_t payload = UINT32_MAX;
  std::memcpy(bytes.data() + offsetof(EventHeader, payload), &payload, sizeof payload);
  EXPECT_FALSE(view_event(bytes));
}

}  // namespace
}  // namespace rpcrdma::trace
