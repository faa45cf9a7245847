// What a cell of the message table means as a filter.
#pragma once

#include "columns.h"
#include "context_menu.h"

namespace rpcrdma::gui {

// Tests that the message of the cell passes; none: the column is no field.
[[nodiscard]] std::vector<Place::Test> tests_of(const index::Content& content, std::uint64_t id,
                                                Column column);

}  // namespace rpcrdma::gui
