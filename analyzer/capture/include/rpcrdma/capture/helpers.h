// Whether helper programs convert files for this process (rpcrdma/base/helper_program.h).
#pragma once

namespace rpcrdma::capture {

// Whether a file was opened so far that a helper program converts.
[[nodiscard]] bool runs_helpers();

}  // namespace rpcrdma::capture
