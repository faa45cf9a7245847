#include "call_reduction.h"
#include "compound.h"
#include "written_chunks.h"

#include <rpcrdma/decode/nfs_operations.h>

namespace rpcrdma::decode {

void visit_operations(const ProcedureId& id, wire::Bytes args, NfsOperationSink& sink) {
  if (!is_compound(id)) return;
  CompoundReader compound(id, CompoundReader::Part::kArguments, args);
  CallReduction reduction({});
  while (const Operation* operation = compound.next()) {
    const std::size_t begin = compound.offset();
    compound.skip_arguments(*operation, reduction);
    if (!compound.ok()) return;
    const wire::Bytes bytes = args.subspan(begin, compound.offset() - begin);
    if (!sink.operation({operation->op, compound.index(), 0, bytes})) return;
  }
}

void visit_result_operations(const ProcedureId& id, wire::Bytes results,
                             std::span<const std::uint64_t> chunk_lengths, NfsOperationSink& sink) {
  if (!is_compound(id)) return;
  CompoundReader compound(id, CompoundReader::Part::kResults, results);
  WrittenChunks chunks(chunk_lengths);
  while (const Operation* operation = compound.next()) {
    chunks.begin_operation();
    const std::size_t begin = compound.offset();
    compound.skip_results(*operation, chunks);
    if (!compound.ok()) return;
    const wire::Bytes bytes = results.subspan(begin, compound.offset() - begin);
    const std::uint32_t status = wire::load_be32(bytes.data());
    if (!sink.operation({operation->op, compound.index(), status, bytes.subspan(4)})) return;
    if (chunks.roundup() != 0) compound.skip_stray_roundup(chunks.roundup());
  }
}

}  // namespace rpcrdma::decode
