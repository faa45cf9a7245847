// The server of the playground: program ECHO, and reverse Calls for a client that requests them.
#pragma once

#include "side.h"

#include <vector>

#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::playground {

class ServerSide final : public Side {
 public:
  [[nodiscard]] static fabric::Expected<std::unique_ptr<ServerSide>> create(
      std::unique_ptr<soft::SoftProvider> provider, const PlaygroundOptions& options,
      trace::Tracer* tracer);
  ~ServerSide() override;

  void set_granted(std::uint32_t credits);

 private:
  explicit ServerSide(std::unique_ptr<soft::SoftProvider> provider) : Side(std::move(provider)) {}
  fabric::Expected<void> serve(const PlaygroundOptions& options);

  void take_mail() override;
  fabric::Time work(fabric::Time now) override;
  void show(PlaygroundStats& stats) override;
  void begin_end() override;
  bool ended() const override;

  std::unique_ptr<service::echo::EchoProgram> echo_;
  std::unique_ptr<service::callback::CallbackProgram> callback_;
  std::vector<service::Program*> programs_;
  std::unique_ptr<service::Server> server_;
  std::uint32_t spare_credits_ = 0;
  std::optional<std::uint32_t> granted_;  // in the mailbox
};

}  // namespace rpcrdma::playground
