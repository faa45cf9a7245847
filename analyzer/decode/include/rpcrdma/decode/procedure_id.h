// Identifies a procedure to its upper-layer binding, and the data that chunks removed from it.
#pragma once

#include <cstdint>

#include <rpcrdma/decode/wrapping.h>

namespace rpcrdma::decode {

struct ProcedureId {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  // The Call's wrapping, needed to decode its Reply. The functions of upper_layer.h expect an
  // unwrapped body.
  Wrapping wrapping = Wrapping::kUnknown;
};

// Data that a Read chunk removed: where, and its length in bytes without roundup.
struct Removed {
  std::uint32_t offset = 0;
  std::uint64_t length = 0;
};

}  // namespace rpcrdma::decode
