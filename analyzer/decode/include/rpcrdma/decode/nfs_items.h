// The file handles, names, ranges and state IDs in the arguments and results of NFS and MOUNT
// procedures: which file a message is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

struct NfsItem {
  enum class Kind : std::uint8_t {
    kHandle,   // `value`: handle_hash() of its bytes
    kName,     // a component, or the path of MNT
    kOffset,   // in the file, bytes
    kCount,    // bytes asked for; in results, bytes read or written
    kStateid,  // 16 bytes
  };
  Kind kind = Kind::kHandle;
  std::uint32_t operation = 0;  // NFSv4: index of the operation in its COMPOUND; otherwise 0
  std::size_t offset = 0;       // of its first byte in the stream, without a count word
  std::size_t length = 0;       // bytes
  std::uint64_t value = 0;      // kHandle, kOffset, kCount
};

// Receives the items in the order of the bytes.
class NfsItemSink {
 public:
  virtual ~NfsItemSink() = default;
  virtual void item(const NfsItem& item) = 0;
};

// The CRC-32 of a file handle: short enough for a line, and equal to Wireshark's nfs.fh.hash.
[[nodiscard]] std::uint32_t handle_hash(wire::Bytes handle);

// Whether find_nfs_items() knows the arguments of the program.
[[nodiscard]] bool has_nfs_items(std::uint32_t program);

// Reports the items in the arguments of an NFS (versions 2, 3, 4), MOUNT, NFSACL or NLM Call.
// `args` and `removed` are those of parse_compound_call(). Stops at bytes that cannot be decoded or
// were not captured; items before them stay reported. Longer handles and names than the protocol
// allows are left out.
void find_nfs_items(const ProcedureId& id, wire::Bytes args, std::span<const Removed> removed,
                    std::uint32_t padded_from, NfsItemSink& sink);

// The same for the results of an accepted Reply. `chunk_lengths`: those of find_result_items().
void find_nfs_result_items(const ProcedureId& id, wire::Bytes results,
                           std::span<const std::uint64_t> chunk_lengths, NfsItemSink& sink);

}  // namespace rpcrdma::decode
