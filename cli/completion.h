// Tab completion: computes the possible words at the cursor from the commands' own definitions.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

struct Completions {
  struct Candidate {
    std::string text;         // replaces the whole word
    std::string description;  // may be empty
  };
  std::vector<Candidate> candidates;
  // Files may also complete the word; the shell lists them.
  bool files = false;
  bool directories = false;
};

// `words`: the command line after the program's name, the last word up to the cursor (it may be
// empty). The values of an option or argument are known from its choices or from the name of its
// value in the help, such as FILE: see kValues in completion.cc.
[[nodiscard]] Completions complete(const command_line::Command& program,
                                   const std::vector<std::string>& words);

// The same for the shell scripts: one candidate per line, text and description separated by a tab;
// and the lines ":files" and ":directories".
[[nodiscard]] std::string completion_lines(const Completions& found);

}  // namespace rpcrdma::cli
