#include <algorithm>

#include <rpcrdma/service/connection_info.h>

namespace rpcrdma::service {

Thresholds agree(std::uint32_t own, bool sent, bool remote_invalidation,
                 wire::Bytes peer_private_data) {
  Thresholds result;
  const auto peer = wire::decode_private_data(peer_private_data);
  if (!peer) {
    // Without private data the fabric may report zeros.
    result.peer_sent_other =
        std::ranges::any_of(peer_private_data, [](std::uint8_t byte) { return byte != 0; });
    return result;
  }
  result.peer = *peer;
  if (!sent) return result;
  result.send = std::min(own, peer->recv_size());
  result.receive = std::min(own, peer->send_size());
  result.remote_invalidation = remote_invalidation && peer->remote_invalidation();
  return result;
}

}  // namespace rpcrdma::service
