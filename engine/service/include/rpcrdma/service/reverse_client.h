// Calls from a server's program to the client of one of its connections, over that connection (RFC
// 8167). A program creates one for a client that has reported itself ready, and binds it to the
// connection on which it did so (Call::bind). When that connection is lost the Calls wait until the
// client comes back and reports itself ready again, since a server does not connect (section 5.4).
// They are then resent with their XIDs.
#pragma once

#include <cstdint>
#include <functional>

#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::service {

class ReverseObserver {
 public:
  virtual ~ReverseObserver() = default;
  virtual void on_outcome(const protocol::CallOutcome& outcome) = 0;
  // Called when it can be bound to another connection.
  virtual void on_unbound() {}
};

class ReverseClient {
 public:
  // The observer outlives it; `clock` is the loop's. Its credits are limited to the Receives that
  // the server posts for it (ServerOptions::reverse_credits).
  ReverseClient(ReverseObserver& observer, const protocol::RequesterOptions& options,
                const fabric::Time& clock);

  // As protocol::Requester::call(); without a connection it waits for the next one.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const protocol::CallSpec& spec);
  void close();
  [[nodiscard]] bool bound() const;
  [[nodiscard]] const protocol::Requester& requester() const { return requester_; }

  // Returns when its owner must call expire(), while it has no connection.
  [[nodiscard]] fabric::Time deadline() const;
  void expire(fabric::Time now);

 private:
  friend class ReverseBinding;
  struct Owner : protocol::RequesterOwner {
    explicit Owner(ReverseObserver& o) : observer(o) {}
    void on_outcome(const protocol::CallOutcome& outcome) override { observer.on_outcome(outcome); }
    ReverseObserver& observer;
  };

  Owner owner_;
  const fabric::Time& clock_;
  protocol::Requester requester_;
  std::uint32_t credits_;
  std::function<void()> wake_;  // empty: it is not bound
};

// The server's access to a ReverseClient.
class ReverseBinding {
 public:
  // `wake`: called when there is something to flush.
  static void bind(ReverseClient& client, std::function<void()> wake);
  static void unbind(ReverseClient& client);
  [[nodiscard]] static protocol::Requester& requester(ReverseClient& client);
  [[nodiscard]] static std::uint32_t credits(const ReverseClient& client);
};

}  // namespace rpcrdma::service
