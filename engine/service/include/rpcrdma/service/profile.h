// Which edition of version 1 an endpoint keeps to. RFC 8166 is what is deployed; what it took out
// of RFC 5666 is there for those who have to do with peers of that time, and off otherwise:
// RDMA_MSGP, Replies with Read chunks and their RDMA_DONE, Write chunks whose lengths count
// roundup, and the Connection Configuration Protocol.
#pragma once

#include <cstdint>

namespace rpcrdma::service {

enum class Profile : std::uint8_t { k8166, k5666 };

// What the Connection Configuration Protocol says of this side (RFC 5666 section 6.2); bytes that
// it takes inline are the inline threshold of its options.
struct ConfigOptions {
  // rdma_align that a server recommends to its clients; 0: no padding.
  std::uint32_t align = 64;
  // rdma_thresh: opaques from so many bytes on are padded by a client. Above what a credential may
  // have, as those are not.
  std::uint32_t thresh = 512;
  // RDMA Reads that the peer may have under way at a time; 0: it may not read at all.
  std::uint32_t max_reads = 16;
};

}  // namespace rpcrdma::service
