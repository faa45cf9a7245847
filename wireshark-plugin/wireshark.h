// Wireshark's headers, and adaptations to versions 4.0 (Debian 12) to 4.6.
#pragma once

#include <cstdint>

// Some of those headers include GLib inside `extern "C"`: GLib's templates must be included before.
#include <epan/addr_resolv.h>
#include <epan/column-info.h>
#include <epan/conversation.h>
#include <epan/conversation_filter.h>
#include <epan/epan_dissect.h>
#include <epan/exceptions.h>
#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs-int.h>
#include <epan/prefs.h>
#include <epan/proto.h>
#include <epan/proto_data.h>
#include <epan/srt_table.h>
#include <epan/stat_groups.h>
#include <epan/stat_tap_ui.h>
#include <epan/tap.h>
#include <epan/tvbuff.h>
#include <glib.h>
#include <wiretap/wtap.h>
#include <ws_version.h>
#include <wsutil/nstime.h>

// These headers have no `extern "C"` of their own.
extern "C" {
#include <epan/dissectors/packet-infiniband.h>
#include <epan/dissectors/packet-rpc.h>
#include <epan/show_exception.h>
}

#define RPCRDMA_WIRESHARK(major, minor) \
  (WIRESHARK_VERSION_MAJOR > (major) || \
   (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

#if RPCRDMA_WIRESHARK(4, 4)
#include <wsutil/plugins.h>
#endif

namespace rpcrdma::wireshark {

// 4.4 uses C99 types where earlier versions use GLib's.
#if RPCRDMA_WIRESHARK(4, 4)
using Boolean = bool;
#else
using Boolean = gboolean;
#endif

// 4.4 deprecates the getter with GLib's type in its name.
[[nodiscard]] inline std::uint8_t get_uint8(tvbuff_t* tvb, int offset) {
#if RPCRDMA_WIRESHARK(4, 4)
  return tvb_get_uint8(tvb, offset);
#else
  return tvb_get_guint8(tvb, offset);
#endif
}

// 4.2 adds a data pointer to conversation filters.
using IsFilterValid = Boolean (*)(packet_info*);
using BuildFilter = char* (*)(packet_info*);
#if RPCRDMA_WIRESHARK(4, 2)
template <IsFilterValid kValid, BuildFilter kBuild>
void add_conversation_filter(const char* protocol, const char* title) {
  register_conversation_filter(
      protocol, title, [](packet_info* pinfo, void*) { return kValid(pinfo); },
      [](packet_info* pinfo, void*) { return kBuild(pinfo); }, nullptr);
}
#else
template <IsFilterValid kValid, BuildFilter kBuild>
void add_conversation_filter(const char* protocol, const char* title) {
  register_conversation_filter(protocol, title, kValid, kBuild);
}
#endif

}  // namespace rpcrdma::wireshark
