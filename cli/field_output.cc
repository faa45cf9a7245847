// Collects the values of fields and joins them to lines.
#include "field_output.h"

#include "input.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/filter.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::cli {

namespace {

using decode::FieldId;
using decode::FieldSpec;
using decode::FieldType;

std::string number_text(const FieldSpec& field, std::uint64_t value) {
  switch (field.type) {
    case FieldType::kBool:
      return value != 0 ? "True" : "False";
    case FieldType::kDuration: {
      constexpr std::uint64_t kSecond = 1'000'000'000;
      const bool negative = static_cast<std::int64_t>(value) < 0;
      const std::uint64_t ns = negative ? 0 - value : value;
      return fmt::format("{}{}.{:09}", negative ? "-" : "", ns / kSecond, ns % kSecond);
    }
    case FieldType::kTime:
      return report::format_time(static_cast<std::int64_t>(value));
    default:
      return field.base == decode::Base::kHex ? fmt::format("{:#x}", value)
                                              : fmt::format("{}", value);
  }
}

class Columns final : public decode::Sink {
 public:
  explicit Columns(const FieldOutput& output) : output_(output), values_(output.fields.size()) {}

  void open(FieldId id, std::size_t, std::size_t, std::string_view summary) override {
    add(id, summary.empty() ? std::string(decode::spec(id).label) : decode::escape_text(summary));
  }
  void close() override {}
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t value, const char*) override {
    if (wanted(id)) add(id, number_text(decode::spec(id), value));
  }
  void bytes(FieldId id, std::size_t, std::size_t, wire::Bytes value) override {
    if (wanted(id)) add(id, decode::format_bytes(decode::spec(id), value));
  }
  void text(FieldId id, std::size_t, std::size_t, std::string_view value) override {
    if (wanted(id)) add(id, decode::escape_text(value));
  }
  void error(const wire::DecodeError& error) override {
    add(FieldId::kMalformed, wire::describe(error));
  }

  [[nodiscard]] std::string line() const {
    std::string out;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (i != 0) out += output_.separator;
      column(values_[i], out);
    }
    return out + '\n';
  }

 private:
  [[nodiscard]] bool wanted(FieldId id) const {
    return output_.wanted[static_cast<std::size_t>(id)];
  }

  void add(FieldId id, const std::string& value) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (output_.fields[i] == id) values_[i].push_back(value);
    }
  }

  void column(const std::vector<std::string>& values, std::string& out) const {
    if (values.empty()) return;
    std::string text;
    if (output_.occurrence == Occurrence::kFirst) {
      text = values.front();
    } else if (output_.occurrence == Occurrence::kLast) {
      text = values.back();
    } else {
      for (const std::string& value : values) {
        if (&value != &values.front()) text += output_.aggregator;
        text += value;
      }
    }
    if (output_.quote == '\0') {
      out += text;
      return;
    }
    out += output_.quote;
    for (const char c : text) {
      if (c == output_.quote) out += c;  // doubled, as in CSV
      out += c;
    }
    out += output_.quote;
  }

  const FieldOutput& output_;
  std::vector<std::vector<std::string>> values_;
};

// Flat: subtrees open and close at once.
class Only final : public decode::Sink {
 public:
  Only(const filter::FieldSet& fields, decode::Sink& to) : fields_(fields), to_(to) {}

  void open(FieldId id, std::size_t at, std::size_t length, std::string_view summary) override {
    if (!passes(id)) return;
    to_.open(id, at, length, summary);
    to_.close();
  }
  void close() override {}
  void number(FieldId id, std::size_t at, std::size_t length, std::uint64_t value,
              const char* name) override {
    if (passes(id)) to_.number(id, at, length, value, name);
  }
  void bytes(FieldId id, std::size_t at, std::size_t length, wire::Bytes value) override {
    if (passes(id)) to_.bytes(id, at, length, value);
  }
  void text(FieldId id, std::size_t at, std::size_t length, std::string_view value) override {
    if (passes(id)) to_.text(id, at, length, value);
  }
  void error(const wire::DecodeError& error) override {
    if (passes(FieldId::kMalformed)) to_.error(error);
  }

 private:
  [[nodiscard]] bool passes(FieldId id) const { return fields_[static_cast<std::size_t>(id)]; }

  const filter::FieldSet& fields_;
  decode::Sink& to_;
};

// "/t" and "/s" are tshark's spellings of characters that a shell changes.
std::optional<char> character(std::string_view text) {
  if (text == "/t") return '\t';
  if (text == "/s") return ' ';
  if (text.size() != 1) return std::nullopt;
  return text.front();
}

bool set(std::string_view name, std::string_view value, FieldOutput& out) {
  if (name == "header") {
    out.header = value == "y";
    return value == "y" || value == "n";
  }
  if (name == "separator" || name == "aggregator") {
    const auto c = character(value);
    if (c) (name == "separator" ? out.separator : out.aggregator) = *c;
    return c.has_value();
  }
  if (name == "quote") {
    out.quote = value == "d" ? '"' : value == "s" ? '\'' : '\0';
    return value == "d" || value == "s" || value == "n";
  }
  if (name == "occurrence") {
    out.occurrence = value == "f"   ? Occurrence::kFirst
                     : value == "l" ? Occurrence::kLast
                                    : Occurrence::kAll;
    return value == "f" || value == "l" || value == "a";
  }
  return false;
}

}  // namespace

bool read_field_output(const std::vector<std::string>& fields,
                       const std::vector<std::string>& settings, const char* command,
                       FieldOutput& out) {
  if (fields.empty()) {
    complain(fmt::format("{}: -T fields: -e FIELD is missing", command));
    return false;
  }
  for (const std::string& name : fields) {
    const auto id = filter::field_named(name);
    if (!id) {
      complain(fmt::format("{}: -e {}: {}", command, decode::escape_text(name),
                           decode::escape_text(id.error())));
      return false;
    }
    out.names.push_back(name);
    out.fields.push_back(*id);
    out.wanted.set(static_cast<std::size_t>(*id));
  }
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::string_view whole(setting);
    if (equals == std::string::npos ||
        !set(whole.substr(0, equals), whole.substr(equals + 1), out)) {
      complain(
          fmt::format("{}: -E {}: write header=y|n, separator=/t|/s|C, aggregator=/s|C, "
                      "quote=d|s|n or occurrence=f|l|a",
                      command, decode::escape_text(setting)));
      return false;
    }
  }
  return true;
}

void report_only(const filter::FieldSet& fields, decode::Sink& to,
                 const std::function<void(decode::Sink&)>& report) {
  Only only(fields, to);
  report(only);
}

std::string field_header(const FieldOutput& output) {
  std::string out;
  for (const std::string& name : output.names) {
    if (!out.empty()) out += output.separator;
    out += name;
  }
  return out + '\n';
}

std::string field_line(const FieldOutput& output,
                       const std::function<void(decode::Sink&)>& report) {
  Columns columns(output);
  report(columns);
  return columns.line();
}

}  // namespace rpcrdma::cli
