// Encodes Calls and decodes Replies of NFS version 3 (RFC 1813) for a client, limited to the
// procedures that show whether a server works: arguments are written, results read, nothing is
// kept.
//
// By its binding to RPC-over-RDMA (RFC 8267 section 4) READ's data and WRITE's data are
// DDP-eligible; lists of folders are not, and are returned in a Reply chunk.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::service::nfs3 {

inline constexpr std::uint32_t kProgram = 100003;
inline constexpr std::uint32_t kVersion = 3;

enum class Proc : std::uint32_t {
  kNull = 0,
  kGetattr = 1,
  kLookup = 3,
  kRead = 6,
  kWrite = 7,
  kCreate = 8,
  kRemove = 12,
  kReaddirplus = 17,
  kFsinfo = 19,
  kCommit = 21,
};

inline constexpr std::uint32_t kOk = 0;  // nfsstat3

// Handle of a file or folder; opaque to all but its server.
struct Handle {
  static constexpr std::uint32_t kMost = 64;  // bytes

  std::array<std::uint8_t, kMost> bytes{};
  std::uint32_t size = 0;

  [[nodiscard]] wire::Bytes view() const { return wire::Bytes(bytes).first(size); }
};
// Returns nothing if `bytes` is longer than a handle can be, or empty.
[[nodiscard]] std::optional<Handle> make_handle(wire::Bytes bytes);

// ----- arguments, after the RPC header

void put_handle(wire::XdrWriter& w, const Handle& handle);                       // GETATTR, FSINFO
void put_name(wire::XdrWriter& w, const Handle& folder, std::string_view name);  // LOOKUP, REMOVE
// A file that does not exist yet, with these permissions.
void put_create(wire::XdrWriter& w, const Handle& folder, std::string_view name,
                std::uint32_t mode);
void put_read(wire::XdrWriter& w, const Handle& file, std::uint64_t offset, std::uint32_t count);
// Up to the count of the data, which follows as a piece of its own. The server may keep it in
// memory until a COMMIT.
void put_write(wire::XdrWriter& w, const Handle& file, std::uint64_t offset, std::uint32_t count);
// Commits the whole file.
void put_commit(wire::XdrWriter& w, const Handle& file);
// From the beginning; at most `bytes` of results.
void put_readdirplus(wire::XdrWriter& w, const Handle& folder, std::uint32_t bytes);

// Maximum bytes of results, without RPC header and DDP-eligible data; for READDIRPLUS, in addition
// to the requested bytes.
inline constexpr std::uint32_t kMostResults = 256;

// ----- results, after the RPC header. Nothing: they cannot be decoded, or are longer than stated.

template <typename Value>
struct Reply {
  std::uint32_t status = kOk;  // nfsstat3; if it is not kOk there is no value
  Value value{};
};
template <typename Value>
using Result = std::optional<Reply<Value>>;
struct Nothing {};

enum class FileType : std::uint32_t { kFile = 1, kFolder = 2 };
struct Attributes {
  FileType type = FileType::kFile;
  std::uint32_t mode = 0;
  std::uint64_t size = 0;  // bytes
};
[[nodiscard]] Result<Attributes> read_getattr(protocol::StreamReader& r);

struct FileSystem {
  std::uint32_t read_most = 0, write_most = 0;  // bytes of one READ, one WRITE
};
[[nodiscard]] Result<FileSystem> read_fsinfo(protocol::StreamReader& r);

// CREATE may succeed without a handle, which a server may leave out: use LOOKUP then.
[[nodiscard]] Result<std::optional<Handle>> read_create(protocol::StreamReader& r);
[[nodiscard]] Result<Handle> read_lookup(protocol::StreamReader& r);

// Changes when the server has restarted, and uncommitted data may be lost.
using Verifier = std::array<std::uint8_t, 8>;
struct Written {
  std::uint32_t count = 0;  // bytes
  bool stable = false;      // no COMMIT is needed
  Verifier verifier{};
};
[[nodiscard]] Result<Written> read_write(protocol::StreamReader& r);
[[nodiscard]] Result<Verifier> read_commit(protocol::StreamReader& r);

struct Data {
  wire::Bytes bytes;  // valid as long as the Reply
  bool end_of_file = false;
};
// `most`: requested bytes.
[[nodiscard]] Result<Data> read_read(protocol::StreamReader& r, std::uint32_t most);

struct Listing {
  std::uint32_t entries = 0;
  bool whole = false;  // there are no more
};
// `each`: called with every name; may be empty.
[[nodiscard]] Result<Listing> read_readdirplus(
    protocol::StreamReader& r, const std::function<void(std::string_view)>& each = {});
[[nodiscard]] Result<Nothing> read_remove(protocol::StreamReader& r);

}  // namespace rpcrdma::service::nfs3
