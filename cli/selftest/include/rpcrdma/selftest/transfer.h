// The program TRANSFER (selftest.x): its server, and one Call of it. Each end compares every byte
// received with what is expected.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/selftest/shape.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/program.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::selftest {

inline constexpr std::uint32_t kTransferProgram = 0x20525246;
inline constexpr std::uint32_t kTransferVersion = 1;
inline constexpr std::uint32_t kMaxFiller = 1U << 18;  // bytes
inline constexpr std::uint32_t kMaxItem = 1U << 20;    // bytes

// Wrong replies on purpose, to check that they are detected.
enum class Damage : std::uint8_t {
  kNone,
  kByte,    // one byte of the first result, or of the filler, is wrong
  kLength,  // the first result, or the filler, is one byte shorter
};

class TransferProgram : public service::Program {
 public:
  // `pattern`: of kMaxItem bytes; it must outlive the program.
  explicit TransferProgram(const service::echo::Pattern& pattern, Damage damage = Damage::kNone);

 private:
  void transfer(service::Call& call) const;
  void one_way(service::Call& call);
  void count(service::Call& call);

  const service::echo::Pattern& pattern_;
  const Damage damage_;
  // ONE_WAY Calls that no COUNT has reported. One peer at a time makes them.
  std::uint32_t right_ = 0, wrong_ = 0;
};

// The memory of one Call, reused by the next ones; it must exist until the Call has ended.
class TransferCall {
 public:
  // Both must outlive it; `pattern`: of kMaxItem bytes.
  TransferCall(protocol::MemoryPool& memory, const service::echo::Pattern& pattern);
  ~TransferCall();
  TransferCall(const TransferCall&) = delete;
  TransferCall& operator=(const TransferCall&) = delete;

  // Returns the Call to send, valid until the next begin(). The caller sets its timeout and cookie.
  // Fails as MemoryPool::acquire() does.
  [[nodiscard]] fabric::Expected<protocol::CallSpec> begin(const Transfer& transfer,
                                                           std::uint32_t seed);
  // Returns what is wrong with the Reply, in one clause; empty: nothing.
  [[nodiscard]] std::string check(const protocol::CallOutcome& outcome) const;
  [[nodiscard]] const Transfer& transfer() const { return transfer_; }

 private:
  [[nodiscard]] fabric::Expected<void> make_room();
  [[nodiscard]] std::string check(protocol::StreamReader& results) const;
  [[nodiscard]] std::string check_count(protocol::StreamReader& results) const;

  protocol::MemoryPool& memory_;
  const service::echo::Pattern& pattern_;
  const service::CallHeader null_;
  const service::CallHeader header_;
  const service::CallHeader one_way_;
  const service::CallHeader count_;
  Transfer transfer_;
  std::uint32_t seed_ = 0;
  std::vector<std::uint8_t> head_;  // all but the arguments after the first
  std::array<std::array<std::uint8_t, 4>, kMaxItems + 1> words_{};
  std::array<protocol::Piece, protocol::kMaxPieces> pieces_;
  protocol::Block room_;  // memory for results
  std::array<protocol::ResultSpace, kMaxItems> spaces_;
};

}  // namespace rpcrdma::selftest
