#include "probes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

namespace {

// The limit for all connections together; beyond it, probes count as refusals.
constexpr std::size_t kMostOpen = 64;
// A requester that has an alternative tries it at once.
constexpr std::int64_t kWaitNs = 10'000'000'000;

bool same_procedure(const model::RpcInfo& a, const model::RpcInfo& b) {
  return a.program == b.program && a.version == b.version && a.procedure == b.procedure;
}

// True if this Call asks for the same without what `probe` was refused for.
bool asks_without(const Probe& probe, const model::Call& call, std::uint64_t room) {
  const model::RpcInfo& rpc = call.message.rpc;
  switch (probe.refusal.by) {
    case RefusedBy::kTransport:
      return static_cast<wire::RdmaErr>(probe.refusal.code) == wire::RdmaErr::kVers
                 ? call.message.version != probe.version
                 : same_procedure(rpc, probe.rpc) && room > probe.room;
    case RefusedBy::kRpcProgram:
      if (is_optional_program(probe.rpc.program) && rpc.program != probe.rpc.program) return true;
      return rpc.program == probe.rpc.program && rpc.version != probe.rpc.version;
    case RefusedBy::kRpcVersion:
      return false;
    case RefusedBy::kRpcAuth:
      // Calls of the same procedure also create the context.
      return same_procedure(rpc, probe.rpc) && rpc.wrapping != decode::Wrapping::kControl;
    case RefusedBy::kMinorVersion:
      return rpc.program == probe.rpc.program && rpc.version == probe.rpc.version &&
             rpc.ops.minor != probe.rpc.ops.minor;
  }
  return false;
}

// True if this success shows that `probe` was a probe.
bool shows(const Probe& probe, const model::Call& call, const model::Message& answer,
           std::uint64_t room) {
  if (probe.refusal.by == RefusedBy::kMinorVersion && !answer.rpc.has_status) return false;
  return asks_without(probe, call, room);
}

template <typename Condition>
std::vector<Probe> take(std::vector<Probe>& from, const Condition& condition) {
  const auto at = std::stable_partition(from.begin(), from.end(),
                                        [&](const Probe& p) { return !condition(p); });
  std::vector<Probe> taken(std::make_move_iterator(at), std::make_move_iterator(from.end()));
  from.erase(at, from.end());
  return taken;
}

}  // namespace

bool Probes::hold(Probe& probe) {
  const auto at = std::find_if(open_.begin(), open_.end(), [&](const Probe& p) {
    return p.connection == probe.connection && p.topic == probe.topic;
  });
  if (at != open_.end()) {
    probe.count += at->count;
    probe.frames[0] = at->frames[0];
    open_.erase(at);
  }
  if (probe.count > kMost || open_.size() >= kMostOpen) return false;
  open_.push_back(probe);
  return true;
}

std::vector<Probe> Probes::succeeded(const model::Call& call, const model::Message& answer,
                                     std::uint64_t room,
                                     const std::array<capture::Address, 2>& address) {
  return take(open_, [&](const Probe& p) {
    return p.address == address && call.message.frame > p.frames[0] && shows(p, call, answer, room);
  });
}

bool is_next_attempt(const Probe& probe, const model::Call& call, std::uint64_t room) {
  return call.message.frame > probe.frames[0] && asks_without(probe, call, room);
}

std::vector<Probe> Probes::take_due(std::int64_t now_ns) {
  return take(open_, [&](const Probe& p) { return now_ns - p.latest_ns > kWaitNs; });
}

std::vector<Probe> Probes::take_of(std::uint32_t connection) {
  return take(open_, [&](const Probe& p) { return p.connection == connection; });
}

std::vector<Probe> Probes::take_all() {
  return std::exchange(open_, {});
}

void Probes::drop(std::uint32_t connection) {
  std::erase_if(open_, [&](const Probe& p) { return p.connection == connection; });
}

std::string success_text(const Probe& probe, const model::Call& call,
                         const model::Message& answer) {
  const model::RpcInfo& rpc = call.message.rpc;
  switch (probe.refusal.by) {
    case RefusedBy::kTransport:
      return static_cast<wire::RdmaErr>(probe.refusal.code) == wire::RdmaErr::kVers
                 ? fmt::format("a later Call in version {} succeeded", call.message.version)
                 : std::string("a later Call with more memory for its results succeeded");
    case RefusedBy::kRpcProgram:
      return rpc.program == probe.rpc.program
                 ? fmt::format("a later Call in version {} of the program succeeded", rpc.version)
                 : std::string("the requester works without the program");
    case RefusedBy::kRpcAuth:
      return fmt::format("a later Call with flavor {} succeeded",
                         wire::auth_flavor_name(rpc.cred_flavor));
    case RefusedBy::kMinorVersion:
      return fmt::format("a later Call in version 4.{} succeeded", answer.rpc.ops.minor);
    case RefusedBy::kRpcVersion:
      break;
  }
  return {};
}

}  // namespace rpcrdma::rules
