#include "end_text.h"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/report/json_writer.h>
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

// A field of the schema, with the keys of its members.
struct FieldKeys {
  const decode::FieldSpec* field = nullptr;
  std::string_view key;
  std::string name_key;  // of the name of its value
};

const std::vector<FieldKeys>& all_keys() {
  static const std::vector<FieldKeys> keys = [] {
    std::vector<FieldKeys> all;
    for (const decode::FieldSpec& field : decode::schema()) {
      all.push_back({&field, field.name, std::string(field.name) + "_name"});
    }
    return all;
  }();
  return keys;
}

// Writes the fields of an event as members of a JSON object, as decode::JsonSink does, without a
// tree in memory: a live endpoint emits hundreds of thousands of events per second. Events have no
// subtrees, and no field twice.
class MemberSink final : public decode::Sink {
 public:
  explicit MemberSink(JsonWriter& json) : json_(json) {}

  void open(FieldId, std::size_t, std::size_t, std::string_view) override {}
  void close() override {}
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t value,
              const char* name) override {
    const FieldKeys& keys = keys_of(id);
    const decode::FieldSpec& field = *keys.field;
    json_.key(keys.key);
    switch (field.type) {
      case decode::FieldType::kBool:
        json_.value(value != 0);
        break;
      case decode::FieldType::kIpv4:
        string(decode::format_value(field, value));
        break;
      case decode::FieldType::kInt64:
      case decode::FieldType::kTime:
        json_.value(static_cast<std::int64_t>(value));
        break;
      default:
        json_.value(value);
        break;
    }
    if (name == nullptr && field.values.empty()) return;
    if (name == nullptr) name = decode::value_name(field, value);
    json_.key(keys.name_key);
    string(name != nullptr ? name : "unknown");
  }
  void bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) override {
    const FieldKeys& keys = keys_of(id);
    json_.key(keys.key);
    string(decode::format_bytes(*keys.field, value));
  }
  void text(FieldId id, std::size_t, std::size_t, std::string_view value) override {
    json_.key(keys_of(id).key);
    string(value);
  }
  void error(const wire::DecodeError& error) override {
    json_.key(keys_of(FieldId::kMalformed).key);
    string(wire::describe(error));
  }

 private:
  void string(std::string_view value) {
    if (JsonText::is_plain(value) && is_ascii(value)) {
      json_.plain(value);
    } else {
      json_.raw(nlohmann::json(decode::valid_utf8(value)).dump());
    }
  }
  static bool is_ascii(std::string_view text) {
    unsigned all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
  }
  [[nodiscard]] const FieldKeys& keys_of(FieldId id) const {
    return keys_[static_cast<std::size_t>(id)];
  }

  JsonWriter& json_;
  const std::vector<FieldKeys>& keys_ = all_keys();
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

void write_event(JsonWriter& json, const Event& event, const Context& context) {
  json.object();
  json.key("kind");
  json.plain("event");
  json.field("frame", event.meta.frame);
  // The digits of nlohmann's dump(), without its allocations: RapidJSON's differ in the last place.
  std::array<char, 64> time{};
  const char* const end = nlohmann::detail::to_chars(time.data(), time.data() + time.size(),
                                                     static_cast<double>(event.meta.time_ns) / 1e9);
  json.key("time");
  json.raw({time.data(), static_cast<std::size_t>(end - time.data())});
  json.field("time_ns", event.meta.time_ns);
  if (event.connection != nullptr) {
    json.field("connection", context.connection_id(event.connection->index));
  } else {
    json.null("connection");
  }
  json.key("event");
  json.plain(trace::event_type_name(event.type()));
  json.object("fields");
  MemberSink members(json);
  trace_reader::decode_event(event, members);
  json.end();
  json.end();
}

std::string event_json(const Event& event, const Context& context) {
  JsonWriter json;
  write_event(json, event, context);
  return json.take();
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
