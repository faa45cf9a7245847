// The half of a selftest that connects: runs cell after cell and reports what was wrong in each.
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
  std::uint16_t port = 20049;  // the first port
  std::uint32_t inline_threshold = 4096;
  std::uint32_t calls = 0;  // minimum per direction of a cell; 0: a few of each kind
  fabric::Time patience = 60 * fabric::kSecond;  // timeout of a cell
  Damage damage = Damage::kNone;                 // of replies to the server's Calls
  // Returns the packets lost on purpose so far: a cell with loss continues for a while until it has
  // lost one. Empty: none are lost on purpose.
  std::function<std::uint64_t()> lost;
  std::function<bool()> interrupted;  // called when the loop was woken
};

struct CellResult {
  std::uint32_t forward = 0, reverse = 0;  // Calls with all bytes correct
  std::uint32_t refused = 0;               // reverse Calls that need chunks and may have none
  std::uint64_t lost = 0;                  // packets
  std::vector<std::string> failures;       // empty: the cell passed
};

class ClientHalf {
 public:
  // Both must outlive it; the provider uses the recorder's tracer. Fails as service::Loop::create()
  // does.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<ClientHalf>> create(
      fabric::Provider& provider, Recorder& recorder, ClientHalfOptions options);
  ~ClientHalf();
  ClientHalf(const ClientHalf&) = delete;
  ClientHalf& operator=(const ClientHalf&) = delete;

  [[nodiscard]] service::Loop& loop();

  // `number` must be unique in this run. Fails if the server cannot be reached or refuses cells, or
  // the provider fails; kNotConnected if interrupted.
  [[nodiscard]] fabric::Expected<CellResult> run(const Cell& cell, std::uint32_t number);

 private:
  struct Impl;
  explicit ClientHalf(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::selftest
