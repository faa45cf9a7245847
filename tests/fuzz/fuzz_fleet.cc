// Messages from a fleet's bus: summaries, findings, requests to agents, and recordings in parts.
// What is accepted is written so that it reads as the same.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rpcrdma/fleet/record.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/summary.h>

namespace {

using namespace rpcrdma;

template <typename Read, typename Write>
void check(std::string_view text, Read read, Write write) {
  const auto value = read(text);
  if (!value) {
    fuzz::require(!value.error().message.empty());
    return;
  }
  const std::string written = write(*value);
  const auto again = read(written);
  fuzz::require(again.has_value());
  fuzz::require(write(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto to_json = [](const auto& value) { return fleet::to_json(value); };
  check(text, fleet::summary_from_json, to_json);
  check(text, fleet::finding_from_json, to_json);
  check(text, fleet::request_from_json, to_json);
  check(text, fleet::answer_from_json, to_json);
  check(text, fleet::record_message,
        [](const fleet::RecordMessage& message) { return fleet::to_bytes(message); });
  if (const auto summary = fleet::summary_from_json(text)) {
    for (const fleet::EndpointSummary& now : summary->endpoints) {
      for (const fleet::EndpointSummary& before : summary->endpoints) {
        const base::Histogram added = fleet::latency_since(now, &before);
        fuzz::require(added.quantile(0.5) <= added.max() && added.min() <= added.max());
      }
    }
  }
  if (const auto host = fleet::host_of_subject(text)) {
    fuzz::require(fleet::host_of_subject(fleet::state_subject(*host)) == host);
  }
  return 0;
}
