// Data of a report for finding Calls that a connection of another capture sends again: rules'
// Handover, with the report's connection IDs, and addresses as text.
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

// A connection that may follow one of an earlier capture.
struct BegunConnection {
  std::uint32_t connection = 0;        // its ID
  std::array<std::string, 2> address;  // of client and server
  std::int64_t first_ns = 0;           // first packet of the connection
  std::size_t ended_before = 0;        // connections that ended before its first Call
  bool more = false;                   // it had more Calls than are kept
  std::string unsure;                  // why FC-08 is inconclusive for it; empty: it can be checked
  std::vector<rules::FirstCall> calls;
};

struct Reconnects {
  std::vector<EndedConnection> ended;  // the oldest first
  std::vector<LostCall> lost;          // by addresses, then the oldest first
  std::vector<BegunConnection> begun;  // in the order of their first Calls
  bool complete = true;                // all of them are listed
  // A merged report did not list all of them, so not all Calls were compared.
  bool unsought = false;
};

// Puts lost Calls in their order.
void sort_lost(std::vector<LostCall>& lost);

}  // namespace rpcrdma::report
