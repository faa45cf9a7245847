// A load in the reverse direction: requests Calls of the echo program from the server over each
// connection of a client (engine/service/callback.x), and receives their results at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/client.h>

namespace rpcrdma::load {

struct ReversePlan {
  std::uint64_t count = 0;  // of all connections; 0: until it is stopped
  service::echo::Request request;
  std::uint32_t depth = 1;
  // Time in which the server must answer a request for Calls, and maximum time between two of them.
  fabric::Time timeout = fabric::kNever;
};

class ReverseLoad {
 public:
  ReverseLoad(const ReversePlan& plan, std::uint32_t connections, std::uint64_t seed);

  // Marks cookies of its Calls: others must not have this bit.
  static constexpr std::uint64_t kCookie = std::uint64_t{1} << 63U;

  // Called when a connection is up: reports this end as ready, again if it was before.
  void on_connected(service::Client& client, std::uint32_t connection);
  // Called with the outcome of a Call with its cookie.
  void on_outcome(service::Client& client, const protocol::CallOutcome& outcome);
  // Requests no more Calls.
  void stop(service::Client& client);
  // `served`: Calls of the server so far, on all connections. If there are no more within the
  // plan's timeout, and the result does not arrive either, the load has failed.
  void expire(std::uint64_t served, fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const;

  [[nodiscard]] bool over() const;
  // The reason why it failed; empty: it has not.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Sum over the connections whose result is known.
  [[nodiscard]] service::callback::Result result() const;

 private:
  enum class State : std::uint8_t { kNew, kAsked, kEnding, kOver };
  struct Session {
    service::callback::Plan plan;
    service::callback::CallbackCall start, wait, stop;
    State state = State::kNew;
    bool starting = false;  // `start` is in flight
    service::callback::Result result;
  };

  void call(service::Client& client, std::uint32_t connection, protocol::CallSpec spec,
            service::callback::Proc proc);
  void fail(std::string why);

  const fabric::Time timeout_;
  std::uint64_t served_ = 0;
  fabric::Time progress_ = 0;      // time of the last activity
  std::vector<Session> sessions_;  // by connection
  std::string failure_;
};

}  // namespace rpcrdma::load
