// Events of the begin and end of a connection of the kernel.
#pragma once

#include "records.h"

#include <array>
#include <cstdint>
#include <string>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::kernel {

[[nodiscard]] trace::Connection connection_event(const scope_key& key, const scope_address& local,
                                                 const scope_address& peer);

// Returns the reason for the end of an established connection, and sets the fields of the event.
// `status`: as in scope_connection_end; `flushed`: completions with an error before the end.
[[nodiscard]] std::string end_reason(std::uint32_t role, std::int32_t status, std::uint64_t flushed,
                                     trace::ConnectionEnd& event);

}  // namespace rpcrdma::kernel
