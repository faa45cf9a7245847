// A message with a value in every part that filters use.
#pragma once

#include "support/rpc_messages.h"

#include <string_view>
#include <vector>

#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter::testing {

// A Call of NFSv4.1 (SEQUENCE, PUTFH, READ) from 10.0.0.2, QP 17, to fe80::1, QP 18; its Reply came
// 1.5 ms later.
struct Sample {
  model::Message message;
  model::Call call;
  roce::Side client, server;
  std::vector<std::string_view> findings{"FC-01", "WR-03"};

  Sample() {
    model::Message& m = message;
    m.frame = 60;
    m.time_ns = 1'700'000'000'000'000'000;
    m.kind = model::Kind::kCall;
    m.xid = 0xabcd;
    m.version = 1;
    m.credit = 32;
    m.proc = 0;
    m.header_length = 76;
    m.reads = {{128, {0x1111, 4096, 0x10000}}, {128, {0x2222, 100, 0x20000}}};
    m.write_segments = {{0x3333, 65536, 0x30000}};
    m.write_counts = {1};
    m.rpc.known = m.rpc.header_seen = true;
    m.rpc.program = 100003;
    m.rpc.version = 4;
    m.rpc.procedure = 1;
    m.rpc.cred_flavor = 1;
    for (const std::uint32_t op : {53U, 22U, 25U}) m.rpc.ops.op[m.rpc.ops.kept++] = op;
    m.rpc.ops.announced = 3;
    m.rpc.ops.minor = 1;
    m.rpc_xid = m.xid;
    m.credits = {32, 64, 3};
    m.match_frame = 64;
    m.latency_ns = 1'500'000;
    wire::Header header = model::testing::header(m.xid, m.credit);
    std::vector<std::uint8_t> arguments(16, 0);
    arguments[3] = 0xfe;
    m.bytes = model::testing::message(
        header, model::testing::rpc_call(m.xid, m.rpc.program, 4, 1, arguments));
    m.wire_length = m.bytes.size();
    name_file();
    call.operations_total = 2;
    call.chunks.resize(1);
    call.chunks[0].moved = 4196;
    model::ChunkOperation read;
    read.kind = roce::OpKind::kRead;
    read.handle = 0x1111;
    read.bytes = 4096;
    read.last_ns = 2000;
    model::ChunkOperation write;
    write.kind = roce::OpKind::kWrite;
    write.handle = 0x3333;
    call.operations = {read, write};
    const std::uint8_t from[4] = {10, 0, 0, 2};
    std::uint8_t to[16] = {0xfe, 0x80};
    to[15] = 1;
    client.address = {{}, capture::AddressKind::kIpv4};
    std::copy(std::begin(from), std::end(from), client.address.bytes.begin());
    server.address = {{}, capture::AddressKind::kIpv6};
    std::copy(std::begin(to), std::end(to), server.address.bytes.begin());
    client.qpn = 17;
    server.qpn = 18;
    client.qpn_known = server.qpn_known = true;
  }

  // The file that it reads, with a name from an earlier LOOKUP.
  void name_file() {
    using Item = decode::NfsItem::Kind;
    call.has_file = true;
    model::FileUse& use = call.file;
    use.text = "dir/big0123456789abcdef";
    use.name_length = 7;
    use.handle = 0x1a2b3c4d;
    use.values = {{Item::kHandle, 0, 0, 0x1a2b3c4d},
                  {Item::kStateid, 7, 16, 0},
                  {Item::kOffset, 0, 0, 65536},
                  {Item::kCount, 0, 0, 4096}};
  }

  [[nodiscard]] Inputs inputs() const {
    Inputs in;
    in.message = &message;
    in.call = &call;
    in.connection = 2;
    in.sender = &client;
    in.receiver = &server;
    in.start_ns = 1'699'999'980'000'000'000;
    in.findings = findings;
    return in;
  }
};

}  // namespace rpcrdma::filter::testing
