// The callback program (callback.x): a client requests Calls of the echo program in the reverse
// direction (RFC 8167), and serves them itself.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::service::callback {

inline constexpr std::uint32_t kProgram = 0x20525245;
inline constexpr std::uint32_t kVersion = 1;

enum class Proc : std::uint32_t { kNull = 0, kStart = 1, kWait = 2, kEnd = 3, kStop = 4 };
enum class Status : std::uint32_t { kOk = 0, kNoSession = 1, kRefused = 2, kTooMany = 3 };
[[nodiscard]] const char* status_name(Status status);

struct Plan {
  std::uint64_t session = 0;
  std::uint32_t count = 0;
  echo::Request request;  // the server chooses its seed
  std::uint32_t depth = 1;
};

struct Result {
  Status status = Status::kOk;
  std::uint32_t right = 0, wrong = 0, failed = 0, resent = 0;
};

struct ProgramOptions {
  std::uint32_t sessions = 64;            // at the same time
  std::uint32_t sessions_of_client = 16;  // per client address
  std::uint32_t depth = 8;                // maximum Calls in flight of a session, and its credits
  std::uint32_t longest = 1U << 20;       // bytes of a Call's data
  // Bytes for the results of all Calls of all sessions together. Calls without memory wait for
  // others of their session to end, or fail.
  std::uint64_t memory = 64U << 20;
  fabric::Time timeout = 30 * fabric::kSecond;    // of a reverse Call
  fabric::Time forgotten = 60 * fabric::kSecond;  // lifetime of a session without a connection
  bool inline_only = false;  // no chunks (draft-cel-nfsv4-rpcrdma-bidirection-01 section 2.4)
};

// The server's side.
class CallbackProgram : public Program {
 public:
  // The memory, and `clock`, which is the loop's, outlive it. Errors: as Pattern::create().
  [[nodiscard]] static fabric::Expected<std::unique_ptr<CallbackProgram>> create(
      protocol::MemoryPool& memory, const fabric::Time& clock, const ProgramOptions& options = {});
  ~CallbackProgram() override;

  [[nodiscard]] fabric::Time deadline() const override;
  void expire(fabric::Time now) override;
  [[nodiscard]] std::size_t sessions() const;

 private:
  struct Impl;
  explicit CallbackProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The client's side: one Call at a time, valid until the next.
class CallbackCall {
 public:
  CallbackCall();
  [[nodiscard]] protocol::CallSpec start(const Plan& plan);
  [[nodiscard]] protocol::CallSpec wait(std::uint64_t session);
  [[nodiscard]] protocol::CallSpec end(std::uint64_t session);
  [[nodiscard]] protocol::CallSpec stop(std::uint64_t session);
  // Decodes the Reply; returns nothing if it is missing or malformed. Only wait() has more than a
  // status.
  [[nodiscard]] static std::optional<Result> read(const protocol::CallOutcome& outcome, Proc proc);

 private:
  [[nodiscard]] protocol::CallSpec spec(Proc proc, wire::Bytes arguments);
  [[nodiscard]] protocol::CallSpec of_session(Proc proc, std::uint64_t session);

  std::array<std::uint8_t, 36> arguments_{};
  std::array<CallHeader, 4> headers_;
  std::array<protocol::Piece, 2> pieces_;
};

}  // namespace rpcrdma::service::callback
