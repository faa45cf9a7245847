// Which connections of a later report go on from an earlier one.
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
  // Joins the connections of `later` to those of `earlier`: those that go on are added to what they
  // were, all others get new IDs behind. Connections of `earlier` whose QP is set up anew in
  // `later` are closed. The frames of `later` are moved by `frames`.
  ConnectionJoin(Report& earlier, Report& later, std::uint64_t frames);

  // The ID that a connection of `later` has now.
  [[nodiscard]] std::uint32_t id(std::uint32_t later) const;
  // It goes on from `earlier`.
  [[nodiscard]] bool joined(std::uint32_t later) const { return joined_.count(later) != 0; }
  // Client and server have changed places: of a connection of `later`, of one of `earlier`.
  [[nodiscard]] bool flipped_later(std::uint32_t id) const { return flipped_later_.count(id) != 0; }
  [[nodiscard]] bool flipped_earlier(std::uint32_t id) const {
    return flipped_earlier_.count(id) != 0;
  }
  // IDs given out by both.
  [[nodiscard]] std::uint64_t ids() const {
    return std::uint64_t{earlier_ids_} + later_ids_ - joined_.size();
  }

 private:
  // From a port to a QP of another.
  using Flow = std::tuple<std::string_view, std::string_view, std::uint32_t>;
  struct FlowEnd {
    std::size_t connection = 0;  // index in earlier.connections
    std::size_t side = 0;        // that has the QP
  };
  using Flows = std::map<Flow, FlowEnd>;

  static Flow flow(const Connection& c, std::size_t side) {
    return {c.side[1 - side].address, c.side[side].address, *c.side[side].qpn};
  }
  void find(Report& earlier, const Report& later, const Flows& flows);

  std::uint32_t earlier_ids_;
  std::uint32_t later_ids_;
  std::map<std::uint32_t, std::size_t> joined_;  // ID in later: index in earlier.connections
  std::vector<std::uint32_t> joined_ids_;        // its keys: ascending
  std::vector<std::size_t> closed_;              // indexes in earlier.connections
  std::set<std::uint32_t> flipped_later_, flipped_earlier_;
  std::map<std::uint32_t, std::uint32_t> targets_;  // ID in later: ID in earlier
};

// Client and server change places.
void flip(Connection& c);

}  // namespace rpcrdma::report
