// A load in the reverse direction: asks the server, over each connection of a client, for Calls of
// the echo program (engine/service/callback.x), and hears at the end how they went.
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
  // In which the server must answer what asks for them, and between two of them.
  fabric::Time timeout = fabric::kNever;
};

class ReverseLoad {
 public:
  ReverseLoad(const ReversePlan& plan, std::uint32_t connections, std::uint64_t seed);

  // Cookies of its Calls: others must not have this bit.
  static constexpr std::uint64_t kCookie = std::uint64_t{1} << 63U;

  // A connection is up: says that this end is ready, again if it was before.
  void on_connected(service::Client& client, std::uint32_t connection);
  // Of a Call with its cookie.
  void on_outcome(service::Client& client, const protocol::CallOutcome& outcome);
  // No more of them are wanted.
  void stop(service::Client& client);
  // `served`: Calls of the server's so far, of all connections. Where there are no more for the
  // plan's timeout, and its result does not come either, that is a failure.
  void expire(std::uint64_t served, fabric::Time now);
  [[nodiscard]] fabric::Time deadline() const;

  [[nodiscard]] bool over() const;
  // Why there is none; empty: there is.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Of the connections whose result is known.
  [[nodiscard]] service::callback::Result result() const;

 private:
  enum class State : std::uint8_t { kNew, kAsked, kEnding, kOver };
  struct Session {
    service::callback::Plan plan;
    service::callback::CallbackCall start, wait, stop;
    State state = State::kNew;
    bool starting = false;  // `start` is outstanding
    service::callback::Result result;
  };

  void call(service::Client& client, std::uint32_t connection, protocol::CallSpec spec,
            service::callback::Proc proc);
  void fail(std::string why);

  const fabric::Time timeout_;
  std::uint64_t served_ = 0;
  fabric::Time progress_ = 0;      // when something came
  std::vector<Session> sessions_;  // by connection
  std::string failure_;
};

}  // namespace rpcrdma::load
