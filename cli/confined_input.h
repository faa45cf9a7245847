// Inputs of commands that only decode and write: their process is confined
// (rpcrdma/base/confinement.h). Without support of the kernel they run as they are; `rpcrdma
// doctor` reports it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::cli {

// As open_input(). `outputs`: files and folders that the command will write.
[[nodiscard]] std::unique_ptr<capture::Source> open_confined_input(
    const std::vector<std::string>& paths, const std::vector<std::string>& outputs);

// For a command that opens more inputs later, of which each may need a helper program.
void confine_opening();

// For a command that reads reports and no captures.
void confine_reading(const std::vector<std::string>& paths,
                     const std::vector<std::string>& outputs);

}  // namespace rpcrdma::cli
