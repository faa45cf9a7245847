// The text, the tooltip and the order of each cell in the table of hosts.
#pragma once

#include "fleet_model.h"

#include <QVariant>

namespace rpcrdma::gui {

// `endpoint`: of this host; null: the row is the host. `role`: of Qt or of FleetModel.
[[nodiscard]] QVariant fleet_cell(const fleet::HostState& host,
                                  const fleet::EndpointState* endpoint, int column, int role);
[[nodiscard]] QVariant fleet_title(int column, int role);

// "0.4 s", "12 s", "3 min".
[[nodiscard]] QString age_text(std::int64_t ns);
// With one digit below ten.
[[nodiscard]] QString calls_text(double per_second);
[[nodiscard]] double bytes_of(const fleet::ViewRates& rates);
[[nodiscard]] QString bytes_rate_text(double per_second);
// "2 errors, 1 warning"; empty: none.
[[nodiscard]] QString findings_text(const fleet::ViewFindings& findings);

}  // namespace rpcrdma::gui
