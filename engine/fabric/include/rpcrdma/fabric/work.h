// What is asked of a connection, and how it says that it is done: work requests and completions, as
// in the verbs (InfiniBand Architecture Specification volume 1, chapters 10 and 11).
#pragma once

#include <cstdint>
#include <span>

namespace rpcrdma::fabric {

// What the peer may do with memory that is exposed to it: one or both.
enum class Access : std::uint8_t { kRemoteRead = 1, kRemoteWrite = 2 };
[[nodiscard]] constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool allows(Access granted, Access wanted) {
  return (granted | wanted) == granted;
}

// A part of local memory, to be sent from or received into. It must lie in one that was registered
// with the provider (`local_key`), stay as it is until the completion, and is never owned by the
// fabric.
struct Slice {
  std::uint8_t* data = nullptr;
  std::uint32_t length = 0;  // bytes
  std::uint32_t local_key = 0;
};

// Slices of one work request at most.
inline constexpr std::size_t kMaxSlices = 4;

enum class Operation : std::uint8_t {
  kSend,
  kSendImmediate,  // with Immediate: not on every device
  kSendInvalidate,
  kWrite,
  kWriteImmediate,  // consumes a Receive of the peer's
  kRead,
  kReceive,     // completions only: a peer's Send, or Write with Immediate, has arrived
  kAdvertise,   // a handle became valid: see Connection::expose()
  kInvalidate,  // a handle is no longer valid and nothing accesses its memory any more
};

struct SendRequest {
  std::uint64_t id = 0;  // comes back in the completion
  Operation operation = Operation::kSend;
  std::span<const Slice> local;     // kRead: where to, else where from; at most kMaxSlices
  std::uint64_t remote_offset = 0;  // kRead, kWrite*: the peer's memory, as it said
  std::uint32_t remote_handle = 0;  // kRead, kWrite*: the peer's handle (STag, rkey)
  std::uint32_t invalidate = 0;     // kSendInvalidate: the peer's handle
  std::uint32_t immediate = 0;      // kSendImmediate, kWriteImmediate
  // A completion is wanted. Without, only a failure is told, and the request's place in the queue
  // may stay taken until a later one that is signaled has completed.
  bool signaled = true;
  bool solicited =
      false;           // Sends and Writes with Immediate: wakes a peer that waits for these only
  bool fence = false;  // not begun before all earlier Reads are complete
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::span<const Slice> local;  // filled in order; a message longer than all is an error
};

enum class Status : std::uint8_t {
  kSuccess,
  kLocalLength,        // a message did not fit into its Receive, or an operation is too long
  kLocalProtection,    // a slice lies outside of registered memory
  kLocalOperation,     // the own device could not do it
  kFlushed,            // the connection ended before the operation was done
  kRemoteInvalid,      // the peer found the request malformed
  kRemoteAccess,       // the peer's handle, its bounds or its rights do not allow it
  kRemoteOperation,    // the peer could not do it
  kBadResponse,        // what the peer answered does not fit what was asked
  kRetriesExceeded,    // the peer does not acknowledge
  kRnrRetriesExceeded  // the peer has no Receive posted
};
[[nodiscard]] const char* status_name(Status status);           // "success", "remote access", ...
[[nodiscard]] const char* operation_name(Operation operation);  // "Send", "Read", ...

struct Completion {
  std::uint64_t id = 0;
  std::uint64_t connection = 0;  // the cookie that its owner gave the connection
  Operation operation = Operation::kSend;
  Status status = Status::kSuccess;
  bool has_immediate = false;
  bool has_invalidated = false;  // kReceive: the Send invalidated `invalidated` here
  std::uint32_t bytes = 0;       // kReceive, kRead: how many came
  std::uint32_t immediate = 0;
  std::uint32_t invalidated = 0;
};

}  // namespace rpcrdma::fabric
