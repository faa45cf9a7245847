// The cost of every packet of a capture: its headers and its ICRC. The floor of the ICRC is the CRC
// alone over as many bytes.
#include <array>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace {

using namespace rpcrdma;

constexpr std::size_t kBth = 28;  // behind IPv4 and UDP

// Returns a packet from the IPv4 header up to the ICRC, `size` bytes long.
std::vector<std::uint8_t> packet_of(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint32_t seed = 1;
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  bytes[0] = 0x45;
  return bytes;
}

void decode(benchmark::State& state, wire::Opcode opcode, std::size_t payload) {
  const std::vector<std::uint8_t> content(payload);
  wire::RocePacket packet;
  packet.bth.opcode = static_cast<std::uint8_t>(opcode);
  packet.reth = {0xf222da5eca71a000, 0xc1e, static_cast<std::uint32_t>(payload)};
  packet.payload = content;
  std::vector<std::uint8_t> bytes(wire::encoded_size(packet) + wire::kIcrcBytes);
  if (!wire::encode_roce(packet, bytes)) state.SkipWithError("does not encode");
  const std::uint8_t* data = bytes.data();
  for (auto _ : state) {
    benchmark::DoNotOptimize(data);
    wire::Result<wire::RocePacket> decoded = wire::decode_roce({data, bytes.size()}, bytes.size());
    benchmark::DoNotOptimize(decoded);
  }
  const auto decoded = wire::decode_roce(bytes, bytes.size());
  if (!decoded || decoded->payload.size() != payload) state.SkipWithError("wrong");
}

void BM_DecodeRoceWriteOnly(benchmark::State& state) {
  decode(state, wire::Opcode::kWriteOnly, 1024);
}
BENCHMARK(BM_DecodeRoceWriteOnly);

void BM_DecodeRoceAck(benchmark::State& state) {
  decode(state, wire::Opcode::kAck, 0);
}
BENCHMARK(BM_DecodeRoceAck);

// Opcodes in the mix of a capture: the branches on extension headers are not all predicted.
void BM_DecodeRoceMixed(benchmark::State& state) {
  constexpr std::array kOpcodes = {wire::Opcode::kSendOnly,    wire::Opcode::kAck,
                                   wire::Opcode::kReadRequest, wire::Opcode::kReadRespOnly,
                                   wire::Opcode::kWriteFirst,  wire::Opcode::kWriteMiddle,
                                   wire::Opcode::kWriteLast,   wire::Opcode::kSendOnlyInv};
  std::vector<std::array<std::uint8_t, 64>> packets(4096);
  std::uint32_t seed = 1;
  for (auto& packet : packets) {
    seed = seed * 1664525 + 1013904223;
    packet.fill(0);
    packet[0] = static_cast<std::uint8_t>(kOpcodes[seed >> 29]);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    const auto& packet = packets[next++ % packets.size()];
    wire::Result<wire::RocePacket> decoded = wire::decode_roce(packet, packet.size());
    benchmark::DoNotOptimize(decoded);
  }
}
BENCHMARK(BM_DecodeRoceMixed);

void BM_Icrc(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = packet_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::uint32_t value = wire::icrc(wire::IcrcKind::kRoceV2Ipv4, bytes, kBth);
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Icrc)->Arg(44)->Arg(64)->Arg(104)->Arg(256)->Arg(1024)->Arg(1064)->Arg(4096)->Arg(
    4136);

void BM_CrcAlone(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = packet_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::uint32_t value = crc32_gzip_refl(0, bytes.data(), bytes.size());
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CrcAlone)->Arg(64)->Arg(256)->Arg(1024)->Arg(1064)->Arg(4096)->Arg(4136);

}  // namespace
