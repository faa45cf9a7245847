// Prints chosen fields of messages as columns, as tshark -T fields does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/model_fields.h>

namespace rpcrdma::cli {

enum class Occurrence : std::uint8_t { kAll, kFirst, kLast };

struct FieldOutput {
  std::vector<std::string> names;  // as typed, for the header
  std::vector<decode::FieldId> fields;
  filter::FieldSet wanted;
  bool header = false;
  char separator = '\t';
  char aggregator = ',';  // between values of a field that occurs several times
  char quote = '\0';
  Occurrence occurrence = Occurrence::kAll;
};

// Reads -e and -E. On failure prints a line for the first wrong one, starting with the name of the
// command, and returns false.
[[nodiscard]] bool read_field_output(const std::vector<std::string>& fields,
                                     const std::vector<std::string>& settings, const char* command,
                                     FieldOutput& out);

[[nodiscard]] std::string field_header(const FieldOutput& output);

// Returns the line of one message, whose fields `report` reports.
[[nodiscard]] std::string field_line(const FieldOutput& output,
                                     const std::function<void(decode::Sink&)>& report);

// Passes on the fields in `fields` of those that `report` reports.
void report_only(const filter::FieldSet& fields, decode::Sink& to,
                 const std::function<void(decode::Sink&)>& report);

}  // namespace rpcrdma::cli
