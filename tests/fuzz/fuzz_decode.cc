// Runs a decoder of analyzer/decode over the input, with a sink that checks its guarantees: ranges
// within the bytes, balanced subtrees, values that fit their fields. The first byte selects the
// decoder and its context.
#include "fuzz_check.h"
#include "support/checking_sink.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/wire/roce.h>

namespace {

using namespace rpcrdma;

void run(std::uint8_t kind, wire::Bytes bytes, decode::Sink& sink) {
  static constexpr decode::ProcedureId kCompound{decode::kProgNfs, 4, 1};
  static constexpr decode::ProcedureId kRead{decode::kProgNfs, 3, 6};
  switch (kind % 10) {
    case 0:
      decode::decode_message(bytes, sink);
      break;
    case 1:
      decode::decode_message(bytes, sink, &kCompound);
      break;
    case 2:
      decode::decode_message(bytes, sink, &kRead);
      break;
    case 3:
      decode::decode_rpc_message(bytes, sink, &kCompound);
      break;
    case 4:
      decode::decode_private_data(bytes, sink);
      break;
    case 5:
      decode::decode_cm(bytes, sink);
      break;
    case 7:
      decode::decode_message(bytes, sink, nullptr, wire::Dialect::kCel03);
      break;
    case 8:
      decode::decode_message(bytes, sink, &kCompound, wire::Dialect::kFlags);
      break;
    case 9:
      decode::decode_message(bytes, sink, &kCompound, wire::Dialect::kIetf03);
      break;
    default:
      if (const auto packet = wire::decode_roce(bytes, bytes.size())) {
        decode::decode_transport(*packet, sink);
      }
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const wire::Bytes bytes(data + 1, size - 1);

  decode::CheckingSink checking(bytes.size());
  run(data[0], bytes, checking);
  if (const std::string problem = checking.problem(); !problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    fuzz::require(false);
  }

  std::string text;
  decode::TextSink text_sink(text);
  run(data[0], bytes, text_sink);
  decode::JsonSink json_sink;
  run(data[0], bytes, json_sink);
  static_cast<void>(json_sink.take().dump());
  return 0;
}
