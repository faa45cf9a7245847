// What a report has for Calls that are sent again on a connection of another capture: rules'
// Handover, with the report's own numbers, and addresses as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::report {

struct EndedConnection {
  std::array<std::string, 2> address;  // of client and server
  rules::Departed left;                // without addresses
};

struct LostCall {
  std::string caller, responder;  // addresses
  rules::LostCall call;           // without addresses
};

// One that may follow one of an earlier capture.
struct BegunConnection {
  std::uint32_t connection = 0;        // its ID
  std::array<std::string, 2> address;  // of client and server
  std::int64_t first_ns = 0;           // of the connection
  std::size_t ended_before = 0;        // connections, before its first Call
  bool more = false;                   // Calls than are kept
  std::string unsure;                  // why FC-08 cannot be told of it; empty: it can
  std::vector<rules::FirstCall> calls;
};

struct Reconnects {
  std::vector<EndedConnection> ended;  // the oldest first
  std::vector<LostCall> lost;          // by addresses, then the oldest first
  std::vector<BegunConnection> begun;  // in the order of their first Calls
  bool complete = true;                // there were no more of them
  // Reports were joined of which one had not all, so some that were sent again may not be told.
  bool unsought = false;
};

// Puts lost Calls in their order.
void sort_lost(std::vector<LostCall>& lost);

}  // namespace rpcrdma::report
