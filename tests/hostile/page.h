// docs/hostile.md: the matrix as a table, made of scenes as they are played.
#pragma once

#include "matrix.h"

#include <string>

namespace rpcrdma::hostile {

// False: a diagnosis, a habit, or what concerns the capture itself.
[[nodiscard]] bool of_specification(const rules::Rule& rule);

// Plays all scenes.
[[nodiscard]] std::string page();

}  // namespace rpcrdma::hostile
