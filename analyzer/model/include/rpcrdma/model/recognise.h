// Decides whether the content of a SEND is an RPC-over-RDMA message, on connections whose set-up
// does not show it.
#pragma once

#include <rpcrdma/wire/error.h>

namespace rpcrdma::model {

// True only if header and RPC message agree too well for chance: a version 1 or 2 header that
// parses to its end, followed by an RPC message of the same XID if its type conveys one, and by
// nothing otherwise. SENDs of other programs (rping, perftest) never pass.
[[nodiscard]] bool recognise(wire::Bytes send);

// The same for the front of a SEND that the capture truncated: an RDMA_MSG without chunks, and of
// the RPC message the same XID and a valid type.
[[nodiscard]] bool recognise_front(wire::Bytes send);

// The weaker test, for connections to a port of RPC-over-RDMA: do the four fixed words look like
// that protocol's, even in another version or with a broken rest? Any program can use any port.
[[nodiscard]] bool resembles(wire::Bytes send);

}  // namespace rpcrdma::model
