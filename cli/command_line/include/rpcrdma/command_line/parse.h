// Parses a command line according to its description.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::command_line {

struct Parsed {
  enum class Outcome : std::uint8_t {
    kRun,      // the targets are set
    kShow,     // help or version: print `text`
    kRefused,  // `text` is the reason, in one line without the program's name
  };
  Outcome outcome = Outcome::kRefused;
  const Command* command = nullptr;  // kRun: which one; the program itself if it has no commands
  std::string text;
};

// Requires a command if the program has any. If the command reads configuration files and the
// command line names one, options that the command line does not contain are taken from it. Sets
// the targets of the options on the command line, and Option::given() of all options of the
// command.
[[nodiscard]] Parsed parse(const Command& program, int argc, const char* const* argv);
[[nodiscard]] Parsed parse(const Command& program, const std::vector<std::string>& command_line);

}  // namespace rpcrdma::command_line
