// The data to show with one frame of a capture: plain values, found by the frame's number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/annotations/field_log.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/message.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::annotations {

// A 1-based index into a list of notes; 0: none.
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
  std::uint64_t match_frame = 0;  // of the Call's other half; 0: not seen (yet)
  std::int64_t time_ns = 0;
  std::int64_t latency_ns = -1;
  std::uint32_t connection = 0;  // its ID, as in reports
  Ref call = 0;                  // the Call itself, or the one it answers
  model::Kind kind = model::Kind::kMalformed;
  bool reverse = false;
  std::uint32_t version = 0;  // of the header
  std::uint32_t header_length = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;
  bool procedure_known = false;
  decode::ProcedureId procedure;  // valid with procedure_known
  std::string label;    // its procedure's name in statistics: "NFS v4 READ"; empty: not known
  std::string summary;  // one line
  // The Send, if it has several packets or is cut short; otherwise it is its packet's payload.
  std::vector<std::uint8_t> bytes;
  std::uint32_t wire_length = 0;  // of the Send
  FieldLog before;                // conclusions to show before the fields of its header
  FieldLog behind;                // conclusions to show behind them
  std::vector<model::ChunkOperation> operations;  // of its Call
  // Frame in which its RPC message is complete and goes to Wireshark's dissector; 0: in none.
  std::uint64_t rpc_frame = 0;
  std::uint32_t conversation = 0;  // RpcNote::conversation, valid with rpc_frame
  // A Reply whose Call was never dissected: Wireshark's dissectors cannot know its program.
  bool orphan = false;
};

// An RPC message that is complete with the frame that lists it.
struct RpcNote {
  Ref message = 0;
  // True if the Send holds it unchanged; otherwise `bytes` hold it.
  bool in_send = false;
  std::uint32_t offset = 0;           // in the Send
  std::uint32_t length = 0;           // as captured
  std::uint32_t reported_length = 0;  // as sent
  std::vector<std::uint8_t> bytes;
  // Distinguishes the Calls of one connection and direction from all others, for Wireshark's
  // matching of XIDs.
  std::uint32_t conversation = 0;
  Ref next = 0;
};

struct FindingNote {
  rules::RuleId rule{};
  rules::Severity severity = rules::Severity::kNote;
  std::uint64_t count = 1;
  std::uint64_t of = 0;     // rules::Evidence::of: the text is the latest one's
  std::uint32_t topic = 0;  // rules::Evidence::topic, valid with `of`
  std::uint64_t frame = 0;  // the frame that shows it
  std::uint32_t connection = 0;
  std::string peer;           // at fault; empty: neither
  std::int64_t since_ns = 0;  // of a condition that lasts; 0: it does not
  std::string text;
  std::string advice;
  Ref next = 0;
};

// An event of an endpoint, in a frame of a recording.
struct EventNote {
  std::string summary;
  FieldLog fields;
};

// The data to show with one RoCE packet, or one event, of a frame.
struct FrameAnnotation {
  std::uint32_t connection = 0;  // ID; 0: none
  // The reporting side of an event in a recording: an index into Session::ends() of the connection.
  // Not set for packets, which have addresses of their own.
  std::uint8_t sender = kNoSender;
  static constexpr std::uint8_t kNoSender = 2;
  Ref message = 0;  // the message whose Send ends with this frame
  Ref operation = 0;
  Ref rpc = 0, last_rpc = 0;          // first and last of a list
  Ref finding = 0, last_finding = 0;  // first and last of a list
  Ref event = 0;
  Ref next_packet = 0;  // note of the next packet in the same frame
  bool sent_again = false;
  const char* refusal = nullptr;  // the text of a NAK, a constant
};

}  // namespace rpcrdma::annotations
