// Reports headers of version 2's later dialects as fields.
#pragma once

#include "field_writer.h"

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::decode {

// Reports what follows the four fixed words, which the caller has reported.
void later_fields(const FieldWriter& out, const wire::LaterHeader& header);

}  // namespace rpcrdma::decode
