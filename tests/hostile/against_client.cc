// The client under test: its Calls, their ends, and the connections that it opens to the scripted
// server.
#include "against_client.h"

#include "words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rpcrdma::hostile {

namespace {

constexpr std::uint32_t kBlock = 65536;
constexpr std::uint32_t kResults = 32768;  // offset of the results
constexpr std::uint32_t kResult = 16384;   // bytes of each

service::LoopOptions client_loop(const Network& network, trace::Tracer* tracer) {
  service::LoopOptions options;
  options.tracer = tracer;
  options.clock = &network.clock;
  return options;
}

std::unique_ptr<service::echo::EchoProgram> echo_in(service::Loop& loop) {
  return service::echo::EchoProgram::create(loop.memory(), testing::kLongest).value();
}

}  // namespace

AgainstClient::AgainstClient(service::ClientOptions options, bool serves)
    : host_(std::make_unique<Host>(network_.net, adapter_at(kOurs, &tracer_), 1, &tap_)),
      loop_(*host_, client_loop(network_, &tracer_)),
      echo_(echo_in(*loop_.loop)),
      plain_(plain_program()),
      programs_{echo_.get(), plain_.get()},
      idle_(loop_.loop->memory().in_use()),
      block_(loop_.loop->memory().acquire(kBlock).value()),
      listener_(peer_.provider->listen(service::kDefaultPort, 0).value()),
      other_host_(std::make_unique<Host>(network_.net, adapter_at(kOther), 2)),
      other_loop_(service::Loop::create(*other_host_, client_loop(network_, nullptr)).value()),
      other_echo_(echo_in(*other_loop_)),
      other_programs_{other_echo_.get()},
      other_server_(service::Server::create(*other_loop_, other_programs_).value()),
      other(std::make_unique<OtherClient>(network_, loop_, kOther)) {
  options.server = kBad;
  if (serves) options.programs = programs_;
  client = service::Client::create(*loop_.loop, options, *this).value();
  network_.turns.emplace_back([this] {
    EXPECT_TRUE(loop_.loop->run_once(0));
    EXPECT_TRUE(other_loop_->run_once(0));
    if (other != nullptr) other->turn();
  });
  until([&] { return other->answered() == 1; }, "the first Call to the other server");
}

AgainstClient::~AgainstClient() = default;

void AgainstClient::accept(const Accept& how) {
  last_ = how;
  until([&] { return peer_.saw(fabric::EventType::kRequest); }, "a request to connect");
  const auto found =
      std::ranges::find(peer_.events, fabric::EventType::kRequest, &fabric::Event::type);
  if (found == peer_.events.end()) return;
  const std::size_t before = peer_.count(fabric::EventType::kEstablished);
  found->type = fabric::EventType::kUnreachable;  // marks it as handled
  take(std::move(found->request), how.receives);
  fabric::ConnectionOptions o;
  o.private_data = how.private_data;
  o.initiator_depth = how.initiator_depth;
  EXPECT_TRUE(peer_.connection->accept(o));
  until([&] { return peer_.count(fabric::EventType::kEstablished) > before; }, "a connection");
}

void AgainstClient::listen() {
  server_ = service::Server::create(*loop_.loop, programs_).value();
}

void AgainstClient::connect() {
  const std::size_t before = peer_.count(fabric::EventType::kEstablished);
  fabric::ConnectionOptions o;
  o.private_data = last_.private_data;
  take(peer_.provider->connect(kOurs, service::kDefaultPort, o).value(), kReceives);
  until([&] { return peer_.count(fabric::EventType::kEstablished) > before; }, "a connection");
}

void AgainstClient::make(const Call& call) {
  bodies_.push_back(call.rpc);
  std::vector<protocol::Piece> pieces{{bodies_.back(), nullptr, false}};
  if (call.data != 0) {
    const Bytes data = scenes::pattern(call.data);
    std::copy(data.begin(), data.end(), block_.data);
    pieces.push_back({{block_.data, call.data}, block_.memory, true});
  }
  std::vector<protocol::ResultSpace> spaces;
  for (std::size_t i = 0; call.result != 0 && i < call.results; ++i) {
    spaces.push_back({block_.data + kResults + i * kResult, call.result, block_.memory});
  }
  protocol::CallSpec spec;
  spec.message = pieces;
  spec.results = spaces;
  spec.max_reply = call.max_reply;
  spec.timeout = call.timeout;
  EXPECT_TRUE(client->call_on(0, spec));
}

Message AgainstClient::call(const Call& call) {
  make(call);
  return next_message();
}

Message AgainstClient::call() {
  return call({.rpc = scenes::rpc_call(0, scenes::kPlainProgram, 1, 1, Bytes(16, ++plain_calls_))});
}

Message AgainstClient::read(std::uint32_t count) {
  return call({.rpc = scenes::nfs3::read_call(0, count), .result = count});
}

Message AgainstClient::write(std::uint32_t count) {
  return call({.rpc = scenes::nfs3::write_call(0, count).rpc, .data = count});
}

Message AgainstClient::readdir(std::uint32_t count) {
  return call({.rpc = scenes::nfs3::readdir_call(0, count), .max_reply = count});
}

Message AgainstClient::reply_to(const Message& call) {
  return reply_to(call, scenes::reply(call.xid).rpc);
}

Message AgainstClient::reply_to(const Message& call, Bytes rpc) {
  Message reply = scenes::reply(call.xid, std::move(rpc));
  reply.vers = call.vers;
  reply.inv_handle = call.inv_handle;
  reply.writes = call.writes;
  for (auto& chunk : reply.writes) {
    for (wire::Segment& s : chunk) s.length = 0;
  }
  return reply;
}

void AgainstClient::exchange() {
  const std::size_t before = ends_.size();
  send(reply_to(call()));
  until([&] { return ends_.size() > before; }, "the end of a Call");
  if (ends_.size() <= before) return;
  EXPECT_EQ(ends_.back().status, protocol::CallStatus::kReplied) << ends_.back().reason;
  ends_.pop_back();
}

void AgainstClient::on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) {
  ends_.push_back({outcome.status, outcome.reason});
}

void AgainstClient::on_lost(std::uint32_t, std::string_view what, fabric::Time) {
  if (what != "the peer disconnected") lost_.emplace_back(what);
}

std::string AgainstClient::emitted() {
  std::vector<std::string> parts;
  // Calls that are resent are answered later, when its state is checked.
  while (anything_came() && in_words(came_[seen_]) != "a Call") parts.push_back(in_words(next()));
  const protocol::RequesterCounters requester = client->counters().requester;
  const auto bad_replies = static_cast<std::uint64_t>(
      std::ranges::count(ends_, protocol::CallStatus::kBadReply, &End::status));
  if (requester.unmatched + requester.malformed + client->counters().reverse.ignored >
      bad_replies) {
    parts.emplace_back("ignored");
  }
  if (requester.zero_grants != 0) parts.emplace_back("taken as a grant of one");
  for (const End& e : ends_) {
    const std::string how = protocol::call_status_name(e.status);
    parts.push_back(e.status == protocol::CallStatus::kReplied
                        ? "its Call is answered"
                        : fmt::format("its Call ends, {}: {}", how, e.reason));
  }
  for (const std::string& l : lost_) parts.push_back("connection ended: " + l);
  if (parts.empty()) parts.emplace_back("nothing");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string AgainstClient::lives() {
  if (server_ != nullptr) is_down_ = true;
  const bool same = client->state(0) == service::LinkState::kUp && !is_down_;
  if (!same) {
    last_.receives = kReceives;
    seen_ = came_.size();
    accept(last_);
  }
  // Calls that were resent, or still wait.
  while (client->outstanding() + client->waiting() != 0) {
    const std::size_t before = ends_.size();
    const Message again = next_message();
    if (ends_.size() != before || ::testing::Test::HasFailure()) break;
    send(reply_to(again));
    until([&] { return ends_.size() > before; }, "the end of a resent Call");
  }
  exchange();
  return same ? "the same connection" : "a new connection";
}

void AgainstClient::leave() {
  // Nothing may be in flight before the connection ends.
  until([&] { return client->requester(0).idle(); }, "the end of everything in flight");
  client->finish();
  other->finish();
  until([&] { return client->closed() && other->closed(); }, "the end of all connections");
  client.reset();
  other.reset();
  server_.reset();
  EXPECT_EQ(host_->adapter.connections(), 0U);
  loop_.loop->memory().release(block_);
  EXPECT_EQ(loop_.loop->memory().in_use(), idle_);
}

}  // namespace rpcrdma::hostile
