// A classic pcap file (little-endian, microseconds) as records that a test can drop or change.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::e2e {

struct PcapEdit {
  std::string header;
  std::vector<std::string> records;  // with their 16-byte record headers

  explicit PcapEdit(const std::string& file) : header(file.substr(0, 24)) {
    for (std::size_t at = 24; at + 16 <= file.size();) {
      std::uint32_t captured = 0;
      std::memcpy(&captured, file.data() + at + 8, 4);
      records.push_back(file.substr(at, 16 + captured));
      at += 16 + captured;
    }
  }

  [[nodiscard]] std::string file() const {
    std::string out = header;
    for (const std::string& r : records) out += r;
    return out;
  }

  // The BTH opcode of a RoCEv2 packet over Ethernet and IPv4 without options; -1 for anything else.
  [[nodiscard]] static int opcode(const std::string& record) {
    constexpr std::size_t kBth = 16 + 14 + 20 + 8;
    if (record.size() < kBth + 12 || record.substr(16 + 12, 2) != std::string("\x08\x00", 2) ||
        record[16 + 14 + 9] != 17 || record.substr(16 + 14 + 22, 2) != "\x12\xb7") {
      return -1;
    }
    return static_cast<std::uint8_t>(record[kBth]);
  }
};

// Recomputes the ICRC of such a packet after a change.
inline void mend_icrc(std::string& record) {
  constexpr std::size_t kIp = 16 + 14;
  constexpr std::size_t kBth = kIp + 20 + 8;
  const std::vector<std::uint8_t> covered(record.begin() + kIp, record.end() - 4);
  std::uint8_t icrc[4];
  wire::store_icrc(icrc, wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kBth - kIp));
  record.replace(record.size() - 4, 4, reinterpret_cast<const char*>(icrc), 4);
}

}  // namespace rpcrdma::e2e
