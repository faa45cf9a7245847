// Tests of the fragment reader: orders, copies, overlaps, floods, truncated fragments.
#include "capture_for_tests.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include <rpcrdma/capture/fragments.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

// A UDP datagram to `port` with `content` bytes after its header.
ByteVector udp_datagram(std::size_t content, std::uint16_t port = 4791, std::uint8_t seed = 1) {
  ByteVector udp(8 + content);
  wire::store_be16(&udp[0], 0xc001);
  wire::store_be16(&udp[2], port);
  wire::store_be16(&udp[4], static_cast<std::uint16_t>(udp.size()));
  for (std::size_t i = 8; i < udp.size(); ++i) udp[i] = static_cast<std::uint8_t>(i * 7 + seed);
  return udp;
}

ByteVector ipv4_fragment(const ByteVector& datagram, std::size_t from, std::size_t length,
                         std::uint16_t id, bool whole = false) {
  ByteVector ip = from_hex("45 02 0000 0000 0000 40 11 0000 0a000001 0a000002");
  const bool more = from + length < datagram.size();
  wire::store_be16(&ip[2], static_cast<std::uint16_t>(20 + length));
  wire::store_be16(&ip[4], id);
  if (!whole) {
    wire::store_be16(&ip[6], static_cast<std::uint16_t>((more ? 0x2000U : 0U) | from / 8));
  }
  ip.insert(ip.end(), datagram.begin() + static_cast<std::ptrdiff_t>(from),
            datagram.begin() + static_cast<std::ptrdiff_t>(from + length));
  return ip;
}

// With a Destination Options header in front of the Fragment header.
ByteVector ipv6_fragment(const ByteVector& datagram, std::size_t from, std::size_t length,
                         std::uint32_t id, bool whole = false) {
  ByteVector ip = from_hex(
      "60000000 0000 3c 40 fe800000000000000000000000000001 fe800000000000000000000000000002"
      "2c00010400000000");
  const bool more = from + length < datagram.size();
  if (whole) {
    ip[40] = 17;
  } else {
    ByteVector header = from_hex("1100 0000 00000000");
    wire::store_be16(&header[2], static_cast<std::uint16_t>(from | (more ? 1U : 0U)));
    wire::store_be32(&header[4], id);
    ip = ip + header;
  }
  wire::store_be16(&ip[4], static_cast<std::uint16_t>(ip.size() - 40 + length));
  ip.insert(ip.end(), datagram.begin() + static_cast<std::ptrdiff_t>(from),
            datagram.begin() + static_cast<std::ptrdiff_t>(from + length));
  return ip;
}

struct Reader {
  explicit Reader(FragmentLimits limits = {}) : fragments(limits) {}

  // Returns the datagram that the fragment completes.
  std::optional<ByteVector> add(const ByteVector& bytes, std::size_t captured = SIZE_MAX) {
    Frame frame;
    frame.link = LinkType::kRaw;
    frame.number = ++number;
    frame.time_ns = time_ns;
    frame.original = static_cast<std::uint32_t>(bytes.size());
    frame.data = std::span(bytes).first(std::min(captured, bytes.size()));
    Frame whole;
    if (!fragments.add(frame, whole)) return std::nullopt;
    EXPECT_EQ(whole.number, number);
    EXPECT_EQ(whole.time_ns, time_ns);
    EXPECT_EQ(whole.link, LinkType::kRaw);
    original = whole.original;
    return ByteVector(whole.data.begin(), whole.data.end());
  }

  Fragments fragments;
  std::uint64_t number = 0;
  std::int64_t time_ns = 0;
  std::uint32_t original = 0;
};

struct Cut {
  std::size_t from, length;
};

std::vector<Cut> cuts(std::size_t bytes, std::size_t each) {
  std::vector<Cut> all;
  for (std::size_t at = 0; at < bytes; at += each) all.push_back({at, std::min(each, bytes - at)});
  return all;
}

TEST(Fragments, EveryOrder) {
  const ByteVector datagram = udp_datagram(100);
  const std::vector<Cut> all = cuts(datagram.size(), 32);
  ASSERT_EQ(all.size(), 4U);
  for (const bool ipv6 : {false, true}) {
    const auto make = ipv6 ? &ipv6_fragment : nullptr;
    const auto fragment = [&](const Cut& c) {
      return make != nullptr ? make(datagram, c.from, c.length, 7, false)
                             : ipv4_fragment(datagram, c.from, c.length, 7);
    };
    const ByteVector expected = ipv6 ? ipv6_fragment(datagram, 0, datagram.size(), 0, true)
                                     : ipv4_fragment(datagram, 0, datagram.size(), 7, true);
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0U);
    do {
      Reader reader;
      for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        EXPECT_EQ(reader.add(fragment(all[order[i]])), std::nullopt);
      }
      EXPECT_EQ(reader.add(fragment(all[order.back()])), expected);
      EXPECT_EQ(reader.original, expected.size());
      reader.fragments.finish();
      EXPECT_EQ(reader.fragments.counts().fragments, 4U);
      EXPECT_EQ(reader.fragments.counts().datagrams, 1U);
      EXPECT_EQ(reader.fragments.counts().incomplete, 0U);
      EXPECT_EQ(reader.fragments.bytes(), 0U);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// A mirror shows each fragment twice: the datagram comes twice, whatever the order.
TEST(Fragments, CopiesOfAllFragmentsAreACopyOfTheDatagram) {
  const ByteVector datagram = udp_datagram(100);
  const ByteVector first = ipv4_fragment(datagram, 0, 56, 7);
  const ByteVector second = ipv4_fragment(datagram, 56, 52, 7);
  for (const auto& order : {std::vector{&first, &first, &second, &second},
                            std::vector{&first, &second, &first, &second},
                            std::vector{&second, &first, &second, &first}}) {
    Reader reader;
    int complete = 0;
    for (const ByteVector* bytes : order) complete += reader.add(*bytes) ? 1 : 0;
    EXPECT_EQ(complete, 2);
    reader.fragments.finish();
    EXPECT_EQ(reader.fragments.counts().incomplete, 0U);
  }
}

TEST(Fragments, OneCopyIsHarmless) {
  const ByteVector datagram = udp_datagram(100);
  Reader reader;
  EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7)));
  EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7)));
  EXPECT_TRUE(reader.add(ipv4_fragment(datagram, 56, 52, 7)));
  EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7)));
  reader.fragments.finish();
  EXPECT_EQ(reader.fragments.counts().incomplete, 0U);
}

TEST(Fragments, OverlapsDropTheDatagram) {
  const ByteVector datagram = udp_datagram(120), other = udp_datagram(120, 4791, 9);
  for (const bool ipv6 : {false, true}) {
    const auto fragment = [&](const ByteVector& of, std::size_t from, std::size_t length) {
      return ipv6 ? ipv6_fragment(of, from, length, 7) : ipv4_fragment(of, from, length, 7);
    };
    const std::vector<std::pair<Cut, const ByteVector*>> overlaps = {
        {{48, 32}, &datagram},  // overlaps the first
        {{56, 8}, &datagram},   // within the first
        {{56, 64}, &datagram},  // overlaps both
        {{0, 64}, &other},      // in place of the first, with other bytes
        {{120, 8}, &other},     // a second end
    };
    for (const auto& [cut, of] : overlaps) {
      Reader reader;
      EXPECT_FALSE(reader.add(fragment(datagram, 0, 64)));
      EXPECT_FALSE(reader.add(fragment(datagram, 112, 16)));
      EXPECT_FALSE(reader.add(fragment(*of, cut.from, cut.length)));
      EXPECT_FALSE(reader.add(fragment(datagram, 64, 48))) << cut.from;
      reader.fragments.finish();
      EXPECT_EQ(reader.fragments.counts().incomplete, 1U);
      EXPECT_EQ(reader.fragments.counts().datagrams, 0U);
    }
  }
}

TEST(Fragments, IdentificationsAreUsedAgain) {
  Reader reader;
  for (std::uint8_t seed = 0; seed < 3; ++seed) {
    const ByteVector datagram = udp_datagram(100, 4791, seed);
    EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7)));
    EXPECT_EQ(reader.add(ipv4_fragment(datagram, 56, 52, 7)),
              ipv4_fragment(datagram, 0, datagram.size(), 7, true));
  }
  // Also that of a datagram that lost its last fragment.
  EXPECT_FALSE(reader.add(ipv4_fragment(udp_datagram(100), 0, 56, 8)));
  reader.time_ns += 2'000'000'000;
  EXPECT_FALSE(reader.add(ipv4_fragment(udp_datagram(100, 4791, 5), 0, 56, 8)));
  EXPECT_TRUE(reader.add(ipv4_fragment(udp_datagram(100, 4791, 5), 56, 52, 8)));
  EXPECT_EQ(reader.fragments.counts().incomplete, 1U);
}

TEST(Fragments, TimeoutByTheClockOfTheCapture) {
  const ByteVector datagram = udp_datagram(100);
  Reader reader;
  EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7)));
  reader.time_ns = 30'000'000'001;
  EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 56, 52, 7)));
  EXPECT_EQ(reader.fragments.counts().incomplete, 1U);
  // The late one has no port, but these addresses have fragmented RoCE.
  reader.fragments.finish();
  EXPECT_EQ(reader.fragments.counts().incomplete, 2U);
  EXPECT_EQ(reader.fragments.counts().incomplete_frames, 2U);
  EXPECT_EQ(reader.fragments.counts().fragments, 2U);
}

TEST(Fragments, OtherDatagramsDoNotCount) {
  const ByteVector nfs = udp_datagram(100, 2049);
  Reader reader;
  EXPECT_FALSE(reader.add(ipv4_fragment(nfs, 0, 56, 7)));
  EXPECT_TRUE(reader.add(ipv4_fragment(nfs, 56, 52, 7)));
  EXPECT_FALSE(reader.add(ipv4_fragment(nfs, 0, 56, 8)));
  EXPECT_FALSE(reader.add(ipv4_fragment(nfs, 56, 52, 9)));
  reader.fragments.finish();
  EXPECT_EQ(reader.fragments.counts().fragments, 0U);
  EXPECT_EQ(reader.fragments.counts().incomplete, 0U);
}

// The oldest incomplete datagrams make room.
TEST(Fragments, FloodsAreBounded) {
  const FragmentLimits limits{.bytes = 100'000, .datagrams = 64};
  const ByteVector datagram = udp_datagram(9000);
  Reader reader(limits);
  for (std::uint16_t id = 0; id < 5000; ++id) {
    EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 8000, 8, id)));
    ASSERT_LE(reader.fragments.datagrams(), limits.datagrams);
    ASSERT_LE(reader.fragments.bytes(), limits.bytes + 70'000);
    if (id % 1000 == 0) {
      EXPECT_FALSE(reader.add(ipv4_fragment(udp_datagram(100), 0, 56, 7777)));
      EXPECT_TRUE(reader.add(ipv4_fragment(udp_datagram(100), 56, 52, 7777)));
    }
  }
  EXPECT_GT(reader.fragments.counts().evicted, 4900U);
  reader.fragments.finish();
  EXPECT_EQ(reader.fragments.bytes(), 0U);
  EXPECT_EQ(reader.fragments.datagrams(), 0U);
}

// The datagram ends where the first byte is missing.
TEST(Fragments, TruncatedFragments) {
  const ByteVector datagram = udp_datagram(100);
  const ByteVector whole = ipv4_fragment(datagram, 0, datagram.size(), 7, true);
  for (const std::size_t snaplen : {30U, 76U, 75U, 60U}) {
    Reader reader;
    EXPECT_FALSE(reader.add(ipv4_fragment(datagram, 0, 56, 7), snaplen));
    const auto got = reader.add(ipv4_fragment(datagram, 56, 52, 7), snaplen);
    ASSERT_TRUE(got);
    const std::size_t expected = snaplen < 76 ? snaplen : whole.size();
    EXPECT_EQ(*got,
              ByteVector(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(expected)));
    EXPECT_EQ(reader.original, whole.size());
  }
}

TEST(Fragments, HeadersThatDoNotFitAreIgnored) {
  Reader reader;
  const ByteVector datagram = udp_datagram(100);
  ByteVector beyond = ipv4_fragment(datagram, 0, 56, 7);
  wire::store_be16(&beyond[6], 0x1fff);  // ends after 65535 bytes
  EXPECT_FALSE(reader.add(beyond));
  ByteVector odd = ipv4_fragment(datagram, 0, 57, 7);  // more follow, but not at a multiple of 8
  EXPECT_FALSE(reader.add(odd));
  EXPECT_EQ(reader.fragments.datagrams(), 0U);
}

}  // namespace
}  // namespace rpcrdma::capture
