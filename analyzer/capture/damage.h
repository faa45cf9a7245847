// Describes bytes that a reader could not parse, in a text whose length does not grow with the
// damage.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::capture {

class Damage {
 public:
  // The reader skipped `bytes` bytes from `offset` on and continued after them.
  void skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes);
  // The reader stopped here although the file may continue.
  void stopped(const std::string& reason);

  [[nodiscard]] std::string text() const;

 private:
  std::string first_;
  std::string last_;
  std::uint64_t places_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace rpcrdma::capture
