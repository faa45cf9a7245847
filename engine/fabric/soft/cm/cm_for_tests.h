// Shared by the CM's tests: a hand-made peer that can send any message, and a link between two CMs
// in virtual time that loses, duplicates and delays messages by their number.
#pragma once

#include "support/wire_bytes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/soft/cm.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::soft {

inline constexpr std::uint16_t kPort = 20049;
inline constexpr fabric::Time kTimeout = 500 * fabric::kMillisecond;  // the default
inline const fabric::Address kAddressA = fabric::make_ipv4(10, 77, 0, 2);
inline const fabric::Address kAddressB = fabric::make_ipv4(10, 77, 0, 1);
inline const Path kFromA{kAddressA, kAddressB, 0xd234};  // as A sees it
inline const Path kFromB{kAddressB, kAddressA, 0xc000};

inline constexpr std::uint32_t kPeerId = 0xb0b0b001;  // communication ID of the hand-made peer
inline constexpr std::uint32_t kPeerQpn = 0x21;

using Bytes = std::vector<std::uint8_t>;

using wire::hex;

inline Bytes mad_bytes(const wire::CmMessage& message, std::uint64_t transaction_id = 7) {
  wire::CmMad mad;
  mad.header.transaction_id = transaction_id;
  mad.message = message;
  Bytes bytes(wire::kMadBytes);
  EXPECT_TRUE(wire::encode_cm(mad, bytes).has_value());
  return bytes;
}

// A message that a CM sent.
struct Sent {
  Path path;
  Bytes bytes;

  [[nodiscard]] wire::CmMad mad() const { return *wire::decode_cm(bytes); }
  [[nodiscard]] std::string name() const {
    return wire::cm_name(static_cast<wire::CmAttribute>(mad().header.attribute_id));
  }
  template <typename Message>
  [[nodiscard]] Message as() const {
    const wire::CmMad all = mad();
    if (const auto* message = std::get_if<Message>(&all.message)) return *message;
    ADD_FAILURE() << "it is a " << name();
    return {};
  }
};

inline std::vector<Sent> sent_by(ConnectionManager& cm) {
  std::vector<Sent> all;
  const Path* path = nullptr;
  wire::Bytes mad;
  while (cm.transmit(path, mad)) all.push_back({*path, {mad.begin(), mad.end()}});
  return all;
}

inline std::vector<std::string> names(const std::vector<Sent>& all) {
  std::vector<std::string> result;
  for (const Sent& sent : all) result.push_back(sent.name());
  return result;
}

inline std::vector<CmEvent> events_of(ConnectionManager& cm) {
  std::vector<CmEvent> all;
  CmEvent event;
  while (cm.next_event(event)) all.push_back(event);
  return all;
}

inline std::vector<CmEventType> types(const std::vector<CmEvent>& events) {
  std::vector<CmEventType> result;
  for (const CmEvent& event : events) result.push_back(event.type);
  return result;
}

inline CmConnect connect_request() {
  CmConnect request;
  request.path = kFromA;
  request.port = kPort;
  request.source_port = 0xcfd8;
  request.local = {0x000012, 0xc9b747, 16, 8, 6, true};
  request.retry_count = 5;
  return request;
}

// A REQ as a peer at kAddressA would send it.
struct HandMadeReq {
  wire::CmReq m;
  wire::IpCmHeader ip;
  Bytes private_data = Bytes(wire::CmReq::kPrivateBytes - wire::kIpCmHeaderBytes);

  HandMadeReq() {
    m.local_comm_id = 0xa0a0a001;
    m.service_id = wire::kServiceIdRdmaTcp | kPort;
    m.local_ca_guid = 0x505400fffe770002;
    m.local_qpn = 0x11;
    m.responder_resources = 4;
    m.initiator_depth = 3;
    m.remote_cm_response_timeout = m.local_cm_response_timeout = 20;
    m.starting_psn = 0x123456;
    m.retry_count = 6;
    m.path_mtu = 3;
    m.rnr_retry_count = 2;
    m.max_cm_retries = 15;
    m.primary.local_gid = kAddressA.gid();
    m.primary.remote_gid = kAddressB.gid();
    m.primary.flow_label = 0x97979;
    m.primary.hop_limit = 64;
    m.primary.local_ack_timeout = 19;
    ip.source_port = 0xcfd8;
    ip.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 2};
    ip.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 1};
  }

  // Sends as if from another address.
  void come_from(const fabric::Address& address) {
    m.primary.local_gid = address.gid();
    std::copy_n(address.bytes.begin(), 4, ip.source.begin() + 12);
  }

  [[nodiscard]] Bytes bytes(std::uint64_t transaction_id = 7) const {
    const auto header = wire::encode_ip_cm(ip);
    Bytes all(header.begin(), header.end());
    all.insert(all.end(), private_data.begin(), private_data.end());
    wire::CmReq with = m;
    with.private_data = all;
    return mad_bytes(with, transaction_id);
  }
};

// Two CMs and the link between them. A connects, B listens; the `on_*` functions act as their
// owners.
class Link {
 public:
  // The fate of a message: the delays after which its copies arrive; none: it is lost.
  using Fate = std::vector<fabric::Time>;
  static constexpr fabric::Time kLatency = fabric::kMillisecond;

  explicit Link(const CmLimits& limits = {}) : a(limits, 1), b(limits, 2) { b.listen(kPort); }

  ConnectionManager a, b;
  std::vector<CmEvent> events_a, events_b;
  std::vector<std::string> sent;  // "A REQ", "B REP", ... in sending order, lost or not
  fabric::Time now = 0;

  std::map<std::size_t, Fate> fates;  // by number of message
  std::function<void(const CmEvent&)> on_a, on_b;

  void at(fabric::Time time, std::function<void()> what) { agenda_.emplace(time, std::move(what)); }

  // Runs until there is nothing left to do.
  void run() {
    for (int steps = 0; steps < 10'000; ++steps) {
      look(a, events_a, on_a);
      look(b, events_b, on_b);
      carry(a, 'A', b, kFromB);
      carry(b, 'B', a, kFromA);
      const fabric::Time timer = std::min(a.deadline(), b.deadline());
      const fabric::Time next = agenda_.empty() ? fabric::kNever : agenda_.begin()->first;
      if (std::min(timer, next) == fabric::kNever) return;
      now = std::max(now, std::min(timer, next));
      if (next <= timer) {
        const auto what = std::move(agenda_.begin()->second);
        agenda_.erase(agenda_.begin());
        what();
      } else {
        a.expire(now);
        b.expire(now);
      }
    }
    ADD_FAILURE() << "it does not end";
  }

 private:
  void look(ConnectionManager& cm, std::vector<CmEvent>& log,
            const std::function<void(const CmEvent&)>& on) {
    for (const CmEvent& event : events_of(cm)) {
      log.push_back(event);
      if (on) on(event);
    }
  }

  void carry(ConnectionManager& from, char name, ConnectionManager& to, const Path& path) {
    for (const Sent& message : sent_by(from)) {
      const auto fate = fates.find(sent.size());
      sent.push_back(std::string(1, name) + ' ' + message.name());
      const Fate delays = fate == fates.end() ? Fate{kLatency} : fate->second;
      for (const fabric::Time delay : delays) {
        at(now + delay, [this, &to, path, message] { to.receive(path, message.bytes, now); });
      }
    }
  }

  std::multimap<fabric::Time, std::function<void()>> agenda_;
};

// A CM whose peer is the test.
class CmAlone : public testing::Test {
 protected:
  // Advances time to the next deadline.
  void to_deadline() {
    ASSERT_NE(cm.deadline(), fabric::kNever);
    now = cm.deadline();
    cm.expire(now);
  }

  void expect_nothing() {
    EXPECT_THAT(names(sent_by(cm)), testing::IsEmpty());
    EXPECT_THAT(events_of(cm), testing::IsEmpty());
  }

  ConnectionManager cm{CmLimits{}, 1};
  fabric::Time now = 1000;
};

}  // namespace rpcrdma::soft
