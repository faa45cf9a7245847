// Command lines that users of other tools type: `rpcrdma help`, `rpcrdma FILE`, `rpcrdma -r FILE`.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::cli {

// Returns the words as the parser knows them: `help` and `help COMMAND` become --help, and
// `analyse` becomes `analyze`. `words`: without the name of the program.
[[nodiscard]] std::vector<std::string> usual_words(std::vector<std::string> words);

// Returns which command was perhaps meant if the first word is none: "; did you mean analyze?".
// Empty: no idea.
[[nodiscard]] std::string command_hint(const command_line::Command& program,
                                       const std::vector<std::string>& words);

}  // namespace rpcrdma::cli
