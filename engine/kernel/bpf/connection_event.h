// The Connection event of a connection of the kernel.
#pragma once

#include "records.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::kernel {

[[nodiscard]] inline std::array<std::uint8_t, 16> address_of(const scope_address& from) {
  std::array<std::uint8_t, 16> to{};
  std::copy(std::begin(from.ip), std::end(from.ip), to.begin());
  return to;
}

[[nodiscard]] inline trace::Connection connection_event(const scope_key& key,
                                                        const scope_address& local,
                                                        const scope_address& peer) {
  trace::Connection event;
  event.local = address_of(local);
  event.peer = address_of(peer);
  event.local_qpn = key.qpn;
  event.active = key.role == SCOPE_CLIENT ? 1 : 0;
  event.port = event.active != 0 ? peer.port : local.port;
  event.version = 1;
  event.private_data_unknown = 1;
  return event;
}

}  // namespace rpcrdma::kernel
