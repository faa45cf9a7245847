// What the commands that call the program ECHO ask for: procedures by name, sizes, and what fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/load/choice.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

// "null", "echo-bulk": as people type them, and as reports name them, by number.
[[nodiscard]] std::vector<std::string> echo_procedures();

// Requests of a mix of procedures and sizes, drawn.
class EchoRequests {
 public:
  // `procedures`: names with weights, or "mix": each but SLEEP. On what makes no sense a line on
  // stderr, which begins with the name of the command, and nothing.
  [[nodiscard]] static std::optional<EchoRequests> parse(const std::string& procedures,
                                                         const std::string& sizes,
                                                         const std::string& sleep,
                                                         const char* command);

  [[nodiscard]] service::echo::Request next(soft::Random& random) const;
  // Bytes that a pattern needs, and the memory of a Call for its results.
  [[nodiscard]] std::uint32_t longest() const;
  [[nodiscard]] std::uint32_t longest_result() const;

 private:
  EchoRequests(load::Mix mix, load::Sizes sizes, std::uint32_t sleep_us)
      : mix_(std::move(mix)), sizes_(std::move(sizes)), sleep_us_(sleep_us) {}

  load::Mix mix_;
  load::Sizes sizes_;
  std::uint32_t sleep_us_;
};

}  // namespace rpcrdma::cli
