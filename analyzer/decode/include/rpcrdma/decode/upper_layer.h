// Upper-layer bindings: finds the operations of an NFSv4 COMPOUND, and which arguments and results
// are DDP-eligible (RFC 8267; RFC 5667 for version one).
//
// Everything here works on a reduced XDR stream: DDP-eligible data that was moved in a chunk is
// absent, together with its roundup, but its count word is present.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/procedure_id.h>
#include <rpcrdma/decode/wrapping.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

// Operation numbers of an NFSv4.1 COMPOUND (RFC 8881 section 18).
inline constexpr std::uint32_t kOpBindConnToSession = 41;
inline constexpr std::uint32_t kOpCreateSession = 43;

// The operations of an NFSv4 COMPOUND or CB_COMPOUND, in order.
struct CompoundOps {
  static constexpr std::size_t kMaxKept = 64;  // further operations are counted, not kept
  std::array<std::uint32_t, kMaxKept> op;      // only the first `kept` are valid
  std::uint32_t kept = 0;
  std::uint32_t announced = 0;  // numops of the arguments or results, as sent
  std::uint32_t minor = 0;      // Calls: minorversion
  std::uint32_t status = 0;     // Replies: nfsstat4 of the last operation
  bool complete = false;        // every announced operation was parsed to its end and kept

  // Most COMPOUNDs have three operations: unused entries are neither cleared nor copied.
  CompoundOps() {}
  CompoundOps(const CompoundOps& other) { *this = other; }
  CompoundOps& operator=(const CompoundOps& other) {
    std::copy_n(other.op.begin(), other.kept, op.begin());
    kept = other.kept;
    announced = other.announced;
    minor = other.minor;
    status = other.status;
    complete = other.complete;
    return *this;
  }
};

// "READ", "CB_RECALL", ...; nullptr for an unknown number.
[[nodiscard]] const char* nfs4_op_name(std::uint32_t op, bool callback);
// "NFS4_OK", "NFS4ERR_DELAY", ...; nullptr if unknown. NFSv3 and v2 status: nfs3_status_name.
[[nodiscard]] const char* nfs4_status_name(std::uint32_t status);
[[nodiscard]] const char* nfs3_status_name(std::uint32_t status);

// A DDP-eligible item in a stream.
struct DdpItem {
  std::uint32_t count_offset = 0;  // of its count word, in the reduced stream given
  std::uint32_t length = 0;        // the count word's value: bytes of data
  std::uint32_t operation = 0;     // NFSv4: index of the operation in its COMPOUND; otherwise 0
  // Results: index in the list of the Write chunk that carried the data; -1 if it is inline.
  std::int32_t chunk = -1;
  bool guessed = false;  // found by arithmetic, because the program's binding is unknown
  bool absent = false;   // results: in no chunk, and longer than the rest of the stream
};

// Finds the operations of a COMPOUND or CB_COMPOUND Call. `args` is the reduced stream after the
// RPC header; `removed` holds, for the Read chunks in order, the offset in `args` at which data was
// removed and its length in bytes (without roundup). Any counted opaque whose data begins at such
// an offset counts as removed, DDP-eligible or not; data missing elsewhere ends the parsing.
// Parsing stops at undecodable bytes and keeps the earlier operations and the one whose arguments
// were incomplete. It also stops at the first counted opaque of `padded_from` bytes or more, see
// padding.h. For other procedures the result is empty.
[[nodiscard]] CompoundOps parse_compound_call(const ProcedureId& id, wire::Bytes args,
                                              std::span<const Removed> removed,
                                              std::uint32_t padded_from = kNotPadded);

// Returns whether a COMPOUND Call requests callbacks on its own connection: by CREATE_SESSION with
// CREATE_SESSION4_FLAG_CONN_BACK_CHAN, or BIND_CONN_TO_SESSION for the backchannel (RFC 8881
// sections 18.36 and 18.34). Also true if `args` ends before this is known.
[[nodiscard]] bool may_ask_for_back_channel(const ProcedureId& id, wire::Bytes args);

// Data that a Read chunk removed from a Call's arguments.
struct TakenItem {
  std::uint32_t chunk = 0;         // index in `removed`
  std::uint32_t count_offset = 0;  // of the item's count word, in the reduced arguments
  std::uint32_t length = 0;        // the count word's value: bytes of data
  bool eligible = false;           // DDP-eligible
};
struct TakenItems {
  std::size_t found = 0;
  // Number of chunks of `removed`, from the first on, that the walk has reached. Such a chunk
  // without an item removed something other than the data of a counted opaque.
  std::size_t passed = 0;
};
// Finds the data that Read chunks removed from the arguments of an NFS procedure or an NFSv4
// callback; for other programs it finds and passes nothing. `removed` is in the order of offsets,
// as for parse_compound_call(). Finds at most items.size() items.
[[nodiscard]] TakenItems find_taken_items(const ProcedureId& id, wire::Bytes args,
                                          std::span<const Removed> removed,
                                          std::span<TakenItem> items);

// True for NFS and its callbacks, whose DDP-eligible items are known (RFC 8267).
[[nodiscard]] bool has_binding(const ProcedureId& id);

// Walks the results of a successful Reply (`results`: the reduced stream after the RPC reply
// header) and finds its DDP-eligible items. `chunk_lengths` are the total lengths of the Write
// chunks returned in the Reply, in list order; an eligible item uses the next chunk, and its data
// is absent from the stream exactly if that chunk's length is not zero. Finds at most items.size()
// items and returns their number. Incomplete inline data is not an item. Roundup that a sender left
// in the stream although it moved the data is skipped if another operation follows. `ops`, if
// given, receives a COMPOUND's operations. If the program's binding is unknown and exactly one
// chunk has a length, the item is the last count word in the stream that equals it, and is marked
// as guessed.
// `reads` is the data that Read chunks of the Reply removed, in order; `offset` counts here in the
// whole results, with the data of all chunks in it. A Write chunk offered for such an item is
// unused.
// `whole` is the length of the whole stream if it is certain; `results` may be only its front.
// Absent items are reported only then: otherwise a matching count might be something else.
[[nodiscard]] std::size_t find_result_items(const ProcedureId& id, wire::Bytes results,
                                            std::span<const std::uint64_t> chunk_lengths,
                                            std::span<DdpItem> items, CompoundOps* ops = nullptr,
                                            std::optional<std::uint64_t> whole = {},
                                            std::span<const Removed> reads = {});

// The file range of a READ or WRITE (in a COMPOUND, the first one), as requested by the Call; used
// to order the chunks of one file.
struct FileRange {
  bool valid = false;
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint32_t count = 0;   // bytes requested or sent
};
[[nodiscard]] FileRange file_range(const ProcedureId& id, wire::Bytes args,
                                   std::span<const Removed> removed);

// Returns the most bytes of data that a READ or READDIR of any kind requests; for a COMPOUND, the
// sum over its READs and READDIRs. Nothing for other procedures, or if too little was captured.
[[nodiscard]] std::optional<std::uint64_t> results_asked(const ProcedureId& id, wire::Bytes args,
                                                         std::span<const Removed> removed);

}  // namespace rpcrdma::decode
