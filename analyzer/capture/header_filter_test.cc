// Tests that the filter keeps messages whole and truncates data, with libpcap's own interpreter.
#include "header_filter.h"

#include "capture_for_tests.h"

#include <gtest/gtest.h>

namespace rpcrdma::capture {
namespace {

constexpr std::uint32_t kWhole = 262144;

class HeaderFilter : public ::testing::Test {
 protected:
  // Returns how many bytes the joined program keeps.
  [[nodiscard]] static std::uint32_t kept(const ByteVector& frame, const std::string& filter,
                                          int dlt = DLT_EN10MB) {
    pcap_t* const none = pcap_open_dead(dlt, static_cast<int>(kWhole));
    bpf_program wanted{}, data{};
    EXPECT_EQ(pcap_compile(none, &wanted, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN), 0)
        << pcap_geterr(none);
    const std::string expression =
        data_filter(dlt == DLT_RAW ? LinkType::kRaw : LinkType::kEthernet);
    EXPECT_EQ(pcap_compile(none, &data, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN), 0)
        << pcap_geterr(none);
    const std::vector<bpf_insn> joined = truncate_data(wanted, data, kHeaderBytes);
    const auto size = static_cast<u_int>(frame.size());
    const u_int result = bpf_filter(joined.data(), frame.data(), size, size);
    pcap_freecode(&wanted);
    pcap_freecode(&data);
    pcap_close(none);
    return result;
  }

  static ByteVector ethernet(std::uint16_t type, const ByteVector& payload, int tags = 0) {
    ByteVector frame(12, 0x02);
    const auto put = [&frame](std::uint16_t value) {
      frame.push_back(static_cast<std::uint8_t>(value >> 8U));
      frame.push_back(static_cast<std::uint8_t>(value));
    };
    for (int i = 0; i < tags; ++i) {
      put(0x8100);
      put(7);
    }
    put(type);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
  }
  // UDP to `port`, with a BTH of this opcode and 1000 bytes.
  static ByteVector udp(std::uint8_t opcode, std::uint16_t port = 4791) {
    ByteVector datagram{0xc0,
                        0,
                        static_cast<std::uint8_t>(port >> 8U),
                        static_cast<std::uint8_t>(port),
                        4,
                        8,
                        0,
                        0,
                        opcode};
    datagram.resize(8 + 1000);
    return datagram;
  }
  static ByteVector ipv4(std::uint8_t opcode, std::uint16_t port = 4791) {
    ByteVector packet(20);
    packet[0] = 0x45;
    packet[9] = 17;
    const ByteVector datagram = udp(opcode, port);
    packet.insert(packet.end(), datagram.begin(), datagram.end());
    return packet;
  }
  static ByteVector ipv6(std::uint8_t opcode) {
    ByteVector packet(40);
    packet[0] = 0x60;
    packet[6] = 17;
    const ByteVector datagram = udp(opcode);
    packet.insert(packet.end(), datagram.begin(), datagram.end());
    return packet;
  }
};

TEST_F(HeaderFilter, DataIsTruncatedAndMessagesAreNot) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    const int service = opcode >> 5;
    const bool connected = service == 0 || service == 1 || service == 5;
    const int what = opcode & 0x1f;
    if (!connected && service != 3 && service != 4) continue;  // RD and vendors' opcodes
    if (!connected && what >= 6) continue;                     // no such opcodes
    const bool data = connected && what >= 6 && what <= 16;
    const auto code = static_cast<std::uint8_t>(opcode);
    const std::uint32_t expected = data ? kHeaderBytes : kWhole;
    EXPECT_EQ(kept(ethernet(0x0800, ipv4(code)), "udp port 4791"), expected) << opcode;
    EXPECT_EQ(kept(ethernet(0x86dd, ipv6(code)), "udp port 4791"), expected) << opcode;
  }
}

TEST_F(HeaderFilter, VlanTagsAndOtherLinks) {
  constexpr std::uint8_t kWriteMiddle = 7, kSendOnly = 4;
  const std::string tagged =
      "udp port 4791 or (vlan and (udp port 4791 or (vlan and udp port 4791)))";
  for (int tags = 0; tags < 3; ++tags) {
    EXPECT_EQ(kept(ethernet(0x0800, ipv4(kWriteMiddle), tags), tagged), kHeaderBytes) << tags;
    EXPECT_EQ(kept(ethernet(0x86dd, ipv6(kWriteMiddle), tags), tagged), kHeaderBytes) << tags;
    EXPECT_EQ(kept(ethernet(0x0800, ipv4(kSendOnly), tags), tagged), kWhole) << tags;
  }
  EXPECT_EQ(kept(ipv4(kWriteMiddle), "udp port 4791", DLT_RAW), kHeaderBytes);
  EXPECT_EQ(kept(ipv4(kSendOnly), "udp port 4791", DLT_RAW), kWhole);
  ByteVector grh(40);
  grh.push_back(kWriteMiddle);
  grh.resize(1000);
  EXPECT_EQ(kept(ethernet(0x8915, grh), "ether proto 0x8915"), kHeaderBytes);
  grh[40] = kSendOnly;
  EXPECT_EQ(kept(ethernet(0x8915, grh), "ether proto 0x8915"), kWhole);
  EXPECT_EQ(data_filter(LinkType::kInfiniband), "");
}

TEST_F(HeaderFilter, TheOtherFilterStillDecidesWhatIsCaptured) {
  constexpr std::uint8_t kWriteMiddle = 7;
  EXPECT_EQ(kept(ethernet(0x0800, ipv4(kWriteMiddle)), "udp port 53"), 0u);
  EXPECT_EQ(kept(ethernet(0x0800, ipv4(kWriteMiddle, 53)), "udp port 53"), kWhole);
  EXPECT_EQ(kept(ethernet(0x0800, ipv4(kWriteMiddle)), ""), kHeaderBytes);
  EXPECT_EQ(kept(ethernet(0x0806, ByteVector(28)), ""), kWhole);
  EXPECT_EQ(kept(ethernet(0x0800, ipv4(kWriteMiddle)), "src host 1.2.3.4 or dst port 4790"), 0u);
}

}  // namespace
}  // namespace rpcrdma::capture
