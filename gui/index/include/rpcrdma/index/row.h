// What is kept of every message of a capture, so that tables of millions can be shown, filtered and
// counted without reading the capture again. What is not here is read again (excerpt.h).
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/model/message.h>

namespace rpcrdma::index {

// Row n is of the message whose ID in the model is n + 1.
struct MessageRow {
  std::int64_t time_ns = 0;       // since 1970
  std::uint64_t frame = 0;        // in which its Send ends
  std::int64_t latency_ns = -1;   // of its Call; -1: not known
  std::uint64_t match = 0;        // ID of the other half of its Call; 0: not seen (yet)
  std::uint64_t moved = 0;        // bytes through the chunks of its Call
  std::uint32_t first_frame = 0;  // so many frames before `frame` its Send begins
  std::uint32_t connection = 0;   // index, as the tracker gave it: Store::connection_id()
  std::uint32_t xid = 0;
  std::uint32_t version = 0;
  std::uint32_t credit = 0;
  std::uint32_t proc = 0;       // rdma_proc
  std::uint32_t requested = 0;  // the ledger of its direction, after it
  std::uint32_t granted = 0;
  std::uint32_t in_use = 0;
  std::uint32_t length = 0;         // of the Send, bytes
  std::uint32_t read_bytes = 0;     // that its Read list offers; UINT32_MAX: so many or more
  std::uint32_t write_bytes = 0;    // the same of the Write list
  std::uint32_t reply_bytes = 0;    // and of the Reply chunk
  std::uint32_t read_segments = 0;  // entries of the Read list
  std::uint32_t write_chunks = 0;
  std::uint32_t operations = 0;  // RDMA Reads and Writes of its Call
  std::uint32_t procedure = 0;   // Store::procedure(); 0: not known
  std::uint32_t outcome = 0;     // Store::outcome(); 0: none, it is no Reply
  std::uint32_t handle = 0;      // that Send With Invalidate names, with kInvalidates
  std::uint16_t flags = 0;
  std::uint8_t error = 0;  // wire::RdmaErr, of an RDMA_ERROR
  model::Kind kind = model::Kind::kMalformed;
  std::uint8_t sender = 0;  // side of its connection, as the tracker had it
  std::uint8_t caller = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint8_t worst = kNothingFound;  // rules::Severity of the worst finding on it

  static constexpr std::uint8_t kNothingFound = 0xff;
  enum Flag : std::uint16_t {
    kComplete = 1,  // all bytes of the Send were captured
    kSuspect = 2,   // a packet of it had a wrong ICRC
    kInvalidates = 4,
    kReplyChunk = 8,      // has one
    kHeader = 16,         // its header was taken apart
    kOver = 32,           // of a Call: nothing more will be known of it
    kOfCall = 64,         // it is a Call, or what it answers is known
    kXidElsewhere = 128,  // its RPC message has another XID, or none that was found
    kMoreNeeded = 256,    // of a malformed message: why is not here
  };
  [[nodiscard]] bool is(Flag flag) const { return (flags & flag) != 0; }
};

// What Calls ask for, once for all that ask for the same.
struct ProcedureText {
  model::RpcInfo rpc;  // program, version, procedure and operations
  std::string label;   // "NFS v4 READ": what statistics go under
  std::string whole;   // "NFS v4 COMPOUND SEQUENCE PUTFH READ"
};

// How RPCs end, once for all that end alike.
struct Outcome {
  model::RpcInfo rpc;  // without what the Call asks for
  std::string text;    // "ok", "NFS4ERR_NOENT"
};

}  // namespace rpcrdma::index
