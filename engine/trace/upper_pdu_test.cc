#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Bytes kEnd{0, 0, 0, 0};
const Bytes kName{0,   12,  0,   16,  'r', 'p', 'c', 'r', 'd', 'm',
                  'a', '_', 's', 'c', 'o', 'p', 'e', 0,   0,   0};
const Bytes kEvent{1, 2, 3};

std::optional<Bytes> event_of(const Bytes& data) {
  const auto event = event_in_pdu(data);
  if (!event) return std::nullopt;
  return Bytes(event->begin(), event->end());
}

TEST(UpperPdu, TagsAreAsWiresharkReadsThem) {
  EXPECT_EQ(Bytes(kUpperPduTags.begin(), kUpperPduTags.end()), kName + kEnd);
}

TEST(UpperPdu, TheEventIsBehindTheLastTag) {
  EXPECT_EQ(event_of(kName + kEnd + kEvent), kEvent);
  const Bytes other{0, 35, 0, 4, 0, 0, 0, 1};
  EXPECT_EQ(event_of(other + kName + other + kEnd + kEvent), kEvent);
  EXPECT_EQ(event_of(kName + kEnd), Bytes());
}

TEST(UpperPdu, OthersAreNotTaken) {
  EXPECT_FALSE(event_of(kEnd + kEvent));
  const Bytes rpc{0, 12, 0, 4, 'r', 'p', 'c', 0};
  EXPECT_FALSE(event_of(rpc + kEnd + kEvent));
}

TEST(UpperPdu, BrokenTagsAreFound) {
  const Bytes whole = kName + kEnd;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(event_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))));
  }
  EXPECT_FALSE(event_of({0, 12, 0xff, 0xff, 'r', 0, 0, 0}));
}

}  // namespace
}  // namespace rpcrdma::trace
