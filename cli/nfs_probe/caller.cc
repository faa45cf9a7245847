#include "caller.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/service/program.h>

namespace rpcrdma::nfs_probe {

using fabric::Errc;
using fabric::Expected;
using fabric::fail;
using fabric::Time;

namespace {

// How long after its timeout a Call may end.
constexpr Time kLateOutcome = 500 * fabric::kMillisecond;
constexpr std::uint32_t kHeaderBytes = 28;  // an RPC-over-RDMA header without chunks

std::vector<std::uint8_t> own_credential() {
  std::array<char, 256> machine{};
  if (::gethostname(machine.data(), machine.size() - 1) != 0) machine[0] = '\0';
  return service::auth_sys_body(machine.data(), ::getuid(), ::getgid());
}

}  // namespace

Caller::Caller(service::Loop& loop, Time timeout)
    : loop_(loop), timeout_(timeout), credential_(own_credential()) {}
Caller::~Caller() = default;

const service::CallHeader& Caller::header(Proc proc) {
  const auto known = std::ranges::find(headers_, proc, [](const auto& h) { return h.first; });
  if (known != headers_.end()) return known->second;
  wire::Auth credential;
  credential.flavor = static_cast<std::uint32_t>(wire::AuthFlavor::kSys);
  credential.body = credential_;
  return headers_
      .emplace_back(proc, service::CallHeader(service::nfs3::kProgram, service::nfs3::kVersion,
                                              static_cast<std::uint32_t>(proc), credential))
      .second;
}

Expected<void> Caller::connect(const service::ClientOptions& options,
                               const std::function<bool()>& interrupted) {
  auto client = service::Client::create(loop_, options, *this);
  if (!client) return tl::unexpected(client.error());
  client_ = std::move(*client);
  const Time until = loop_.now() + timeout_;
  while (!connected_ && lost_.empty() && !interrupted()) {
    if (loop_.now() >= until) return fail(Errc::kNotConnected, "no connection in time");
    const auto going = loop_.run_once(until - loop_.now());
    if (!going) return tl::unexpected(going.error());
  }
  if (!lost_.empty()) return fail(Errc::kNotConnected, lost_);
  return {};
}

void Caller::disconnect() {
  if (client_ == nullptr) return;
  client_->close();
  const Time until = loop_.now() + fabric::kSecond;
  while (!client_->closed() && loop_.now() < until) {
    if (!loop_.run_once(until - loop_.now())) return;
  }
}

std::uint32_t Caller::call_bytes(const std::function<void(wire::XdrWriter&)>& arguments) {
  wire::XdrWriter w(arguments_);
  arguments(w);
  return static_cast<std::uint32_t>(kHeaderBytes + header(Proc::kNull).piece().bytes.size() +
                                    w.size());
}

std::optional<std::string> Caller::make(const Call& call, Time until) {
  wire::XdrWriter w(arguments_);
  if (call.arguments) call.arguments(w);
  const protocol::Piece message[] = {header(call.proc).piece(),
                                     {{arguments_.data(), w.size()}, nullptr, false},
                                     {call.data, nullptr, true}};
  protocol::CallSpec spec;
  spec.message = std::span(message).first(call.data.empty() ? 2 : 3);
  if (call.space.length != 0) spec.results = {&call.space, 1};
  spec.max_reply = service::kReplyHeaderBytes + call.most_results;
  const Time now = service::Loop::read_clock();
  spec.timeout = std::clamp(until - now, Time{1}, timeout_);
  spec.cookie = ++number_;
  // The outcome may run out of memory, too.
  problem_ = fabric::kOutOfMemory;
  // An outcome that comes later has nobody waiting for it.
  const CallInFlight in_flight(*this, call);
  if (const auto called = client_->call(spec); !called) return called.error().message;
  // The Call uses the memory that `this` points to until it has ended.
  // Without any memory the outcome does not come.
  const Time give_up = now + spec.timeout + kLateOutcome;
  while (!in_flight.ended()) {
    const auto going = loop_.run_once(std::max(give_up - loop_.now(), Time{0}));
    if (!going) return going.error().message;
    if (loop_.now() >= give_up) return fabric::kOutOfMemory;
  }
  return std::exchange(problem_, std::nullopt);
}

void Caller::on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) {
  if (call_ == nullptr || outcome.cookie != number_) return;
  const Call& call = *std::exchange(call_, nullptr);
  took_ = outcome.times.ended - outcome.times.called;
  const auto spaces = call.space.length != 0
                          ? std::span<const protocol::ResultSpace>(&call.space, 1)
                          : std::span<const protocol::ResultSpace>();
  service::ReplyReader reply(outcome, spaces);
  if (reply.status() != service::RpcStatus::kSuccess) {
    problem_ = service::describe(outcome, reply);
    if (outcome.status == protocol::CallStatus::kTimedOut && !lost_.empty()) {
      problem_ = fmt::format("{}; the connection was lost: {}", *problem_, lost_);
    }
    return;
  }
  if (call.results ? call.results(reply.results()) : reply.results().at_end()) {
    problem_.reset();
  } else {
    problem_ = "the results cannot be decoded";
  }
}

void Caller::on_connected(const service::ConnectionInfo& /*connection*/) {
  connected_ = true;
  lost_.clear();
}

void Caller::on_lost(std::uint32_t /*connection*/, std::string_view what, Time /*retry*/) {
  lost_ = what;
}

}  // namespace rpcrdma::nfs_probe
