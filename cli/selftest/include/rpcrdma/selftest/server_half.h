// The half of a selftest that listens: a server for each line of the table, on consecutive ports,
// which serve TRANSFER, call it in turn when a client asks, and judge their recording of each cell.
// One client at a time, with one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/selftest/recorder.h>
#include <rpcrdma/selftest/transfer.h>
#include <rpcrdma/service/loop.h>

namespace rpcrdma::selftest {

struct ServerHalfOptions {
  std::uint16_t port = 20049;  // the first
  std::uint32_t inline_threshold = 4096;
  Damage damage = Damage::kNone;
};

class ServerHalf {
 public:
  // Listens on the provider's address. Both outlive it; the provider has the recorder's tracer.
  // Errors: as service::Server::create(); what cannot be recorded.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<ServerHalf>> create(
      fabric::Provider& provider, Recorder& recorder, const ServerHalfOptions& options);
  ~ServerHalf();
  ServerHalf(const ServerHalf&) = delete;
  ServerHalf& operator=(const ServerHalf&) = delete;

  // Whoever runs it serves.
  [[nodiscard]] service::Loop& loop();

  // Cells that were judged, and those of them whose recording was not free of errors.
  [[nodiscard]] std::uint64_t cells() const;
  [[nodiscard]] std::uint64_t bad_cells() const;

 private:
  struct Impl;
  explicit ServerHalf(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::selftest
