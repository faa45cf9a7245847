// The half of a selftest that listens: a server for each row of the table, on consecutive ports.
// The servers serve TRANSFER, call it in turn when a client asks, and judge their recordings of
// each cell. One client at a time, with one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/selftest/recorder.h>
#include <rpcrdma/selftest/transfer.h>
#include <rpcrdma/service/loop.h>

namespace rpcrdma::selftest {

struct ServerHalfOptions {
  std::uint16_t port = 20049;  // the first port
  std::uint32_t inline_threshold = 4096;
  Damage damage = Damage::kNone;
};

class ServerHalf {
 public:
  // Listens on the provider's address. Both must outlive it; the provider uses the recorder's
  // tracer. Fails as service::Server::create() does, or if nothing can be recorded.
  [[nodiscard]] static fabric::Expected<std::unique_ptr<ServerHalf>> create(
      fabric::Provider& provider, Recorder& recorder, const ServerHalfOptions& options);
  ~ServerHalf();
  ServerHalf(const ServerHalf&) = delete;
  ServerHalf& operator=(const ServerHalf&) = delete;

  // Returns the loop; running it serves.
  [[nodiscard]] service::Loop& loop();

  // Cells that were judged, and those whose recording has errors.
  [[nodiscard]] std::uint64_t cells() const;
  [[nodiscard]] std::uint64_t bad_cells() const;

 private:
  struct Impl;
  explicit ServerHalf(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::selftest
