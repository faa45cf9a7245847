#include "caller.h"

#include <algorithm>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/service/program.h>

namespace rpcrdma::nfs_probe {

using fabric::Errc;
using fabric::Expected;
using fabric::fail;
using fabric::Time;

namespace {

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

std::optional<std::string> Caller::make(const Call& call) {
  wire::XdrWriter w(arguments_);
  if (call.arguments) call.arguments(w);
  const protocol::Piece message[] = {header(call.proc).piece(),
                                     {{arguments_.data(), w.size()}, nullptr, false},
                                     {call.data, nullptr, true}};
  protocol::CallSpec spec;
  spec.message = std::span(message).first(call.data.empty() ? 2 : 3);
  if (call.space.length != 0) spec.results = {&call.space, 1};
  spec.max_reply = service::kReplyHeaderBytes + call.most_results;
  spec.timeout = timeout_;
  call_ = &call;
  ended_ = false;
  problem_ = "the program ended";
  if (const auto called = client_->call(spec); !called) return called.error().message;
  // The Call uses the memory that `this` points to until it has ended.
  while (!ended_) {
    if (const auto going = loop_.run_once(); !going) return going.error().message;
  }
  return std::exchange(problem_, std::nullopt);
}

void Caller::on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) {
  ended_ = true;
  took_ = outcome.times.ended - outcome.times.called;
  const auto spaces = call_->space.length != 0
                          ? std::span<const protocol::ResultSpace>(&call_->space, 1)
                          : std::span<const protocol::ResultSpace>();
  service::ReplyReader reply(outcome, spaces);
  if (reply.status() != service::RpcStatus::kSuccess) {
    problem_ = service::describe(outcome, reply);
    if (outcome.status == protocol::CallStatus::kTimedOut && !lost_.empty()) {
      problem_ = fmt::format("{}; the connection was lost: {}", *problem_, lost_);
    }
    return;
  }
  if (call_->results ? call_->results(reply.results()) : reply.results().at_end()) {
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
