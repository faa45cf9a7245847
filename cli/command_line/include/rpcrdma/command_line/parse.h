// Reads a command line by its description.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::command_line {

struct Parsed {
  enum class Outcome : std::uint8_t {
    kRun,      // the targets have their values
    kShow,     // help or version: `text` is to be printed
    kRefused,  // `text` says why, in one line without the program's name
  };
  Outcome outcome = Outcome::kRefused;
  const Command* command = nullptr;  // kRun: which one; the program itself if it has no commands
  std::string text;
};

// A program with commands needs one of them. Sets the targets of the options that are given, and
// Option::given() of all options of the command.
[[nodiscard]] Parsed parse(const Command& program, int argc, const char* const* argv);

}  // namespace rpcrdma::command_line
