// The data by which a merge finds Calls that a connection of a later capture resends: the rules'
// Handover, with the report's connection and frame numbers, and with addresses as text.
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
  rules::Departed left;                // its addresses are empty
};

struct LostCall {
  std::string caller, responder;  // addresses
  rules::LostCall call;           // its addresses are empty
};

// A connection that may be the successor of one in an earlier capture.
struct BegunConnection {
  std::uint32_t connection = 0;        // its ID
  std::array<std::string, 2> address;  // of client and server
  std::int64_t first_ns = 0;           // time of its first packet
  std::size_t ended_before = 0;        // connections that ended before its first Call
  bool more = false;                   // it had more Calls than `calls` keeps
  std::string unsure;                  // why FC-08 is inconclusive for it; empty: it can be checked
  std::vector<rules::FirstCall> calls;
};

struct Reconnects {
  std::vector<EndedConnection> ended;  // oldest first
  std::vector<LostCall> lost;          // by addresses, then oldest first
  std::vector<BegunConnection> begun;  // in the order of their first Calls
  bool complete = true;                // no list is truncated
  // A merged report had incomplete lists, so some resent Calls may not be reported.
  bool unsought = false;
};

// Sorts lost Calls into their order.
void sort_lost(std::vector<LostCall>& lost);

}  // namespace rpcrdma::report
