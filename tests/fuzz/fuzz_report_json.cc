// A report from an untrusted source: read, written, merged and shown.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <rpcrdma/report/compare.h>
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

// A comparison with itself finds no difference.
void compare(const report::Report& report, const report::Report& again) {
  report::CompareOptions options;
  fuzz::require(options.limits.add_above("p50=0%").has_value());
  fuzz::require(options.limits.add_on("slower").has_value());
  const report::Comparison c = report::compare(report, again, options);
  fuzz::require(c.failed.empty());
  const report::CompareNames names{"before", "after"};
  fuzz::require(!report::comparison_text(c, names, {.colour = true, .all = true}).empty());
  std::string page;
  report::comparison_html(c, {&report, &again}, names, "1",
                          [&](std::string_view piece) { page += piece; });
  fuzz::require(!page.empty());
  fuzz::require(nlohmann::json::accept(report::comparison_json(c, names)));
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
  compare(*report, *again);
  // Merged with itself: any connection can continue another, and any Call be answered. Without
  // times of connections, none overlap.
  report::Report second = *report;
  report::Report third = *again;
  std::uint64_t files = second.capture.files;
  for (report::Report* r : {&second, &third}) {
    r->capture.files = ++files;
    for (report::Connection& c : r->connections) c.first_ns = c.last_ns = 0;
  }
  // The report itself may overlap with nothing but itself.
  fuzz::require(report->capture.frames == 0 || !report::merge({*report, *again}).has_value());
  const auto whole = report::merge({*report, second, third});
  if (!whole) return 0;
  std::string shown;
  report::write_text(*whole, {.colour = false, .all = true},
                     [&](std::string_view piece) { shown += piece; });
  fuzz::require(!shown.empty());
  fuzz::require(report::read_json(json_of(*whole)).has_value());
  return 0;
}
