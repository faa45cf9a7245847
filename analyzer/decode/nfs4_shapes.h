// The operations of NFSv4.0, 4.1 and 4.2 (RFC 7531, RFC 5662, RFC 7863, RFC 8276) and their
// callbacks: name, shape of the arguments, shape of the results.
#pragma once

#include "xdr_shape.h"

#include <cstddef>
#include <cstdint>

namespace rpcrdma::decode {

struct Operation {
  static constexpr std::uint32_t kEveryFailure = UINT32_MAX;

  std::uint32_t op = 0;
  const char* name = "";
  Shape arguments{};
  Shape results{};  // follows NFS4_OK
  Arm failure{};    // follows one other nfsstat4, or kEveryFailure; 0: nothing follows any failure
};

// A table of operations with consecutive numbers, and the operation that stands in for all unknown
// numbers (10044).
template <std::size_t kCount>
class OperationTable {
 public:
  consteval OperationTable(const Operation (&operations)[kCount], const Operation& illegal)
      : operations_(operations), illegal_(illegal) {
    for (std::uint32_t i = 1; i < kCount; ++i) {
      if (operations[i].op != operations[i - 1].op + 1) throw "a number is missing";
    }
  }

  [[nodiscard]] constexpr const Operation* find(std::uint32_t op) const {
    if (op >= operations_[0].op && op <= operations_[kCount - 1].op) {
      return &operations_[op - operations_[0].op];
    }
    return op == illegal_.op ? &illegal_ : nullptr;
  }

 private:
  const Operation (&operations_)[kCount];
  const Operation& illegal_;
};

// nullptr for a number that no minor version defines.
[[nodiscard]] const Operation* find_operation(std::uint32_t op);
[[nodiscard]] const Operation* find_callback_operation(std::uint32_t op);

}  // namespace rpcrdma::decode
