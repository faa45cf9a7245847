// Decides which dissector owns an InfiniBand packet: this plugin, or Wireshark's built-in dissector
// of RPC-over-RDMA. The built-in one must see all packets that the plugin does not handle, and no
// others.
#pragma once

#include "wireshark.h"

#include <rpcrdma/annotations/annotation.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::wireshark {

enum class Owner : std::uint8_t {
  kOurs,
  kBuiltIn,
  kNobody,  // a Send of another protocol, which the built-in dissector may mistake for a message
};

// `note`: the packet's note; null: none.
[[nodiscard]] Owner owner_of(const annotations::FrameAnnotation* note, const capture::Frame& frame);
// Applies the preference that gives messages of version 1 to the built-in dissector.
[[nodiscard]] bool leave_to_built_in(const annotations::FrameAnnotation& note);

// Finds the built-in dissector in Wireshark's list of heuristics. The user's setting for it
// applies, except to packets that it does not own.
void find_built_in();
[[nodiscard]] Boolean enable_built_in(Boolean enabled);  // returns the previous state
[[nodiscard]] bool built_in_has(packet_info* pinfo);

}  // namespace rpcrdma::wireshark
