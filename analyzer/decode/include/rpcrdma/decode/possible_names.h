// The names that a field's values can have, for parsing names that a user typed.
#pragma once

#include <vector>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {

// Returns whether the name of a value also depends on other fields: a procedure's on the program,
// an operation's on the direction. A sink receives the name with such a value.
[[nodiscard]] bool names_depend_on_context(FieldId id);

// Returns every value that can have a name, with that name. This is the table of the field's
// schema; if names depend on other fields, it holds the names of all contexts: one name may then
// belong to several values, and one value may have several names.
[[nodiscard]] std::vector<ValueName> possible_names(FieldId id);

}  // namespace rpcrdma::decode
