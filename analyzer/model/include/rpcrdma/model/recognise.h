// Is the content of a SEND an RPC-over-RDMA message? Asked on connections whose set-up does not
// tell.
#pragma once

#include <rpcrdma/wire/error.h>

namespace rpcrdma::model {

// True only where header and RPC message agree so well that chance is out of question: a version 1
// or 2 header that parses to its end, followed by an RPC message of the same XID where its type has
// one, and by nothing where it has none. Other programs' SENDs (rping, perftest) never pass.
[[nodiscard]] bool recognise(wire::Bytes send);

// The weaker question, for connections to a port of RPC-over-RDMA: do the four fixed words look
// like that protocol's, be it of another version or broken further on? Any program can use any
// port.
[[nodiscard]] bool resembles(wire::Bytes send);

}  // namespace rpcrdma::model
