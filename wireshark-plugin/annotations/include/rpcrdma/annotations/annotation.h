// What is to be shown with one frame of a capture: plain values, found by the frame's number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/annotations/field_log.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::annotations {

// An index into a list of notes that counts from 1; 0: none.
using Ref = std::uint32_t;

// An RDMA operation on a chunk of an RPC.
struct OperationNote {
  model::ChunkOperation operation;
  Ref call = 0;  // message
  bool ended = false;
};

// A Send with an RPC-over-RDMA message.
struct MessageNote {
  std::uint64_t frame = 0;
  std::uint64_t match_frame = 0;  // of the other half of the Call; 0: not seen (yet)
  std::int64_t time_ns = 0;
  std::int64_t latency_ns = -1;
  std::uint32_t connection = 0;  // its ID, as reports have it
  Ref call = 0;                  // the Call that it is or answers
  model::Kind kind = model::Kind::kMalformed;
  bool reverse = false;
  std::uint32_t version = 0;  // of the header
  std::uint32_t header_length = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;
  bool procedure_known = false;
  decode::ProcedureId procedure;  // with procedure_known
  std::string label;    // of its procedure, as statistics have it: "NFS v4 READ"; empty: not known
  std::string summary;  // one line
  // The Send, where it came in several packets or cut short; otherwise it is its packet's payload.
  std::vector<std::uint8_t> bytes;
  std::uint32_t wire_length = 0;  // of the Send
  FieldLog before;  // fields that are concluded of it, to be shown before those of its header
  FieldLog behind;  // and behind them
  std::vector<model::ChunkOperation> operations;  // of its Call
  // Frame in which its RPC message is whole and goes to Wireshark's dissector; 0: in none.
  std::uint64_t rpc_frame = 0;
  std::uint32_t conversation = 0;  // RpcNote::conversation, with rpc_frame
  // A Reply whose Call is in no list of RpcNotes: Wireshark's dissectors cannot know its program.
  bool orphan = false;
};

// An RPC message that is whole with the frame in whose list it stands.
struct RpcNote {
  Ref message = 0;
  // Where it stands in its Send, if it is there as it is; otherwise `bytes` have it.
  bool in_send = false;
  std::uint32_t offset = 0;           // in the Send
  std::uint32_t length = 0;           // captured
  std::uint32_t reported_length = 0;  // sent
  std::vector<std::uint8_t> bytes;
  // Tells the Calls of one connection and direction apart from all others: for Wireshark's matching
  // of XIDs.
  std::uint32_t conversation = 0;
  Ref next = 0;
};

struct FindingNote {
  rules::RuleId rule{};
  rules::Severity severity = rules::Severity::kNote;
  std::uint64_t count = 1;
  std::uint64_t of = 0;     // rules::Evidence::of: the text is that of the latest one
  std::uint32_t topic = 0;  // with `of`: rules::Evidence::topic
  std::uint64_t frame = 0;  // with which it is shown
  std::uint32_t connection = 0;
  std::string peer;           // at fault; empty: neither
  std::int64_t since_ns = 0;  // of what lasts; 0: it does not
  std::string text;
  std::string advice;
  Ref next = 0;
};

// What an endpoint tells, in a frame of a recording.
struct EventNote {
  std::string summary;
  FieldLog fields;
};

// What is to be shown with one RoCE packet, or one event, of a frame.
struct FrameAnnotation {
  std::uint32_t connection = 0;  // ID; 0: none
  // Whose words these are, of a recording: an index to Session::ends() of the connection. Of
  // packets it is not set, they have addresses of their own.
  std::uint8_t sender = kNoSender;
  static constexpr std::uint8_t kNoSender = 2;
  Ref message = 0;  // whose Send ends with this frame
  Ref operation = 0;
  Ref rpc = 0, last_rpc = 0;          // of a list
  Ref finding = 0, last_finding = 0;  // of a list
  Ref event = 0;
  Ref next_packet = 0;  // the note of the next packet in the same frame
  bool sent_again = false;
  const char* refusal = nullptr;  // of a NAK: what it says, a constant
};

}  // namespace rpcrdma::annotations
