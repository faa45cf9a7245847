#include "against_server.h"

#include "../rules/bodies.h"
#include "words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rpcrdma::hostile {

namespace {

constexpr std::uint64_t kSession = 1;
constexpr std::uint64_t kPoolBytes = 64U << 20;

service::LoopOptions server_loop(const Network& network, trace::Tracer* tracer) {
  service::LoopOptions options;
  options.memory.limit = kPoolBytes;
  options.tracer = tracer;
  options.clock = &network.clock;
  return options;
}

}  // namespace

AgainstServer::AgainstServer(const service::ServerOptions& options)
    : host_(std::make_unique<Host>(network_.net, adapter_at(kOurs, &tracer_), 1, &tap_)),
      loop_(service::Loop::create(*host_, server_loop(network_, &tracer_)).value()),
      echo_(service::echo::EchoProgram::create(loop_->memory(), testing::kLongest).value()),
      callback_(
          service::callback::CallbackProgram::create(loop_->memory(), loop_->clock()).value()),
      plain_(plain_program()),
      nfs_(nfs_program()),
      programs_{echo_.get(), callback_.get(), plain_.get(), nfs_.get()},
      idle_(loop_->memory().in_use()),
      server(service::Server::create(*loop_, programs_, options, &observer_).value()),
      other_host_(std::make_unique<Host>(network_.net, adapter_at(kOther), 2)),
      other_loop_(*other_host_, server_loop(network_, nullptr)),
      other(std::make_unique<OtherClient>(network_, other_loop_, kOurs)) {
  network_.turns.emplace_back([this] {
    EXPECT_TRUE(loop_->run_once(0));
    EXPECT_TRUE(other_loop_.loop->run_once(0));
    if (other != nullptr) other->turn();
  });
  until([&] { return other->answered() == 1; }, "the first Call of the other client");
}

AgainstServer::~AgainstServer() = default;

void AgainstServer::connect(const Connect& how) {
  last_ = how;
  const std::size_t before = peer_.count(fabric::EventType::kEstablished);
  fabric::ConnectionOptions o;
  o.private_data = how.private_data;
  take(peer_.provider->connect(kOurs, service::kDefaultPort, o).value(), how.receives);
  until([&] { return peer_.count(fabric::EventType::kEstablished) > before; }, "a connection");
}

void AgainstServer::exchange() {
  Message call = scenes::call(next_xid_++);
  call.vers = version;
  send(call);
  const Message reply = next_message();
  EXPECT_EQ(reply.xid, call.xid);
  EXPECT_EQ(reply.proc, wire::Proc::kMsg);
}

void AgainstServer::ask(service::echo::Proc proc, std::uint32_t bytes) {
  constexpr std::uint32_t kStart = 1;
  const std::uint32_t xid = next_xid_++;
  scenes::Xdr plan;
  plan.u64(kSession).u32(1).u32(static_cast<std::uint32_t>(proc)).u32(bytes).u32(0).u32(0).u32(1);
  send(scenes::call(xid, scenes::rpc_call(xid, service::callback::kProgram,
                                          service::callback::kVersion, kStart, plan.bytes())));
}

Message AgainstServer::next_reverse_call() {
  for (int i = 0; i < 3; ++i) {
    const Bytes message = next();
    if (in_words(message) == "a Call") return read_message(message);
  }
  ADD_FAILURE() << "no reverse Call";
  return {};
}

void AgainstServer::wait_for_reverse_calls() {
  constexpr std::uint32_t kWait = 2;
  constexpr std::size_t kReverseResults = 24;  // after the RPC header
  const std::uint32_t xid = next_xid_++;
  send(scenes::call(
      xid, scenes::rpc_call(xid, service::callback::kProgram, service::callback::kVersion, kWait,
                            scenes::Xdr().u64(kSession).bytes())));
  const Message reply = next_message();
  if (reply.rpc.size() < kReverseResults + 16) return;
  const auto word = [&](std::size_t n) {
    return wire::load_be32(reply.rpc.data() + kReverseResults + 4 * n);
  };
  of_reverse_calls =
      fmt::format("its reverse Calls: {} answered, {} wrong, {} failed", word(1), word(2), word(3));
}

std::string AgainstServer::emitted() {
  std::vector<std::string> parts;
  while (anything_came()) parts.push_back(in_words(next()));
  if (!of_reverse_calls.empty()) parts.push_back(of_reverse_calls);
  if (const auto n = server->counters().responder.ignored; n != 0 && parts.empty()) {
    parts.emplace_back("ignored");
  }
  for (const testing::Recorded::Closed& c : observer_.closed) {
    if (c.reason == service::CloseReason::kPeer && c.what == "the peer disconnected") continue;
    parts.push_back("connection ended: " + c.what);
  }
  if (parts.empty()) parts.emplace_back("nothing");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string AgainstServer::lives() {
  const bool same = !is_down_;
  if (!same) {
    last_.receives = kReceives;
    connect(last_);
  }
  exchange();
  return same ? "the same connection" : "a new connection";
}

void AgainstServer::leave() {
  until([&] { return server->outstanding() == 0; }, "the end of all Calls");
  peer_.connection.reset();
  earlier_.clear();
  other->finish();
  until([&] { return server->connections() == 0 && other->closed(); },
        "the end of all connections");
  EXPECT_EQ(host_->adapter.connections(), 0U);
  // Sessions of reverse Calls wait for their client to reconnect.
  until([&] { return loop_->memory().in_use() == idle_; }, "the release of all memory");
}

}  // namespace rpcrdma::hostile
