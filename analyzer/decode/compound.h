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

  // `id` names a compound procedure. Reads everything before the operations.
  CompoundReader(const ProcedureId& id, Part part, wire::Bytes stream);

  // Returns the next operation; the caller must then skip its arguments or results. Returns nullptr
  // at the end, or when the rest of the stream cannot be parsed.
  [[nodiscard]] const Operation* next();
  void skip_arguments(const Operation& operation, Reduction& reduction);
  void skip_results(const Operation& operation, Reduction& reduction);

  // Skips `bytes` of roundup of data moved in a chunk, which some senders leave in the stream in
  // violation of RFC 8166 section 3.4.6.2. No operation has number 0, which distinguishes roundup
  // from an operation.
  void skip_stray_roundup(std::uint32_t bytes);
  void set_failed() { reader_.set_failed(); }
  // The caller has read the results of the latest operation itself, up to `offset`.
  void go_on_at(std::size_t offset) { reader_.skip(offset - reader_.offset()); }

  // The offset of the next byte to read; after next(), that of the operation's arguments or
  // results.
  [[nodiscard]] std::size_t offset() const { return reader_.offset(); }
  // False after bytes that cannot be parsed.
  [[nodiscard]] bool ok() const { return reader_.ok(); }
  // The index in the COMPOUND of the operation that next() returned.
  [[nodiscard]] std::uint32_t index() const { return seen_ - 1; }
  // The operations parsed so far; `complete` is valid once next() has returned nullptr.
  [[nodiscard]] CompoundOps ops() const;
  void take(CompoundOps& ops) const;

 private:
  wire::XdrReader reader_;
  bool callback_;
  std::uint32_t seen_ = 0;
  CompoundOps ops_;
};

}  // namespace rpcrdma::decode
