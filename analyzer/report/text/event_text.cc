#include "end_text.h"

#include <array>

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

// Writes the fields of an event as members of a JSON object, as decode::JsonSink does, without a
// tree in memory: a live endpoint emits hundreds of thousands of events per second. Events have no
// subtrees, and no field twice.
class MemberSink final : public decode::Sink {
 public:
  explicit MemberSink(std::string& out) : out_(out) {}

  void open(FieldId, std::size_t, std::size_t, std::string_view) override {}
  void close() override {}
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t value,
              const char* name) override {
    const decode::FieldSpec& field = decode::spec(id);
    key(field.name, {});
    switch (field.type) {
      case decode::FieldType::kBool:
        out_ += value != 0 ? "true" : "false";
        break;
      case decode::FieldType::kIpv4:
        string(decode::format_value(field, value));
        break;
      case decode::FieldType::kInt64:
      case decode::FieldType::kTime:
        integer(static_cast<std::int64_t>(value));
        break;
      default:
        integer(value);
        break;
    }
    if (name == nullptr && field.values.empty()) return;
    if (name == nullptr) name = decode::value_name(field, value);
    key(field.name, "_name");
    string(name != nullptr ? name : "unknown");
  }
  void bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) override {
    const decode::FieldSpec& field = decode::spec(id);
    key(field.name, {});
    string(decode::format_bytes(field, value));
  }
  void text(FieldId id, std::size_t, std::size_t, std::string_view value) override {
    key(decode::spec(id).name, {});
    string(value);
  }
  void error(const wire::DecodeError& error) override {
    key(decode::spec(FieldId::kMalformed).name, {});
    string(wire::describe(error));
  }

  template <typename Integer>
  void integer(Integer value) {
    const fmt::format_int digits(value);
    out_.append(digits.data(), digits.size());
  }
  void string(std::string_view value) {
    if (PlainStringWriter::is_plain(value) && is_ascii(value)) {
      out_ += '"';
      out_ += value;
      out_ += '"';
    } else {
      out_ += nlohmann::json(decode::valid_utf8(value)).dump();
    }
  }

 private:
  static bool is_ascii(std::string_view text) {
    unsigned all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
  }
  void key(std::string_view name, std::string_view more) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_ += name;
    out_ += more;
    out_ += "\":";
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
  constexpr std::size_t kUsual = 512;  // bytes
  std::string out;
  out.reserve(kUsual);
  MemberSink members(out);
  out += R"({"kind":"event","frame":)";
  members.integer(event.meta.frame);
  out += R"(,"time":)";
  // The digits of nlohmann's dump(), without its allocations: RapidJSON's differ in the last place.
  std::array<char, 64> time{};
  const char* const end = nlohmann::detail::to_chars(time.data(), time.data() + time.size(),
                                                     static_cast<double>(event.meta.time_ns) / 1e9);
  out.append(time.data(), static_cast<std::size_t>(end - time.data()));
  out += R"(,"time_ns":)";
  members.integer(event.meta.time_ns);
  out += R"(,"connection":)";
  if (event.connection != nullptr) {
    members.integer(context.connection_id(event.connection->index));
  } else {
    out += "null";
  }
  out += R"(,"event":)";
  members.string(trace::event_type_name(event.type()));
  out += R"(,"fields":{)";
  trace_reader::decode_event(event, members);
  out += "}}\n";
  return out;
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
