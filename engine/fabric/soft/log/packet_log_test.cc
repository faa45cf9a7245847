// The packet log: golden bytes, and whole files read back with independent code, also on full disks
// and slow pipes.
#include "pcapng_log.h"
#include "rc/packet_for_tests.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::soft {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::SizeIs;

const Path kLoggedPath4{fabric::make_ipv4(10, 77, 0, 2), fabric::make_ipv4(10, 77, 0, 1), 0xd872};
const Path kLoggedPath6{*fabric::parse_address("fe80::5054:ff:fe77:2"),
                        *fabric::parse_address("fe80::5054:ff:fe77:1"), 0xd872};
constexpr std::int64_t kTime = 0x0123456789abcdef;
constexpr std::size_t kStatisticsBytes = 52;

std::vector<std::uint8_t> bytes_of(const EthernetFrame& frame) {
  std::vector<std::uint8_t> bytes(
      frame.headers.begin(),
      frame.headers.begin() + static_cast<std::ptrdiff_t>(frame.header_bytes));
  bytes.insert(bytes.end(), frame.datagram.begin(), frame.datagram.end());
  return bytes;
}

// --- Golden bytes

constexpr const char* kAck = "1100ffff 40000012 00000007 1f000003 a0bb6ed6";

// The IPv4 header's checksum: 4500+0030+b171+4000+4011+0a4d+0002+0a4d+0001 = 18b4f, 8b4f+1 = 8b50,
// inverted 74af.
TEST(EthernetFrameTest, OverIpv4) {
  const auto ack = hex(kAck);
  const Flow flow{kLoggedPath4.local, kLoggedPath4.remote, kLoggedPath4.udp_source_port};
  EXPECT_THAT(bytes_of(ethernet_frame(flow, 0xb171, ack)),
              ElementsAreArray(hex("02000a4d0001 02000a4d0002 0800"
                                   "4500 0030 b171 4000 40 11 74af 0a4d0002 0a4d0001"
                                   "d872 12b7 001c 0000"
                                   "1100ffff 40000012 00000007 1f000003 a0bb6ed6")));
}

// The UDP checksum, in sums of words. Addresses: fe80+5054+00ff+fe77+0002 = 24e4c and, with 0001,
// 24e4b; length and protocol: 001c+0011 = 2d; UDP: d872+12b7+001c = eb45; ACK: 1100+ffff+4000+0012
// +0007+1f00+0003 = 1701b; ICRC: 7bcc+edf9 = 169c5. All: 861e9, 61e9+8 = 61f1, inverted 9e0e.
TEST(EthernetFrameTest, OverIpv6) {
  const auto ack = hex("1100ffff 40000012 00000007 1f000003 7bccedf9");
  const Flow flow{kLoggedPath6.local, kLoggedPath6.remote, kLoggedPath6.udp_source_port};
  EXPECT_THAT(bytes_of(ethernet_frame(flow, 0, ack)),
              ElementsAreArray(hex("02fffe770001 02fffe770002 86dd"
                                   "60000000 001c 11 40"
                                   "fe80000000000000505400fffe770002"
                                   "fe80000000000000505400fffe770001"
                                   "d872 12b7 001c 9e0e"
                                   "1100ffff 40000012 00000007 1f000003 7bccedf9")));
}

TEST(EthernetFrameTest, AnUdpChecksumOfZeroIsWrittenAsOnes) {
  // The last two bytes compensate for all others.
  auto datagram = hex("1100ffff 40000012 00000007 1f000003 0000 0000");
  const Flow flow{kLoggedPath6.local, kLoggedPath6.remote, kLoggedPath6.udp_source_port};
  const EthernetFrame before = ethernet_frame(flow, 0, datagram);
  std::memcpy(datagram.data() + 18, before.headers.data() + 60, 2);
  const EthernetFrame after = ethernet_frame(flow, 0, datagram);
  EXPECT_EQ(wire::load_be16(after.headers.data() + 60), 0xffff);
}

TEST(PcapngLogTest, Section) {
  base::PcapngBlocks out;
  put_head(out, "soft0");
  EXPECT_THAT(out.bytes(),
              ElementsAreArray(hex("0a0d0d0a 2c000000 4d3c2b1a 0100 0000 ffffffffffffffff"
                                   "0400 0700 72706372646d61 00"  // rpcrdma
                                   "0000 0000 2c000000"
                                   "01000000 2c000000 0100 0000 00000000"
                                   "0200 0500 736f667430 000000"
                                   "0900 0100 09 000000"
                                   "0000 0000 2c000000")));
}

TEST(PcapngLogTest, ASectionThatEndsWithStatisticsSaysSo) {
  base::PcapngBlocks out;
  put_head(out, "soft0", base::PcapngBlocks::End::kStatistics);
  // opt_comment "ends with interface statistics".
  EXPECT_THAT(wire::Bytes(out.bytes()).first(80),
              ElementsAreArray(hex("0a0d0d0a 50000000 4d3c2b1a 0100 0000 ffffffffffffffff"
                                   "0400 0700 72706372646d61 00"
                                   "0100 1e00 656e647320776974 6820696e74657266 6163652073746174"
                                   "6973746963730000"
                                   "0000 0000 50000000")));
}

TEST(PcapngLogTest, Packet) {
  base::PcapngBlocks out;
  EthernetFrame frame;
  frame.headers[0] = 0x02;
  frame.header_bytes = 1;
  const auto datagram = hex("a1a2a3a4");
  frame.datagram = datagram;
  put_packet(out, kTime, Direction::kOutbound, frame);
  EXPECT_THAT(out.bytes(), ElementsAreArray(hex("06000000 34000000 00000000 67452301 efcdab89"
                                                "05000000 05000000 02a1a2a3a4 000000"
                                                "0200 0400 02000000 0000 0000 34000000")));
  EXPECT_EQ(out.bytes().size(), packet_block_bytes(frame));
}

TEST(PcapngLogTest, Statistics) {
  base::PcapngBlocks out;
  out.statistics({.last_ns = kTime, .received = 0x0102, .dropped = 3, .end_time = false});
  EXPECT_THAT(out.bytes(), ElementsAreArray(hex("05000000 34000000 00000000 67452301 efcdab89"
                                                "0400 0800 0201000000000000"
                                                "0700 0800 0300000000000000"
                                                "0000 0000 34000000")));
  EXPECT_EQ(out.bytes().size(), kStatisticsBytes);
}

// --- Written and read back

// A capture that must be whole and well-formed; parsed without the writer's code.
struct Read {
  struct Packet {
    std::int64_t time_ns = 0;
    std::uint32_t flags = 0;
    std::vector<std::uint8_t> frame;
  };
  std::vector<Packet> packets;
  bool whole = false;
  std::optional<std::uint64_t> received, dropped;  // from the statistics block
};

std::uint32_t le32(const std::uint8_t* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

std::uint64_t le64(const std::uint8_t* p) {
  return le32(p) | std::uint64_t{le32(p + 4)} << 32;
}

Read parse(wire::Bytes file) {
  Read read;
  while (!file.empty()) {
    if (file.size() < 12) return read;
    const std::size_t length = le32(file.data() + 4);
    if (length % 4 != 0 || length > file.size() || le32(file.data() + length - 4) != length) {
      return read;
    }
    const std::uint8_t* const p = file.data();
    if (le32(p) == 6) {
      const std::size_t captured = le32(p + 20);
      Read::Packet packet;
      packet.time_ns = static_cast<std::int64_t>(std::uint64_t{le32(p + 12)} << 32 | le32(p + 16));
      packet.frame.assign(p + 28, p + 28 + captured);
      packet.flags = le32(p + 28 + (captured + 3) / 4 * 4 + 4);
      EXPECT_EQ(le32(p + 24), captured);
      read.packets.push_back(std::move(packet));
    } else if (le32(p) == 5) {
      read.received = le64(p + 24);
      read.dropped = le64(p + 36);
    }
    file = file.subspan(length);
  }
  read.whole = true;
  return read;
}

class PacketLogTest : public testing::Test {
 protected:
  PacketLogTest() : file_(testing::TempDir() + "packet_log_" + std::to_string(::getpid())) {
    ::unlink(file_.c_str());
  }
  ~PacketLogTest() override { ::unlink(file_.c_str()); }

  PacketLog create(const PacketLogOptions& options = {}) {
    auto log = PacketLog::create(file_, options);
    if (!log) throw std::runtime_error(log.error().message);
    return std::move(*log);
  }

  Read read() const {
    std::ifstream in(file_, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    return parse(bytes);
  }

  const std::string file_;
};

std::uint16_t folded(std::uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::uint64_t words(wire::Bytes bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::uint64_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  }
  return sum;
}

TEST_F(PacketLogTest, WhatIsWrittenIsReadAgain) {
  std::vector<std::vector<std::uint8_t>> datagrams;
  {
    PacketLog log = create();
    for (std::size_t i = 0; i < 200; ++i) {
      const Path& path = i % 3 == 0 ? kLoggedPath6 : kLoggedPath4;
      const auto payload = pattern(i * 7, static_cast<std::uint32_t>(i));
      const OutPacket packet = send_only(path, payload, static_cast<std::uint8_t>(i));
      std::vector<std::uint8_t> datagram(packet.size() + 4);
      const auto ip_id = static_cast<std::uint16_t>(i * 300);
      ASSERT_EQ(frame(packet, ip_id, datagram), datagram.size());
      const auto time = kTime + static_cast<std::int64_t>(i);
      if (i % 2 == 0) {
        log.sent(time, path, ip_id, datagram);
      } else {
        log.received(time, {path.remote, path.local, path.udp_source_port}, ip_id, datagram);
      }
      datagrams.push_back(std::move(datagram));
    }
  }
  const Read read = this->read();
  EXPECT_TRUE(read.whole);
  EXPECT_EQ(read.received, 200U);
  EXPECT_EQ(read.dropped, 0U);
  ASSERT_THAT(read.packets, SizeIs(200));
  for (std::size_t i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const Read::Packet& packet = read.packets[i];
    EXPECT_EQ(packet.time_ns, kTime + static_cast<std::int64_t>(i));
    EXPECT_EQ(packet.flags, i % 2 == 0 ? 2U : 1U);
    const bool v6 = i % 3 == 0;
    const wire::Bytes frame = packet.frame;
    const wire::Bytes ip = frame.subspan(14);
    const wire::Bytes udp = ip.subspan(v6 ? 40 : 20);
    const wire::Bytes datagram = udp.subspan(8);
    EXPECT_THAT(std::vector(datagram.begin(), datagram.end()), ElementsAreArray(datagrams[i]));
    EXPECT_EQ(wire::load_be16(frame.data() + 12), v6 ? 0x86dd : 0x0800);
    EXPECT_EQ(wire::load_be16(udp.data() + 4), udp.size());
    // Both directions are logged as the datagram travelled: from .2 to .1.
    const Path seen{v6 ? kLoggedPath6.remote : kLoggedPath4.remote,
                    v6 ? kLoggedPath6.local : kLoggedPath4.local, 0xd872};
    if (v6) {
      EXPECT_EQ(wire::load_be16(ip.data() + 4), udp.size());
      EXPECT_EQ(folded(17 + udp.size() + words(ip.subspan(8, 32)) + words(udp)), 0xffff);
      EXPECT_EQ(check_icrc(seen, datagram, std::nullopt), IcrcCheck::kGood);
    } else {
      EXPECT_EQ(wire::load_be16(ip.data() + 2), ip.size());
      EXPECT_EQ(folded(words(ip.first(20))), 0xffff);
      EXPECT_EQ(wire::load_be16(ip.data() + 6), 0x4000);
      EXPECT_EQ(wire::load_be16(udp.data() + 6), 0);
      EXPECT_EQ(check_icrc(seen, datagram, wire::load_be16(ip.data() + 4)), IcrcCheck::kGood);
    }
  }
}

TEST_F(PacketLogTest, FlushedIsInTheFile) {
  PacketLog log = create();
  const auto ack = hex(kAck);
  log.sent(kTime, kLoggedPath4, 0, ack);
  log.flush();
  EXPECT_THAT(read().packets, SizeIs(1));
  EXPECT_EQ(log.counters().written, 1U);
  log.flush();
  log.sent(kTime, kLoggedPath4, 0, ack);
  log.flush();
  EXPECT_THAT(read().packets, SizeIs(2));
  EXPECT_EQ(log.counters().lost, 0U);
}

TEST_F(PacketLogTest, OnlyItsUserMayReadIt) {
  const PacketLog log = create();
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(PacketLogTest, AFileThatCannotBeMadeIsNamed) {
  const auto log = PacketLog::create(file_ + "/in/no/folder");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, fabric::Errc::kSystem);
  EXPECT_THAT(log.error().message, HasSubstr(file_));
}

TEST_F(PacketLogTest, AFullDiskIsEmittedAtOnce) {
  const auto log = PacketLog::create("/dev/full");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("/dev/full: cannot write: No space"));
}

TEST_F(PacketLogTest, WhatNoDatagramCanBeIsCountedAsLost) {
  PacketLog log = create();
  const std::vector<std::uint8_t> datagram(65508);
  log.sent(kTime, kLoggedPath4, 0, datagram);
  EXPECT_EQ(log.counters().lost, 1U);
}

// The file size limit simulates a full disk.
TEST_F(PacketLogTest, AFileThatCannotGrowKeepsWholeBlocks) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto datagram = pattern(1000, 1);
  std::vector<std::string> emitted;
  std::optional<PacketLogCounters> ended;
  {
    PacketLogOptions options;
    options.failed = [&](const std::string& error) { emitted.push_back(error); };
    options.ended = [&](const PacketLogCounters& counters) { ended = counters; };
    PacketLog log = create(options);
    rlimit limit = before;
    limit.rlim_cur = 10'000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 20; ++i) log.sent(kTime, kLoggedPath4, 0, datagram);
    log.flush();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    const PacketLogCounters counters = log.counters();
    // 124 bytes of head, 1086 per packet.
    EXPECT_EQ(counters.written, 9U);
    EXPECT_EQ(counters.lost, 11U);
    EXPECT_THAT(counters.error, HasSubstr(file_ + ": cannot write: File too large"));
    log.sent(kTime, kLoggedPath4, 0, datagram);
    EXPECT_EQ(log.counters().lost, 12U);
    EXPECT_FALSE(ended);
  }
  EXPECT_THAT(emitted, ElementsAre(HasSubstr("File too large"))) << "at once, and once";
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->written, 9U);
  EXPECT_EQ(ended->lost, 12U);
  const Read read = this->read();
  EXPECT_TRUE(read.whole);
  EXPECT_THAT(read.packets, SizeIs(9));
  EXPECT_EQ(read.received, 21U);
  EXPECT_EQ(read.dropped, 12U);
}

// 9898 bytes fit 9 packets; the rest is too small for the statistics.
TEST_F(PacketLogTest, TheStatisticsOfAFileThatIsFullTakeTheLastPacketsRoom) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto datagram = pattern(1000, 1);
  {
    PacketLog log = create();
    rlimit limit = before;
    limit.rlim_cur = 9'898 + kStatisticsBytes - 1;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    // Data of an earlier write() is truncated, too.
    for (int i = 0; i < 9; ++i) log.sent(kTime, kLoggedPath4, 0, datagram);
    log.flush();
    for (int i = 0; i < 11; ++i) log.sent(kTime, kLoggedPath4, 0, datagram);
    log.flush();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(log.counters().written, 8U);
    EXPECT_EQ(log.counters().lost, 12U);
  }
  const Read read = this->read();
  EXPECT_TRUE(read.whole);
  EXPECT_THAT(read.packets, SizeIs(8));
  EXPECT_EQ(read.received, 20U);
  EXPECT_EQ(read.dropped, 12U);
}

// A pipe instead of a file: its reader determines the speed.
class PacketLogPipeTest : public PacketLogTest {
 protected:
  PacketLogPipeTest() {
    if (::mkfifo(file_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
    reader_ = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ::fcntl(reader_, F_SETFL, 0);
  }
  ~PacketLogPipeTest() override { close_reader(); }

  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }

  int reader_ = -1;
};

TEST_F(PacketLogPipeTest, WhatASlowFileHasNoRoomForIsCountedAndEmitted) {
  constexpr std::uint64_t kPackets = 2000;
  const auto datagram = pattern(1000, 1);
  std::vector<std::uint8_t> bytes;
  std::thread reader;
  std::uint64_t lost = 0;
  {
    std::vector<std::uint64_t> losing;  // packets before
    std::uint64_t sent = 0;
    PacketLogOptions options;
    options.buffer_bytes = 100'000;
    options.losing = [&] { losing.push_back(sent); };
    PacketLog log = create(options);
    for (; sent < kPackets; ++sent) log.sent(kTime, kLoggedPath4, 0, datagram);
    lost = log.counters().lost;
    ASSERT_THAT(losing, SizeIs(1)) << "at once, and once";
    EXPECT_GT(losing[0], 80U);  // one buffer at least
    EXPECT_LE(losing[0], kPackets - lost);
    reader = std::thread([&] {
      std::array<std::uint8_t, 4096> part;
      for (ssize_t n = 0; (n = ::read(reader_, part.data(), part.size())) > 0;) {
        bytes.insert(bytes.end(), part.begin(), part.begin() + n);
      }
    });
    log.flush();
    EXPECT_EQ(log.counters().written, kPackets - lost);
    EXPECT_EQ(log.counters().lost, lost);
    EXPECT_EQ(log.counters().error, "");
  }
  reader.join();
  // The pipe holds 64 KiB, each buffer less than 100 packets.
  EXPECT_GT(lost, kPackets / 2);
  const Read read = parse(bytes);
  EXPECT_TRUE(read.whole);
  EXPECT_THAT(read.packets, SizeIs(kPackets - lost));
  EXPECT_EQ(read.received, kPackets);
  EXPECT_EQ(read.dropped, lost);
}

TEST_F(PacketLogPipeTest, AReaderThatWentAwayEndsNothingButTheLog) {
  PacketLog log = create();
  close_reader();
  const auto ack = hex(kAck);
  log.sent(kTime, kLoggedPath4, 0, ack);
  log.flush();
  EXPECT_EQ(log.counters().lost, 1U);
  EXPECT_THAT(log.counters().error, HasSubstr("Broken pipe"));
}

}  // namespace
}  // namespace rpcrdma::soft
