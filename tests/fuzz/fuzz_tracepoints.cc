// Records of the kernel's tracepoints, as a translator gets them. Each record of the input is its
// event, a byte that says which fields it has, thread, time since the record before, and the values
// of its fields: small numbers, so that records belong together.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace/event.h>
#include <rpcrdma/tracepoints/translator.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

// What every event must hold.
class CheckingSink final : public kernel::EventSink {
 public:
  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override {
    require(header.type >= 1 && header.type <= trace::kEventTypes);
    require(header.fixed == fixed.size());
    require(header.payload == payload.size() + extra_payload.size());
    require(header.connection <= connections_);
    require(header.time >= time_);
    time_ = header.time;
    if (header.type != static_cast<std::uint16_t>(trace::EventType::kMessage)) return;
    trace::Message m;
    std::memcpy(&m, fixed.data(), std::min(sizeof m, fixed.size()));
    require((m.unknown & trace::kBytesUnknown) != 0);
    require(m.length >= payload.size() && payload.size() >= 16);
    require(header.connection != 0);
  }
  void lost(std::uint64_t) override {}
  std::uint32_t new_connection() override { return ++connections_; }

 private:
  std::uint32_t connections_ = 0;
  std::int64_t time_ = INT64_MIN;
};

constexpr auto kTexts = std::to_array<std::string_view>(
    {"10.0.0.1", "20049", "nfs", "READ", "inline", "read list", "*read list", "nfs4_cb",
     "CB_COMPOUND", "nfsd", "COMPOUND", "[fe80::1]:20049", "", "RDMA_NOMSG"});

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  CheckingSink sink;
  tracepoints::Translator translator(sink);
  tracepoints::Record r;
  while (!input.empty()) {
    const std::uint8_t event = input.byte();
    if (event == 0xff) {
      translator.lost(input.byte());
      continue;
    }
    r.clear();
    r.event = static_cast<tracepoints::Event>(event % tracepoints::events().size() + 1);
    const std::uint8_t how = input.byte();
    r.pid = how & 3;
    r.is_text = (how & 4) != 0;
    r.time += std::int64_t{input.byte()} << (how >> 3 & 15);
    for (std::size_t f = 0; f < tracepoints::kFields; ++f) {
      const auto field = static_cast<tracepoints::Field>(f);
      const std::uint8_t value = input.byte();
      if (value == 0xff) break;
      if (value >= 0xf0) continue;
      if (value >= 0xe0) {
        r.set(field, kTexts[(value & 15U) % kTexts.size()]);
      } else {
        r.set(field, std::uint64_t{value} & 0x1fU);
        if (value >= 0xc0) r.set(field, ~std::uint64_t{value});
      }
    }
    translator.take(r);
  }
  translator.finish();
  return 0;
}
