// Encodes RPC messages for scenes.
#include "bodies.h"

#include <array>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::scenes {

Xdr& Xdr::u32(std::uint32_t v) {
  std::array<std::uint8_t, 4> word{};
  wire::store_be32(word.data(), v);
  bytes_.insert(bytes_.end(), word.begin(), word.end());
  return *this;
}

Xdr& Xdr::u64(std::uint64_t v) {
  return u32(static_cast<std::uint32_t>(v >> 32)).u32(static_cast<std::uint32_t>(v));
}

Xdr& Xdr::fixed(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return zeros((4 - bytes.size() % 4) % 4);
}

Xdr& Xdr::opaque(std::span<const std::uint8_t> bytes) {
  return u32(static_cast<std::uint32_t>(bytes.size())).fixed(bytes);
}

Xdr& Xdr::zeros(std::size_t n) {
  bytes_.resize(bytes_.size() + n);
  return *this;
}

Bytes pattern(std::size_t n, unsigned seed) {
  Bytes v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(i * 7 + seed + i / 256);
  return v;
}

Bytes rpc_call(std::uint32_t xid, std::uint32_t program, std::uint32_t version,
               std::uint32_t procedure, const Bytes& arguments) {
  wire::RpcCall call;
  call.xid = xid;
  call.prog = program;
  call.vers = version;
  call.proc = procedure;
  Bytes bytes(wire::encoded_size(call));
  (void)wire::encode_rpc(call, bytes);
  bytes.insert(bytes.end(), arguments.begin(), arguments.end());
  return bytes;
}

Bytes rpc_reply(std::uint32_t xid, const Bytes& results) {
  wire::RpcReply reply;
  reply.xid = xid;
  Bytes bytes(wire::encoded_size(reply));
  (void)wire::encode_rpc(reply, bytes);
  bytes.insert(bytes.end(), results.begin(), results.end());
  return bytes;
}

namespace {

const Bytes kFileHandle = pattern(16, 0x40);

// `rest` follows the data.
Reduced reduce(Bytes before, const Bytes& rest) {
  Reduced r;
  r.position = static_cast<std::uint32_t>(before.size());
  r.rpc = std::move(before);
  r.rpc.insert(r.rpc.end(), rest.begin(), rest.end());
  return r;
}

}  // namespace

// RFC 1813.
namespace nfs3 {

namespace {

Xdr read_results(std::uint32_t count) {
  return Xdr().u32(0).u32(0).u32(count).u32(1).u32(count);  // status, no attributes, count, eof
}

Xdr write_arguments(std::uint32_t count) {
  return Xdr().opaque(kFileHandle).u64(0).u32(count).u32(2).u32(count);  // FILE_SYNC
}

}  // namespace

Bytes getattr_call(std::uint32_t xid) {
  return rpc_call(xid, kNfs, 3, 1, Xdr().opaque(kFileHandle).bytes());
}

Bytes getattr_reply(std::uint32_t xid) {
  return rpc_reply(xid, Xdr().u32(0).u32(1).u32(0644).u32(1).zeros(72).bytes());
}

Bytes read_call(std::uint32_t xid, std::uint32_t count) {
  return rpc_call(xid, kNfs, 3, 6, Xdr().opaque(kFileHandle).u64(0).u32(count).bytes());
}

Reduced read_reply(std::uint32_t xid, std::uint32_t count) {
  return reduce(rpc_reply(xid, read_results(count).bytes()), {});
}

Bytes read_reply_inline(std::uint32_t xid, const Bytes& data) {
  return rpc_reply(xid, read_results(static_cast<std::uint32_t>(data.size())).fixed(data).bytes());
}

Reduced write_call(std::uint32_t xid, std::uint32_t count) {
  return reduce(rpc_call(xid, kNfs, 3, 7, write_arguments(count).bytes()), {});
}

Bytes write_call_inline(std::uint32_t xid, const Bytes& data) {
  return rpc_call(xid, kNfs, 3, 7,
                  write_arguments(static_cast<std::uint32_t>(data.size())).fixed(data).bytes());
}

Bytes write_reply(std::uint32_t xid, std::uint32_t count) {
  return rpc_reply(xid, Xdr().u32(0).u32(0).u32(0).u32(count).u32(2).u64(7).bytes());
}

Bytes readdir_call(std::uint32_t xid, std::uint32_t count) {
  return rpc_call(xid, kNfs, 3, 16, Xdr().opaque(kFileHandle).u64(0).u64(0).u32(count).bytes());
}

Bytes readdir_reply(std::uint32_t xid, std::size_t bytes) {
  constexpr std::size_t kRpcAndEnd = 24 + 8;
  Xdr x;
  x.u32(0).u32(0).u64(1);  // status, no attributes, cookie verifier
  for (std::uint32_t n = 1; x.size() + kRpcAndEnd < bytes; ++n) {
    const std::array<std::uint8_t, 4> name{'f', 'i', 'l', 'e'};
    x.u32(1).u64(n).opaque(name).u64(n);
  }
  return rpc_reply(xid, x.u32(0).u32(1).bytes());
}

}  // namespace nfs3

// RFC 8881.
namespace nfs4 {

namespace {

constexpr std::uint32_t kGetattr = 9, kPutfh = 22, kRead = 25, kWrite = 38, kBindConnToSession = 41,
                        kCreateSession = 43, kSequence = 53;
const Bytes kSession = pattern(16, 0x80);

Xdr compound_call(std::uint32_t operations) {
  Xdr x;
  x.opaque({}).u32(1).u32(operations + 2);
  x.u32(kSequence).fixed(kSession).u32(1).u32(0).u32(0).u32(0);
  x.u32(kPutfh).opaque(kFileHandle);
  return x;
}

Xdr compound_reply(std::uint32_t operations) {
  Xdr x;
  x.u32(0).opaque({}).u32(operations + 2);
  x.u32(kSequence).u32(0).fixed(kSession).u32(1).u32(0).u32(0).u32(0).u32(0);
  x.u32(kPutfh).u32(0);
  return x;
}

Bytes compound(std::uint32_t xid, const Xdr& arguments) {
  return rpc_call(xid, kNfs, 4, 1, arguments.bytes());
}

}  // namespace

Bytes getattr_call(std::uint32_t xid) {
  return compound(xid, compound_call(1).u32(kGetattr).u32(1).u32(0x10));
}

Bytes getattr_reply(std::uint32_t xid) {
  return rpc_reply(
      xid, compound_reply(1).u32(kGetattr).u32(0).u32(1).u32(0x10).u32(8).u64(4096).bytes());
}

Bytes read_call(std::uint32_t xid, std::uint32_t count) {
  return compound(xid, compound_call(1).u32(kRead).zeros(16).u64(0).u32(count));
}

Reduced read_reply(std::uint32_t xid, std::uint32_t count) {
  return reduce(rpc_reply(xid, compound_reply(1).u32(kRead).u32(0).u32(1).u32(count).bytes()), {});
}

Reduced write_call(std::uint32_t xid, std::uint32_t count) {
  return reduce(compound(xid, compound_call(1).u32(kWrite).zeros(16).u64(0).u32(2).u32(count)), {});
}

Bytes write_reply(std::uint32_t xid, std::uint32_t count) {
  return rpc_reply(xid, compound_reply(1).u32(kWrite).u32(0).u32(count).u32(2).u64(7).bytes());
}

Bytes create_session_call(std::uint32_t xid, std::uint32_t flags) {
  Xdr x;
  x.opaque({}).u32(1).u32(1);
  x.u32(kCreateSession).u64(1).u32(1).u32(flags);  // client, sequence, flags
  for (int channel = 0; channel < 2; ++channel) {
    x.u32(0).u32(4096).u32(4096).u32(4096).u32(16).u32(16).u32(0);
  }
  x.u32(kCallbackProgram).u32(1).u32(0);  // AUTH_NONE
  return compound(xid, x);
}

Bytes create_session_reply(std::uint32_t xid) {
  Xdr x;
  x.u32(0).opaque({}).u32(1);
  x.u32(kCreateSession).u32(0).fixed(kSession).u32(1).u32(2);
  for (int channel = 0; channel < 2; ++channel) {
    x.u32(0).u32(4096).u32(4096).u32(4096).u32(16).u32(16).u32(0);
  }
  return rpc_reply(xid, x.bytes());
}

Bytes create_session_failed(std::uint32_t xid) {
  constexpr std::uint32_t kStaleClientId = 10022;
  Xdr x;
  x.u32(kStaleClientId).opaque({}).u32(1).u32(kCreateSession).u32(kStaleClientId);
  return rpc_reply(xid, x.bytes());
}

Bytes bind_call(std::uint32_t xid, std::uint32_t direction) {
  Xdr x;
  x.opaque({}).u32(1).u32(1).u32(kBindConnToSession).fixed(kSession).u32(direction).u32(0);
  return compound(xid, x);
}

Bytes bind_reply(std::uint32_t xid, std::uint32_t direction) {
  Xdr x;
  x.u32(0).opaque({}).u32(1);
  x.u32(kBindConnToSession).u32(0).fixed(kSession).u32(direction).u32(0);
  return rpc_reply(xid, x.bytes());
}

Bytes callback_call(std::uint32_t xid) {
  return rpc_call(xid, kCallbackProgram, 1, 0);
}

Bytes callback_reply(std::uint32_t xid) {
  return rpc_reply(xid);
}

}  // namespace nfs4

}  // namespace rpcrdma::scenes
