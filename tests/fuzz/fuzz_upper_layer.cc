// Reduced streams of any procedure, as arguments and as results. The first byte selects the
// procedure, the second the number of chunks (0 to 7), each of four bytes: offset in words and
// length, 16 bits each. The rest is the stream.
#include "file_tracker.h"
#include "fuzz_check.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/decode/nfs_operations.h>
#include <rpcrdma/decode/nfs_sessions.h>
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
// Selected by a first byte from 0x80 on: procedures that name files.
constexpr ProcedureId kNaming[] = {{kProgNfs, 3, 3},   {kProgNfs, 3, 8},   {kProgNfs, 3, 12},
                                   {kProgNfs, 3, 14},  {kProgNfs, 3, 15},  {kProgNfs, 3, 16},
                                   {kProgNfs, 3, 17},  {kProgNfs, 2, 4},   {kProgNfs, 2, 11},
                                   {kProgMount, 3, 1}, {kProgMount, 1, 1}, {kProgNfsAcl, 3, 1},
                                   {kProgNlm, 4, 2},   {kProgNfs, 4, 1}};
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

// Items lie in the stream, in the order of operations.
class CheckedItems final : public NfsItemSink {
 public:
  explicit CheckedItems(wire::Bytes stream) : stream_(stream) {}
  void item(const NfsItem& item) override {
    require(item.offset <= stream_.size() && item.length <= stream_.size() - item.offset);
    require(item.operation >= operation_);
    operation_ = item.operation;
    if (item.kind != NfsItem::Kind::kHandle) return;
    require(item.value == handle_hash(stream_.subspan(item.offset, item.length)));
  }

 private:
  wire::Bytes stream_;
  std::uint32_t operation_ = 0;
};

// Names and handles of all inputs so far meet in one table.
void check_files(const ProcedureId& id, wire::Bytes stream, std::span<const Removed> gaps,
                 std::span<const std::uint64_t> lengths) {
  static model::FileTracker tracker;
  CheckedItems items(stream);
  find_nfs_items(id, stream, gaps, kNotPadded, items);
  CheckedItems results(stream);
  find_nfs_result_items(id, stream, lengths, results);

  model::RpcInfo rpc;
  rpc.known = true;
  rpc.program = id.program;
  rpc.version = id.version;
  rpc.procedure = id.procedure;
  if (!model::FileTracker::is_of_files(rpc)) return;
  rpc.ops = parse_compound_call(id, stream, gaps);
  model::FileUse use;
  // The second half of the stream is also taken as the results.
  for (const wire::Bytes answer : {stream, stream.subspan(stream.size() / 8 * 4)}) {
    tracker.note_call(use, rpc, stream.size() % 2, stream, gaps, kNotPadded);
    tracker.note_reply(use, rpc, answer, lengths);
    require(use.values.size() <= model::FileUse::kMaxValues);
    require(use.steps.size() <= model::FileUse::kMaxSteps);
    require(use.name_begin + std::size_t{use.name_length} <= use.text.size());
    for (const model::FileUse::Value& value : use.values) {
      require(value.begin + std::size_t{value.length} <= use.text.size());
    }
  }
}

// Decodes each operation by its own decoder, and by all others too: a table may name a wrong one.
class Operations final : public NfsOperationSink, private DeviceAddressSink {
 public:
  explicit Operations(wire::Bytes stream) : stream_(stream) {}

  void begin_results() { next_ = 0; }

  bool operation(const NfsOperation& o) override {
    require(o.index == next_++);
    require(o.bytes.data() >= stream_.data());
    require(o.bytes.data() + o.bytes.size() <= stream_.data() + stream_.size());
    (void)decode_exchange_id(o.bytes);
    (void)decode_exchange_id_results(o.bytes);
    (void)decode_create_session(o.bytes);
    (void)decode_create_session_results(o.bytes);
    (void)decode_bind_results(o.bytes);
    (void)decode_destroy_session(o.bytes);
    (void)decode_set_client_id(o.bytes);
    (void)decode_set_client_id_results(o.bytes);
    (void)grants_delegation(o.bytes);
    (void)decode_layout_get_results(o.bytes);
    (void)decode_layout_return(o.bytes);
    (void)decode_device(o.bytes, *this);
    return true;
  }

 private:
  void address(std::uint32_t /*server*/, const NetAddress& a) override {
    require(a.port.value_or(0) <= 0xffff);
    require(!a.port || !a.host.empty());
  }

  wire::Bytes stream_;
  std::uint32_t next_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wire::Bytes input(data, size);
  if (size < 2) return 0;
  const ProcedureId& id = input[0] < 0x80 ? kProcedures[input[0] % std::size(kProcedures)]
                                          : kNaming[input[0] % std::size(kNaming)];
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
  check_files(id, stream, gaps, std::span(lengths).first(chunks));

  Operations visited(stream);
  visit_operations(id, stream, visited);
  visited.begin_results();
  visit_result_operations(id, stream, std::span(lengths).first(chunks), visited);
  (void)first_sequence(stream);
  (void)first_sequence_results(stream);
  (void)first_callback_sequence(stream);
  return 0;
}
