// A selftest's result as people and programs read it.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/selftest/client_half.h>
#include <rpcrdma/selftest/matrix.h>

namespace rpcrdma::selftest {

struct Setup {
  std::string server;    // "127.0.0.1 ports 20049 to 20055"
  std::string from;      // "127.0.0.2"
  std::string provider;  // "soft", or the device
};

struct Done {
  Cell cell;
  CellResult result;
  fabric::Time elapsed = 0;

  [[nodiscard]] bool passed() const { return result.failures.empty(); }
};

// The matrix, a line for each failure, and sums: several lines, the last with its newline.
[[nodiscard]] std::string to_text(const Setup& setup, const std::vector<Done>& cells);
// One object, without newline. docs/selftest.md describes the keys.
[[nodiscard]] std::string to_json(const Setup& setup, const std::vector<Done>& cells);

}  // namespace rpcrdma::selftest
