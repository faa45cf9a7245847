// An endpoint's events describe a Call before its Send, between its messages and after its Reply,
// so its half stays open until its CallEnd event. Packets show nothing after the Reply: their half
// is whole when the model ends the Call.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <rpcrdma/ends/collector.h>
#include <rpcrdma/model/procedure_name.h>
#include <rpcrdma/session/view_match.h>

namespace rpcrdma::ends {

namespace {

// Halves that wait for their CallEnd. More than that is a flood of Calls without end.
constexpr std::size_t kMostOpen = 65536;
constexpr std::size_t kMostNames = 4096;
constexpr std::uint8_t kHere = 0;  // the recording endpoint, in its events
constexpr std::size_t kMostConnections = 65536;
// Up to the year 2116. Differences of two such times do not overflow.
constexpr std::int64_t kLatestSeen = std::int64_t{1} << 62U;

std::int64_t sane(std::int64_t ns) {
  return ns >= 0 && ns < kLatestSeen ? ns : kNoTime;
}

std::int64_t sane_duration(std::int64_t ns) {
  return ns >= 0 && ns < kLatestSeen ? ns : kUnknownNs;
}

std::uint16_t small(std::uint32_t n) {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(n, UINT16_MAX));
}

void extend(std::int64_t from, std::int64_t until, std::int64_t& began, std::int64_t& ended) {
  from = sane(from);
  until = sane(until);
  if (from == kNoTime || until == kNoTime || until < from) return;
  began = began == kNoTime ? from : std::min(began, from);
  ended = std::max(ended, until);
}

bool is_of_one_end(const roce::Connection& c) {
  return c.recorded;
}

}  // namespace

struct Collector::Impl {
  // A connection by its index in the session, one side of it, and an XID.
  struct Key {
    std::uint32_t connection = 0;
    std::uint32_t xid = 0;
    std::uint8_t caller = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      constexpr std::uint64_t kMixing = 0x9e3779b97f4a7c15ULL;
      const std::uint64_t both =
          (std::uint64_t{k.connection} << 32U | k.xid) ^ std::uint64_t{k.caller} << 63U;
      const std::uint64_t mixed = both * kMixing;
      return static_cast<std::size_t>(mixed ^ mixed >> 29U);
    }
  };
  struct Open {
    HalfCall half;
    std::int64_t waits_since = kNoTime;  // for a credit
    bool answered = false;
  };
  struct Known {
    HalfConnection connection;
    std::uint32_t index = 0;  // in the session
  };
  struct NameKey {
    std::uint32_t program, version, procedure, operation;
    friend auto operator<=>(const NameKey&, const NameKey&) = default;
  };

  std::size_t most_calls = 0;
  const session::Context* context = nullptr;
  std::unordered_map<Key, Open, Hash> open;
  std::vector<HalfCall> done;
  std::vector<Known> connections;
  std::unordered_map<std::uint32_t, std::uint32_t> connection_at;  // by index in the session
  std::vector<std::string> names{std::string()};
  std::map<NameKey, std::uint32_t> name_at;
  std::uint64_t not_kept = 0;

  [[nodiscard]] const roce::Connection* find(std::uint32_t index) const {
    return context == nullptr ? nullptr : context->connections->find(index);
  }

  void describe(Known& known) const {
    const roce::Connection* const c = find(known.index);
    if (c == nullptr) return;
    const model::ConnectionModel& m = context->model->connection(known.index);
    const std::size_t client = m.client == 1 ? 1 : 0;
    HalfConnection& to = known.connection;
    to.id = context->connection_id(known.index);
    to.kind = !is_of_one_end(*c)      ? PointKind::kWire
              : c->recorder == client ? PointKind::kClient
                                      : PointKind::kServer;
    for (std::size_t side = 0; side < 2; ++side) {
      to.address[side] = session::plain_address(c->side[client ^ side].address);
      to.qpn[side] = session::known_qpn(*c, client ^ side);
    }
    to.lost = model::losses(*c);
  }

  // Nothing: there are too many.
  std::optional<std::uint32_t> place_of(std::uint32_t index) {
    index = context->model->canonical(index);
    if (const auto at = connection_at.find(index); at != connection_at.end()) return at->second;
    if (connections.size() >= kMostConnections) return std::nullopt;
    Known known;
    known.index = index;
    describe(known);
    connections.push_back(known);
    const auto place = static_cast<std::uint32_t>(connections.size() - 1);
    connection_at.emplace(index, place);
    return place;
  }

  void refresh(std::uint32_t index) {
    const auto at = connection_at.find(index);
    if (at != connection_at.end()) describe(connections[at->second]);
  }

  void push(const Key& key, HalfCall half) {
    const auto place = done.size() < most_calls ? place_of(key.connection) : std::nullopt;
    if (!place) {
      ++not_kept;
      return;
    }
    half.connection = *place;
    const std::uint32_t canonical = context->model->canonical(key.connection);
    const auto caller =
        static_cast<std::uint8_t>(canonical == key.connection ? key.caller : 1 - key.caller);
    half.reverse = context->model->connection(canonical).reverse(caller);
    done.push_back(half);
  }

  void finish(const Key& key) {
    const auto at = open.find(key);
    if (at == open.end()) return;
    // Without a message it was never sent.
    if (at->second.half.call_ns != kNoTime || at->second.half.reply_ns != kNoTime) {
      push(key, at->second.half);
    }
    open.erase(at);
  }

  void finish_all() {
    while (!open.empty()) finish(Key(open.begin()->first));
  }

  Open& opened(const Key& key) {
    if (open.size() >= kMostOpen && open.find(key) == open.end()) finish_all();
    Open& x = open[key];
    x.half.xid = key.xid;
    return x;
  }

  std::uint32_t name_of(const model::RpcInfo& rpc, std::uint32_t operation) {
    const NameKey key{rpc.program, rpc.version, rpc.procedure, operation};
    if (const auto at = name_at.find(key); at != name_at.end()) return at->second;
    if (names.size() >= kMostNames) return 0;
    names.push_back(model::procedure_label(rpc));
    const auto at = static_cast<std::uint32_t>(names.size() - 1);
    name_at.emplace(key, at);
    return at;
  }

  void describe_call(const model::Message& m, HalfCall& half) {
    half.call_ns = sane(m.time_ns);
    half.call_first_ns = sane(m.first_ns);
    if (!model::is_absent(m, roce::kAbsentLengths)) half.call_bytes = m.wire_length;
    if (m.credits.requested_known) half.requested = small(m.credits.requested);
    // Before the first Reply, one credit is granted (RFC 8166 section 3.3.1).
    if (m.credits.granted_known) half.granted = small(std::max(m.credits.granted, 1U));
  }

  static void describe_answer(const model::Message& m, HalfCall& half) {
    half.reply_ns = sane(m.time_ns);
    half.reply_first_ns = sane(m.first_ns);
    half.error = m.kind == model::Kind::kError;
    if (!model::is_absent(m, roce::kAbsentLengths)) half.reply_bytes = m.wire_length;
  }

  void describe_end(const model::CallEnded& event, HalfCall& half) {
    const model::Call& call = event.call;
    const model::RpcInfo& rpc = call.message.rpc;
    if (rpc.known) {
      half.named = true;
      half.program = rpc.program;
      half.version = rpc.version;
      half.procedure = rpc.procedure;
      const std::uint32_t operation = model::principal_operation(rpc);
      half.operation_named = operation != UINT32_MAX;
      half.name = name_of(rpc, operation);
    }
    for (const model::ChunkOperation& o : call.operations) {
      if (o.list == model::ChunkList::kReplyRead) continue;
      if (o.kind == roce::OpKind::kRead) {
        extend(o.first_ns, o.last_ns, half.read_began_ns, half.read_ended_ns);
      } else {
        extend(o.first_ns, o.last_ns, half.write_began_ns, half.write_ended_ns);
      }
    }
    half.acknowledged_after = sane_duration(call.acknowledged_after_ns);
    if (event.answer != nullptr) describe_answer(*event.answer, half);
    const roce::Connection* const c = find(call.message.connection);
    half.unclear |= call.doubled || c == nullptr || call.losses_before != model::losses(*c);
  }

  void on_wait(const Key& key, bool begun, std::int64_t now) {
    Open& x = opened(key);
    if (begun) {
      x.waits_since = now;
    } else if (x.waits_since != kNoTime && now >= x.waits_since) {
      x.half.credit_wait = std::max<std::int64_t>(x.half.credit_wait, 0) + (now - x.waits_since);
      x.waits_since = kNoTime;
    }
  }

  void on_end(const Key& key, const trace::CallEnd& e, std::int64_t offset, roce::Origin origin) {
    const auto at = open.find(key);
    if (at == open.end()) return;
    HalfCall& half = at->second.half;
    const auto time = [offset](std::int64_t ns) {
      std::int64_t sum = 0;
      if (ns <= 0 || __builtin_add_overflow(ns, offset, &sum)) return kNoTime;
      return sane(sum);
    };
    half.ended_ns = time(e.ended);
    if (e.side == kHere) {
      if (half.called_ns == kNoTime) half.called_ns = time(e.called);
      half.attempts = std::max(half.attempts, e.attempts);
      if (e.slot_wait >= 0) half.slot_wait = sane_duration(e.slot_wait);
      if (e.credit_wait >= 0) half.credit_wait = sane_duration(e.credit_wait);
      // Our own endpoints have no slots, and record each wait for a credit.
      if (origin == roce::Origin::kEndpoint) {
        half.slot_wait = 0;
        half.credit_wait = std::max<std::int64_t>(half.credit_wait, 0);
      }
    }
    finish(key);
  }
};

Collector::Collector(std::size_t most_calls) : impl_(std::make_unique<Impl>()) {
  impl_->most_calls = most_calls;
}
Collector::~Collector() = default;

void Collector::attach(const session::Context& context) {
  impl_->context = &context;
}

void Collector::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  const roce::Connection* const c = impl_->find(m.connection);
  if (c == nullptr) return;
  const Impl::Key key{m.connection, m.xid, m.caller};
  const bool one_end = is_of_one_end(*c);
  if (m.kind == model::Kind::kCall && one_end) {
    Impl::Open* x = &impl_->opened(key);
    if (x->answered) {
      impl_->finish(key);
      x = &impl_->opened(key);
    }
    if (x->half.call_ns != kNoTime) {
      x->half.attempts = small(x->half.attempts + 1U);
    } else {
      impl_->describe_call(m, x->half);
    }
  } else if ((m.kind == model::Kind::kReply || m.kind == model::Kind::kError) &&
             event.call == nullptr) {
    // Its Call came before the source began.
    HalfCall orphan;
    orphan.xid = m.xid;
    Impl::describe_answer(m, orphan);
    impl_->push(key, orphan);
  }
}

void Collector::on_call_end(const model::CallEnded& event) {
  const model::Call& call = event.call;
  const model::Message& m = call.message;
  const roce::Connection* const c = impl_->find(m.connection);
  if (c == nullptr) return;
  const Impl::Key key{m.connection, m.xid, m.caller};
  const bool superseded = call.ending == model::Ending::kSuperseded;
  if (!is_of_one_end(*c)) {
    HalfCall half;
    half.xid = m.xid;
    half.superseded = superseded;
    impl_->describe_call(m, half);
    impl_->describe_end(event, half);
    impl_->push(key, half);
    return;
  }
  // Its CallEnd came before: an unanswered Call ends for the model with its connection.
  if (event.answer == nullptr && impl_->open.find(key) == impl_->open.end()) return;
  Impl::Open& x = impl_->opened(key);
  if (x.half.call_ns == kNoTime) impl_->describe_call(m, x.half);
  impl_->describe_end(event, x.half);
  x.answered = !superseded;
}

void Collector::on_close(const roce::Connection& connection) {
  impl_->refresh(connection.index);
}

void Collector::on_evict(const roce::Connection& connection) {
  impl_->refresh(connection.index);
}

void Collector::on_event(const trace_reader::Event& event) {
  if (event.connection == nullptr || !is_of_one_end(*event.connection)) return;
  const auto key = [&](std::uint32_t xid, std::uint8_t side) {
    return Impl::Key{event.connection->index, xid, event.side(side)};
  };
  const std::int64_t now = sane(event.meta.time_ns);
  if (now == kNoTime) return;
  switch (event.type()) {
    case trace::EventType::kCall: {
      const auto e = trace::read_event<trace::Call>(event.view);
      if (!e) return;
      const Impl::Key at = key(e->xid, e->side);
      if (e->side == kHere) {
        const auto before = impl_->open.find(at);
        if (before != impl_->open.end() && before->second.answered) impl_->finish(at);
        HalfCall& half = impl_->opened(at).half;
        if (half.called_ns == kNoTime) half.called_ns = now;
      } else if (const auto called = impl_->open.find(at); called != impl_->open.end()) {
        if (called->second.half.delivered_ns == kNoTime) called->second.half.delivered_ns = now;
      }
      return;
    }
    case trace::EventType::kCreditWait:
      if (const auto e = trace::read_event<trace::CreditWait>(event.view)) {
        impl_->on_wait(key(e->xid, kHere), e->begun != 0, now);
      }
      return;
    case trace::EventType::kCallEnd:
      if (const auto e = trace::read_event<trace::CallEnd>(event.view)) {
        std::int64_t offset = 0;
        if (__builtin_sub_overflow(now, event.view.header.time, &offset)) return;
        impl_->on_end(key(e->xid, e->side), *e, offset, event.connection->origin);
      }
      return;
    default:
      return;
  }
}

SourceHalves Collector::take(bool all) {
  SourceHalves halves;
  if (impl_->context == nullptr) return halves;
  if (all) impl_->finish_all();
  for (Impl::Known& known : impl_->connections) {
    impl_->describe(known);
    halves.connections.push_back(known.connection);
    halves.lost += known.connection.lost;
  }
  halves.names = impl_->names;
  halves.calls = std::exchange(impl_->done, {});
  halves.not_kept = std::exchange(impl_->not_kept, 0);
  return halves;
}

}  // namespace rpcrdma::ends
