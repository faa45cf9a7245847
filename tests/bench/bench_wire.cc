// The cost of a transport header. The bytes are those of an NFS WRITE: a Call with one Read
// segment.
#include "tirpc_header.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <benchmark/benchmark.h>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace {

using namespace rpcrdma;

constexpr std::array<std::uint8_t, 52> kOneReadSegment = {
    0x44, 0x7f, 0x06, 0xed,                          // xid
    0,    0,    0,    1,                             // vers
    0,    0,    0,    0x80,                          // credit
    0,    0,    0,    0,                             // RDMA_MSG
    0,    0,    0,    1,                             // a Read segment
    0,    0,    0,    0x70,                          // position
    0,    0,    0x06, 0xc4,                          // handle
    0,    0,    0x80, 0,                             // length
    0x44, 0x7f, 0x06, 0xed, 0xcc, 0x5a, 0xd0, 0x00,  // offset
    0,    0,    0,    0,                             // end of the Read list
    0,    0,    0,    0,                             // no Write list
    0,    0,    0,    0,                             // no Reply chunk
};

constexpr wire::ReadSegment kRead{0x70, {0x6c4, 0x8000, 0x447f06edcc5ad000}};

wire::Header header_of(std::span<const wire::ReadSegment> reads) {
  wire::Header header;
  header.xid = 0x447f06ed;
  header.credit = 0x80;
  header.reads = reads;
  return header;
}

void BM_DecodeHeaderOneReadSegment(benchmark::State& state) {
  const std::uint8_t* bytes = kOneReadSegment.data();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    wire::Result<wire::HeaderView> view = wire::decode_header({bytes, kOneReadSegment.size()});
    benchmark::DoNotOptimize(view);
  }
  const auto view = wire::decode_header(kOneReadSegment);
  if (!view || view->reads.size() != 1 || view->reads[0] != kRead) state.SkipWithError("wrong");
}
BENCHMARK(BM_DecodeHeaderOneReadSegment);

// Decodes and reads every segment, as libtirpc's routines do.
void BM_DecodeHeaderAndSegments(benchmark::State& state) {
  const std::uint8_t* bytes = kOneReadSegment.data();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    wire::Result<wire::HeaderView> view = wire::decode_header({bytes, kOneReadSegment.size()});
    for (wire::ReadSegment segment : view->reads) benchmark::DoNotOptimize(segment);
    benchmark::DoNotOptimize(view);
  }
}
BENCHMARK(BM_DecodeHeaderAndSegments);

void BM_LibtirpcXdrOneReadSegment(benchmark::State& state) {
  auto bytes = kOneReadSegment;
  bench::TirpcHeader header{};
  const auto decode = [&] {
    XDR xdrs;
    xdrmem_create(&xdrs, reinterpret_cast<char*>(bytes.data()), bytes.size(), XDR_DECODE);
    header = {};
    return bench::xdr_tirpc_header(&xdrs, &header);
  };
  const auto free_header = [&] {
    XDR xdrs{};
    xdrs.x_op = XDR_FREE;
    bench::xdr_tirpc_header(&xdrs, &header);
  };
  for ([[maybe_unused]] auto _ : state) {
    decode();
    benchmark::DoNotOptimize(header);
    free_header();
  }
  if (!decode() || header.lists.reads == nullptr ||
      header.lists.reads->position != kRead.position ||
      header.lists.reads->target.offset != kRead.target.offset) {
    state.SkipWithError("wrong");
  }
  free_header();
}
BENCHMARK(BM_LibtirpcXdrOneReadSegment);

void BM_EncodeHeaderOneReadSegment(benchmark::State& state) {
  std::array<std::uint8_t, 64> out{};
  wire::Header header = header_of({&kRead, 1});
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(header);
    wire::Result<std::size_t> size = wire::encode_header(header, out);
    benchmark::DoNotOptimize(size);
    benchmark::ClobberMemory();
  }
  if (!std::equal(kOneReadSegment.begin(), kOneReadSegment.end(), out.begin())) {
    state.SkipWithError("wrong");
  }
}
BENCHMARK(BM_EncodeHeaderOneReadSegment);

void BM_LibtirpcXdrEncodeOneReadSegment(benchmark::State& state) {
  std::array<char, 64> out{};
  bench::TirpcReadList read{
      kRead.position, {kRead.target.handle, kRead.target.length, kRead.target.offset}, nullptr};
  bench::TirpcHeader header{0x447f06ed, 1, 0x80, 0, {&read, nullptr, nullptr}};
  for ([[maybe_unused]] auto _ : state) {
    XDR xdrs;
    xdrmem_create(&xdrs, out.data(), out.size(), XDR_ENCODE);
    benchmark::DoNotOptimize(header);
    bool_t ok = bench::xdr_tirpc_header(&xdrs, &header);
    benchmark::DoNotOptimize(ok);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_LibtirpcXdrEncodeOneReadSegment);

// Chunk lists up to practical lengths: N Read segments.
void BM_DecodeHeaderReadSegments(benchmark::State& state) {
  std::array<wire::ReadSegment, 64> reads;
  reads.fill(kRead);
  std::array<std::uint8_t, 28 + 64 * wire::kReadEntryBytes> bytes{};
  const wire::Header header =
      header_of(std::span(reads).first(static_cast<size_t>(state.range(0))));
  const std::size_t size = wire::encode_header(header, bytes).value_or(0);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    wire::Result<wire::HeaderView> view = wire::decode_header({bytes.data(), size});
    benchmark::DoNotOptimize(view);
  }
}
BENCHMARK(BM_DecodeHeaderReadSegments)->Arg(0)->Arg(4)->Arg(16)->Arg(64);

void BM_DecodeRpcCallAuthSys(benchmark::State& state) {
  std::array<std::uint8_t, 24> cred{};
  wire::RpcCall call;
  call.prog = 100003;
  call.vers = 3;
  call.proc = 7;
  call.cred = {static_cast<std::uint32_t>(wire::AuthFlavor::kSys), cred};
  std::array<std::uint8_t, 128> bytes{};
  const std::size_t size = wire::encode_rpc(call, bytes).value_or(0);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    wire::Result<wire::RpcView> view = wire::decode_rpc({bytes.data(), size});
    benchmark::DoNotOptimize(view);
  }
  if (!wire::decode_rpc({bytes.data(), size})) state.SkipWithError("wrong");
}
BENCHMARK(BM_DecodeRpcCallAuthSys);

}  // namespace
