// Reduced streams of any procedure. The first byte selects the procedure, the second the number of
// chunks (0 to 7), each of four bytes: offset in words and length, 16 bits each. The rest is the
// stream.
#include "fuzz_check.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/endian.h>

namespace {

using namespace rpcrdma;
using namespace rpcrdma::decode;
using rpcrdma::fuzz::require;

constexpr ProcedureId kProcedures[] = {{kProgNfs, 4, 1}, {kProgNfsCallback, 1, 1}, {kProgNfs, 3, 6},
                                       {kProgNfs, 3, 5}, {kProgNfs, 3, 7},         {kProgNfs, 2, 6},
                                       {kProgNfs, 2, 5}, {0x20000001, 1, 1}};
constexpr std::size_t kMaxChunks = 7;

void check_ops(const CompoundOps& ops, const ProcedureId& id, std::size_t stream_bytes) {
  require(ops.kept <= CompoundOps::kMaxKept && ops.kept <= ops.announced);
  require(ops.kept * 4 <= stream_bytes);
  if (ops.complete) require(ops.kept == ops.announced);
  for (std::uint32_t i = 0; i < ops.kept; ++i) {
    require(nfs4_op_name(ops.op[i], is_transient_program(id.program)) != nullptr);
  }
}

void check_item(const DdpItem& item, wire::Bytes stream, std::size_t chunks) {
  require(item.count_offset + std::size_t{4} <= stream.size());
  require(wire::load_be32(stream.data() + item.count_offset) == item.length);
  require(item.chunk >= -1 && item.chunk < static_cast<std::int32_t>(chunks));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wire::Bytes input(data, size);
  if (size < 2) return 0;
  const ProcedureId& id = kProcedures[input[0] % std::size(kProcedures)];
  const std::size_t chunks = input[1] % (kMaxChunks + 1);
  input = input.subspan(2);
  if (input.size() < chunks * 4) return 0;
  std::array<Removed, kMaxChunks> removed;
  std::array<std::uint64_t, kMaxChunks> lengths{};
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::uint32_t word = wire::load_be32(input.data() + i * 4);
    lengths[i] = word & 0xffff;
    removed[i] = {(word >> 16) * 4, lengths[i]};
  }
  const wire::Bytes stream = input.subspan(chunks * 4);

  const std::span<const Removed> gaps(removed.data(), chunks);
  check_ops(parse_compound_call(id, stream, gaps), id, stream.size());
  (void)file_range(id, stream, gaps);

  std::array<DdpItem, 4> items;
  CompoundOps ops;
  const std::size_t found =
      find_result_items(id, stream, std::span(lengths).first(chunks), items, &ops);
  require(found <= items.size());
  for (std::size_t i = 0; i < found; ++i) check_item(items[i], stream, chunks);
  check_ops(ops, id, stream.size());
  return 0;
}
