// Keeps the first Calls of connections without a known predecessor.
#pragma once

#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

class FirstCalls {
 public:
  // Called before the first Call of the client is noted. `departed`: how many connections of the
  // capture have ended; after kDeparted of them, none of an earlier capture is kept any more.
  void begin(const roce::Connection& connection, std::size_t client, std::size_t departed);
  // Returns whether more Calls of the connection are needed.
  bool called(std::uint32_t connection, const FirstCall& call);
  // Called when a filter excludes the Call in this frame.
  void leave_out(std::uint32_t connection, std::uint64_t frame);
  void drop(std::uint32_t connection);
  // Returns null if no Calls of the connection are kept.
  [[nodiscard]] Begun* find(std::uint32_t connection);

  [[nodiscard]] std::vector<Begun> list() const;
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::vector<Begun> begun_;                           // kBegun at most
  tsl::robin_map<std::uint32_t, std::size_t> places_;  // in begun_, by connection
  bool complete_ = true;
};

}  // namespace rpcrdma::rules
