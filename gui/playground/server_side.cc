#include "server_side.h"

namespace rpcrdma::playground {

namespace {

constexpr std::uint32_t kReverseCredits = 8;

}  // namespace

fabric::Expected<std::unique_ptr<ServerSide>> ServerSide::create(
    std::unique_ptr<soft::SoftProvider> provider, const PlaygroundOptions& options,
    trace::Tracer* tracer) {
  std::unique_ptr<ServerSide> side(new ServerSide(std::move(provider)));
  if (const auto made = side->make_loop(tracer); !made) return tl::unexpected(made.error());
  if (const auto made = side->serve(options); !made) return tl::unexpected(made.error());
  return side;
}

ServerSide::~ServerSide() {
  end();
}

fabric::Expected<void> ServerSide::serve(const PlaygroundOptions& options) {
  auto echo = service::echo::EchoProgram::create(
      loop_->memory(), service::callback::ProgramOptions{}.longest, &service::Loop::read_clock);
  if (!echo) return tl::unexpected(echo.error());
  echo_ = std::move(*echo);
  programs_.push_back(echo_.get());
  service::ServerOptions server;
  server.inline_threshold = options.server_threshold;
  server.responder.credits = options.credits;
  if (options.reverse) {
    service::callback::ProgramOptions callbacks;
    callbacks.depth = kReverseCredits;
    auto callback =
        service::callback::CallbackProgram::create(loop_->memory(), loop_->clock(), callbacks);
    if (!callback) return tl::unexpected(callback.error());
    callback_ = std::move(*callback);
    programs_.push_back(callback_.get());
    server.reverse_credits = kReverseCredits;
    // The client's Call that requests reverse Calls holds a credit until they end.
    spare_credits_ = 1;
    server.responder.credits += spare_credits_;
  }
  auto made = service::Server::create(*loop_, programs_, server);
  if (!made) return tl::unexpected(made.error());
  server_ = std::move(*made);
  return {};
}

void ServerSide::set_granted(std::uint32_t credits) {
  {
    const std::scoped_lock lock(mailbox());
    granted_ = credits + spare_credits_;
  }
  wake();
}

void ServerSide::take_mail() {
  if (granted_) server_->grant(*granted_);
  granted_.reset();
}

fabric::Time ServerSide::work(fabric::Time /*now*/) {
  return fabric::kNever;
}

void ServerSide::show(PlaygroundStats& stats) {
  stats.granted = server_->granted() - spare_credits_;
}

void ServerSide::begin_end() {
  server_->close();
}

bool ServerSide::ended() const {
  return server_->connections() == 0;
}

}  // namespace rpcrdma::playground
