// The half of a selftest that connects: runs cell after cell, and says what was wrong in each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/selftest/matrix.h>
#include <rpcrdma/selftest/recorder.h>
#include <rpcrdma/selftest/transfer.h>
#include <rpcrdma/service/loop.h>

namespace rpcrdma::selftest {

struct ClientHalfOptions {
  fabric::Address server;
  std::uint16_t port = 20049;  // the first
  std::uint32_t inline_threshold = 4096;
  std::uint32_t calls = 0;  // of a direction of a cell at least; 0: some of each kind
  fabric::Time patience = 60 * fabric::kSecond;  // with a cell
  Damage damage = Damage::kNone;                 // of answers to the server's Calls
  // Packets that were lost so far, of whoever loses some on purpose: a cell with loss goes on until
  // one of its own was, for a while. Empty: nobody does.
  std::function<std::uint64_t()> lost;
  std::function<bool()> interrupted;  // asked when the loop was woken
};

struct CellResult {
  std::uint32_t forward = 0, reverse = 0;  // Calls, with every byte as it has to be
  std::uint32_t refused = 0;               // reverse ones that need chunks and may have none
  std::uint64_t lost = 0;                  // packets
  std::vector<std::string> failures;       // empty: the cell passed
};

class ClientHalf {
 public:
  // Both outlive it; the provider has the recorder's tracer. Errors: as service::Loop::create().
  [[nodiscard]] static fabric::Expected<std::unique_ptr<ClientHalf>> create(
      fabric::Provider& provider, Recorder& recorder, ClientHalfOptions options);
  ~ClientHalf();
  ClientHalf(const ClientHalf&) = delete;
  ClientHalf& operator=(const ClientHalf&) = delete;

  [[nodiscard]] service::Loop& loop();

  // `number` is no other cell's of this run. Errors: the server cannot be reached, or takes no
  // cells; the provider is gone; kNotConnected when it was interrupted.
  [[nodiscard]] fabric::Expected<CellResult> run(const Cell& cell, std::uint32_t number);

 private:
  struct Impl;
  explicit ClientHalf(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::selftest
