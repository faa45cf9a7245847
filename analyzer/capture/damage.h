// What a reader could not make sense of, in words whose length does not grow with the damage.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::capture {

class Damage {
 public:
  // Bytes from `offset` on were passed over, and reading went on behind them.
  void skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes);
  // Reading ended here although the file may go on.
  void stopped(const std::string& reason);

  [[nodiscard]] std::string text() const;

 private:
  std::string first_;
  std::string last_;
  std::uint64_t places_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace rpcrdma::capture
