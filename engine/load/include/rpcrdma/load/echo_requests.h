// The Calls of a load of the program ECHO: procedures by name, and sizes within their limits.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/choice.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::load {

// Names by number, as used on the command line and in reports: "null", "echo-bulk".
[[nodiscard]] std::vector<std::string> echo_procedures();

struct RequestError {
  bool of_sizes = false;  // the procedures are valid
  std::string message;    // one clause for display
};

// Random requests from a mix of procedures and sizes.
class EchoRequests {
 public:
  // `procedures`: names with weights, or "mix": each but SLEEP. `sleep`: of SLEEP, up to a minute.
  [[nodiscard]] static tl::expected<EchoRequests, RequestError> parse(const std::string& procedures,
                                                                      const std::string& sizes,
                                                                      fabric::Time sleep);

  [[nodiscard]] service::echo::Request next(soft::Random& random) const;
  // Bytes that a pattern needs, and the memory of a Call for its results.
  [[nodiscard]] std::uint32_t longest() const;
  [[nodiscard]] std::uint32_t longest_result() const;

 private:
  EchoRequests(Mix mix, Sizes sizes, std::uint32_t sleep_us)
      : mix_(std::move(mix)), sizes_(std::move(sizes)), sleep_us_(sleep_us) {}

  Mix mix_;
  Sizes sizes_;
  std::uint32_t sleep_us_;
};

}  // namespace rpcrdma::load
