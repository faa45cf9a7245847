#include <utility>

#include <fmt/core.h>

#include <rpcrdma/report/finding_text.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

namespace {

const char* colour_of(rules::Severity severity, const TextStyle& style) {
  if (!style.colour) return "";
  switch (severity) {
    case rules::Severity::kError:
      return "\033[31m";
    case rules::Severity::kWarning:
      return "\033[33m";
    case rules::Severity::kNote:
      return "\033[36m";
  }
  return "";
}

const char* reset(const TextStyle& style) {
  return style.colour ? "\033[0m" : "";
}

struct Place {
  std::uint64_t frame = 0;
  std::uint32_t connection = 0;
  std::string peer;
  const char* role = nullptr;
};

Place place_of(const rules::Evidence& e, const Context& context) {
  Place place;
  place.frame = e.frames[1] != 0 ? e.frames[1] : e.frames[0];
  if (e.connection == nullptr) return place;
  place.connection = context.connection_id(e.connection->index);
  if (e.side < 0) return place;
  place.peer = e.connection->side[static_cast<std::size_t>(e.side)].address.to_string();
  const int client = context.model->connection(e.connection->index).client;
  if (client >= 0) place.role = client == e.side ? "client" : "server";
  return place;
}

}  // namespace

std::string finding_lines(const std::vector<MessageFinding>& findings, const TextStyle& style) {
  std::string text;
  for (const MessageFinding& f : findings) {
    text += fmt::format("       {}!! {} {}{}: {}\n", colour_of(f.severity, style),
                        rules::severity_name(f.severity), f.rule, reset(style), f.text);
  }
  return text;
}

void put_json_with_findings(std::string& out, std::string_view object,
                            const std::vector<MessageFinding>& findings) {
  out = object.substr(0, object.size() - 2);  // without "}\n"
  out += ",\"findings\":[";
  if (!findings.empty()) {
    JsonWriter json;
    json.array();
    for (const MessageFinding& f : findings) {
      json.object();
      json.field("rule", f.rule);
      json.field("severity", rules::severity_name(f.severity));
      json.field("text", f.text);
      json.end();
    }
    json.end();
    const std::string list = json.take();
    out += std::string_view(list).substr(1, list.size() - 3);  // without "[" and "]\n"
  }
  out += "]}\n";
}

std::string finding_line(const rules::Occurrence& found, const Context& context,
                         const TextStyle& style) {
  const Place place = place_of(found.evidence, context);
  std::string text = place.frame != 0 ? fmt::format("{:>6}", place.frame) : std::string("      ");
  text += fmt::format(" {}!! {} {}{}", colour_of(found.severity, style),
                      rules::severity_name(found.severity), found.rule.name, reset(style));
  if (place.connection != 0) text += fmt::format(", connection {}", place.connection);
  if (place.role != nullptr) {
    text += fmt::format(", {} {}", place.role, place.peer);
  } else if (!place.peer.empty()) {
    text += fmt::format(", {}", place.peer);
  }
  const std::string when = rules::span_text(found.evidence.span);
  return when.empty() ? fmt::format("{}: {}\n", text, found.text)
                      : fmt::format("{}: {} ({})\n", text, found.text, when);
}

std::string finding_json(const rules::Occurrence& found, const Context& context) {
  const Place place = place_of(found.evidence, context);
  JsonWriter json;
  json.object();
  json.field("kind", "finding");
  json.optional("frame", place.frame != 0, place.frame);
  json.optional("connection", place.connection != 0, place.connection);
  json.field("rule", found.rule.name);
  json.field("severity", rules::severity_name(found.severity));
  json.optional("peer", !place.peer.empty(), place.peer);
  json.field("role", place.role);
  const rules::Span& span = found.evidence.span;
  json.optional("since_ns", span.since_ns != 0, span.since_ns);
  json.optional("until_ns", span.until_ns != 0, span.until_ns);
  json.field("text", found.text);
  json.end();
  return json.take();
}

}  // namespace rpcrdma::report
