// Reads a report from JSON. report_fields.h lists the fields. Fields that follow from others are
// not read: quantiles, for instance, are computed from the buckets.
#include "report_fields.h"

#include <new>

#include <fmt/core.h>
#include <rapidjson/error/en.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report {

namespace {

void read_connections(const JsonNode& list, Report& r) {
  list.for_each([&](const JsonNode& n) {
    const std::uint32_t before = r.connections.empty() ? 0 : r.connections.back().id;
    Connection& c = r.connections.emplace_back();
    FieldReader a(n, r.connection_ids);
    fields(a, c);
    if (c.id <= before) n.get("id").fail("not greater than the ID of the connection before");
  });
}

void read_report(const JsonNode& top, Report& r) {
  const char* const schemas[] = {kSchema};
  static_cast<void>(top.get("schema").one_of(schemas, 1));
  // Read first, because other fields are checked against it.
  top.into("connection_ids", r.connection_ids);
  FieldReader a(top, r.connection_ids);
  fields_before_connections(a, r, [](const FieldReader&) {});
  read_connections(top.get("connections"), r);
  fields_after_connections(a, r);
}

}  // namespace

tl::expected<Report, std::string> read_json(std::string_view text) try {
  JsonDocument document;
  // Iterative: nesting uses memory in proportion to the text, and no stack.
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (document.HasParseError()) {
    std::string_view why = rapidjson::GetParseError_En(document.GetParseError());
    if (why.ends_with('.')) why.remove_suffix(1);
    return tl::unexpected(fmt::format("not JSON: {}, at byte {}", why, document.GetErrorOffset()));
  }
  std::string problem;
  const JsonNode top(document, problem);
  if (!top.has("schema")) return tl::unexpected(std::string("schema: missing"));
  Report report;
  read_report(top, report);
  if (!problem.empty()) return tl::unexpected(problem);
  return report;
} catch (const std::bad_alloc&) {
  return tl::unexpected(std::string(base::kOutOfMemory));
}

}  // namespace rpcrdma::report
