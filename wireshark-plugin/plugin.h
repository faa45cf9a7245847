// What the parts of the plugin share. Wireshark dissects in one thread.
#pragma once

#include "wireshark.h"

#include <array>
#include <cstdint>

#include <rpcrdma/annotations/session.h>
#include <rpcrdma/decode/schema.h>

namespace rpcrdma::wireshark {

// The protocol, its fields and its subtrees.
struct Registered {
  int protocol = -1;
  // In whose names ours are called around Wireshark's dissectors of InfiniBand and UDP: whoever
  // switches our protocol off keeps those.
  int around_infiniband = -1;
  int around_udp = -1;
  int tap = 0;
  int tree = -1;                                 // ett of every subtree
  std::array<int, decode::kFieldCount> field{};  // hf by FieldId; 0: a field that is not ours
};
extern Registered registered;

[[nodiscard]] inline int hf(decode::FieldId id) {
  return registered.field[static_cast<std::size_t>(id)];
}

// What the user can choose: see preferences.cc.
struct Preferences {
  Boolean precedence = TRUE;
  gint profile = 8166;
  gint dialect = -1;  // a wire::Dialect; -1: told from the messages
  guint rpc_port = 20049;
};
extern Preferences preferences;

void register_fields();
void register_rules();
void register_preferences();
// Once all dissectors are there.
void hand_off();
void register_statistics();
// All frames have come and the session is finished: what only that showed goes to the tables.
void complete_statistics();
void register_conversation_filters();

// Whether this is tshark, which reads a file and is done with it, and not Wireshark, where a person
// looks at frames again and again.
[[nodiscard]] bool is_tshark();

// The capture that is being looked at. Null between captures.
[[nodiscard]] annotations::Session* session();

// What goes to taps with a frame: lives as long as the frame is being dissected.
struct Tapped {
  const annotations::Session* session = nullptr;
  const annotations::FrameAnnotation* note =
      nullptr;  // null: nothing but findings on earlier frames
  // Findings that became known with this frame, when it is seen for the first time; otherwise those
  // are told that the frame has.
  bool first_time = false;
  std::size_t findings_before = 0, findings_after = 0;
};

// Calls f(finding) for those that a tap counts with this frame: all of them once, whether frames
// are gone through once or again.
template <typename Function>
void for_each_finding(const Tapped& tapped, Function&& f) {
  if (tapped.first_time) {
    for (std::size_t i = tapped.findings_before; i < tapped.findings_after; ++i) {
      f(tapped.session->finding(static_cast<annotations::Ref>(i + 1)));
    }
  } else if (tapped.note != nullptr) {
    for (annotations::Ref r = tapped.note->finding; r != 0; r = tapped.session->finding(r).next) {
      f(tapped.session->finding(r));
    }
  }
}

}  // namespace rpcrdma::wireshark
