// The kinds of events that a capture can exclude. All other events are always included: identity,
// connections and their ends, and losses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::extcap {

struct Kind {
  std::string_view name;    // in the option
  std::string_view label;   // in Wireshark's dialog
  std::uint64_t types = 0;  // trace::type_bit()
};

inline constexpr std::array<Kind, 7> kKinds = [] {
  using enum trace::EventType;
  constexpr auto bits = [](auto... types) { return (trace::type_bit(types) | ...); };
  return std::array<Kind, 7>{{
      {"messages", "Messages", bits(kMessage)},
      {"operations", "RDMA Reads and Writes", bits(kOperation, kOperationEnd)},
      {"memory", "Memory registered, advertised and invalidated",
       bits(kAdvertise, kInvalidate, kRegistration)},
      {"credits", "Credits and posted Receives", bits(kCredits, kCreditWait, kReceives)},
      {"calls", "Calls with the parts of their time", bits(kCall, kCallEnd, kDuplicate)},
      {"errors", "Errors that the endpoint detected", bits(kError)},
      {"fabric", "Retransmissions, NAKs, injected faults", bits(kFabric, kFault)},
  }};
}();

// `wanted`: names of kinds separated by commas, or empty. Returns the types of all other kinds.
// Error: an unknown kind, as a message for the user.
[[nodiscard]] tl::expected<std::uint64_t, std::string> left_out_by(std::string_view wanted);

}  // namespace rpcrdma::extcap
