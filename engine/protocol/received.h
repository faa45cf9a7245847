// A message that has arrived, as the channel passes it to a role.
#pragma once

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/memory_pool.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

struct Received {
  Block block;  // of its Receive
  std::uint32_t bytes = 0;
  wire::Result<wire::HeaderView> header;
  fabric::Time at = 0;
  bool has_invalidated = false;
  std::uint32_t invalidated = 0;  // a handle

  [[nodiscard]] wire::Bytes message() const { return {block.data, bytes}; }
  // The bytes after the header, which must have been decoded.
  [[nodiscard]] wire::Bytes payload() const { return message().subspan(header->length); }
};

// Whether the role keeps the block.
enum class Keep : bool { kNo, kYes };

// Returns whether the message is of this type: by the RPC message in an RDMA_MSG, or by the
// direction in version 2. Others, and messages without an RPC message, are neither.
[[nodiscard]] inline bool is_inline(const Received& message, wire::MsgType type) {
  if (!message.header) return false;
  if (message.header->vers != 1) {
    return message.header->proc != wire::Proc::kError && message.header->direction == type;
  }
  if (message.header->proc != wire::Proc::kMsg && message.header->proc != wire::Proc::kMsgp) {
    return false;
  }
  const wire::Bytes rpc = message.payload();
  return rpc.size() >= 8 && wire::load_be32(rpc.data() + 4) == static_cast<std::uint32_t>(type);
}

}  // namespace rpcrdma::protocol
