#include <string>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {
namespace {

constexpr const char* kIntroduction =
    "# Fields\n"
    "\n"
    "Every field that the toolkit shows, by the name that display filters, the JSON output and "
    "the\n"
    "Wireshark plugin give it. This file is generated from the schema in `analyzer/decode`; do "
    "not\n"
    "edit it. Durations are in nanoseconds in JSON and in seconds elsewhere.\n";

// "rpcrdma", "rpc", "ib", ...
std::string_view protocol_of(const FieldSpec& field) {
  const std::string_view name = field.name;
  return name.substr(0, name.find('.'));
}

std::string value_list(const FieldSpec& field) {
  std::string text;
  for (const ValueName& entry : field.values) {
    text += text.empty() ? ". Values: " : ", ";
    if (field.type != FieldType::kString) text += std::to_string(entry.value) + " ";
    text += entry.name;
  }
  return text;
}

}  // namespace

std::string schema_markdown() {
  std::string text = kIntroduction;
  std::string_view protocol;
  for (const FieldSpec& field : schema()) {
    if (protocol_of(field) != protocol) {
      protocol = protocol_of(field);
      text += "\n## " + std::string(protocol) +
              "\n\n| Field | Type | Label | Meaning |\n|---|---|---|---|\n";
    }
    text += "| `" + std::string(field.name) + "` | " + type_name(field.type) + " | " + field.label +
            " | " + field.help + value_list(field) + " |\n";
  }
  return text;
}

}  // namespace rpcrdma::decode
