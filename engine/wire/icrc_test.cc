// The ICRC against golden values, real packets and a slow reference, for every encapsulation.
#include "roce_for_tests.h"
#include "support/wire_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::wire {
namespace {

// The CRC-32 of Ethernet, one bit at a time.
std::uint32_t slow_crc(Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

TEST(SlowCrcTest, CheckValue) {
  EXPECT_EQ(slow_crc(hex("313233343536373839")), 0xcbf43926U);  // "123456789"
}

struct Kind {
  IcrcKind kind;
  const char* name;
  std::size_t bth;  // with headers of minimum length
};

void PrintTo(const Kind& k, std::ostream* out) {
  *out << k.name;
}

constexpr Kind kKinds[] = {
    {IcrcKind::kRoceV2Ipv4, "RoceV2Ipv4", 28}, {IcrcKind::kRoceV2Ipv6, "RoceV2Ipv6", 48},
    {IcrcKind::kRoceV1, "RoceV1", 40},         {IcrcKind::kNativeGrh, "NativeGrh", 48},
    {IcrcKind::kNative, "Native", 8},
};

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// The bytes that the ICRC covers, written a second time from the specification: annex A17.3 for
// RoCEv2, A16.4 for RoCEv1, section 7.8.1 for InfiniBand.
std::vector<std::uint8_t> covered(IcrcKind kind, Bytes packet, std::size_t bth) {
  std::vector<std::uint8_t> p(packet.begin(), packet.end());
  const auto ones = [&p](std::size_t offset, std::size_t bytes) {
    std::fill_n(p.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::uint8_t{0xff});
  };
  const auto route_ones = [&](std::size_t offset) {
    p[offset] |= 0x0f;
    ones(offset + 1, 3);
    ones(offset + 7, 1);
  };
  switch (kind) {
    case IcrcKind::kRoceV2Ipv4:
      ones(1, 1);
      ones(8, 1);
      ones(10, 2);
      ones(bth - 2, 2);
      break;
    case IcrcKind::kRoceV2Ipv6:
      route_ones(0);
      ones(bth - 2, 2);
      break;
    case IcrcKind::kRoceV1:
      route_ones(0);
      break;
    case IcrcKind::kNativeGrh:
      p[0] |= 0xf0;
      route_ones(8);
      break;
    case IcrcKind::kNative:
      p[0] |= 0xf0;
      break;
  }
  ones(bth + 4, 1);
  if (kind != IcrcKind::kNativeGrh && kind != IcrcKind::kNative) p.insert(p.begin(), 8, 0xff);
  return p;
}

// --- Golden examples: an ACK in each encapsulation, as sent and as the CRC covers it

struct Example {
  IcrcKind kind;
  std::size_t bth;
  const char* sent;
  const char* masked;
  std::uint32_t icrc;  // the CRC-32 of `masked`, from zlib
};

constexpr Example kExamples[] = {
    {IcrcKind::kRoceV2Ipv4, 28,
     "45 02 0030 b171 4000 40 11 73ab 0a4d0002 0a4d0001"
     "d872 12b7 001c abcd"
     "11 00 ffff 40 000012 00 000007 1f000003",
     "ffffffffffffffff"
     "45 ff 0030 b171 4000 ff 11 ffff 0a4d0002 0a4d0001"
     "d872 12b7 001c ffff"
     "11 00 ffff ff 000012 00 000007 1f000003",
     0xd66ebba0},
    {IcrcKind::kRoceV2Ipv6, 48,
     "60297979 001c 11 40 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "d872 12b7 001c abcd"
     "11 00 ffff 40 000012 00 000007 1f000003",
     "ffffffffffffffff"
     "6fffffff 001c 11 ff fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "d872 12b7 001c ffff"
     "11 00 ffff ff 000012 00 000007 1f000003",
     0xf9edcc7b},
    {IcrcKind::kRoceV1, 40,
     "60297979 0014 1b 40 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "11 00 ffff 40 000012 00 000007 1f000003",
     "ffffffffffffffff"
     "6fffffff 0014 1b ff fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "11 00 ffff ff 000012 00 000007 1f000003",
     0x2baada9d},
    {IcrcKind::kNativeGrh, 48,
     "23 03 0005 0011 0006"
     "60297979 0014 1b 40 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "11 00 ffff 40 000012 00 000007 1f000003",
     "f3 03 0005 0011 0006"
     "6fffffff 0014 1b ff fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
     "11 00 ffff ff 000012 00 000007 1f000003",
     0xed345df8},
    {IcrcKind::kNative, 8,
     "23 02 0005 0007 0006"
     "11 00 ffff 40 000012 00 000007 1f000003",
     "f3 02 0005 0007 0006"
     "11 00 ffff ff 000012 00 000007 1f000003",
     0x41ed9f16},
};

TEST(IcrcTest, GoldenExamples) {
  for (const Example& example : kExamples) {
    EXPECT_EQ(icrc(example.kind, hex(example.sent), example.bth), example.icrc) << example.masked;
    EXPECT_EQ(slow_crc(hex(example.masked)), example.icrc) << example.masked;
    const auto sent = hex(example.sent);
    EXPECT_EQ(icrc(example.kind, Bytes(sent).first(example.bth), Bytes(sent).subspan(example.bth)),
              example.icrc)
        << example.masked;
  }
}

TEST(IcrcTest, OnTheWireTheLeastSignificantByteComesFirst) {
  std::array<std::uint8_t, 4> wire{};
  store_icrc(wire.data(), 0x01020304);
  EXPECT_EQ(wire, (std::array<std::uint8_t, 4>{4, 3, 2, 1}));
  EXPECT_EQ(load_icrc(wire.data()), 0x01020304U);
}

// By hand: nothing follows the word, so the CRC register holds word * x^32. For x^0, the first bit
// of the last byte in reflected order, that is the polynomial itself.
TEST(IcrcWordTest, TheWordAtTheEnd) {
  EXPECT_EQ(icrc_word_difference(0xedb88320, 0), 0x00000080U);
  EXPECT_EQ(icrc_word_difference(0, 0), 0U);
}

// Each additional zero byte after the word is eight steps of the register.
TEST(IcrcWordTest, EveryDistance) {
  const std::uint32_t word = 0xb171a000;
  std::uint32_t crc = slow_crc(hex("b171a000")) ^ slow_crc(hex("00000000"));
  for (std::size_t behind = 0; behind < 65536; ++behind) {
    ASSERT_EQ(icrc_word_difference(crc, behind), word) << behind;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
}

// --- Real packets

struct Capture {
  const char* file;
  std::size_t packets;
};

void PrintTo(const Capture& c, std::ostream* out) {
  *out << c.file;
}

class IcrcCaptureTest : public ::testing::TestWithParam<Capture> {};

TEST_P(IcrcCaptureTest, EveryPacketCarriesIt) {
  const auto packets = roce_packets(GetParam().file);
  EXPECT_EQ(packets.size(), GetParam().packets);
  for (const CapturedPacket& packet : packets) {
    const std::size_t size = packet.ip.size() - kIcrcBytes;
    EXPECT_EQ(icrc(IcrcKind::kRoceV2Ipv4, Bytes(packet.ip).first(size), packet.bth),
              load_icrc(packet.ip.data() + size))
        << "frame " << packet.frame;
  }
}

INSTANTIATE_TEST_SUITE_P(All, IcrcCaptureTest,
                         ::testing::Values(Capture{"linux-nfs41.pcap", 824},
                                           Capture{"linux-nfs3.pcap", 1331},
                                           Capture{"linux-deleg.pcap", 404},
                                           Capture{"linux-non-rpc.pcap", 479},
                                           Capture{"roce-icrc-oracle.pcap", 105}));

// --- Every kind against the slow reference

class IcrcKindTest : public ::testing::TestWithParam<Kind> {};

TEST_P(IcrcKindTest, EveryLength) {
  const Kind& k = GetParam();
  for (std::size_t size = k.bth + kBthBytes; size < 600; ++size) {
    const auto packet = random_bytes(size, static_cast<std::uint32_t>(size));
    ASSERT_EQ(icrc(k.kind, packet, k.bth), slow_crc(covered(k.kind, packet, k.bth))) << size;
  }
}

// IPv4 options and IPv6 extension headers, including lengths beyond the allowed maximum.
TEST_P(IcrcKindTest, EveryPlaceOfTheBth) {
  const Kind& k = GetParam();
  const auto packet = random_bytes(500, 7);
  for (std::size_t bth = k.bth; bth <= packet.size() - kBthBytes; ++bth) {
    ASSERT_EQ(icrc(k.kind, packet, bth), slow_crc(covered(k.kind, packet, bth))) << bth;
  }
}

TEST_P(IcrcKindTest, ABitCountsUnlessItIsMasked) {
  const Kind& k = GetParam();
  auto packet = random_bytes(k.bth + kBthBytes + 100, 3);
  const std::uint32_t before = icrc(k.kind, packet, k.bth);
  const auto zeros = covered(k.kind, std::vector<std::uint8_t>(packet.size()), k.bth);
  const std::size_t pseudo = zeros.size() - packet.size();
  for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
    const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
    packet[bit / 8] ^= mask;
    const bool masked = (zeros[pseudo + bit / 8] & mask) != 0;
    EXPECT_EQ(icrc(k.kind, packet, k.bth) == before, masked) << "bit " << bit;
    packet[bit / 8] ^= mask;
  }
}

TEST_P(IcrcKindTest, ABthThatDoesNotFitGivesZero) {
  const Kind& k = GetParam();
  const auto packet = random_bytes(k.bth + kBthBytes, 9);
  EXPECT_NE(icrc(k.kind, packet, k.bth), 0U);
  EXPECT_EQ(icrc(k.kind, packet, k.bth - 1), 0U);
  EXPECT_EQ(icrc(k.kind, packet, k.bth + 1), 0U);
  EXPECT_EQ(icrc(k.kind, packet, SIZE_MAX), 0U);
  EXPECT_EQ(icrc(k.kind, Bytes(packet).first(packet.size() - 1), k.bth), 0U);
  EXPECT_EQ(icrc(k.kind, {}, k.bth), 0U);
  EXPECT_EQ(icrc(k.kind, {}, 0), 0U);
}

TEST_P(IcrcKindTest, HeadersMayLieElsewhere) {
  const Kind& k = GetParam();
  for (std::size_t size = k.bth; size < 300; ++size) {
    const auto packet = random_bytes(size, static_cast<std::uint32_t>(size));
    for (std::size_t bth = 0; bth <= size; ++bth) {
      const std::vector<std::uint8_t> headers(packet.begin(),
                                              packet.begin() + static_cast<std::ptrdiff_t>(bth));
      ASSERT_EQ(icrc(k.kind, headers, Bytes(packet).subspan(bth)), icrc(k.kind, packet, bth))
          << size << " " << bth;
    }
  }
}

TEST_P(IcrcKindTest, ContinuesAnywhereAfterTheBth) {
  const Kind& k = GetParam();
  const auto packet = random_bytes(k.bth + 300, 17);
  const std::uint32_t whole = icrc(k.kind, packet, k.bth);
  for (std::size_t at = k.bth + kBthBytes; at <= packet.size(); ++at) {
    const std::uint32_t begun = icrc(k.kind, Bytes(packet).first(at), k.bth);
    ASSERT_EQ(icrc_continued(begun, Bytes(packet).subspan(at)), whole) << at;
  }
}

TEST_P(IcrcKindTest, ShowsAnUnknownWord) {
  const Kind& k = GetParam();
  std::mt19937 random(11);
  // The word is in the unmasked part of the BTH: destination QP and after.
  for (std::size_t size = k.bth + kBthBytes; size < 4300; size += 41) {
    auto packet = random_bytes(size, static_cast<std::uint32_t>(size));
    const std::uint32_t before = icrc(k.kind, packet, k.bth);
    const auto word = static_cast<std::uint32_t>(random());
    std::uint8_t* const at = packet.data() + k.bth + 5;
    store_be32(at, load_be32(at) ^ word);
    const std::uint32_t difference = before ^ icrc(k.kind, packet, k.bth);
    ASSERT_EQ(icrc_word_difference(difference, size - k.bth - 9), word) << size;
  }
}

// The sanitizers cannot check the CRC's assembly code, so the packet lies between two unreadable
// pages.
class GuardedPage {
 public:
  GuardedPage()
      : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        map_(static_cast<std::uint8_t*>(
            mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (map_ == MAP_FAILED || mprotect(map_ + size_, size_, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("no guarded page");
    }
  }
  ~GuardedPage() { munmap(map_, 3 * size_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  [[nodiscard]] MutableBytes bytes() const { return {map_ + size_, size_}; }

 private:
  std::size_t size_;
  std::uint8_t* map_;
};

TEST_P(IcrcKindTest, ReadsNothingAroundThePacket) {
  const Kind& k = GetParam();
  const GuardedPage page;
  for (std::size_t size = k.bth + kBthBytes; size < 600; ++size) {
    const auto packet = random_bytes(size, 5);
    const std::uint32_t expected = icrc(k.kind, packet, k.bth);
    for (const MutableBytes place : {page.bytes().first(size), page.bytes().last(size)}) {
      std::memcpy(place.data(), packet.data(), size);
      ASSERT_EQ(icrc(k.kind, place, k.bth), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, IcrcKindTest, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace rpcrdma::wire
