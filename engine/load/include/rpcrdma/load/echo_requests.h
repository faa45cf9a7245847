// What a load of the program ECHO asks for: procedures by name, sizes, and what fits.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/choice.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::load {

// "null", "echo-bulk": as people type them, and as reports name them, by number.
[[nodiscard]] std::vector<std::string> echo_procedures();

struct RequestError {
  bool of_sizes = false;  // the procedures are all right
  std::string message;    // one clause for a person
};

// Requests of a mix of procedures and sizes, drawn.
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
