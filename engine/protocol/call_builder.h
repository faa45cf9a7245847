// Makes a Call's Send: takes blocks, exposes what goes by chunks with the least rights, encodes the
// header, and puts the inline part behind it.
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
  std::uint32_t credits = 0;  // asked for
  std::span<const Piece> message;
  std::span<const ResultSpace> results;
};

// `advertise_id`: comes back if an exposure fails later. Errors: kNoRoom from the pool, nothing has
// been exposed then; others from the connection: what has been must be withdrawn. In either case
// the flight's blocks are its own.
[[nodiscard]] fabric::Expected<void> build_call(Link& link, const CallPlan& plan,
                                                const CallContent& content,
                                                std::uint64_t advertise_id,
                                                InFlightCall& in_flight);

// An RDMA2_OPTIONAL message without payload. Error: kNoRoom from the pool.
[[nodiscard]] fabric::Expected<void> build_option(Link& link, std::uint32_t type, wire::Bytes info,
                                                  const CallContent& content,
                                                  InFlightCall& in_flight);

}  // namespace rpcrdma::protocol
