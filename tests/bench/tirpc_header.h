// The version 1 transport header (RFC 5666 section 4.3) as libtirpc decodes it: the structs and
// routines that rpcgen would generate from the specification's XDR. The reference for our decoder.
#pragma once

#include <cstdint>

#include <rpc/rpc.h>

namespace rpcrdma::bench {

struct TirpcSegment {
  std::uint32_t handle;
  std::uint32_t length;
  std::uint64_t offset;
};

struct TirpcReadList {
  std::uint32_t position;
  TirpcSegment target;
  TirpcReadList* next;
};

struct TirpcWriteChunk {
  u_int target_len;
  TirpcSegment* target_val;
};

struct TirpcWriteList {
  TirpcWriteChunk entry;
  TirpcWriteList* next;
};

struct TirpcLists {
  TirpcReadList* reads;
  TirpcWriteList* writes;
  TirpcWriteChunk* reply;
};

struct TirpcHeader {
  std::uint32_t xid;
  std::uint32_t vers;
  std::uint32_t credit;
  std::uint32_t proc;
  TirpcLists lists;  // RDMA_MSG and RDMA_NOMSG
};

// Decodes, encodes or frees, depending on the stream; only RDMA_MSG and RDMA_NOMSG.
bool_t xdr_tirpc_header(XDR* xdrs, TirpcHeader* header);

}  // namespace rpcrdma::bench
