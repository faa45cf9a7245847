#include "finding_line.h"

#include <iterator>
#include <vector>

#include <fmt/format.h>

#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::cli {

namespace {

constexpr const char* kRed = "\033[31m";
constexpr const char* kYellow = "\033[33m";
constexpr const char* kReset = "\033[0m";

// The same as rules::Findings makes of it at the end of a capture.
rules::Finding resolve(const rules::Occurrence& found, const report::Context& context) {
  rules::Finding f;
  f.rule = found.rule.name;
  f.severity = found.severity;
  f.text = found.text;
  const rules::Evidence& e = found.evidence;
  for (const std::uint64_t frame : e.frames) {
    if (frame != 0) f.frames.push_back(frame);
  }
  if (e.connection == nullptr) return f;
  const std::uint32_t index = context.model->canonical(e.connection->index);
  f.connection = context.connection_id(e.connection->index);
  if (e.side < 0) return f;
  const int side = index == e.connection->index ? e.side : 1 - e.side;
  f.peer =
      context.tracker->connection(index).side[static_cast<std::size_t>(side)].address.to_string();
  const int client = context.model->connection(index).client;
  if (client >= 0) f.role = client == side ? "client" : "server";
  return f;
}

const char* colour_of(rules::Severity severity) {
  switch (severity) {
    case rules::Severity::kError:
      return kRed;
    case rules::Severity::kWarning:
      return kYellow;
    case rules::Severity::kNote:
      return "";
  }
  return "";
}

}  // namespace

std::string finding_line(const rules::Occurrence& found, const report::Context& context,
                         bool colour) {
  const rules::Finding f = resolve(found, context);
  std::string line;
  auto out = std::back_inserter(line);
  fmt::format_to(out, "{}!! {} {}{}", colour ? colour_of(f.severity) : "",
                 rules::severity_name(f.severity), f.rule, colour ? kReset : "");
  for (const std::string& who : {f.role, f.peer}) {
    if (!who.empty()) fmt::format_to(out, " {}", who);
  }
  fmt::format_to(out, ": {}", f.text);
  std::string where;
  if (f.connection != 0) where = fmt::format("connection {}", f.connection);
  if (!f.frames.empty()) {
    where += fmt::format("{}frame{} {}", where.empty() ? "" : ", ", f.frames.size() == 1 ? "" : "s",
                         fmt::join(f.frames, ", "));
  }
  if (!where.empty()) fmt::format_to(out, " ({})", where);
  return line + '\n';
}

std::string finding_json(const rules::Occurrence& found, const report::Context& context) {
  const rules::Finding f = resolve(found, context);
  report::JsonWriter json;
  json.object();
  json.object("finding");
  json.field("rule", f.rule);
  json.field("severity", rules::severity_name(f.severity));
  json.optional("peer", !f.peer.empty(), f.peer);
  json.optional("role", !f.role.empty(), f.role);
  json.optional("connection", f.connection != 0, f.connection);
  json.array("frames");
  for (const std::uint64_t frame : f.frames) json.value(frame);
  json.end();
  json.field("text", f.text);
  json.end();
  json.end();
  return json.take();
}

}  // namespace rpcrdma::cli
