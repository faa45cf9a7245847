// Finds connection, message and attempt of each packet, from CM messages and from the PSNs of each
// direction.
#include "fault_tracker.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <variant>

#include <rpcrdma/soft/fault_injector.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using wire::OpcodeInfo;

// Assumed until a REQ shows the MTU: the largest, so that no PSN is attributed to a READ wrongly.
constexpr std::uint32_t kLargestMtu = 4096;

std::uint32_t mtu_of(std::uint8_t code) {
  return code >= 1 && code <= 5 ? 128U << code : kLargestMtu;
}

FaultDirection opposite(FaultDirection direction) {
  return direction == FaultDirection::kOut ? FaultDirection::kIn : FaultDirection::kOut;
}

std::size_t index(FaultDirection direction) {
  return static_cast<std::size_t>(direction);
}

std::uint32_t psns_of(wire::Bytes datagram, std::uint32_t mtu) {
  constexpr std::size_t kDmaLength = wire::kBthBytes + 12;
  if (datagram.size() < kDmaLength + 4) return 1;
  const std::uint32_t bytes = wire::load_be32(datagram.data() + kDmaLength);
  return bytes == 0 ? 1 : (bytes - 1) / mtu + 1;
}

constexpr std::uint32_t kHalf = 1U << 23;

// Returns how far `to` is after `from` in sending order; over kHalf it is before.
std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
  return (to - from) & wire::kPsnMask;
}

}  // namespace

struct PsnStream::State {
  std::uint32_t newest = 0;
  std::uint32_t last_start = 0;  // of the newest message
  std::uint64_t messages = 0;
  std::array<std::uint8_t, kFaultTrackedPsns> seen{};  // transmissions of the newest PSNs
  std::array<std::uint32_t, kFaultTrackedMessages> starts{};

  [[nodiscard]] bool tracks(std::uint32_t psn) const {
    return distance(psn, newest) < kFaultTrackedPsns;
  }
  std::uint8_t& times(std::uint32_t psn) { return seen[psn % kFaultTrackedPsns]; }

  void advance_to(std::uint32_t psn) {
    const std::uint32_t steps = distance(newest, psn);
    if (steps == 0 || steps >= kHalf) return;
    for (std::size_t i = std::min<std::size_t>(steps, kFaultTrackedPsns); i > 0; --i) {
      times(psn - static_cast<std::uint32_t>(i) + 1) = 0;
    }
    newest = psn;
  }
  void begin_message(std::uint32_t psn) {
    if (messages != 0 && distance(last_start, psn) >= kHalf) return;
    last_start = psn;
    starts[messages++ % kFaultTrackedMessages] = psn;
  }
  // A partial retransmission of a READ starts at a PSN that its first request took.
  void take(std::uint32_t first, std::uint32_t last, std::uint8_t as_often) {
    advance_to(last);
    const std::uint32_t others = std::min<std::uint32_t>(distance(first, last), kFaultTrackedPsns);
    for (std::uint32_t i = 0; i < others; ++i) {
      const std::uint32_t psn = (last - i) & wire::kPsnMask;
      if (tracks(psn)) times(psn) = std::max(times(psn), as_often);
    }
  }
};

void PsnStream::Free::operator()(State* state) const {
  delete state;
}

std::uint64_t PsnStream::see(std::uint32_t psn, std::uint32_t psns, bool begins_message) {
  if (!state_) {
    state_.reset(new State);
    state_->newest = (psn - 1) & wire::kPsnMask;
  }
  State& s = *state_;
  s.advance_to(psn);
  if (!s.tracks(psn)) return 2;
  std::uint8_t& times = s.times(psn);
  if (times == 0 && begins_message) s.begin_message(psn);
  if (times < 255) ++times;
  const std::uint8_t attempt = times;
  if (psns > 1) s.take(psn, (psn + std::min(psns, kHalf / 2) - 1) & wire::kPsnMask, attempt);
  return attempt;
}

std::uint64_t PsnStream::message_of(std::uint32_t psn) const {
  if (!state_) return 0;
  const std::uint64_t known = std::min<std::uint64_t>(state_->messages, kFaultTrackedMessages);
  for (std::uint64_t back = 0; back < known; ++back) {
    const std::uint64_t number = state_->messages - back;
    if (distance(state_->starts[(number - 1) % kFaultTrackedMessages], psn) < kHalf) return number;
  }
  return 0;
}

FaultTracker::FaultTracker(const FaultLimits& limits)
    : flows_(limits.connections * 2), set_up_(limits.connections) {}

std::size_t FaultTracker::KeyHash::operator()(const Key& key) const {
  const std::uint64_t numbers =
      std::uint64_t{key.number} << 2 | std::uint64_t{key.peer.ipv6} << 1 | index(key.direction);
  const std::uint64_t address = wire::load_be64(key.peer.bytes.data()) ^
                                wire::load_be64(key.peer.bytes.data() + 8) * 0x9e3779b97f4a7c15;
  return Random(numbers ^ Random(address).next()).next();
}

FaultPlace FaultTracker::see(FaultDirection direction, const fabric::Address& peer,
                             wire::Bytes datagram) {
  const std::uint8_t opcode = datagram[0];
  const OpcodeInfo& info = wire::opcode_info(opcode);
  const bool connected = opcode >> 5 == static_cast<std::uint8_t>(wire::Service::kRc);
  const Key to{direction, peer, wire::load_be24(datagram.data() + 5)};
  Flow& flow = flow_of(to, connected);
  FaultPlace place;
  place.connection = flow.connection;
  place.stream = flow.stream;
  if (connected && (info.request || info.response)) {
    const std::uint32_t psn = wire::load_be24(datagram.data() + 9);
    const bool read = opcode == static_cast<std::uint8_t>(wire::Opcode::kReadRequest);
    const bool in_message = info.request || info.read_response;
    PsnStream& stream = info.request ? flow.requests : flow.responses;
    place.attempt =
        stream.see(psn, read ? psns_of(datagram, flow.mtu) : 1, in_message && info.first);
    if (in_message) place.message = stream.message_of(psn);
  } else if (info.deth && to.number == wire::kGsiQp) {
    const auto packet = wire::decode_roce(datagram, datagram.size());
    if (packet) see_mad(to, packet->payload, place);
  }
  return place;
}

FaultTracker::Flow& FaultTracker::flow_of(const Key& key, bool connected) {
  if (Flow* const flow = flows_.find(key)) return *flow;
  return new_flow(key, connected ? ++connections_[index(key.direction)] : 0, kLargestMtu);
}

FaultTracker::Flow& FaultTracker::new_flow(const Key& key, std::uint64_t connection,
                                           std::uint32_t mtu) {
  Flow& flow = flows_.put(key);
  flow.connection = connection;
  flow.stream = ++streams_;
  flow.mtu = mtu;
  return flow;
}

void FaultTracker::see_mad(const Key& to, wire::Bytes bytes, FaultPlace& place) {
  const auto mad = wire::decode_cm(bytes);
  if (!mad) return;
  SetUp* set_up = nullptr;
  if (const auto* const request = std::get_if<wire::CmReq>(&mad->message)) {
    set_up = &on_request({to.direction, to.peer, request->local_comm_id}, *mad, *request);
  } else {
    set_up = set_up_of(to.direction, to.peer, *mad);
  }
  if (set_up == nullptr) return;
  place.connection = set_up->connection;
  place.attempt = ++set_up->sent[index(to.direction)][mad->header.attribute_id % 32];
  const auto* const reply = std::get_if<wire::CmRep>(&mad->message);
  if (reply == nullptr || reply->local_qpn == set_up->passive_qpn) return;
  set_up->passive_qpn = reply->local_qpn;
  new_flow({opposite(to.direction), to.peer, reply->local_qpn}, set_up->connection, set_up->mtu);
}

// A REQ with the same transaction ID is a retransmission; with another, the communication ID is
// reused.
FaultTracker::SetUp& FaultTracker::on_request(const Key& key, const wire::CmMad& mad,
                                              const wire::CmReq& request) {
  if (SetUp* const known = set_up_.find(key);
      known != nullptr && known->transaction == mad.header.transaction_id) {
    return *known;
  }
  SetUp& set_up = set_up_.put(key);
  set_up.connection = std::max(connections_[0], connections_[1]) + 1;
  connections_.fill(set_up.connection);
  set_up.transaction = mad.header.transaction_id;
  set_up.active_qpn = request.local_qpn;
  set_up.mtu = mtu_of(request.path_mtu);
  new_flow({opposite(key.direction), key.peer, request.local_qpn}, set_up.connection, set_up.mtu);
  return set_up;
}

// Finds the connection of a message from the active or the passive side.
FaultTracker::SetUp* FaultTracker::set_up_of(FaultDirection direction, const fabric::Address& peer,
                                             const wire::CmMad& mad) {
  return std::visit(
      [&](const auto& message) -> SetUp* {
        if constexpr (std::is_same_v<std::decay_t<decltype(message)>, wire::CmReq>) {
          return nullptr;
        } else {
          if (SetUp* const own = set_up_.find({direction, peer, message.local_comm_id})) return own;
          return set_up_.find({opposite(direction), peer, message.remote_comm_id});
        }
      },
      mad.message);
}

}  // namespace rpcrdma::soft
