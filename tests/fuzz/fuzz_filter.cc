// A display filter and a message for it. The input is the filter's text, a zero byte, a byte that
// selects the kind of message, and the bytes of its Send. The message is built as the model builds
// it.
#include "fuzz_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/wire/header.h>

namespace {

using namespace rpcrdma;

void fill(model::Message& m, std::uint8_t how, wire::Bytes send) {
  m.frame = 7;
  m.time_ns = 1'700'000'000'000'000'000;
  m.bytes.assign(send.begin(), send.end());
  m.wire_length = send.size();
  m.kind = static_cast<model::Kind>(how % 6);
  m.latency_ns = how % 7 == 0 ? -1 : how * 1000;
  m.rpc.known = (how & 0x80) != 0;
  m.rpc.header_seen = m.rpc.known;
  m.rpc.program = 100003;
  m.rpc.version = how % 5;
  m.rpc.procedure = 1;
  m.rpc.has_status = true;
  m.rpc.status = how;
  m.rpc.ops.announced = m.rpc.ops.kept = 2;
  m.rpc.ops.op[0] = how;
  m.rpc.ops.op[1] = 25;
  const auto header = wire::decode_header(send);
  if (!header) {
    m.malformed = header.error();
    return;
  }
  m.xid = header->xid;
  m.version = header->vers;
  m.credit = header->credit;
  m.proc = static_cast<std::uint32_t>(header->proc);
  m.header_length = header->length;
  m.error = header->error;
  for (const wire::ReadSegment read : header->reads) m.reads.push_back(read);
  for (const wire::WriteChunkView chunk : header->writes) {
    m.write_counts.push_back(chunk.size());
    for (const wire::Segment segment : chunk) m.write_segments.push_back(segment);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* end = std::find(data, data + size, 0);
  const std::string_view text(reinterpret_cast<const char*>(data),
                              static_cast<std::size_t>(end - data));
  auto filter = filter::compile(text);
  if (!filter) {
    const filter::FilterError& e = filter.error();
    fuzz::require(e.offset + e.length <= text.size());
    fuzz::require(!e.message.empty());
    const std::string shown = filter::explain(text, e);
    fuzz::require(std::all_of(shown.begin(), shown.end(),
                              [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    return 0;
  }
  const wire::Bytes rest(end, static_cast<std::size_t>(data + size - end));
  if (rest.size() < 2) return 0;
  model::Message message;
  model::Call call;
  roce::Side side;
  side.address.kind = static_cast<capture::AddressKind>(rest[1] % 5);
  call.operations.resize(rest[1] % 3);
  fill(message, rest[1], rest.subspan(2));
  static constexpr std::array<std::string_view, 2> kFindings{"FC-01", "HDR-05"};
  filter::Inputs in;
  in.message = &message;
  in.call = rest[1] % 2 == 0 ? &call : nullptr;
  in.sender = in.receiver = &side;
  in.findings = kFindings;
  const bool matched = filter->matches(in);
  // No state is left from the first time, and ! negates the result.
  fuzz::require(filter->matches(in) == matched);
  if (text.size() < 4096) {
    if (auto negated = filter::compile("!(" + std::string(text) + ")")) {
      fuzz::require(negated->matches(in) != matched);
    }
  }
  return 0;
}
