#include "end_text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::report {

namespace {

using decode::FieldId;
using trace_reader::Event;

// Writes the fields of an event on one line, with as few words as possible.
class LineSink final : public decode::Sink {
 public:
  explicit LineSink(std::string& out) : out_(out) {}

  void open(FieldId, std::size_t, std::size_t, std::string_view) override {}
  void close() override {}
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t value,
              const char* name) override {
    if (id == FieldId::kTraceConnection || id == FieldId::kTraceRing) return;
    const decode::FieldSpec& field = decode::spec(id);
    if (field.type == decode::FieldType::kBool) {
      if (value != 0) add(field.label, {});
      return;
    }
    if (name == nullptr) name = decode::value_name(field, value);
    add(field.label, name != nullptr ? std::string(name)
                     : field.type == decode::FieldType::kDuration
                         ? format_duration(static_cast<std::int64_t>(value))
                         : decode::format_value(field, value));
  }
  void bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) override {
    add(decode::spec(id).label, decode::format_bytes(decode::spec(id), value));
  }
  void text(FieldId id, std::size_t, std::size_t, std::string_view value) override {
    if (id == FieldId::kTraceEvent) return;  // already at the start of the line
    const decode::FieldSpec& field = decode::spec(id);
    // A value from a fixed list of words needs no label.
    if (!field.values.empty()) {
      add({}, id == FieldId::kTraceBy ? fmt::format("by the {}", value) : std::string(value));
    } else {
      add(field.label, fmt::format("\"{}\"", decode::escape_text(value)));
    }
  }
  void error(const wire::DecodeError&) override {}

 private:
  void add(std::string_view label, const std::string& value) {
    out_ += first_ ? " | " : ", ";
    first_ = false;
    out_ += label;
    if (!label.empty() && !value.empty()) out_ += ' ';
    out_ += value;
  }

  std::string& out_;
  bool first_ = true;
};

bool is_trouble(trace::EventType type) {
  return type == trace::EventType::kError || type == trace::EventType::kLoss;
}

}  // namespace

std::string event_line(const Event& event, const TextStyle& style) {
  std::string line = fmt::format("{:>6} {} ", event.meta.frame, format_clock(event.meta.time_ns));
  if (const roce::Connection* c = event.connection) {
    line += fmt::format("{} - {}: ", end_text(c->side[event.local]),
                        end_text(c->side[1U - event.local]));
  }
  return line + event_summary(event, style) + '\n';
}

std::string event_summary(const Event& event, const TextStyle& style) {
  const char* const name = trace::event_type_name(event.type());
  const char* const colour = is_trouble(event.type()) ? "\033[31m" : "\033[34m";
  std::string line = style.colour ? fmt::format("{}{}\033[0m", colour, name) : std::string(name);
  LineSink sink(line);
  trace_reader::decode_event(event, sink);
  return line;
}

std::string event_tree(const Event& event, const Context& context) {
  std::string out =
      fmt::format("Frame {}: {}, {}\n", event.meta.frame, trace::event_type_name(event.type()),
                  format_time(event.meta.time_ns));
  decode::TextSink sink(out, 1);
  if (event.connection != nullptr) {
    sink.number(FieldId::kConnection, 0, 0, context.connection_id(event.connection->index),
                nullptr);
  }
  sink.open(FieldId::kTrace, 0, 0, {});
  trace_reader::decode_event(event, sink);
  return out;
}

std::string event_json(const Event& event, const Context& context) {
  decode::JsonSink sink;
  trace_reader::decode_event(event, sink);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["kind"] = "event";
  json["frame"] = event.meta.frame;
  json["time"] = static_cast<double>(event.meta.time_ns) / 1e9;
  json["time_ns"] = event.meta.time_ns;
  json["connection"] = nullptr;
  if (event.connection != nullptr) {
    json["connection"] = context.connection_id(event.connection->index);
  }
  json["event"] = trace::event_type_name(event.type());
  json["fields"] = sink.take();
  return json.dump() + '\n';
}

void event_fields(const Event& event, const Context& context, std::int64_t start_ns,
                  decode::Sink& sink) {
  const auto number = [&sink](FieldId id, std::uint64_t value) {
    sink.number(id, 0, 0, value, nullptr);
  };
  number(FieldId::kFrameNumber, event.meta.frame);
  number(FieldId::kFrameTime, static_cast<std::uint64_t>(event.meta.time_ns));
  number(FieldId::kFrameTimeRelative,
         static_cast<std::uint64_t>(event.meta.time_ns) - static_cast<std::uint64_t>(start_ns));
  sink.text(FieldId::kKind, 0, 0, "event");
  if (event.connection != nullptr) {
    number(FieldId::kConnection, context.connection_id(event.connection->index));
    for (const roce::Side& side : event.connection->side) {
      if (side.address.kind == capture::AddressKind::kNone) continue;
      const std::size_t length = side.address.kind == capture::AddressKind::kIpv4 ? 4 : 16;
      sink.bytes(FieldId::kAddress, 0, 0, wire::Bytes(side.address.bytes).first(length));
      if (side.qpn_known) number(side.is_port ? FieldId::kPort : FieldId::kQpn, side.qpn);
    }
  }
  sink.open(FieldId::kTrace, 0, 0, {});
  trace_reader::decode_event(event, sink);
  sink.close();
}

}  // namespace rpcrdma::report
