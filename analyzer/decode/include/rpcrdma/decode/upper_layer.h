// What an upper-layer binding says about a message's arguments and results: the operations of an
// NFSv4 COMPOUND, and which items are DDP-eligible (RFC 8267; RFC 5667 for version one).
//
// Everything here works on a reduced XDR stream: DDP-eligible data that travelled in a chunk is
// absent, together with its roundup, while its count word is present.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/wrapping.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

// Of an NFSv4.1 COMPOUND (RFC 8881 section 18).
inline constexpr std::uint32_t kOpBindConnToSession = 41;
inline constexpr std::uint32_t kOpCreateSession = 43;

// The operations of an NFSv4 COMPOUND or CB_COMPOUND, in order.
struct CompoundOps {
  static constexpr std::size_t kMaxKept = 64;  // further operations are counted, not kept
  std::array<std::uint32_t, kMaxKept> op;      // the first `kept` hold something
  std::uint32_t kept = 0;
  std::uint32_t announced = 0;  // numops of the arguments or results, as it stands there
  std::uint32_t minor = 0;      // Calls: minorversion
  std::uint32_t status = 0;     // Replies: nfsstat4 of the last operation
  bool complete = false;        // every announced operation was parsed to its end and kept

  // Most COMPOUNDs have three operations: what is not kept is neither cleared nor copied.
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

// "READ", "CB_RECALL", ...; nullptr for a number that is not known.
[[nodiscard]] const char* nfs4_op_name(std::uint32_t op, bool callback);
// "NFS4_OK", "NFS4ERR_DELAY", ...; nullptr when not known. NFSv3 and v2 status: nfs3_status_name.
[[nodiscard]] const char* nfs4_status_name(std::uint32_t status);
[[nodiscard]] const char* nfs3_status_name(std::uint32_t status);

// A DDP-eligible item in a stream.
struct DdpItem {
  std::uint32_t count_offset = 0;  // of its count word, in the reduced stream given
  std::uint32_t length = 0;        // the count word's value: bytes of data
  std::uint32_t operation = 0;     // NFSv4: index of the operation in its COMPOUND; otherwise 0
  // Results: which Write chunk (index in the list) carried the data; -1 when it stands inline.
  std::int32_t chunk = -1;
  bool guessed = false;  // found by arithmetic, since the program's binding is not known
  bool absent = false;   // results: in no chunk, and longer than what is left of the stream
};

// What identifies a procedure to its binding.
struct ProcedureId {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  // Of the Call, to decode its Reply. The functions here take a body without wrapping.
  Wrapping wrapping = Wrapping::kUnknown;
};

// The operations of a COMPOUND or CB_COMPOUND Call. `args` is the reduced stream behind the RPC
// header; `removed` gives, for the Read chunks in order, the offset in `args` at which data was
// taken out and how many bytes (roundup not included). Any counted opaque whose data begins at such
// an offset is taken as removed, DDP-eligible or not; data missing elsewhere ends the parsing.
// Stops at what it cannot parse, keeping what came before and the operation whose arguments broke
// off. Likewise at the first counted opaque of `padded_from` bytes or more, see padding.h. For
// other procedures the result is empty.
struct Removed {
  std::uint32_t offset = 0;
  std::uint64_t length = 0;
};
[[nodiscard]] CompoundOps parse_compound_call(const ProcedureId& id, wire::Bytes args,
                                              std::span<const Removed> removed,
                                              std::uint32_t padded_from = kNotPadded);

// Whether a COMPOUND Call asks for callbacks on its own connection: by CREATE_SESSION with
// CREATE_SESSION4_FLAG_CONN_BACK_CHAN, or BIND_CONN_TO_SESSION for the backchannel (RFC 8881
// sections 18.36 and 18.34). True, too, where `args` ends before that is known.
[[nodiscard]] bool may_ask_for_back_channel(const ProcedureId& id, wire::Bytes args);

// What a Read chunk took out of a Call's arguments.
struct TakenItem {
  std::uint32_t chunk = 0;         // index in `removed`
  std::uint32_t count_offset = 0;  // of the item's count word, in the reduced arguments
  std::uint32_t length = 0;        // the count word's value: bytes of data
  bool eligible = false;           // DDP-eligible
};
struct TakenItems {
  std::size_t found = 0;
  // So many chunks of `removed`, the first ones, have been come to: one of them that no item names
  // took out something else than the data of a counted opaque.
  std::size_t passed = 0;
};
// Finds what the Read chunks took out of the arguments of an NFS procedure, or of an NFSv4
// callback; finds and passes nothing for another program. `removed` is in the order of offsets, as
// for parse_compound_call(). At most items.size() are found.
[[nodiscard]] TakenItems find_taken_items(const ProcedureId& id, wire::Bytes args,
                                          std::span<const Removed> removed,
                                          std::span<TakenItem> items);

// NFS and its callbacks: what is DDP-eligible in them is known (RFC 8267).
[[nodiscard]] bool has_binding(const ProcedureId& id);

// Walks the results of a successful Reply (`results`: the reduced stream behind the RPC reply
// header) and finds its DDP-eligible items. `chunk_lengths` are the totals of the Write chunks
// returned in the Reply, in list order; an eligible item takes the next chunk, and its data is
// absent from the stream exactly if that chunk's length is not zero. At most items.size() are
// found; returns their number. Data that stands inline but not whole is no item. Roundup that a
// sender left in the stream although it moved the data is skipped where another operation follows.
// `ops`, when given, receives a COMPOUND's operations. A program whose binding is not known: if
// exactly one chunk has a length, the item is looked for as the last count word in the stream that
// equals it, and marked as guessed.
// `whole` is the length of the stream where that is certain; `results` can be its front. Only then
// are absent items given: else nobody knows whether a count like that is one.
[[nodiscard]] std::size_t find_result_items(const ProcedureId& id, wire::Bytes results,
                                            std::span<const std::uint64_t> chunk_lengths,
                                            std::span<DdpItem> items, CompoundOps* ops = nullptr,
                                            std::optional<std::uint64_t> whole = {});

// Where the file data of a READ or WRITE (of a COMPOUND: the first one) lies, as the Call asks for
// it; for putting chunks of one file in order.
struct FileRange {
  bool valid = false;
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint32_t count = 0;   // bytes asked for or sent
};
[[nodiscard]] FileRange file_range(const ProcedureId& id, wire::Bytes args,
                                   std::span<const Removed> removed);

// The most bytes of data that a READ or READDIR of any kind asks for; of a COMPOUND: all of its
// READs and READDIRs. Nothing for other procedures, and where too little was captured.
[[nodiscard]] std::optional<std::uint64_t> results_asked(const ProcedureId& id, wire::Bytes args,
                                                         std::span<const Removed> removed);

}  // namespace rpcrdma::decode
