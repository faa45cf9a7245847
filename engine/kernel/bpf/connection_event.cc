#include "connection_event.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

namespace rpcrdma::kernel {
namespace {

// Error numbers of Linux.
constexpr std::int32_t kNoDevice = 19, kAborted = 103;

std::array<std::uint8_t, 16> bytes_of(const scope_address& from) {
  std::array<std::uint8_t, 16> to{};
  std::copy(std::begin(from.ip), std::end(from.ip), to.begin());
  return to;
}

}  // namespace

trace::Connection connection_event(const scope_key& key, const scope_address& local,
                                   const scope_address& peer) {
  trace::Connection event;
  event.local = bytes_of(local);
  event.peer = bytes_of(peer);
  event.local_qpn = key.qpn;
  event.active = key.role == SCOPE_CLIENT ? 1 : 0;
  event.port = event.active != 0 ? peer.port : local.port;
  event.version = 1;
  event.private_data_unknown = 1;
  return event;
}

std::string end_reason(std::uint32_t role, std::int32_t status, std::uint64_t flushed,
                       trace::ConnectionEnd& event) {
  event.established = 1;
  std::string reason = "disconnected by this side";
  if (role == SCOPE_SERVER) {
    reason = "closed";  // which side asked for it is not known
  } else if (status == -kAborted) {
    event.side = 1;
    return "the peer disconnected";
  } else if (status == -kNoDevice) {
    event.failed = 1;
    reason = "the RDMA device was removed";
  }
  if (flushed == 0) return reason;
  if (role == SCOPE_CLIENT) event.failed = 1;
  return fmt::format("{} after {} failed completions", reason, flushed);
}

}  // namespace rpcrdma::kernel
