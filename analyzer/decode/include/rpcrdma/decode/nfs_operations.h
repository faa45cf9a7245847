// The operations of an NFSv4 COMPOUND or CB_COMPOUND one by one, each with the bytes of its
// arguments or results.
#pragma once

#include <cstdint>
#include <span>

#include <rpcrdma/decode/procedure_id.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

struct NfsOperation {
  std::uint32_t op = 0;      // RFC 8881 section 18, of a callback section 20
  std::uint32_t index = 0;   // in the COMPOUND
  std::uint32_t status = 0;  // results: nfsstat4
  wire::Bytes bytes;         // arguments, or results after the status
};

class NfsOperationSink {
 public:
  // Returns whether the next operation is wanted, too.
  virtual bool operation(const NfsOperation& operation) = 0;

 protected:
  ~NfsOperationSink() = default;
};

// Reports the operations of a Call whose bytes are whole. `args`: the arguments, which end where a
// Read chunk removed data from them. For other procedures there are none.
void visit_operations(const ProcedureId& id, wire::Bytes args, NfsOperationSink& sink);

// The same for the results of an accepted Reply. `chunk_lengths`: those of find_result_items().
void visit_result_operations(const ProcedureId& id, wire::Bytes results,
                             std::span<const std::uint64_t> chunk_lengths, NfsOperationSink& sink);

}  // namespace rpcrdma::decode
