// Work requests and their completions, as in the verbs (InfiniBand Architecture Specification
// volume 1, chapters 10 and 11).
#pragma once

#include <cstdint>
#include <span>

namespace rpcrdma::fabric {

// The peer's access rights to memory that is advertised to it: one or both.
enum class Access : std::uint8_t { kRemoteRead = 1, kRemoteWrite = 2 };
[[nodiscard]] constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool allows(Access granted, Access wanted) {
  return (granted | wanted) == granted;
}

// A part of local memory to send from or receive into. It must lie within memory registered with
// the provider (`local_key`), and stay unchanged until the completion. The fabric never owns it.
struct Slice {
  std::uint8_t* data = nullptr;
  std::uint32_t length = 0;  // bytes
  std::uint32_t local_key = 0;
};

// The maximum number of slices in a work request.
inline constexpr std::size_t kMaxSlices = 4;

enum class Operation : std::uint8_t {
  kSend,
  kSendImmediate,  // with Immediate: not on every device
  kSendInvalidate,
  kWrite,
  kWriteImmediate,  // consumes a Receive at the peer
  kRead,
  kReceive,     // completions only: a peer's Send, or Write with Immediate, has arrived
  kAdvertise,   // a handle became valid: see Connection::advertise()
  kInvalidate,  // a handle is no longer valid, and no access to its memory is in progress
};

struct SendRequest {
  std::uint64_t id = 0;  // returned in the completion
  Operation operation = Operation::kSend;
  std::span<const Slice> local;     // kRead: destination, else source; at most kMaxSlices
  std::uint64_t remote_offset = 0;  // kRead, kWrite*: the offset that the peer advertised
  std::uint32_t remote_handle = 0;  // kRead, kWrite*: the peer's handle (STag, rkey)
  std::uint32_t invalidate = 0;     // kSendInvalidate: the peer's handle
  std::uint32_t immediate = 0;      // kSendImmediate, kWriteImmediate
  // Request a completion. Without it only a failure is reported, and the request's place in the
  // queue may stay occupied until a later signaled request has completed.
  bool signaled = true;
  bool solicited =
      false;           // Sends and Writes with Immediate: wakes a peer that waits for these only
  bool fence = false;  // start only after all earlier Reads are complete
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::span<const Slice> local;  // filled in order; a longer message is an error
};

enum class Status : std::uint8_t {
  kSuccess,
  kLocalLength,        // a message did not fit into its Receive, or an operation is too long
  kLocalProtection,    // a slice lies outside registered memory
  kLocalOperation,     // the local device failed to do it
  kFlushed,            // the connection ended before the operation completed
  kRemoteInvalid,      // the peer found the request malformed
  kRemoteAccess,       // the peer's handle, its bounds or its access rights do not allow it
  kRemoteOperation,    // the peer failed to do it
  kBadResponse,        // the peer's response does not fit the request
  kRetriesExceeded,    // the peer does not acknowledge
  kRnrRetriesExceeded  // the peer has no Receive posted
};
[[nodiscard]] const char* status_name(Status status);           // "success", "remote access", ...
[[nodiscard]] const char* operation_name(Operation operation);  // "Send", "Read", ...

struct Completion {
  std::uint64_t id = 0;
  std::uint64_t connection = 0;  // the cookie that the connection's owner chose
  Operation operation = Operation::kSend;
  Status status = Status::kSuccess;
  bool has_immediate = false;
  bool has_invalidated = false;  // kReceive: the Send invalidated `invalidated` here
  std::uint32_t bytes = 0;       // kReceive, kRead: bytes received
  std::uint32_t immediate = 0;
  std::uint32_t invalidated = 0;
};

}  // namespace rpcrdma::fabric
