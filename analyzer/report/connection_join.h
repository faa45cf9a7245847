// Finds the connections of an earlier report that continue in a later one, and joins them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

class ConnectionJoin {
 public:
  // Moves the connections of `later` to `earlier`. A connection that continues is added to its
  // earlier part; all others get new IDs. A connection of `earlier` is closed if a new connection
  // is set up on its QP in `later`. The frame numbers of `later` increase by `frames`.
  ConnectionJoin(Report& earlier, Report& later, std::uint64_t frames);

  // Returns the new ID of a connection of `later`.
  [[nodiscard]] std::uint32_t id(std::uint32_t later) const;
  // Returns whether a connection of `later` continues one of `earlier`.
  [[nodiscard]] bool joined(std::uint32_t later) const { return joined_.count(later) != 0; }
  // Return whether client and server were swapped in a connection of `later` or of `earlier`.
  [[nodiscard]] bool flipped_later(std::uint32_t id) const { return flipped_later_.count(id) != 0; }
  [[nodiscard]] bool flipped_earlier(std::uint32_t id) const {
    return flipped_earlier_.count(id) != 0;
  }
  // Sender's address, receiver's address, receiver's QPN.
  using Flow = std::tuple<std::string_view, std::string_view, std::uint32_t>;
  // The flow to one side, which has a QPN or a port. It points into the connection.
  static Flow flow(const Connection& c, std::size_t side) {
    const EndPoint& to = c.side[side];
    // A server has one port for all its connections: that of the client belongs to one of them.
    const std::uint32_t number =
        to.port ? c.side[1 - side].port.value_or(0) << 16U | *to.port : to.qpn.value_or(0);
    return {c.side[1 - side].address, to.address, number};
  }
  // The number of IDs that both reports assigned.
  [[nodiscard]] std::uint64_t ids() const {
    return std::uint64_t{earlier_ids_} + later_ids_ - joined_.size();
  }

 private:
  struct FlowEnd {
    std::size_t connection = 0;  // index in earlier.connections
    std::size_t side = 0;        // the side with the QP
  };
  using Flows = std::map<Flow, FlowEnd>;

  void find(Report& earlier, const Report& later, const Flows& flows);

  std::uint32_t earlier_ids_;
  std::uint32_t later_ids_;
  std::map<std::uint32_t, std::size_t> joined_;  // ID in later to index in earlier.connections
  std::vector<std::uint32_t> joined_ids_;        // the keys of joined_, ascending
  std::vector<std::size_t> closed_;              // indexes in earlier.connections
  std::set<std::uint32_t> flipped_later_, flipped_earlier_;
  std::map<std::uint32_t, std::uint32_t> targets_;  // ID in later to ID in earlier
};

// Returns whether each QPN that both connections know is the same. `swapped`: the client of one is
// the server of the other.
[[nodiscard]] bool same_qps(const Connection& a, const Connection& b, bool swapped);

// Swaps client and server.
void flip(Connection& c);

}  // namespace rpcrdma::report
