// The requester's side of RPC messages: headers of Calls, and decoding of Replies.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::service {

// The RPC header of Calls of one procedure, encoded once: the requester fills in the XID of each.
class CallHeader {
 public:
  // AUTH_NONE.
  CallHeader(std::uint32_t program, std::uint32_t version, std::uint32_t procedure);
  // A credential over 400 bytes is truncated to 400.
  CallHeader(std::uint32_t program, std::uint32_t version, std::uint32_t procedure,
             const wire::Auth& credential);

  // The first piece of a Call; it lives as long as the header.
  [[nodiscard]] protocol::Piece piece() const { return {bytes_, nullptr, false}; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// AUTH_SYS (RFC 5531 appendix A) as a credential's body. The name is truncated to 255 bytes, the
// groups to 16.
[[nodiscard]] std::vector<std::uint8_t> auth_sys_body(std::string_view machine, std::uint32_t uid,
                                                      std::uint32_t gid,
                                                      std::span<const std::uint32_t> gids = {});

enum class RpcStatus : std::uint8_t {
  kSuccess,
  kProgUnavail,
  kProgMismatch,
  kProcUnavail,
  kGarbageArgs,
  kSystemErr,
  kRpcMismatch,
  kAuthError,
  kMalformed,  // not a valid Reply
  kNoReply,    // the Call ended without one: see CallOutcome::status
};
[[nodiscard]] const char* rpc_status_name(RpcStatus status);  // "success", "PROG_MISMATCH", ...

// Reads a Reply: its RPC header and the results, in whichever way they were transferred. Valid as
// long as the outcome. `spaces` are those of the Call.
class ReplyReader {
 public:
  explicit ReplyReader(const protocol::CallOutcome& outcome,
                       std::span<const protocol::ResultSpace> spaces = {});
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  [[nodiscard]] RpcStatus status() const { return status_; }
  [[nodiscard]] const wire::RpcReply& header() const { return header_; }
  // kSuccess: after the header; else empty.
  [[nodiscard]] protocol::StreamReader& results() { return results_; }

 private:
  // Maximum of Read chunks, which a Reply can have by RFC 5666; more make it malformed.
  static constexpr std::size_t kMaxReadItems = protocol::kMaxPieces;
  std::array<protocol::Placed, kMaxReadItems + protocol::kMaxResults> placed_;
  wire::RpcReply header_;
  protocol::StreamReader results_;
  RpcStatus status_ = RpcStatus::kNoReply;
};

// One clause for display: "PROG_MISMATCH: versions 2 to 4", "timed out".
[[nodiscard]] std::string describe(const protocol::CallOutcome& outcome, const ReplyReader& reply);

}  // namespace rpcrdma::service
