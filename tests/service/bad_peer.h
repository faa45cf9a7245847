// A connection driven by hand, to break rules.
#pragma once

#include "support/channel_ends.h"
#include "support/scripted_peer.h"
#include "support/service_hosts.h"

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::testing {

template <typename... Word>
ByteVector words(Word... values) {
  ByteVector bytes(4 * sizeof...(values));
  wire::XdrWriter writer(bytes);
  (writer.u32(static_cast<std::uint32_t>(values)), ...);
  return bytes;
}

// Returns a Call of the echo program: RPC header and arguments. DDP-eligible arguments after the
// given ones are at Position 40 + 4 * their number.
template <typename... Word>
ByteVector echo_call(std::uint32_t xid, service::echo::Proc proc, Word... arguments) {
  return words(xid, 0, 2, service::echo::kProgram, 1, proc, 0, 0, 0, 0, arguments...);
}

// Returns its header; the sender adds chunks.
inline protocol::testing::OpenHeader open_header(std::uint32_t xid) {
  protocol::testing::OpenHeader h;
  h.header.xid = xid;
  h.header.credit = 32;
  return h;
}

inline ByteVector null_call(std::uint32_t xid) {
  return open_header(xid).encode(echo_call(xid, service::echo::Proc::kNull));
}

struct BadPeer : ScriptedPeerOf<soft::SoftProvider> {
  BadPeer(std::uint8_t host, std::string_view faults)
      : ScriptedPeerOf(open_soft(at(host, faults)), 4U << 20) {}

  static soft::ProviderOptions at(std::uint8_t host, std::string_view faults) {
    soft::ProviderOptions options;
    options.adapter.address = own_address(host);
    options.faults = soft::parse_faults(faults).value();
    return options;
  }
};

}  // namespace rpcrdma::testing
