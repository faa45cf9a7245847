// The kinds of events that a capture can be without. The others are always there: who tells,
// connections and their ends, and what was lost.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::extcap {

struct Kind {
  std::string_view name;    // as the option has it
  std::string_view label;   // for people
  std::uint64_t types = 0;  // trace::type_bit()
};

inline constexpr std::array<Kind, 7> kKinds = [] {
  using enum trace::EventType;
  constexpr auto bits = [](auto... types) { return (trace::type_bit(types) | ...); };
  return std::array<Kind, 7>{{
      {"messages", "Messages", bits(kMessage)},
      {"operations", "RDMA Reads and Writes", bits(kOperation, kOperationEnd)},
      {"memory", "Memory registered, exposed and withdrawn",
       bits(kAdvertise, kInvalidate, kRegistration)},
      {"credits", "Credits and posted Receives", bits(kCredits, kCreditWait, kReceives)},
      {"calls", "Calls with the parts of their time", bits(kCall, kCallEnd)},
      {"errors", "What the endpoint found wrong", bits(kError)},
      {"fabric", "Retransmissions, NAKs, declared faults", bits(kFabric, kFault)},
  }};
}();

// `wanted`: names of kinds with commas between them, perhaps none. Gives the types of the others.
// Error: what is no kind, for a person.
[[nodiscard]] tl::expected<std::uint64_t, std::string> left_out_by(std::string_view wanted);

}  // namespace rpcrdma::extcap
