// A report from an untrusted source: read, written, merged and shown.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>

namespace {

using namespace rpcrdma;

std::string json_of(const report::Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = report::read_json(text);
  if (!report) {
    fuzz::require(!report.error().empty());
    return 0;
  }
  // The written report reads as the same.
  const std::string written = json_of(*report);
  const auto again = report::read_json(written);
  fuzz::require(again.has_value());
  fuzz::require(json_of(*again) == written);
  // Merged with itself: any connection can continue another, and any Call be answered.
  const auto whole = report::merge({*report, *report, *again});
  if (!whole) return 0;
  std::string shown;
  report::write_text(*whole, {.colour = false, .all = true},
                     [&](std::string_view piece) { shown += piece; });
  fuzz::require(!shown.empty());
  fuzz::require(report::read_json(json_of(*whole)).has_value());
  return 0;
}
