// Whole trace.dat files: formats, sections, pages, records.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace_dat/trace_dat.h>
#include <rpcrdma/tracepoints/translator.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

class NoSink final : public kernel::EventSink {
 public:
  void event(const trace::EventHeader&, std::span<const std::uint8_t>,
             std::span<const std::uint8_t>, std::span<const std::uint8_t>) override {}
  void lost(std::uint64_t) override {}
  std::uint32_t new_connection() override { return ++connections_; }

 private:
  std::uint32_t connections_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = trace_dat::read_trace_dat({data, size});
  if (!file) {
    require(!file.error().message.empty());
    return 0;
  }
  NoSink sink;
  tracepoints::Translator translator(sink);
  const auto visited = trace_dat::visit_records(
      *file, {.record = [&](const tracepoints::Record& r) { translator.take(r); },
              .lost = [&](std::uint32_t, std::uint64_t count) { translator.lost(count); }});
  require(visited || !visited.error().message.empty());
  translator.finish();
  return 0;
}
