// Context of a packet that fault rules can select by: its connection, its message, and its number
// of transmissions. Learned from the packets that pass, including CM messages.
#pragma once

#include "recent_table.h"

#include <array>
#include <cstdint>
#include <memory>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/soft/fault_injector.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

struct FaultPlace {
  std::uint64_t connection = 0;  // from 1; 0: unknown
  std::uint64_t message = 0;     // from 1; 0: none or unknown
  std::uint64_t attempt = 1;
  std::uint64_t stream = 0;
};

// Observes one sequence of PSNs: counts the transmissions of each, and finds the message it belongs
// to.
class PsnStream {
 public:
  // A packet that takes `psns` PSNs from `psn` on (several for a READ request). Returns how often
  // `psn` has occurred, including this time.
  std::uint64_t see(std::uint32_t psn, std::uint32_t psns, bool begins_message);
  // Returns the message of `psn`, as observed; 0: it began too long ago, or before the first
  // observed packet.
  [[nodiscard]] std::uint64_t message_of(std::uint32_t psn) const;

 private:
  struct State;
  // Allocated on demand: some kilobytes that a connection which only responds does not need.
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

class FaultTracker {
 public:
  explicit FaultTracker(const FaultLimits& limits);

  // `datagram` is at least a BTH and an ICRC long. Call it once for each packet.
  [[nodiscard]] FaultPlace see(FaultDirection direction, const fabric::Address& peer,
                               wire::Bytes datagram);
  [[nodiscard]] std::size_t connections() const { return flows_.size() + set_up_.size(); }

 private:
  // Packets in `direction` between here and `peer`, to a queue pair or with a communication ID.
  struct Key {
    FaultDirection direction = FaultDirection::kOut;
    fabric::Address peer;
    std::uint32_t number = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  // Packets to one queue pair.
  struct Flow {
    std::uint64_t connection = 0;
    std::uint64_t stream = 0;
    std::uint32_t mtu = 0;  // bytes
    PsnStream requests;
    PsnStream responses;
  };
  // A connection between its REQ and its DREP, by the direction of the REQ and the communication ID
  // of its sender.
  struct SetUp {
    std::uint64_t connection = 0;
    std::uint64_t transaction = 0;
    std::uint32_t active_qpn = 0;
    std::uint32_t passive_qpn = 0;
    std::uint32_t mtu = 0;
    std::array<std::array<std::uint32_t, 32>, 2> sent{};  // by direction and attribute
  };

  Flow& flow_of(const Key& key, bool connected);
  Flow& new_flow(const Key& key, std::uint64_t connection, std::uint32_t mtu);
  void see_mad(const Key& to, wire::Bytes mad, FaultPlace& place);
  SetUp* set_up_of(FaultDirection direction, const fabric::Address& peer,
                   const wire::CmMad& message);
  SetUp& on_request(const Key& key, const wire::CmMad& mad, const wire::CmReq& request);

  RecentTable<Key, Flow, KeyHash> flows_;
  RecentTable<Key, SetUp, KeyHash> set_up_;
  std::array<std::uint64_t, 2> connections_{};  // counted so far, by direction
  std::uint64_t streams_ = 0;
};

}  // namespace rpcrdma::soft
