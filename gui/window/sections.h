// What stands behind a field: the section that defines it, and the rules that it can break.
#pragma once

#include <QString>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::gui {

// For a tool tip: the field's name and what it is for, its section, its rules. Rich text.
[[nodiscard]] QString field_help(decode::FieldId id);

// A rule with its sentence, section and advice. Rich text.
[[nodiscard]] QString rule_help(const char* name);

}  // namespace rpcrdma::gui
