// Runs the Calls of one shape in one direction of a connection, some of them in flight at a time,
// and collects the results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/selftest/transfer.h>

namespace rpcrdma::selftest {

struct Tally {
  std::uint32_t right = 0;
  std::uint32_t refused = 0;  // refused by this end, since they need chunks and may have none
  std::uint32_t wrong = 0;    // all other failures
  std::string text;           // describes the first of them
  // The bytes that the Calls sent must have moved.
  protocol::MessageBytes expected;
};

struct RunOptions {
  std::vector<Transfer> transfers;  // not empty
  std::uint32_t depth = 4;          // Calls in flight
  fabric::Time timeout = 30 * fabric::kSecond;
  bool inline_only = false;  // Calls that need chunks must be refused
};

class TransferRun {
 public:
  using Make = std::function<fabric::Expected<std::uint32_t>(const protocol::CallSpec&)>;
  // `memory` and `pattern` must outlive it; `make` sends a Call, whose outcome is passed to
  // on_outcome().
  TransferRun(protocol::MemoryPool& memory, const service::echo::Pattern& pattern,
              RunOptions options, Make make);

  // Sends this many more Calls.
  void add(std::uint32_t count);
  void on_outcome(const protocol::CallOutcome& outcome);
  [[nodiscard]] bool done() const { return left_ == 0 && free_.size() == calls_.size(); }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  void go_on();
  void judge(const TransferCall& call, const protocol::CallOutcome& outcome);
  void fail(const Transfer& transfer, const std::string& text);

  const RunOptions options_;
  const Make make_;
  std::vector<std::unique_ptr<TransferCall>> calls_;
  std::vector<std::size_t> free_;  // indices of free slots
  std::uint32_t begun_ = 0;
  std::uint32_t left_ = 0;
  Tally tally_;
};

}  // namespace rpcrdma::selftest
