// The part of every message that is kept in memory, so that tables of millions can be shown,
// filtered and counted without reading the capture again. The rest is read again (excerpt.h).
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/model/message.h>

namespace rpcrdma::index {

// Row n describes the message whose ID in the model is n + 1. Rows (rows.h) stores it in less.
struct MessageRow {
  std::int64_t time_ns = 0;       // since 1970
  std::uint64_t frame = 0;        // the last frame of its Send
  std::int64_t latency_ns = -1;   // of its Call; -1: not known
  std::uint64_t match = 0;        // ID of the other half of its Call; 0: not seen (yet)
  std::uint64_t moved = 0;        // bytes through the chunks of its Call
  std::uint32_t first_frame = 0;  // the Send begins this many frames before `frame`
  std::uint32_t connection = 0;   // index, assigned by the tracker: see Store::connection_id()
  std::uint32_t xid = 0;
  std::uint32_t version = 0;
  std::uint32_t credit = 0;
  std::uint32_t proc = 0;       // rdma_proc
  std::uint32_t requested = 0;  // the ledger of its direction after this message
  std::uint32_t granted = 0;
  std::uint32_t in_use = 0;
  std::uint32_t length = 0;         // of the Send, bytes
  std::uint32_t read_bytes = 0;     // advertised by its Read list; UINT32_MAX: that many or more
  std::uint32_t write_bytes = 0;    // the same for the Write list
  std::uint32_t reply_bytes = 0;    // and for the Reply chunk
  std::uint32_t read_segments = 0;  // entries of the Read list
  std::uint32_t write_chunks = 0;
  std::uint32_t operations = 0;  // RDMA Reads and Writes of its Call
  std::uint32_t procedure = 0;   // Store::procedure(); 0: not known
  std::uint32_t outcome = 0;     // Store::outcome(); 0: none, since it is not a Reply
  std::uint32_t handle = 0;      // the handle in Send With Invalidate, with kInvalidates
  std::uint32_t detail = 0;      // of a Call: Content::details; 0: none
  std::uint16_t flags = 0;
  std::uint8_t error = 0;  // wire::RdmaErr, of an RDMA_ERROR
  model::Kind kind = model::Kind::kMalformed;
  std::uint8_t sender = 0;  // side of its connection, by the tracker's count
  std::uint8_t caller = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;
  std::uint8_t worst = kNothingFound;  // rules::Severity of the worst finding on it

  static constexpr std::uint8_t kNothingFound = 0xff;
  enum Flag : std::uint16_t {
    kComplete = 1,  // all bytes of the Send were captured
    kSuspect = 2,   // a packet of it had a wrong ICRC
    kInvalidates = 4,
    kReplyChunk = 8,      // has a Reply chunk
    kHeader = 16,         // its header was decoded
    kOver = 32,           // a Call about which nothing more will be learned
    kOfCall = 64,         // it is a Call, or it answers a known one
    kXidElsewhere = 128,  // its RPC message has another XID, or none was found
    kMoreNeeded = 256,    // a malformed message: the reason is not stored here
    kFieldsOnly = 512,    // its bytes were not seen: roce::kAbsentBytes
    kNoCredit = 1024,     // its source does not show the member
    kNoLength = 2048,
    kNoChunkCounts = 4096,
    kNoRequested = 8192,
    kNoGranted = 16384,
    kCe = 32768,  // a packet of it was marked CE
  };
  [[nodiscard]] bool is(Flag flag) const { return (flags & flag) != 0; }
  // As model::Message has them.
  [[nodiscard]] std::uint16_t absent() const;
  [[nodiscard]] model::Credits credits() const;
};

// What Calls ask for, stored once for all Calls that ask for the same.
struct ProcedureText {
  model::RpcInfo rpc;  // program, version, procedure and operations
  std::string label;   // "NFS v4 READ": its name in statistics
  std::string whole;   // "NFS v4 COMPOUND SEQUENCE PUTFH READ"
  std::string brief;   // "READ"; of other programs than NFS as `label`
};

// How RPCs end, stored once for all that end alike.
struct Outcome {
  model::RpcInfo rpc;  // without the Call's request
  std::string text;    // "ok", "NFS4ERR_NOENT"

  [[nodiscard]] bool ok() const {
    return rpc.reply_stat == wire::ReplyStat::kAccepted &&
           rpc.accept_stat == wire::AcceptStat::kSuccess && !(rpc.has_status && rpc.status != 0);
  }
};

}  // namespace rpcrdma::index
