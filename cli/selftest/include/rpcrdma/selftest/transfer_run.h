// The Calls of one shape, made one after the other with some outstanding at a time, and what came
// of them: in one direction of a connection.
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
  std::uint32_t refused = 0;  // by this end, as they need chunks and may have none
  std::uint32_t wrong = 0;    // all others
  std::string text;           // of the first of these
  // What those that were sent have to have moved.
  protocol::MessageBytes expected;
};

struct RunOptions {
  std::vector<Transfer> transfers;  // not empty
  std::uint32_t depth = 4;          // outstanding
  fabric::Time timeout = 30 * fabric::kSecond;
  bool inline_only = false;  // those that need chunks have to be refused here
};

class TransferRun {
 public:
  using Make = std::function<fabric::Expected<std::uint32_t>(const protocol::CallSpec&)>;
  // `memory` and `pattern` outlive it; `make` makes a Call, whose outcome comes to on_outcome().
  TransferRun(protocol::MemoryPool& memory, const service::echo::Pattern& pattern,
              RunOptions options, Make make);

  // So many more.
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
  std::vector<std::size_t> free_;  // of these
  std::uint32_t begun_ = 0;
  std::uint32_t left_ = 0;
  Tally tally_;
};

}  // namespace rpcrdma::selftest
