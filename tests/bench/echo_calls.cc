#include "echo_calls.h"

#include "two_cores.h"

#include <algorithm>
#include <atomic>

#include <pthread.h>
#include <time.h>

namespace rpcrdma::bench {

using service::echo::EchoCall;
using service::echo::EchoProgram;
using service::echo::Pattern;
using service::echo::Request;
using service::echo::Verdict;

void die(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

Host::Host(std::uint8_t last, fabric::Time spin, trace::Tracer* tracer, Bounds bounds) {
  soft::ProviderOptions options;
  options.adapter.address = fabric::make_ipv4(127, 0, 0, last);
  options.adapter.max_connections = bounds.connections;
  options.adapter.tracer = tracer;
  provider = must(soft::SoftProvider::open(options));
  loop = must(service::Loop::create(*provider, {.memory = {}, .spin = spin, .tracer = tracer}));
}

RunningServer::RunningServer(fabric::Time spin, std::optional<unsigned> processor,
                             trace::Tracer* tracer, std::uint8_t last, Bounds bounds) {
  std::atomic<bool> ready = false;
  thread_ = std::thread([&, spin, processor, tracer, last, bounds] {
    if (processor) {
      pin_to(*processor);
    } else {
      pin_to_all();
    }
    Host host(last, spin, tracer, bounds);
    const auto echo =
        must(EchoProgram::create(host.loop->memory(), kMiB, &service::Loop::read_clock));
    service::Program* const programs[] = {echo.get()};
    service::ServerOptions options;
    options.max_connections = bounds.connections;
    options.responder.credits = bounds.credits;
    options.max_calls = std::max(options.max_calls, bounds.credits);
    const auto server = must(service::Server::create(*host.loop, programs, options));
    loop_ = host.loop.get();
    ready = true;
    must(host.loop->run());
    retransmitted_ = host.provider->counters().queue_pairs.retransmitted;
  });
  while (!ready) std::this_thread::yield();
}

RunningServer::~RunningServer() {
  (void)stop();
}

std::uint64_t RunningServer::stop() {
  if (thread_.joinable()) {
    loop_->stop();
    thread_.join();
  }
  return retransmitted_;
}

double RunningServer::cpu_seconds() {
  clockid_t clock{};
  timespec t{};
  if (::pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 ||
      ::clock_gettime(clock, &t) != 0) {
    die("the server's thread has no clock");
  }
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

Calls::Calls(fabric::Time spin, std::uint32_t connections, std::uint32_t depth,
             std::uint32_t longest, trace::Tracer* tracer, std::uint8_t last, std::uint8_t server,
             Bounds bounds)
    : host_(last, spin, tracer, bounds),
      pattern_(must(Pattern::create(host_.loop->memory(), kMiB))) {
  service::ClientOptions options;
  options.server = fabric::make_ipv4(127, 0, 0, server);
  options.connections = connections;
  options.requester.credits = bounds.credits;
  options.requester.max_calls = std::max({options.requester.max_calls, bounds.credits, depth});
  for (std::uint32_t i = 0; i < connections * depth; ++i) {
    slots_.push_back(
        {must(EchoCall::create(host_.loop->memory(), pattern_, longest)), i % connections, {}});
  }
  client_ = must(service::Client::create(*host_.loop, options, *this));
  while (client_->up() != connections) turn();
}

Calls::~Calls() {
  client_->close();
  while (!client_->closed()) turn();
}

double Calls::run(const Request& request, std::uint64_t count) {
  request_ = request;
  left_ = count;
  ended_ = 0;
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < slots_.size() && left_ != 0; ++i) next(i);
  while (ended_ != count) turn();
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
}

std::uint64_t Calls::retransmitted() const {
  return host_.provider->counters().queue_pairs.retransmitted;
}

void Calls::on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) {
  Slot& slot = slots_[outcome.cookie];
  if (slot.call.check(outcome) != Verdict::kRight) die("a Call went wrong");
  if (timed) {
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - slot.begun).count());
  }
  ++ended_;
  if (left_ != 0) next(static_cast<std::uint32_t>(outcome.cookie));
}

void Calls::on_lost(std::uint32_t /*connection*/, std::string_view what, fabric::Time /*again*/) {
  if (!client_->closed() && ended_ == 0) die(std::string(what));
}

void Calls::turn() {
  must(host_.loop->run_once());
}

void Calls::next(std::uint32_t i) {
  Slot& slot = slots_[i];
  --left_;
  if (timed) slot.begun = Clock::now();
  auto spec = must(slot.call.begin(request_));
  spec.cookie = i;
  must(client_->call_on(slot.connection, spec));
}

}  // namespace rpcrdma::bench
