// Encodes the messages of version 2's later dialects, word by word.
#include "dialect_scenes.h"

#include "bodies.h"

namespace rpcrdma::scenes {

namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kCredit = 32;
constexpr std::uint32_t kResponse = 1, kMore = 2, kTpMore = 4;

// Builds a message of the header's words and the bytes that follow.
Bytes message(std::uint32_t xid, std::uint32_t type, const Words& body, const Bytes& payload = {}) {
  Xdr xdr;
  xdr.u32(xid).u32(kVersion).u32(kCredit).u32(type);
  for (const std::uint32_t word : body) xdr.u32(word);
  xdr.fixed(payload);
  return xdr.bytes();
}

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Builds a property with a value of one word.
Words property(std::uint32_t id, std::uint32_t value) {
  return {id, 4, value};
}

const Words kNoLists{0, 0, 0};  // Read list, Write list, Reply chunk

Words segment(std::uint32_t handle, std::uint32_t length, std::uint32_t offset) {
  return {handle, length, 0, offset};
}
Words read_list(std::uint32_t position, std::uint32_t handle, std::uint32_t length) {
  return Words{1, position} + segment(handle, length, 0x1000) + Words{0};
}
// Builds a list of one chunk with one segment.
Words write_list(std::uint32_t handle, std::uint32_t length) {
  return Words{1, 1} + segment(handle, length, 0x2000) + Words{0};
}
Words reply_chunk(std::uint32_t handle, std::uint32_t length) {
  return Words{1, 1} + segment(handle, length, 0x3000);
}

Bytes plain_call(std::uint32_t xid) {
  return rpc_call(xid, kPlainProgram, 1, 1, Bytes(16, 0x11));
}
Bytes plain_reply(std::uint32_t xid) {
  return rpc_reply(xid, Bytes(16, 0x22));
}
// An RPC message in two Sends.
constexpr std::ptrdiff_t kFirst = 20;
Bytes first_part(const Bytes& rpc) {
  return {rpc.begin(), rpc.begin() + kFirst};
}
Bytes last_part(const Bytes& rpc) {
  return {rpc.begin() + kFirst, rpc.end()};
}

// draft-cel-nfsv4-rpcrdma-version-two-03 to -07
void cel03(Scene& s) {
  constexpr std::uint32_t kMsg = 0, kError = 4, kOptional = 5, kConnprop = 6, kReqprop = 7,
                          kResprop = 8, kUpdprop = 9;
  Connection& c = s.connect();
  c.send(kClient, message(1, kConnprop, Words{1} + property(1, 8192) + Words{1, 2}));
  c.send(kServer, message(1, kConnprop, Words{1} + property(2, 1) + Words{0}));
  c.send(kClient, message(2, kMsg, Words{0, 0} + kNoLists, plain_call(2)));
  c.send(kServer, message(2, kMsg, Words{1, 0} + kNoLists, plain_reply(2)));
  c.send(kClient, message(3, kReqprop, Words{1} + property(1, 16384)));
  c.send(kServer, message(3, kResprop, Words{0, 1, 1, 1} + property(1, 8192)));
  c.send(kServer, message(4, kUpdprop, Words{1} + property(2, 2)));
  c.send(kClient, message(5, kOptional, {0, 7, 4, 0x01020304}));
  c.send(kClient,
         message(6, kMsg, Words{0, 0} + read_list(0, 0x100, 64) + Words{0, 0}, plain_call(6)));
  c.send(kServer, message(6, kError, {4, 0}));  // READ_CHUNKS
  c.disconnect();
}

// draft-cel-nfsv4-rpcrdma-version-two-08 to draft-ietf-nfsv4-rpcrdma-version-two-02
void flags(Scene& s) {
  constexpr std::uint32_t kMsg = 0, kNomsg = 1, kError = 4, kConnprop = 5, kGrant = 6;
  Connection& c = s.connect();
  c.send(kClient, message(1, kConnprop, Words{kTpMore, 2} + property(1, 4096) + property(2, 8192)));
  c.send(kClient, message(1, kConnprop, {0, 1, 6, 3, 0x61626300}));
  c.send(kServer, message(1, kConnprop, Words{kResponse, 1} + property(5, 1)));
  c.send(kServer, message(0, kGrant, {0}));
  c.send(kClient, message(2, kMsg, Words{0, 0x100, 0} + write_list(0x100, 1000) + Words{0},
                          nfs3::read_call(2, 1000)));
  c.write(kServer, 0x100, 0x2000, pattern(1000));
  c.send(kServer,
         message(2, kMsg, Words{kResponse, 0x100, 0} + write_list(0x100, 1000) + Words{0},
                 nfs3::read_reply(2, 1000).rpc),
         0x100);
  c.send(kClient, message(3, kMsg, Words{kMore, 0} + kNoLists, first_part(plain_call(3))));
  c.send(kClient, message(3, kMsg, Words{0, 0} + kNoLists, last_part(plain_call(3))));
  c.send(kServer, message(3, kMsg, Words{kResponse, 0} + kNoLists, plain_reply(3)));
  const Bytes long_call = nfs3::write_call_inline(4, pattern(3000));
  const auto length = static_cast<std::uint32_t>(long_call.size());
  c.send(kClient, message(4, kNomsg, Words{0, 0} + read_list(0, 0x200, length) + Words{0, 0}));
  c.read(kServer, 0x200, 0x1000, long_call);
  c.send(kServer, message(4, kError, {kResponse, 9, 1, 5000}));  // WRITE_RESOURCE
  c.disconnect();
}

// draft-ietf-nfsv4-rpcrdma-version-two-03 to -07
void ietf03(Scene& s) {
  constexpr std::uint32_t kError = 4, kGrant = 5, kConnpropMiddle = 6, kConnpropFinal = 7,
                          kCallExternal = 8, kCallMiddle = 9, kCallInline = 10, kReplyExternal = 11,
                          kReplyMiddle = 12, kReplyInline = 13;
  Connection& c = s.connect();
  c.send(kClient, message(1, kConnpropMiddle, Words{1} + property(1, 4096)));
  c.send(kClient, message(1, kConnpropFinal, Words{2} + property(3, 16) + property(4, 4)));
  c.send(kServer, message(1, kConnpropFinal, Words{1} + property(2, 8192)));
  c.send(kServer, message(0, kGrant, {}));
  c.send(kClient, message(2, kCallInline, Words{0x100, 0} + write_list(0x100, 1000) + Words{0},
                          nfs3::read_call(2, 1000)));
  c.write(kServer, 0x100, 0x2000, pattern(1000));
  c.send(kServer, message(2, kReplyInline, write_list(0x100, 1000), nfs3::read_reply(2, 1000).rpc),
         0x100);
  const Bytes long_call = nfs3::readdir_call(3, 4096);
  const Bytes long_reply = nfs3::readdir_reply(3, 2000);
  const auto length = static_cast<std::uint32_t>(long_call.size());
  const auto reply_length = static_cast<std::uint32_t>(long_reply.size());
  c.send(kClient,
         message(3, kCallExternal,
                 Words{0} + read_list(0, 0x200, length) + Words{0, 0} + reply_chunk(0x300, 4096)));
  c.read(kServer, 0x200, 0x1000, long_call);
  c.write(kServer, 0x300, 0x3000, long_reply);
  c.send(kServer, message(3, kReplyExternal, Words{0} + reply_chunk(0x300, reply_length)));
  const Bytes call = plain_call(4), reply = plain_reply(4);
  c.send(kClient, message(4, kCallMiddle, {static_cast<std::uint32_t>(call.size() - kFirst)},
                          first_part(call)));
  c.send(kClient, message(4, kCallInline, Words{0} + kNoLists, last_part(call)));
  c.send(kServer, message(4, kReplyMiddle, {static_cast<std::uint32_t>(reply.size() - kFirst)},
                          first_part(reply)));
  c.send(kServer, message(4, kReplyInline, {0}, last_part(reply)));
  c.send(kClient,
         message(5, kCallInline, Words{0} + read_list(0, 0x400, 64) + Words{0, 0}, plain_call(5)));
  c.send(kServer, message(5, kError, {6, 0}));  // READ_CHUNKS
  c.disconnect();
}

}  // namespace

const std::vector<DialectScene>& dialect_scenes() {
  static const std::vector<DialectScene> kAll{{"cel-03", "an RDMA2_CONNPROP of type 6", cel03},
                                              {"flags", "an RDMA2_CONNPROP of type 5", flags},
                                              {"ietf-03", "an RDMA2_CONNPROP_MIDDLE", ietf03}};
  return kAll;
}

}  // namespace rpcrdma::scenes
