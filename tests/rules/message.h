// The content of one Send of a scene: a transport header and an RPC message, both easy to corrupt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/wire/header.h>

namespace rpcrdma::scenes {

using Bytes = std::vector<std::uint8_t>;

// A wire::Header that owns its lists, and the bytes that follow it in the Send.
struct Message {
  std::uint32_t xid = 0;
  std::uint32_t vers = 1;
  std::uint32_t credit = 32;
  wire::Proc proc = wire::Proc::kMsg;
  wire::MsgType direction = wire::MsgType::kCall;  // version 2
  std::uint32_t inv_handle = 0;                    // version 2
  std::uint32_t align = 0, thresh = 0;             // MSGP
  std::vector<wire::ReadSegment> reads;
  std::vector<std::vector<wire::Segment>> writes;
  std::optional<std::vector<wire::Segment>> reply_chunk;
  wire::RdmaErr error = wire::RdmaErr::kVers;
  std::uint32_t vers_low = 1, vers_high = 1;
  bool processed = false;
  std::uint32_t segment_index = 0, length_needed = 0;
  std::uint32_t opttype = 0;
  Bytes optinfo;

  Bytes rpc;  // after the header
  // If set, it is sent by Send With Invalidate of this handle.
  std::optional<std::uint32_t> invalidate;
  bool immediate = false;  // sent by Send with Immediate
};

// Returns the content of the Send. If the encoder refuses the header, it is the RPC message alone:
// scenes with such headers change the bytes of a valid one.
[[nodiscard]] Bytes encode(const Message& message);

// A Call of a program without a binding, with 16 bytes of arguments, and its Reply.
[[nodiscard]] Message call(std::uint32_t xid);
[[nodiscard]] Message reply(std::uint32_t xid);
// The same Call and Reply with other RPC messages (bodies.h).
[[nodiscard]] Message call(std::uint32_t xid, Bytes rpc);
[[nodiscard]] Message reply(std::uint32_t xid, Bytes rpc);
[[nodiscard]] Message err_vers(std::uint32_t xid, std::uint32_t low = 1, std::uint32_t high = 1);
[[nodiscard]] Message err_chunk(std::uint32_t xid);

// Converts a message to version 2, with the direction of its RPC message.
[[nodiscard]] Message version2(Message message);

}  // namespace rpcrdma::scenes
