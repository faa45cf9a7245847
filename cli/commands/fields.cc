// rpcrdma fields: lists the fields that filters accept.
#include "commands.h"
#include "input.h"
#include "parse.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <rpcrdma/decode/possible_names.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::cli {

namespace {

struct FieldsOptions {
  std::string pattern;
};

bool holds(std::string_view text, const std::string& lower_pattern) {
  return lower_case(text).find(lower_pattern) != std::string::npos;
}

// Returns the names that a field's values have, each once.
std::string value_list(const decode::FieldSpec& field) {
  std::vector<std::string_view> seen;
  for (const decode::ValueName& value : decode::possible_names(field.id)) {
    if (std::find(seen.begin(), seen.end(), value.name) == seen.end()) {
      seen.emplace_back(value.name);
    }
  }
  return fmt::format("{}", fmt::join(seen, ", "));
}

int fields(const FieldsOptions& options) {
  const std::string pattern = lower_case(options.pattern);
  std::vector<const decode::FieldSpec*> found;
  for (const decode::FieldSpec& field : decode::schema()) {
    if (filter::is_filter_field(field.id) &&
        (holds(field.name, pattern) || holds(field.label, pattern) || holds(field.help, pattern))) {
      found.push_back(&field);
    }
  }
  if (found.empty()) {
    complain(fmt::format("fields: no field has {} in its name, label or help", options.pattern));
    return kUnreadable;
  }
  for (const decode::FieldSpec* field : found) {
    fmt::print("{:<31} {:<8} {}: {}\n", field->name, decode::type_name(field->type), field->label,
               field->help);
  }
  // With a single field there is room for its values and details.
  if (found.size() == 1) {
    const std::string values = value_list(*found.front());
    if (!values.empty()) fmt::print("values: {}\n", values);
  }
  return kOk;
}

}  // namespace

Run add_fields(command_line::Command& command) {
  auto options = std::make_shared<FieldsOptions>();
  command.argument("PATTERN", options->pattern,
                   "List only fields with this text in name, label or help");
  command.footer(
      "Each line: name, type, label, help. See docs/filter.md for their use in `--filter`.");
  command.example("rpcrdma fields rpcrdma.proc", "Show one field and the names of its values.");
  return [options] { return fields(*options); };
}

}  // namespace rpcrdma::cli
