// Builds RPC messages for scenes: NFS versions 3 and 4, and a program without a binding. They do
// not contain data in chunks: they are the reduced messages of RFC 8166 section 3.4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::scenes {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint32_t kPlainProgram = 400123;  // no upper-layer binding
inline constexpr std::uint32_t kCallbackProgram = 0x40000000;
inline constexpr std::uint32_t kNfs = 100003;

// Appends XDR items (RFC 4506).
class Xdr {
 public:
  Xdr& u32(std::uint32_t v);
  Xdr& u64(std::uint64_t v);
  Xdr& fixed(std::span<const std::uint8_t> bytes);   // with roundup
  Xdr& opaque(std::span<const std::uint8_t> bytes);  // count, bytes, roundup
  Xdr& zeros(std::size_t bytes);
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// Returns `n` bytes that differ from their neighbours.
[[nodiscard]] Bytes pattern(std::size_t n, unsigned seed = 0);

[[nodiscard]] Bytes rpc_call(std::uint32_t xid, std::uint32_t program, std::uint32_t version,
                             std::uint32_t procedure, const Bytes& arguments = {});
[[nodiscard]] Bytes rpc_reply(std::uint32_t xid, const Bytes& results = {});

// A reduced RPC message. Its data belongs at `position` in the XDR stream: the Position of the Read
// chunk, or in a Reply the place of the Write chunk's data.
struct Reduced {
  Bytes rpc;
  std::uint32_t position = 0;
};

namespace nfs3 {
[[nodiscard]] Bytes getattr_call(std::uint32_t xid);
[[nodiscard]] Bytes getattr_reply(std::uint32_t xid);
[[nodiscard]] Bytes read_call(std::uint32_t xid, std::uint32_t count);
// `count` bytes of data are not in the message.
[[nodiscard]] Reduced read_reply(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Bytes read_reply_inline(std::uint32_t xid, const Bytes& data);
[[nodiscard]] Reduced write_call(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Bytes write_call_inline(std::uint32_t xid, const Bytes& data);
[[nodiscard]] Bytes write_reply(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Bytes readdir_call(std::uint32_t xid, std::uint32_t count);
// Contains as many entries as are needed for at least `bytes` bytes.
[[nodiscard]] Bytes readdir_reply(std::uint32_t xid, std::size_t bytes);
}  // namespace nfs3

// COMPOUNDs of minor version 1: SEQUENCE, PUTFH and one more operation.
namespace nfs4 {
[[nodiscard]] Bytes getattr_call(std::uint32_t xid);
[[nodiscard]] Bytes getattr_reply(std::uint32_t xid);
[[nodiscard]] Bytes read_call(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Reduced read_reply(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Reduced write_call(std::uint32_t xid, std::uint32_t count);
[[nodiscard]] Bytes write_reply(std::uint32_t xid, std::uint32_t count);
// CREATE_SESSION, by default with CREATE_SESSION4_FLAG_CONN_BACK_CHAN, and CB_NULL of the callback
// program.
[[nodiscard]] Bytes create_session_call(std::uint32_t xid, std::uint32_t flags = 2);
[[nodiscard]] Bytes create_session_reply(std::uint32_t xid);
// NFS4ERR_STALE_CLIENTID.
[[nodiscard]] Bytes create_session_failed(std::uint32_t xid);
// BIND_CONN_TO_SESSION: bctsa_dir 1 for the fore channel, 2 for the back channel.
[[nodiscard]] Bytes bind_call(std::uint32_t xid, std::uint32_t direction);
[[nodiscard]] Bytes bind_reply(std::uint32_t xid, std::uint32_t direction);
[[nodiscard]] Bytes callback_call(std::uint32_t xid);
[[nodiscard]] Bytes callback_reply(std::uint32_t xid);
}  // namespace nfs4

}  // namespace rpcrdma::scenes
