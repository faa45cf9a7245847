// Lines of trace-cmd report and trace_pipe, and what a translator makes of them.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/tracepoints/text_line.h>
#include <rpcrdma/tracepoints/translator.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

class IgnoringSink final : public kernel::EventSink {
 public:
  void event(const trace::EventHeader& header, std::span<const std::uint8_t>,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override {
    require(header.payload == payload.size() + extra_payload.size());
  }
  void lost(std::uint64_t count) override { require(count > 0); }
  std::uint32_t new_connection() override { return ++connections_; }

 private:
  std::uint32_t connections_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  IgnoringSink sink;
  tracepoints::Translator translator(sink);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    tracepoints::Record record;
    std::uint64_t lost = 0;
    switch (tracepoints::read_line(line, record, lost)) {
      case tracepoints::Line::kRecord:
        require(record.event != tracepoints::Event::kNone);
        require(record.time >= 0);
        translator.take(record);
        break;
      case tracepoints::Line::kLost:
        translator.lost(lost);
        break;
      case tracepoints::Line::kOther:
      case tracepoints::Line::kUnknown:
        break;
    }
  }
  translator.finish();
  return 0;
}
