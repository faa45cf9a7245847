// Builds the Send of a Call: acquires blocks, advertises the chunks' memory with minimal access
// rights, encodes the header, and appends the inline part.
#pragma once

#include "in_flight_call.h"
#include "link.h"

#include <span>

#include <rpcrdma/protocol/message.h>
#include <rpcrdma/protocol/reduction.h>

namespace rpcrdma::protocol {

struct CallContent {
  std::uint32_t version = kVersionOne;
  std::uint32_t xid = 0;
  std::uint32_t credits = 0;  // credit request
  std::span<const Piece> message;
  std::span<const ResultSpace> results;
};

// `advertise_id`: comes back if advertising fails later. Errors: kNoRoom from the pool, before any
// memory was advertised; others from the connection: memory already advertised must be invalidated.
// In either case the blocks belong to `in_flight`.
[[nodiscard]] fabric::Expected<void> build_call(Link& link, const CallPlan& plan,
                                                const CallContent& content,
                                                std::uint64_t advertise_id,
                                                InFlightCall& in_flight);

struct OptionContent {
  std::uint32_t type = 0;
  wire::Bytes info;
  bool is_part = false;  // the message is no whole RPC message: its XID is not filled in
};

// An RDMA2_OPTIONAL message, followed by the content's message. Error: kNoRoom from the pool.
[[nodiscard]] fabric::Expected<void> build_option(Link& link, const OptionContent& option,
                                                  const CallContent& content,
                                                  InFlightCall& in_flight);

}  // namespace rpcrdma::protocol
