// Notes when the state of a connection becomes uncertain. A rule about in-flight Calls depends on
// every earlier message. If one is missing, damaged, or truncated before its direction shows, later
// violations are inconclusive. The same applies to chunk lists and their handles.
#include "checks/checks.h"

namespace rpcrdma::rules {

namespace {

const char* const kCut = "a message of the connection is truncated in the capture";
const char* const kDamaged = "a message of the connection has an invalid ICRC";
const char* const kUnread = "a message of the connection cannot be parsed";
const char* const kJoined =
    "the capture shows the two directions of the connection one after the other";
const char* const kUnknownEnd = "a Call was resent while it was in flight";
const char* const kUnheard = "the capture does not show where the responder's messages begin";
const char* const kReplyReads =
    "the responder advertised Read chunks of its own in a Reply without a Call";

// The msg_type of the RPC message was not captured, so the model guessed the direction.
bool direction_guessed(const model::Message& m) {
  // Such a source states the direction.
  if (model::is_absent(m, roce::kAbsentBytes)) return false;
  return !m.complete && (m.header_length == 0 || m.payload.size() < 8);
}

}  // namespace

void note_certainty(const model::Message& m, const CheckContext& context) {
  ConnectionHistory& h = context.history;
  const bool unseen = context.model.sends != context.model.messages;
  const bool unread = m.kind == model::Kind::kMalformed;
  if (h.sends_unsure == nullptr && (unseen || direction_guessed(m))) h.sends_unsure = kCut;
  if (h.messages_unsure == nullptr) h.messages_unsure = unread ? kUnread : h.sends_unsure;
  if (unread) h.unread[m.sender] = kUnread;
  if (h.first_message[m.sender] == 0) h.first_message[m.sender] = m.id;
  if (h.lists_unsure == nullptr) {
    if (unread) {
      h.lists_unsure = kUnread;
    } else if (m.header_length == 0 || unseen) {
      h.lists_unsure = kCut;
    } else if (m.kind == model::Kind::kReply && !m.reads.empty() && m.match_frame == 0) {
      h.lists_unsure = kReplyReads;
    }
  }
}

const char* lists_unsure(const CheckContext& context) {
  const bool unseen = context.model.sends != context.model.messages;
  return context.history.lists_unsure != nullptr ? context.history.lists_unsure
         : unseen                                ? kCut
                                                 : nullptr;
}

// Violations in the damaged message itself are reported, marked as suspect.
void note_damage(const model::Message& m, const CheckContext& context) {
  if (!m.suspect) return;
  ConnectionHistory& h = context.history;
  for (const char** unsure : {&h.sends_unsure, &h.messages_unsure, &h.lists_unsure}) {
    if (*unsure == nullptr) *unsure = kDamaged;
  }
}

const char* unheard(std::size_t side, std::uint64_t by, const CheckContext& context) {
  const roce::Side& s = context.connection.side[side];
  const std::uint64_t first = context.history.first_message[side];
  return s.cm.seen || context.connection.recorded || (first != 0 && first < by) ? nullptr
                                                                                : kUnheard;
}

void note_joined(ConnectionHistory& h) {
  h.sends_unsure = h.messages_unsure = h.lists_unsure = kJoined;
}

void note_end(const model::Call& call, ConnectionHistory& h) {
  if (h.lists_unsure != nullptr) return;
  // With two Calls of one XID, an answer or an RDMA operation may belong to either: the later Call
  // may have segments where this one has none.
  const bool open = call.ending == model::Ending::kSuperseded ||
                    (call.ending == model::Ending::kForgotten && !call.segments.empty());
  if (open) h.lists_unsure = kUnknownEnd;
}

}  // namespace rpcrdma::rules
