// The lines that an agent prints on standard error, for the coordinator's own: bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::load_agents {

class LineCutter {
 public:
  // Appends what was read. At most kMostLines lines are kept over the whole time; longer lines are
  // cut.
  void append(std::string_view text);
  // No more comes: what there is of a last line is a line.
  void end();

  // The whole lines since the last time, without their ends, not escaped.
  [[nodiscard]] std::vector<std::string> take_lines();
  // Lines that were not kept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // The last line that was not empty; empty: none.
  [[nodiscard]] const std::string& last_line() const { return last_line_; }

  static constexpr std::size_t kMostLineBytes = 500;
  static constexpr std::size_t kMostLines = 100;

 private:
  void end_line();

  std::vector<std::string> lines_;
  std::string line_, last_line_;
  bool cut_ = false;
  std::size_t kept_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace rpcrdma::load_agents
