#include "replay.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::bench {

namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;

std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::uint16_t ip_checksum(const std::uint8_t* ip) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIp; i += 2) sum += wire::load_be16(ip + i);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// Gives a RoCEv2 frame over IPv4 without options the addresses of `round`, and counts it.
void readdress(std::uint8_t* frame, std::size_t length, std::uint32_t round, Replayed& made) {
  if (length < kEthernet + kIp + kUdp + wire::kBthBytes + 4) return;
  std::uint8_t* ip = frame + kEthernet;
  if (wire::load_be16(frame + 12) != 0x0800 || ip[0] != 0x45 || ip[9] != 17 ||
      wire::load_be16(ip + kIp + 2) != wire::kRoceUdpPort) {
    return;
  }
  for (std::uint8_t* address : {ip + 12, ip + 16}) {
    wire::store_be16(address + 1, static_cast<std::uint16_t>(round));
  }
  wire::store_be16(ip + 10, 0);
  wire::store_be16(ip + 10, ip_checksum(ip));
  const std::size_t total = wire::load_be16(ip + 2);
  if (kEthernet + total > length) return;
  wire::store_icrc(ip + total - 4,
                   wire::icrc(wire::IcrcKind::kRoceV2Ipv4, wire::Bytes(ip, total - 4), kIp + kUdp));
  ++made.roce;
  const std::uint8_t opcode = ip[kIp + kUdp];
  const wire::OpcodeInfo& info = wire::opcode_info(opcode);
  const bool connected = opcode >> 5 == static_cast<int>(wire::Service::kRc);
  if (connected && info.send && info.last) ++made.sends;
}

std::uint32_t load_le32(const char* p) {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

}  // namespace

Replayed replay(const std::vector<std::string>& captures, std::uint64_t packets,
                const std::string& path) {
  Replayed made;
  std::vector<std::string> files;
  for (const std::string& name : captures) {
    files.push_back(read_whole(name));
    if (files.back().size() <= kFileHeader) {
      std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
      std::exit(1);
    }
  }
  std::ofstream out(path, std::ios::binary);
  out.write(files[0].data(), kFileHeader);
  std::uint64_t clock_us = 1'700'000'000'000'000;
  for (std::uint32_t round = 1; made.packets < packets; ++round) {
    std::string file = files[round % files.size()];
    std::uint64_t last = 0;
    std::uint64_t first = 0;
    for (std::size_t at = kFileHeader; at + kRecordHeader <= file.size();) {
      const std::uint32_t captured = load_le32(file.data() + at + 8);
      const std::uint64_t us =
          std::uint64_t{load_le32(file.data() + at)} * 1'000'000 + load_le32(file.data() + at + 4);
      if (first == 0) first = us;
      last = us;
      const std::uint64_t now = clock_us + (us - first);
      const auto seconds = static_cast<std::uint32_t>(now / 1'000'000);
      const auto micros = static_cast<std::uint32_t>(now % 1'000'000);
      std::memcpy(file.data() + at, &seconds, 4);
      std::memcpy(file.data() + at + 4, &micros, 4);
      auto* frame = reinterpret_cast<std::uint8_t*>(file.data() + at + kRecordHeader);
      readdress(frame, captured, round, made);
      ++made.packets;
      at += kRecordHeader + captured;
    }
    clock_us += last - first + 1000;
    out.write(file.data() + kFileHeader, static_cast<std::streamsize>(file.size() - kFileHeader));
    made.bytes += file.size() - kFileHeader;
  }
  out.close();
  if (!out) {
    std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
    std::exit(1);
  }
  return made;
}

}  // namespace rpcrdma::bench
