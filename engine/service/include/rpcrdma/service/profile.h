// The edition of version 1 that an endpoint follows. RFC 8166 is what is deployed. The features of
// RFC 5666 that it removed exist for peers of that time, and are off by default: RDMA_MSGP, Replies
// with Read chunks and their RDMA_DONE, Write chunks whose lengths count roundup, and the
// Connection Configuration Protocol.
#pragma once

#include <cstdint>

namespace rpcrdma::service {

enum class Profile : std::uint8_t { k8166, k5666 };

// Parameters of this side in the Connection Configuration Protocol (RFC 5666 section 6.2). The
// bytes that it accepts inline are the inline threshold of its options.
struct ConfigOptions {
  // rdma_align that a server recommends to its clients, and pads its Replies to; 0: no padding.
  std::uint32_t align = 64;
  // rdma_thresh: opaques of this many bytes or more are padded. Larger than a credential can be,
  // since credentials are not padded.
  std::uint32_t thresh = 512;
  // RDMA Reads that the peer may have in flight at a time; 0: it may not read at all.
  std::uint32_t max_reads = 16;
};

}  // namespace rpcrdma::service
