// Picks free loopback addresses for the playground's two sides, and starts and stops them.
#include "load_side.h"
#include "server_side.h"

#include <fmt/core.h>

#include <rpcrdma/live/hub.h>
#include <rpcrdma/playground/playground.h>

namespace rpcrdma::playground {

namespace {

using fabric::Errc;
using fabric::Expected;

// Pairs of addresses to try: 127.80.1.1 and 127.80.1.2, 127.80.2.1 and 127.80.2.2, ...
constexpr std::uint8_t kNetwork = 80;
constexpr std::uint8_t kMostPairs = 100;
// Several playgrounds in one process need different names.
constexpr int kMostNames = 16;

fabric::Address address(std::uint8_t pair, std::uint8_t host) {
  return fabric::make_ipv4(127, kNetwork, pair, host);
}

Expected<std::unique_ptr<soft::SoftProvider>> open(const fabric::Address& own,
                                                   trace::Tracer* tracer) {
  soft::ProviderOptions options;
  options.adapter.address = own;
  options.adapter.tracer = tracer;
  return soft::SoftProvider::open(options);
}

Expected<std::unique_ptr<trace::Hub>> open_hub(const std::string& name, const std::string& role) {
  std::string why;
  for (int i = 1; i <= kMostNames; ++i) {
    auto hub =
        trace::Hub::start({.name = i == 1 ? name : fmt::format("{}-{}", name, i), .role = role});
    if (!hub) return fabric::fail(Errc::kSystem, hub.error().message);
    const auto events = (*hub)->open_socket();
    const auto packets = events ? (*hub)->open_packet_socket() : events;
    if (packets) return std::move(*hub);
    why = packets.error().message;
  }
  return fabric::fail(Errc::kSystem, fmt::format("no live socket: {}", why));
}

Expected<void> check(const PlaygroundOptions& options) {
  const auto refuse = [](const char* why) { return fabric::fail(Errc::kBadArgument, why); };
  if (options.version != 1 && options.version != 2) return refuse("the version must be 1 or 2");
  if (options.credits < 1 || options.credits > kMostCredits) {
    return refuse("credits must be from 1 to 1024");
  }
  if (options.depth < 1 || options.depth > kMostDepth) {
    return refuse("Calls in flight must be from 1 to 1024");
  }
  if (!options.forward && !options.reverse) return refuse("choose at least one direction of Calls");
  return check(options.load);
}

}  // namespace

struct Playground::Impl {
  std::unique_ptr<trace::Hub> server_hub, load_hub;  // they outlive the sides that emit events
  std::string server_endpoint, load_endpoint, server_address;
  std::uint32_t most_credits = 0;
  std::unique_ptr<ServerSide> server;
  std::unique_ptr<LoadSide> load;
  PlaygroundStats last;  // statistics at the time it stopped

  Expected<void> open_sides(const PlaygroundOptions& options);
};

// The hub announces its role before the free addresses are known, so the role has no address.
Expected<void> Playground::Impl::open_sides(const PlaygroundOptions& options) {
  auto hub = open_hub("gui-server", "server in the window");
  if (!hub) return tl::unexpected(hub.error());
  server_hub = std::move(*hub);
  hub = open_hub("gui-load", "load in the window");
  if (!hub) return tl::unexpected(hub.error());
  load_hub = std::move(*hub);
  server_endpoint = server_hub->socket_path();
  load_endpoint = load_hub->socket_path();

  trace::Tracer* const server_tracer = server_hub->add();
  trace::Tracer* const load_tracer = load_hub->add();
  fabric::Error why;
  for (std::uint8_t pair = 1; pair <= kMostPairs; ++pair) {
    auto server_provider = open(address(pair, 1), server_tracer);
    auto load_provider = server_provider ? open(address(pair, 2), load_tracer)
                                         : tl::unexpected(server_provider.error());
    if (!load_provider) {
      why = load_provider.error();
      continue;
    }
    server_address = fmt::format("{} port {}", address(pair, 1).to_string(), service::kDefaultPort);
    auto made = ServerSide::create(std::move(*server_provider), options, server_tracer);
    if (!made) {  // another endpoint on this address may serve the port
      why = made.error();
      continue;
    }
    server = std::move(*made);
    auto loading =
        LoadSide::create(std::move(*load_provider), address(pair, 1), options, load_tracer);
    if (!loading) return tl::unexpected(loading.error());
    load = std::move(*loading);
    return {};
  }
  return fabric::fail(why.code, fmt::format("no free loopback address: {}", why.message));
}

Playground::Playground(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Playground::~Playground() {
  stop();
}

Expected<std::unique_ptr<Playground>> Playground::start(const PlaygroundOptions& options) {
  if (const auto fine = check(options); !fine) return tl::unexpected(fine.error());
  auto plan = to_plan(options.faults);
  if (!plan) return tl::unexpected(plan.error());
  auto impl = std::make_unique<Impl>();
  impl->most_credits = options.credits;
  if (const auto open = impl->open_sides(options); !open) return tl::unexpected(open.error());
  impl->server->set_faults(std::move(*plan));
  std::unique_ptr<Playground> playground(new Playground(std::move(impl)));
  if (const auto going = playground->impl_->server->start(); !going) {
    return tl::unexpected(going.error());
  }
  if (const auto going = playground->impl_->load->start(); !going)
    return tl::unexpected(going.error());
  return playground;
}

Expected<void> Playground::set_faults(const Faults& faults) {
  auto plan = to_plan(faults);
  if (!plan) return tl::unexpected(plan.error());
  // Every packet passes through the server's adapter, so faults there affect both directions.
  if (impl_->server != nullptr) impl_->server->set_faults(std::move(*plan));
  return {};
}

Expected<void> Playground::set_load(const Load& load) {
  if (const auto fine = check(load); !fine) return fine;
  if (impl_->load != nullptr) impl_->load->set_load(load);
  return {};
}

Expected<void> Playground::set_granted(std::uint32_t credits) {
  if (credits < 1 || credits > impl_->most_credits) {
    return fabric::fail(Errc::kBadArgument,
                        fmt::format("credits must be from 1 to {}", impl_->most_credits));
  }
  if (impl_->server != nullptr) impl_->server->set_granted(credits);
  return {};
}

const std::string& Playground::server_endpoint() const {
  return impl_->server_endpoint;
}

const std::string& Playground::load_endpoint() const {
  return impl_->load_endpoint;
}

const std::string& Playground::server_address() const {
  return impl_->server_address;
}

PlaygroundStats Playground::stats() const {
  if (impl_->load == nullptr) return impl_->last;
  PlaygroundStats sum = impl_->load->shown();
  const PlaygroundStats server = impl_->server->shown();
  sum.retransmitted += server.retransmitted;
  sum.faults += server.faults;
  sum.granted = server.granted;
  if (sum.problem.empty()) sum.problem = server.problem;
  return sum;
}

void Playground::stop() {
  if (impl_->load == nullptr) return;
  // Without faults, both ends can disconnect in order.
  impl_->server->set_faults({});
  impl_->load->end();
  impl_->server->end();
  impl_->last = stats();
  impl_->last.connected = false;
  impl_->load.reset();
  impl_->server.reset();
  impl_->load_hub->stop();
  impl_->server_hub->stop();
}

}  // namespace rpcrdma::playground
