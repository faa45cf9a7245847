// Whose a packet of InfiniBand is: the plugin's, or that of the dissector of RPC-over-RDMA that
// Wireshark has itself, which must see all that the plugin does not take, and none of the rest.
#pragma once

#include "wireshark.h"

#include <rpcrdma/annotations/annotation.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::wireshark {

enum class Owner : std::uint8_t {
  kOurs,
  kBuiltIn,
  kNobody,  // a Send that is no message of RPC-over-RDMA: the built-in dissector takes some for one
};

// `note`: what is to be said of the packet; null: nothing.
[[nodiscard]] Owner owner_of(const annotations::FrameAnnotation* note, const capture::Frame& frame);
// With the preference that gives messages of version 1 to the built-in dissector.
[[nodiscard]] bool leave_to_built_in(const annotations::FrameAnnotation& note);

// The built-in dissector as an entry of Wireshark's list of heuristics. What the user chose for it
// holds, but for packets that are not its own.
void find_built_in();
[[nodiscard]] Boolean enable_built_in(Boolean enabled);  // what it was
[[nodiscard]] bool built_in_has(packet_info* pinfo);

}  // namespace rpcrdma::wireshark
