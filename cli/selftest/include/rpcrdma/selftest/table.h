// Prints a selftest's result as text or JSON.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/selftest/client_half.h>
#include <rpcrdma/selftest/matrix.h>

namespace rpcrdma::selftest {

struct Setup {
  std::string server;    // "127.0.0.1 ports 20049 to 20055"
  std::string from;      // "127.0.0.2"
  std::string provider;  // "soft", or the RDMA device
};

struct Done {
  Cell cell;
  CellResult result;
  fabric::Time elapsed = 0;

  [[nodiscard]] bool passed() const { return result.failures.empty(); }
};

// Returns the matrix, a line for each failure, and totals: several lines, each with its newline.
[[nodiscard]] std::string to_text(const Setup& setup, const std::vector<Done>& cells);
// Returns one object, without a newline. docs/selftest.md describes the keys.
[[nodiscard]] std::string to_json(const Setup& setup, const std::vector<Done>& cells);

}  // namespace rpcrdma::selftest
