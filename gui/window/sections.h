// The background of a field: the section that defines it, and the rules it can violate.
#pragma once

#include <QString>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::gui {

// Returns a tooltip in rich text: the field's name and purpose, its section, its rules.
[[nodiscard]] QString field_help(decode::FieldId id);

// Returns a rule with its sentence, section and advice, in rich text.
[[nodiscard]] QString rule_help(const char* name);

}  // namespace rpcrdma::gui
