// The echo program (echo.x): Calls of every shape that RPC-over-RDMA has, with checksums that both
// sides verify. For tests, measurements, and a first contact with a server.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/service/rpc_message.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::service::echo {

// In the range for user-defined programs (RFC 5531 section 8.3).
inline constexpr std::uint32_t kProgram = 0x20525244;
inline constexpr std::uint32_t kVersion = 1;

enum class Proc : std::uint32_t {
  kNull = 0,
  kEcho = 1,      // opaque that is not DDP-eligible, echoed
  kSink = 2,      // bulk argument
  kSource = 3,    // bulk result
  kEchoBulk = 4,  // both
  kList = 5,      // a long Reply of many small items
  kSleep = 6,
  kCount = 7,  // adds to a number of the server, so that it must be executed once
};
inline constexpr std::uint32_t kProcedures = 8;
[[nodiscard]] const char* proc_name(Proc proc);  // "NULL", "ECHO", ...
[[nodiscard]] std::optional<Proc> proc_from_name(
    std::string_view name);  // "echo_bulk", "ECHO-BULK"

// Limits of the protocol (echo.x); a server may have lower ones for bulk.
inline constexpr std::uint32_t kMaxEcho = 1U << 20;       // bytes of ECHO's opaque
inline constexpr std::uint32_t kMaxBulk = 1U << 28;       // bytes of SINK, SOURCE and ECHO_BULK
inline constexpr std::uint32_t kMaxItem = 1024;           // bytes of an item of LIST
inline constexpr std::uint32_t kMaxListBytes = 1U << 20;  // of all items of LIST, as encoded
inline constexpr std::uint32_t kMaxSleep = 60'000'000;    // microseconds

enum class Status : std::uint32_t {
  kOk = 0,
  kCorrupt = 1,  // the arguments' checksum is wrong
  kTooLong = 2,  // for this server
};

// How long the server had a Call, in nanoseconds by its clock, as its Reply states.
struct ServerTimes {
  std::uint64_t reading = 0;  // from the arrival of its Send until its Read chunks were complete
  std::uint64_t working = 0;  // from then until the Reply was passed to the responder

  friend bool operator==(const ServerTimes&, const ServerTimes&) = default;
};

// CRC-32C (RFC 3720 section 12.1, appendix B.4).
[[nodiscard]] std::uint32_t checksum(wire::Bytes bytes);

// Bytes that both peers know: modulo 4096, each seed has a different start. They lie in registered
// memory of one provider, so that they are sent without a copy.
class Pattern {
 public:
  // For up to `longest` bytes. Errors: as MemoryPool::acquire().
  [[nodiscard]] static fabric::Expected<Pattern> create(protocol::MemoryPool& memory,
                                                        std::uint32_t longest);
  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&&) = delete;
  ~Pattern();

  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  // `length` is at most longest().
  [[nodiscard]] wire::Bytes bytes(std::uint32_t seed, std::uint32_t length) const;
  [[nodiscard]] std::uint32_t checksum(std::uint32_t seed, std::uint32_t length);  // cached
  [[nodiscard]] const fabric::Memory* memory() const { return block_.memory; }

 private:
  struct Known {
    std::uint32_t seed = 0, length = 0, checksum = 0;
  };
  Pattern(protocol::MemoryPool& pool, const protocol::Block& block, std::uint32_t longest);

  protocol::MemoryPool* pool_;
  protocol::Block block_;
  std::uint32_t longest_;
  std::array<Known, 64> known_{};
};

// The server's side. Bulk results are sent without a copy: SOURCE's from the pattern, ECHO_BULK's
// from the memory into which a Read chunk was read.
struct EchoCounters {
  std::uint64_t calls[kProcedures] = {};
  std::uint64_t corrupt = 0, too_long = 0;
  std::uint64_t count = 0;  // of COUNT
};

class EchoProgram : public Program {
 public:
  using Clock = fabric::Time (*)();
  // `longest`: of bulk, bytes. `clock`: the clock of the Calls' times, used to measure the server's
  // work for Replies; without it a handler seems to take no time. Errors: as Pattern::create().
  [[nodiscard]] static fabric::Expected<std::unique_ptr<EchoProgram>> create(
      protocol::MemoryPool& memory, std::uint32_t longest = 1U << 20, Clock clock = nullptr);
  ~EchoProgram() override;

  [[nodiscard]] fabric::Time deadline() const override;
  void expire(fabric::Time now) override;
  [[nodiscard]] const EchoCounters& counters() const;
  // Called with each Call whose result would have more bytes than `longest`.
  void on_too_long(std::function<void(const Call& call, std::uint64_t bytes)> log);

 private:
  struct Impl;
  explicit EchoProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The client's side.
struct Request {
  Proc proc = Proc::kNull;
  std::uint32_t length = 0;  // ECHO, SINK, SOURCE, ECHO_BULK: bytes; LIST: of an item
  std::uint32_t count = 0;   // LIST: items
  std::uint32_t seed = 0;    // of the data
  std::uint32_t sleep = 0;   // SLEEP: microseconds
};

enum class Verdict : std::uint8_t {
  kRight,
  kRpcError,  // no Reply, or an RPC error: see ReplyReader
  kStatus,    // the server's status is not OK
  kMalformed,
  kWrongData,
};
[[nodiscard]] const char* verdict_name(Verdict verdict);

// Reusable memory of one Call: arguments, and space for a bulk result. It must live until the Call
// has ended.
class EchoCall {
 public:
  // `pattern` outlives it. `longest`: of its bulk results, bytes. Errors: as MemoryPool::acquire();
  // kBadArgument beyond the pattern.
  [[nodiscard]] static fabric::Expected<EchoCall> create(protocol::MemoryPool& memory,
                                                         Pattern& pattern, std::uint32_t longest);
  EchoCall(EchoCall&& other) noexcept;
  EchoCall& operator=(EchoCall&&) = delete;
  ~EchoCall();

  // Returns the Call to make, valid until the next begin(). The caller sets its timeout and cookie.
  // Error: kBadArgument if it exceeds the room of this EchoCall or the limits of the protocol.
  [[nodiscard]] fabric::Expected<protocol::CallSpec> begin(const Request& request);
  // Checks everything in the Reply: data, length and checksum.
  [[nodiscard]] Verdict check(const protocol::CallOutcome& outcome);
  // The server's times in the latest Reply that check() saw, unverified; nothing if it has none:
  // NULL's, RPC errors, malformed results.
  [[nodiscard]] std::optional<ServerTimes> server_times() const;
  [[nodiscard]] const Request& request() const;
  // The server's status in the latest Reply that check() saw, if it was not OK.
  [[nodiscard]] std::optional<Status> status() const;
  // COUNT's result in the latest Reply that check() saw: the server's number; nothing if it has
  // none.
  [[nodiscard]] std::optional<std::uint64_t> count() const;
  // Bytes of payload that the Call moved, in both directions together.
  [[nodiscard]] static std::uint64_t payload_bytes(const Request& request);

 private:
  struct Impl;
  explicit EchoCall(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::service::echo
