// The first Calls of connections that no known one came before.
#pragma once

#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

class FirstCalls {
 public:
  // Before the first Call of the client is noted. `departed`: how many connections the capture has
  // seen end; behind kDeparted of them none of an earlier capture is remembered.
  void begin(const roce::Connection& connection, std::size_t client, std::size_t departed);
  // Gives whether more Calls of the connection are wanted.
  bool called(std::uint32_t connection, const FirstCall& call);
  // A filter leaves the Call out that is seen in this frame.
  void leave_out(std::uint32_t connection, std::uint64_t frame);
  void drop(std::uint32_t connection);
  // Null: none is kept of it.
  [[nodiscard]] Begun* find(std::uint32_t connection);

  [[nodiscard]] std::vector<Begun> list() const;
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::vector<Begun> begun_;                           // kBegun at most
  tsl::robin_map<std::uint32_t, std::size_t> places_;  // in begun_, by connection
  bool complete_ = true;
};

}  // namespace rpcrdma::rules
