// A tracer with a reader, and the events that it emitted, as text.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace::testing {

// One line per event; operations are named #1, #2 and so on in the order of their first appearance.
class Emitted {
 public:
  // Lines of another connection start with its number.
  explicit Emitted(std::uint32_t connection, std::size_t bytes = 1U << 20)
      : tracer(0, bytes), connection_(connection) {
    tracer.listen(true);
  }

  // Returns the events since the last call; `tails` and `times` are their payloads and times.
  [[nodiscard]] std::vector<std::string> take() {
    std::vector<std::string> lines;
    tails.clear();
    times.clear();
    tracer.ring().read([&](const EventHeader& h, std::span<const std::uint8_t> bytes) {
      const EventView view = view_event(bytes).value();
      lines.push_back((h.connection == connection_ ? "" : format("[%u] ", h.connection)) +
                      line(view));
      tails.emplace_back(view.payload.begin(), view.payload.end());
      times.push_back(h.time);
    });
    return lines;
  }
  // Returns those of them that start with `front`.
  [[nodiscard]] std::vector<std::string> take(std::string_view front) {
    std::vector<std::string> some;
    std::vector<std::vector<std::uint8_t>> some_tails;
    const std::vector<std::string> all = take();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].starts_with(front)) continue;
      some.push_back(all[i]);
      some_tails.push_back(tails[i]);
    }
    tails = std::move(some_tails);
    return some;
  }

  Tracer tracer;
  std::vector<std::vector<std::uint8_t>> tails;
  std::vector<std::int64_t> times;  // of take() without an argument

 private:
  template <typename... Arguments>
  [[nodiscard]] static std::string format(const char* form, Arguments... arguments) {
    std::array<char, 512> text{};
    (void)std::snprintf(text.data(), text.size(), form, arguments...);
    return text.data();
  }
  [[nodiscard]] static std::string payload(const EventView& e) {
    return {e.payload.begin(), e.payload.end()};
  }
  template <typename Event>
  [[nodiscard]] static Event get(const EventView& e) {
    return read_event<Event>(e).value();
  }
  [[nodiscard]] std::size_t number(std::uint8_t side, std::uint64_t id) {
    return operations_.try_emplace({side, id}, operations_.size() + 1).first->second;
  }
  [[nodiscard]] static const char* name(Transfer kind) {
    return kind == Transfer::kRead ? "read" : kind == Transfer::kWrite ? "write" : "?";
  }
  [[nodiscard]] static const char* name(FabricKind kind) {
    constexpr std::array<const char*, 5> kNames{"?", "retransmission", "nak", "rnr", "timeout"};
    return kNames[static_cast<std::size_t>(kind)];
  }

  [[nodiscard]] std::string line(const EventView& view) {
    switch (static_cast<EventType>(view.header.type)) {
      case EventType::kConnection: {
        const auto e = get<Connection>(view);
        return format("connection %s port %u version %u inline %u/%u private %u+%zu reads %u/%u%s",
                      e.active != 0 ? "active" : "passive", e.port, e.version, e.inline_send,
                      e.inline_receive, e.sent_private_data,
                      view.payload.size() - e.sent_private_data, e.responder_resources,
                      e.initiator_depth, e.sees_peer_operations != 0 ? " sees" : "");
      }
      case EventType::kConnectionEnd: {
        const auto e = get<ConnectionEnd>(view);
        return format("connection end by %u, was %sup, reason %u: ", e.side,
                      e.established != 0 ? "" : "not ", e.reject_reason) +
               payload(view);
      }
      case EventType::kMessage: {
        const auto e = get<Message>(view);
        return format("message %u, %u bytes", e.side, e.length) +
               (e.has_invalidate != 0 ? format(", invalidates %u", e.invalidate) : "");
      }
      case EventType::kOperation: {
        const auto e = get<Operation>(view);
        return format("%s %u #%zu: %u at %llx, %u bytes, xid %u", name(e.kind), e.side,
                      number(e.side, e.id), e.handle, static_cast<unsigned long long>(e.offset),
                      e.length, e.xid);
      }
      case EventType::kOperationEnd: {
        const auto e = get<OperationEnd>(view);
        return format("%s end %u #%zu: status %u, %u bytes", name(e.kind), e.side,
                      number(e.side, e.id), e.status, e.length);
      }
      case EventType::kAdvertise: {
        const auto e = get<Advertise>(view);
        return format("advertise %u at %llx, %u bytes, access %u, xid %u", e.handle,
                      static_cast<unsigned long long>(e.offset), e.length, e.access, e.xid);
      }
      case EventType::kInvalidate: {
        const auto e = get<Invalidate>(view);
        return format("invalidate %u by %u", e.handle, e.side);
      }
      case EventType::kReceives: {
        const auto e = get<Receives>(view);
        return format("receives +%u = %u", e.posted, e.total);
      }
      case EventType::kCredits: {
        const auto e = get<Credits>(view);
        const std::string emitted =
            format("credits %u: requested %u, granted %u, used %u of at most %u, waiting %u",
                   e.side, e.requested, e.granted, e.in_use, e.in_use_most, e.waiting);
        // Only if it differs from the grant.
        return e.limit != 0 && e.limit != e.granted ? emitted + format(", limit %u", e.limit)
                                                    : emitted;
      }
      case EventType::kCreditWait: {
        const auto e = get<CreditWait>(view);
        return format("credit wait %s %u", e.begun != 0 ? "begins" : "ends", e.xid);
      }
      case EventType::kCall: {
        const auto e = get<Call>(view);
        return format("call %u xid %u: %u.%u.%u", e.side, e.xid, e.program, e.version, e.procedure);
      }
      case EventType::kCallEnd: {
        const auto e = get<CallEnd>(view);
        return format("call end %u xid %u: status %u, attempts %u, %lld %lld %lld %lld", e.side,
                      e.xid, e.status, e.attempts, static_cast<long long>(e.called),
                      static_cast<long long>(e.sent), static_cast<long long>(e.replied),
                      static_cast<long long>(e.ended));
      }
      case EventType::kError: {
        const auto e = get<Error>(view);
        return format("error by %u, xid %u: ", e.side, e.xid) + payload(view);
      }
      case EventType::kFabric: {
        const auto e = get<Fabric>(view);
        return format("%s %u: psn %u, count %u, code %u", name(e.kind), e.side, e.psn, e.count,
                      e.code);
      }
      case EventType::kFault: {
        const auto e = get<Fault>(view);
        return format("fault %s, action %u, %u packets: ", e.outgoing != 0 ? "out" : "in", e.action,
                      e.packets) +
               payload(view);
      }
      case EventType::kRegistration: {
        const auto e = get<Registration>(view);
        return format("registration %s: %llu bytes at %llx", e.begun != 0 ? "begins" : "ends",
                      static_cast<unsigned long long>(e.length),
                      static_cast<unsigned long long>(e.address));
      }
      case EventType::kDuplicate: {
        const auto e = get<Duplicate>(view);
        return format("duplicate %u: program %u, version %u, procedure %u, fate %u", e.xid,
                      e.program, e.version, e.procedure, static_cast<unsigned>(e.fate));
      }
      case EventType::kEndpoint:
      case EventType::kLoss:
      case EventType::kProcedureSums:
      case EventType::kConnectionSums:
        break;
    }
    return "?";
  }

  std::uint32_t connection_;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::size_t> operations_;
};

}  // namespace rpcrdma::trace::testing
