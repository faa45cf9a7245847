// Calls that were refused and may have been tries: for a version, a security flavor, a program that
// the responder need not have. Whether they were shows when a later Call of the same requester
// succeeds without it, maybe on another connection.
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
  std::array<capture::Address, 2> address;  // of requester and responder
  Refusal refusal;
  model::RpcInfo rpc;         // of the latest of these Calls
  std::uint32_t version = 0;  // of RPC-over-RDMA
  std::uint64_t room = 0;     // for results, bytes
  std::uint64_t count = 0, of = 0;
  std::array<std::uint64_t, 2> frames{};  // of the first Call and the latest answer
  std::int64_t latest_ns = 0;
  std::uint32_t topic = 0;   // of a finding about them
  std::string name, clause;  // "ERR_VERS"; what a finding says
};

class Probes {
 public:
  // So often nobody tries.
  static constexpr std::uint64_t kMost = 8;

  [[nodiscard]] bool empty() const { return open_.empty(); }
  // Another Call of that kind; `probe.count` is 1. False: it is a refusal like any other, and
  // `probe` has the numbers of those that were held back until now.
  bool hold(Probe& probe);
  // A Call that succeeded. Gives the probes that it shows to have been some.
  [[nodiscard]] std::vector<Probe> succeeded(const model::Call& call, const model::Message& answer,
                                             std::uint64_t room,
                                             const std::array<capture::Address, 2>& address);
  // Those that have waited too long by `now_ns`, and those of a connection.
  [[nodiscard]] std::vector<Probe> take_due(std::int64_t now_ns);
  [[nodiscard]] std::vector<Probe> take_of(std::uint32_t connection);
  [[nodiscard]] std::vector<Probe> take_all();
  void drop(std::uint32_t connection);
  // What is known of a connection's Calls when it closes.
  template <typename Function>
  void for_each_of(std::uint32_t connection, Function&& f) {
    for (Probe& p : open_) {
      if (p.connection == connection) f(p);
    }
  }

 private:
  std::vector<Probe> open_;  // the oldest first
};

// "then answered in version 1"
[[nodiscard]] std::string success_text(const Probe& probe, const model::Call& call,
                                       const model::Message& answer);

}  // namespace rpcrdma::rules
