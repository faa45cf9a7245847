// Declarations shared by the parts of the plugin. Wireshark dissects in one thread.
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
  // The wrappers around Wireshark's dissectors of InfiniBand and UDP have protocols of their own,
  // so disabling ours leaves those enabled.
  int around_infiniband = -1;
  int around_udp = -1;
  int tap = 0;
  int tree = -1;                                 // ett of every subtree
  std::array<int, decode::kFieldCount> field{};  // hf by FieldId; 0: a field of another protocol
};
extern Registered registered;

[[nodiscard]] inline int hf(decode::FieldId id) {
  return registered.field[static_cast<std::size_t>(id)];
}

// The user's preferences: see preferences.cc.
struct Preferences {
  Boolean precedence = TRUE;
  gint profile = 8166;
  gint dialect = -1;  // a wire::Dialect; -1: determined from the messages
  guint rpc_port = 20049;
};
extern Preferences preferences;

void register_fields();
void register_rules();
void register_preferences();
// Called when all dissectors are registered.
void hand_off();
void register_statistics();
// Called when all frames were read and the session is finished: adds the last findings to the
// tables.
void complete_statistics();
void register_conversation_filters();

// Whether this is tshark, which reads a file and ends, and not Wireshark, which shows frames again
// and again.
[[nodiscard]] bool is_tshark();

// The current capture's session. Null between captures.
[[nodiscard]] annotations::Session* session();

// The data for taps about a frame: valid while the frame is dissected.
struct Tapped {
  const annotations::Session* session = nullptr;
  const annotations::FrameAnnotation* note = nullptr;  // null: only findings about earlier frames
  // On the first pass: findings that became known with this frame. Later: the findings that the
  // frame has.
  bool first_time = false;
  std::size_t findings_before = 0, findings_after = 0;
};

// Calls f(finding) for the findings that a tap counts with this frame: each finding once, no matter
// how many passes are made.
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
