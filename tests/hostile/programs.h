// Programs that the scripted peer calls: one without a binding, and a few procedures of NFS version
// 3, whose binding the analyzer knows.
#pragma once

#include <memory>

#include <rpcrdma/service/program.h>

namespace rpcrdma::hostile {

// At most 16 bytes of arguments and 16 of results; procedure 1.
[[nodiscard]] std::unique_ptr<service::Program> plain_program();

// GETATTR, READ, WRITE and READDIR of a file with the contents scenes::pattern().
[[nodiscard]] std::unique_ptr<service::Program> nfs_program();

}  // namespace rpcrdma::hostile
