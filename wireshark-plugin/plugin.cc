// The functions and variables that Wireshark looks up in a plugin.
#include "plugin.h"

// In C++, a constant at namespace scope is not exported unless it was declared before.
extern "C" {
#define RPCRDMA_EXPORT __attribute__((visibility("default")))
RPCRDMA_EXPORT extern const char plugin_version[];
RPCRDMA_EXPORT extern const int plugin_want_major;
RPCRDMA_EXPORT extern const int plugin_want_minor;
RPCRDMA_EXPORT void plugin_register();
#if RPCRDMA_WIRESHARK(4, 4)
RPCRDMA_EXPORT std::uint32_t plugin_describe();
#endif
}

const char plugin_version[] = RPCRDMA_VERSION;
const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

namespace rpcrdma::wireshark {

Registered registered;

namespace {

void register_protocol() {
  // Wireshark's built-in protocol is named RPCoRDMA and rpcordma.
  registered.protocol =
      proto_register_protocol("RPC-over-RDMA (rpcrdma-scope)", "RPC-over-RDMA", "rpcrdma");
  registered.around_infiniband = proto_register_protocol_in_name_only(
      "InfiniBand (rpcrdma-scope)", "InfiniBand (rpcrdma-scope)", "rpcrdma.around_infiniband",
      proto_get_id_by_filter_name("infiniband"), FT_PROTOCOL);
  registered.around_udp = proto_register_protocol_in_name_only(
      "UDP (rpcrdma-scope)", "UDP (rpcrdma-scope)", "rpcrdma.around_udp",
      proto_get_id_by_filter_name("udp"), FT_PROTOCOL);
  registered.tap = register_tap("rpcrdma");
  register_fields();
  register_rules();
  register_preferences();
  register_statistics();
  register_conversation_filters();
}

}  // namespace

}  // namespace rpcrdma::wireshark

void plugin_register() {
  static const proto_plugin plugin = {rpcrdma::wireshark::register_protocol,
                                      rpcrdma::wireshark::hand_off};
  proto_register_plugin(&plugin);
}

#if RPCRDMA_WIRESHARK(4, 4)
// Its type in "About Wireshark" and `tshark -G plugins`.
std::uint32_t plugin_describe() {
  return WS_PLUGIN_DESC_DISSECTOR;
}
#endif
