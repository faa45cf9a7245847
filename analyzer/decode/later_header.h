// Headers of version 2's later dialects as fields.
#pragma once

#include "field_writer.h"

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::decode {

// What follows the four fixed words, which have been reported.
void later_fields(const FieldWriter& out, const wire::LaterHeader& header);

}  // namespace rpcrdma::decode
