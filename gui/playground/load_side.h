// The client of the playground: sends Calls at a rate that can be changed, and checks their
// Replies.
#pragma once

#include "side.h"

#include <vector>

#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/load/pacer.h>
#include <rpcrdma/load/reverse_load.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::playground {

// Error: kBadArgument.
[[nodiscard]] fabric::Expected<void> check(const Load& load);

class LoadSide final : public Side, service::ClientObserver {
 public:
  [[nodiscard]] static fabric::Expected<std::unique_ptr<LoadSide>> create(
      std::unique_ptr<soft::SoftProvider> provider, const fabric::Address& server,
      const PlaygroundOptions& options, trace::Tracer* tracer);
  ~LoadSide() override;

  void set_load(const Load& load);

 private:
  LoadSide(std::unique_ptr<soft::SoftProvider> provider, const PlaygroundOptions& options,
           load::EchoRequests requests);
  fabric::Expected<void> make_calls(const PlaygroundOptions& options);
  fabric::Expected<void> make_client(const fabric::Address& server,
                                     const PlaygroundOptions& options);

  void take_mail() override;
  fabric::Time work(fabric::Time now) override;
  void show(PlaygroundStats& stats) override;
  void begin_end() override;
  bool ended() const override;

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t connection) override;
  void on_connected(const service::ConnectionInfo& info) override;
  void on_lost(std::uint32_t connection, std::string_view what, fabric::Time retry) override;

  // Ends the side: closes the connection when no Call is in flight, or after a time limit.
  fabric::Time drain(fabric::Time now);
  void begin_due(fabric::Time now);
  // Starts a Call. Returns false if it could not be sent.
  bool begin(std::uint32_t slot);
  void pace(fabric::Time now);

  const bool forward_;
  Load load_;
  std::optional<Load> next_load_;  // in the mailbox
  load::EchoRequests requests_;
  soft::Random random_;
  load::Pacer pacer_;
  std::unique_ptr<service::echo::Pattern> pattern_;
  std::vector<service::echo::EchoCall> calls_;
  std::vector<std::uint32_t> free_;
  // Serves the server's reverse Calls, and holds the program that requests them.
  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::vector<service::Program*> programs_;
  std::optional<load::ReverseLoad> reverse_;
  std::unique_ptr<service::Client> client_;
  fabric::Time drain_until_ = 0;
  bool closing_ = false;
  std::uint64_t right_ = 0, wrong_ = 0, bytes_ = 0;
};

}  // namespace rpcrdma::playground
