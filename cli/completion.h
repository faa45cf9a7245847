// What may stand where the cursor is: the answer to the Tab key, from the commands' own
// definitions.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

struct Completions {
  struct Candidate {
    std::string text;         // in place of the whole word
    std::string description;  // may be empty
  };
  std::vector<Candidate> candidates;
  // Beside the candidates; it is the shell that knows them.
  bool files = false;
  bool directories = false;
};

// `words`: of the command line behind the program's name, the last one up to the cursor (it may be
// empty). What an option or argument takes is known by its choices or by what the help calls its
// value, such as FILE: see kValues in completion.cc.
[[nodiscard]] Completions complete(const command_line::Command& program,
                                   const std::vector<std::string>& words);

// The same for the shells' scripts: a line a candidate, text and description with a tab between;
// the lines ":files" and ":directories".
[[nodiscard]] std::string completion_lines(const Completions& found);

}  // namespace rpcrdma::cli
