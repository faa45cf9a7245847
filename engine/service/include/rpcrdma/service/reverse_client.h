// Calls from a server's program to the client of one of its connections, over that connection (RFC
// 8167). A program makes one for a client that has said that it is ready, and binds it to the
// connection that it was told on (Call::bind); when that is lost the Calls wait until the client
// comes back and says so again, for a server does not connect (section 5.4), and are then sent
// again with their XIDs.
#pragma once

#include <cstdint>
#include <functional>

#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::service {

class ReverseObserver {
 public:
  virtual ~ReverseObserver() = default;
  virtual void on_outcome(const protocol::CallOutcome& outcome) = 0;
  // It can be bound to another connection.
  virtual void on_unbound() {}
};

class ReverseClient {
 public:
  // The observer outlives it; `clock` is the loop's. At most as many credits as the server posts
  // Receives for (ServerOptions::reverse_credits).
  ReverseClient(ReverseObserver& observer, const protocol::RequesterOptions& options,
                const fabric::Time& clock);

  // As protocol::Requester::call(); without a connection it waits for the next one.
  [[nodiscard]] fabric::Expected<std::uint32_t> call(const protocol::CallSpec& spec);
  void close();
  [[nodiscard]] bool bound() const;
  [[nodiscard]] const protocol::Requester& requester() const { return requester_; }

  // When its owner has to call expire(), as long as it has no connection.
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

// What the server does with one.
class ReverseBinding {
 public:
  // `wake`: called when there is something to flush.
  static void bind(ReverseClient& client, std::function<void()> wake);
  static void unbind(ReverseClient& client);
  [[nodiscard]] static protocol::Requester& requester(ReverseClient& client);
  [[nodiscard]] static std::uint32_t credits(const ReverseClient& client);
};

}  // namespace rpcrdma::service
