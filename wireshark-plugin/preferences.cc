#include "plugin.h"

#include <array>

#include <rpcrdma/wire/dialects.h>

namespace rpcrdma::wireshark {

Preferences preferences;

void register_preferences() {
  static const std::array<enum_val_t, 3> profiles = {
      {{"rfc8166", "RFC 8166", 8166}, {"rfc5666", "RFC 5666", 5666}, {nullptr, nullptr, 0}}};
  static std::array<enum_val_t, wire::kDialects + 2> dialects{};
  dialects[0] = {"auto", "Determined from the messages", -1};
  for (std::size_t i = 0; i < wire::kDialects; ++i) {
    const auto dialect = static_cast<wire::Dialect>(i);
    dialects[i + 1] = {wire::dialect_name(dialect), wire::dialect_drafts(dialect),
                       static_cast<gint>(i)};
  }
  module_t* const module = prefs_register_protocol(registered.protocol, nullptr);
  prefs_register_bool_preference(
      module, "precedence", "Take precedence over the built-in dissector",
      "This dissector shows messages of version 1. If unset, Wireshark's "
      "built-in dissector (rpcordma) shows them.",
      &preferences.precedence);
  prefs_register_enum_preference(module, "profile", "Rules",
                                 "The specification that defines the rules for version 1",
                                 &preferences.profile, profiles.data(), FALSE);
  prefs_register_enum_preference(module, "dialect", "Dialect of version 2",
                                 "The draft that messages of version 2 follow",
                                 &preferences.dialect, dialects.data(), FALSE);
  prefs_register_uint_preference(
      module, "port", "Port",
      "Service port of RPC-over-RDMA: on its connections, weaker evidence "
      "is enough to recognize the first message",
      10, &preferences.rpc_port);
}

}  // namespace rpcrdma::wireshark
