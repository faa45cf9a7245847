// Messages for tests: transport headers followed by small RPC messages.
#pragma once

#include <cstdint>
#include <vector>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::model::testing {

inline std::vector<std::uint8_t> rpc_call(std::uint32_t xid, std::uint32_t program,
                                          std::uint32_t version, std::uint32_t procedure,
                                          wire::Bytes arguments = {}) {
  wire::RpcCall call;
  call.xid = xid;
  call.prog = program;
  call.vers = version;
  call.proc = procedure;
  std::vector<std::uint8_t> bytes(wire::encoded_size(call));
  (void)wire::encode_rpc(call, bytes);
  bytes.insert(bytes.end(), arguments.begin(), arguments.end());
  return bytes;
}

inline std::vector<std::uint8_t> rpc_reply(std::uint32_t xid, wire::Bytes results = {}) {
  wire::RpcReply reply;
  reply.xid = xid;
  std::vector<std::uint8_t> bytes(wire::encoded_size(reply));
  (void)wire::encode_rpc(reply, bytes);
  bytes.insert(bytes.end(), results.begin(), results.end());
  return bytes;
}

inline std::vector<std::uint8_t> message(const wire::Header& header, wire::Bytes payload = {}) {
  std::vector<std::uint8_t> bytes(wire::encoded_size(header));
  (void)wire::encode_header(header, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

inline wire::Header header(std::uint32_t xid, std::uint32_t credit,
                           wire::Proc proc = wire::Proc::kMsg) {
  wire::Header h;
  h.xid = xid;
  h.credit = credit;
  h.proc = proc;
  return h;
}

}  // namespace rpcrdma::model::testing
