// A rule about what is outstanding rests on every message before. Where one is missing, cut short
// before its direction shows, or damaged, what follows cannot be told for certain; the same goes
// for chunk lists and the handles in them.
#include "checks.h"

namespace rpcrdma::rules {

namespace {

const char* const kCut = "a message of the connection was cut short by the capture";
const char* const kDamaged = "a message of the connection came with a wrong ICRC";
const char* const kUnread = "a message of the connection cannot be read";
const char* const kJoined = "the two directions of the connection were seen one after the other";
const char* const kUnknownEnd = "a Call was sent again while it was outstanding";
const char* const kReplyReads = "the responder offered Read chunks of its own";

// The RPC message's msg_type was not captured, so the model has guessed the direction.
bool direction_guessed(const model::Message& m) {
  return !m.complete && (m.header_length == 0 || m.payload.size() < 8);
}

}  // namespace

void note_certainty(const model::Message& m, const Scene& scene) {
  ConnectionHistory& h = scene.history;
  if (h.sends_unsure == nullptr) {
    if (m.suspect) {
      h.sends_unsure = kDamaged;
    } else if (direction_guessed(m) || scene.model.sends != scene.model.messages) {
      h.sends_unsure = kCut;
    }
  }
  if (h.messages_unsure == nullptr) {
    h.messages_unsure = m.kind == model::Kind::kMalformed && !m.suspect ? kUnread : h.sends_unsure;
  }
  if (h.lists_unsure == nullptr) {
    if (m.suspect) {
      h.lists_unsure = kDamaged;
    } else if (m.kind == model::Kind::kMalformed) {
      h.lists_unsure = kUnread;
    } else if (m.header_length == 0 || scene.model.sends != scene.model.messages) {
      h.lists_unsure = kCut;
    } else if (m.kind == model::Kind::kReply && !m.reads.empty()) {
      h.lists_unsure = kReplyReads;
    }
  }
}

void note_joined(ConnectionHistory& h) {
  h.sends_unsure = h.messages_unsure = h.lists_unsure = kJoined;
}

void note_end(const model::Call& call, ConnectionHistory& h) {
  const bool open =
      call.ending == model::Ending::kSuperseded || call.ending == model::Ending::kForgotten;
  if (open && h.lists_unsure == nullptr && !call.segments.empty()) h.lists_unsure = kUnknownEnd;
}

}  // namespace rpcrdma::rules
