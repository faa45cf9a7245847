// The names that a field's values can have, for those who read names from a person.
#pragma once

#include <vector>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {

// Whether the name of a value depends on other fields too: a procedure's on the program, an
// operation's on the direction. A sink is given the name with such a value.
[[nodiscard]] bool names_depend_on_context(FieldId id);

// Every value that can have a name, with that name. The table of the field's schema; where names
// depend on more, those of all contexts: one name may stand for several values, and one value have
// several names.
[[nodiscard]] std::vector<ValueName> possible_names(FieldId id);

}  // namespace rpcrdma::decode
