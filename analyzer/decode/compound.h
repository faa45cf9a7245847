// Steps through the operations of an NFSv4 COMPOUND or CB_COMPOUND in a reduced stream (RFC 7531,
// RFC 5662).
#pragma once

#include "nfs4_shapes.h"

#include <cstddef>
#include <cstdint>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {

[[nodiscard]] bool is_compound(const ProcedureId& id);

// while (const Operation* operation = reader.next()) reader.skip_results(*operation, reduction);
class CompoundReader {
 public:
  enum class Part : std::uint8_t { kArguments, kResults };

  // `id` names a compound. Reads what stands before the operations.
  CompoundReader(const ProcedureId& id, Part part, wire::Bytes stream);

  // The next operation, after which its arguments or results are to be skipped; nullptr when there
  // is none, or when the stream cannot be parsed from here on.
  [[nodiscard]] const Operation* next();
  void skip_arguments(const Operation& operation, Reduction& reduction);
  void skip_results(const Operation& operation, Reduction& reduction);

  // Skips `bytes` of roundup that belong to data moved in a chunk, where a sender left them in the
  // stream against RFC 8166 section 3.4.6.2. No operation has number 0, which tells the two apart.
  void skip_stray_roundup(std::uint32_t bytes);
  void set_failed() { reader_.set_failed(); }

  // Where the next byte is read: behind next(), the operation's arguments or results.
  [[nodiscard]] std::size_t offset() const { return reader_.offset(); }
  // The place in the COMPOUND of the operation that next() gave.
  [[nodiscard]] std::uint32_t index() const { return seen_ - 1; }
  // What is known so far; `complete` means something once next() has given nullptr.
  [[nodiscard]] CompoundOps ops() const;

 private:
  wire::XdrReader reader_;
  bool callback_;
  std::uint32_t seen_ = 0;
  CompoundOps ops_;
};

}  // namespace rpcrdma::decode
