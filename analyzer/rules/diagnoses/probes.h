// Finds refused Calls that were probes: for a version, a security flavor or a program that the
// responder need not support. A refused Call was a probe if a later Call of the same requester
// succeeds without it, possibly on another connection.
#pragma once

#include "refusal.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// Calls of one kind on one connection.
struct Probe {
  std::uint32_t connection = 0;             // index
  std::uint8_t caller = 0;                  // side of the connection
  std::array<capture::Address, 2> address;  // of requester and responder
  Refusal refusal;
  model::RpcInfo rpc;         // of the latest of these Calls
  std::uint32_t version = 0;  // of RPC-over-RDMA
  std::uint64_t room = 0;     // for results, bytes
  std::uint64_t count = 0, of = 0;
  std::array<std::uint64_t, 2> frames{};  // of the first Call and the latest answer
  std::int64_t latest_ns = 0;
  std::uint32_t topic = 0;   // of a finding about them
  bool awaits = false;       // the capture has no Reply to the next attempt
  std::string name, clause;  // "ERR_VERS"; the text of a finding
};

class Probes {
 public:
  // Calls that are refused more often than this are no probes.
  static constexpr std::uint64_t kMost = 8;

  [[nodiscard]] bool empty() const { return open_.empty(); }
  // Holds another Call of that kind; `probe.count` is 1. Returns false if it is an ordinary
  // refusal: `probe` then includes the numbers of those that were held so far.
  bool hold(Probe& probe);
  // A Call succeeded. Returns and removes the Calls that this shows to be probes.
  [[nodiscard]] std::vector<Probe> succeeded(const model::Call& call, const model::Message& answer,
                                             std::uint64_t room,
                                             const std::array<capture::Address, 2>& address);
  // Return and remove those that have waited too long by `now_ns`, those of a connection, and all.
  [[nodiscard]] std::vector<Probe> take_due(std::int64_t now_ns);
  [[nodiscard]] std::vector<Probe> take_of(std::uint32_t connection);
  [[nodiscard]] std::vector<Probe> take_all();
  void drop(std::uint32_t connection);
  // Calls f for each held Call of a connection, to be updated when it closes.
  template <typename Function>
  void for_each_of(std::uint32_t connection, Function&& f) {
    for (Probe& p : open_) {
      if (p.connection == connection) f(p);
    }
  }

 private:
  std::vector<Probe> open_;  // oldest first
};

// True if `call`, a later one on the same connection, asks for the same without what was refused.
[[nodiscard]] bool is_next_attempt(const Probe& probe, const model::Call& call, std::uint64_t room);

// "a later Call in version 1 succeeded"
[[nodiscard]] std::string success_text(const Probe& probe, const model::Call& call,
                                       const model::Message& answer);

}  // namespace rpcrdma::rules
