// Two connection managers, their owners, time, and a link, all driven by the input: an instruction
// is one byte, followed by its arguments (zeros at the end of the input). In all cases, an owner
// gets one end of each connection, state stays bounded, and nothing is left when no connection is
// wanted any more. corpus/cm_endpoint is written by make_cm_endpoint_corpus.py, which names the
// instructions.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <rpcrdma/soft/cm.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace {

using namespace rpcrdma;
using fuzz::Input;
using fuzz::require;
using Mad = std::array<std::uint8_t, wire::kMadBytes>;

constexpr std::uint16_t kPort = 20049;
constexpr std::size_t kMaxFlying = 64;
constexpr std::size_t kLocalCommId = 24, kRemoteCommId = 28;

soft::CmLimits limits() {
  soft::CmLimits limits;
  limits.connections = 8;
  limits.half_open = 4;
  return limits;
}

struct Side {
  Side(std::uint64_t seed, const soft::Path& own) : cm(limits(), seed), path(own) {
    cm.listen(kPort);
  }

  void look(fabric::Time now) {
    cm.expire(now);
    require(cm.deadline() > now);
    soft::CmEvent event;
    std::size_t events = 0;
    while (cm.next_event(event)) {
      require(++events <= 4 * limits().connections);
      require(event.private_data.size() <= wire::CmRep::kPrivateBytes);
      if (event.type == soft::CmEventType::kRequest) {
        require(event.private_data.size() == kPrivateData);
        require(event.port == kPort && event.id != 0);
        require(std::find(live.begin(), live.end(), event.id) == live.end());
        live.push_back(event.id);
        continue;
      }
      const auto it = std::find(live.begin(), live.end(), event.id);
      require(it != live.end());
      const bool ends = event.type == soft::CmEventType::kRejected ||
                        event.type == soft::CmEventType::kTimedOut ||
                        event.type == soft::CmEventType::kDisconnect;
      if (ends) live.erase(it);
    }
    require(cm.connections() <= limits().connections);
    require(live.size() <= cm.connections());
  }

  // Puts outgoing messages into `flying`; messages that do not fit are lost.
  void send(std::deque<Mad>& flying) {
    const soft::Path* to = nullptr;
    wire::Bytes mad;
    for (std::size_t sent = 0; cm.transmit(to, mad); ++sent) {
      require(sent < 10'000);
      require(mad.size() == wire::kMadBytes && wire::decode_cm(mad).has_value());
      require(to->local == path.local && to->remote == path.remote);
      if (flying.size() < kMaxFlying)
        std::copy(mad.begin(), mad.end(), flying.emplace_back().begin());
    }
  }

  [[nodiscard]] soft::CmId pick(std::uint8_t number) const {
    return live.empty() ? number : live[number % live.size()];
  }

  static constexpr std::size_t kPrivateData = wire::CmReq::kPrivateBytes - wire::kIpCmHeaderBytes;

  soft::ConnectionManager cm;
  soft::Path path;
  std::vector<soft::CmId> live;  // whose end was not reported yet
  std::uint32_t next_qpn = 2;
};

class Run {
 public:
  explicit Run(Input input) : input_(input) {}

  void all() {
    while (!input_.empty()) {
      step();
      settle();
    }
    finish();
  }

 private:
  void step() {
    const std::uint8_t code = input_.byte();
    Side& side = code & 0x80 ? b_ : a_;
    std::deque<Mad>& flying = code & 0x80 ? to_b_ : to_a_;
    switch (code & 0x0f) {
      case 0:
        return connect(side);
      case 1:
        return accept(side);
      case 2:
        return reject(side);
      case 3:
        return side.cm.establish(side.pick(input_.byte()), now_);
      case 4:
        return side.cm.data_came(side.pick(input_.byte()), now_);
      case 5:
        return side.cm.disconnect(side.pick(input_.byte()), now_);
      case 6:
        now_ += fabric::Time{input_.byte()} * 10 * fabric::kMillisecond;
        return;
      case 7:
        now_ =
            std::max(now_, std::min({a_.cm.deadline(), b_.cm.deadline(), now_ + fabric::kSecond}));
        return;
      case 8:
        return deliver(side, flying, false);
      case 9:  // a copy stays in flight
        return deliver(side, flying, true);
      case 10:  // lost
        if (!flying.empty()) flying.pop_front();
        return;
      case 11:  // overtaken
        if (!flying.empty()) std::rotate(flying.begin(), flying.begin() + 1, flying.end());
        return;
      case 12:
        return change(flying);
      case 13:
        return invent(side, flying);
      case 14:
        code & 0x10 ? side.cm.listen(kPort) : side.cm.unlisten(kPort);
        return;
      default:
        return deliver_all();
    }
  }

  void connect(Side& side) {
    soft::CmConnect request;
    request.path = side.path;
    request.port = kPort;
    request.local.qpn = side.next_qpn++;
    request.private_data = wire::Bytes(private_).first(input_.byte() % 57);
    if (const auto id = side.cm.connect(request, now_)) side.live.push_back(*id);
  }

  void accept(Side& side) {
    soft::CmQueuePair local;
    local.qpn = side.next_qpn++;
    const auto id = side.pick(input_.byte());
    static_cast<void>(side.cm.accept(id, local, wire::Bytes(private_).first(input_.byte()), now_));
  }

  void reject(Side& side) {
    const soft::CmId id = side.pick(input_.byte());
    const std::size_t length = input_.byte();
    if (side.cm.reject(id, 28, wire::Bytes(private_).first(length), now_)) {
      require(length <= wire::CmRej::kPrivateBytes);
      side.live.erase(std::find(side.live.begin(), side.live.end(), id));
    }
  }

  void deliver(Side& side, std::deque<Mad>& flying, bool keep) {
    if (flying.empty()) return;
    const Mad mad = flying.front();
    if (!keep) flying.pop_front();
    side.cm.receive(side.path, mad, now_);
  }

  void deliver_all() {
    for (std::size_t left = kMaxFlying; left > 0 && !(to_a_.empty() && to_b_.empty()); --left) {
      deliver(a_, to_a_, false);
      deliver(b_, to_b_, false);
      settle();
    }
  }

  // Changes bytes of the next message; the input gives their number, offsets and values.
  void change(std::deque<Mad>& flying) {
    const std::uint8_t count = input_.byte() % 16;
    for (std::uint8_t i = 0; i < count; ++i) {
      const std::uint8_t at = input_.byte();
      const std::uint8_t value = input_.byte();
      if (!flying.empty()) flying.front()[at] = value;
    }
  }

  // Delivers a message that was never sent, with the IDs of existing connections.
  void invent(const Side& to, std::deque<Mad>& flying) {
    Mad mad{1, 7, 2, 3};
    const Side& from = &to == &a_ ? b_ : a_;
    mad[17] = static_cast<std::uint8_t>(0x10 | (input_.byte() & 7));
    wire::store_be32(&mad[kLocalCommId], from.pick(input_.byte()));
    wire::store_be32(&mad[kRemoteCommId], to.pick(input_.byte()));
    const std::uint8_t bytes = input_.byte();
    for (std::size_t i = 0; i < bytes && kRemoteCommId + 4 + i < mad.size(); ++i) {
      mad[kRemoteCommId + 4 + i] = input_.byte();
    }
    if (flying.size() < kMaxFlying) flying.push_front(mad);
  }

  void settle() {
    a_.look(now_);
    b_.look(now_);
    a_.send(to_b_);
    b_.send(to_a_);
  }

  void finish() {
    for (int steps = 0;; ++steps) {
      require(steps < 10'000);
      deliver_all();
      for (Side* const side : {&a_, &b_}) {
        for (const soft::CmId id : std::vector(side->live)) side->cm.disconnect(id, now_);
      }
      settle();
      if (!to_a_.empty() || !to_b_.empty()) continue;
      const fabric::Time next = std::min(a_.cm.deadline(), b_.cm.deadline());
      if (next == fabric::kNever) break;
      now_ = std::max(now_, next);
      settle();
    }
    for (const Side* const side : {&a_, &b_}) {
      require(side->live.empty());
      require(side->cm.connections() == 0);
      const auto& counters = side->cm.counters();
      require(counters.duplicates <= counters.received);
    }
  }

  Input input_;
  fabric::Time now_ = 0;
  const soft::Path path_a_{fabric::make_ipv4(10, 0, 0, 1), fabric::make_ipv4(10, 0, 0, 2)};
  const soft::Path path_b_{path_a_.remote, path_a_.local};
  Side a_{1, path_a_}, b_{2, path_b_};
  std::deque<Mad> to_a_, to_b_;
  const std::array<std::uint8_t, 256> private_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Run(Input(data, size)).all();
  return 0;
}
