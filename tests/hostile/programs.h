// Programs that are called by the scripted peer: one without a binding, and a little of NFS version
// 3, which the analyzer knows by its binding.
#pragma once

#include <memory>

#include <rpcrdma/service/program.h>

namespace rpcrdma::hostile {

// 16 bytes of arguments at most, and 16 of results; procedure 1.
[[nodiscard]] std::unique_ptr<service::Program> plain_program();

// GETATTR, READ, WRITE and READDIR of a file that holds scenes::pattern().
[[nodiscard]] std::unique_ptr<service::Program> nfs_program();

}  // namespace rpcrdma::hostile
