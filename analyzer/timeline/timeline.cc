// Passes each event to the format as soon as it is known. Memory therefore holds only the tracked
// connections, and the times of the latest messages for late findings. With a filter, an RPC is
// drawn when it ends.
#include "moments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include <rpcrdma/report/selection.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/timeline/timeline.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::timeline {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t whole_second(std::int64_t time_ns) {
  const std::int64_t rest = time_ns % kSecond;
  return time_ns - rest - (rest < 0 ? kSecond : 0);
}

// Returns the time of the CM REP; without one, that of the latest packet.
std::int64_t opened_ns(const roce::Connection& c) {
  const roce::CmSide& rep = c.side[1].cm;
  return c.setup == roce::Setup::kCm && rep.seen ? rep.time_ns : c.last_ns;
}

// Returns whether the connection is from a recording and was established. The recording of one that
// was never established has no QPNs, nor has it the address of the endpoint, which Linux's
// tracepoints show.
bool is_complete(const roce::Connection& c) {
  const bool named =
      roce::is_kernel(c.origin) && c.side[c.recorder].address.kind != capture::AddressKind::kNone;
  return c.recorded && (c.side[0].qpn_known || c.side[1].qpn_known || named);
}

Vantage vantage_of(const roce::Connection& c, int client) {
  if (!c.recorded) return Vantage::kNetwork;
  const int local = c.side[0].reads_recorded_at_start ? 0 : 1;
  // Until messages show the roles, the side that connects counts as the client.
  return local == std::max(client, 0) ? Vantage::kClient : Vantage::kServer;
}

model::ChunkOperation chunk_operation(const roce::Operation& op, const model::Call& call,
                                      std::uint32_t segment) {
  const model::CallSegment& s = call.segments[segment];
  model::ChunkOperation o;
  o.kind = op.kind;
  o.list = s.list;
  o.chunk = call.chunks[s.chunk].index;
  o.segment = s.index;
  o.handle = op.handle;
  o.length = op.length;
  o.offset = op.offset;
  o.bytes = op.bytes;
  o.first_frame = op.first_frame;
  o.last_frame = op.last_frame;
  o.first_ns = op.first_ns;
  o.last_ns = op.last_ns;
  o.complete = op.complete;
  o.suspect = op.suspect;
  return o;
}

model::ModelOptions model_options(const TimelineOptions& options) {
  model::ModelOptions model = options.model;
  model.keep_bytes |= options.filter && options.filter->needs_bytes();
  return model;
}

}  // namespace

struct Timeline::Impl {
  Impl(Format& f, TimelineOptions options)
      : format(f),
        session({.model = model_options(options),
                 .rules = rules::Findings::Options{.profile = options.profile,
                                                   .on_occurrence =
                                                       [this](const rules::Occurrence& o) {
                                                         selection ? selection->found(o) : found(o);
                                                       }}},
                {.before_rules = {&before_rules}, .after_rules = {&after_rules}}),
        context(session.context()) {
    if (!options.filter) return;
    selection = std::make_unique<report::Selection>(
        std::move(*options.filter),
        rules::Findings::Options{.profile = options.profile,
                                 .on_occurrence = [this](const rules::Occurrence& o) { found(o); }},
        [this](const model::Message& m, const model::Call* call, const model::Message* answer,
               bool taken) { decided(m, call, answer, taken); },
        session);
  }

  struct Connection {
    const roce::Connection* connection = nullptr;
    bool opened = false;
    int client = -1;                 // the side last passed to the format
    std::array<bool, 2> recorded{};  // the side's private data was drawn
  };

  // Returns the format for events at a time, and starts the format before the first event.
  Format& at(std::int64_t time_ns) {
    now_ns = time_ns;
    if (!begun) {
      begun = true;
      format.begin(whole_second(time_ns), vantage);
    }
    return format;
  }

  Connection& followed(const roce::Connection& connection) {
    Connection& c = connections[connection.index];
    c.connection = &connection;
    return c;
  }

  [[nodiscard]] int client_of(std::uint32_t index) const {
    return context.model->connection(index).client;
  }

  [[nodiscard]] Origin origin(const model::Message& m) const {
    Origin o{context.model->canonical(m.connection), m.sender, m.caller, context.model->reverse(m)};
    // Side 0 of a merged connection is side 1 of the connection that it was merged into.
    if (o.connection != m.connection) {
      o.sender = static_cast<std::uint8_t>(1 - o.sender);
      o.caller = static_cast<std::uint8_t>(1 - o.caller);
    }
    return o;
  }

  // Draws the private data of a side, once.
  void add_private_data(Connection& c, std::size_t side, std::int64_t time_ns) {
    if (std::exchange(c.recorded[side], true)) return;
    const model::ConnectionModel& m = context.model->connection(c.connection->index);
    at(time_ns).private_data(*c.connection, static_cast<int>(side),
                             m.has_private_data[side] ? &m.private_data[side] : nullptr, time_ns);
  }

  void note_client(std::uint32_t index, std::int64_t time_ns) {
    Connection* c = connections.find(index);
    if (c == nullptr || c->client == client_of(index)) return;
    c->client = client_of(index);
    at(time_ns).changed(*c->connection, c->client, time_ns);
  }

  // Returns the time of the evidence if it is remembered. Many findings are reported only when
  // their connection ends.
  [[nodiscard]] std::int64_t time_of(const rules::Evidence& e) const {
    if (e.span.since_ns != 0) return e.span.since_ns;
    if (const auto known = moments.of_message(e.message)) return *known;
    const std::uint64_t frame = e.frames[1] != 0 ? e.frames[1] : e.frames[0];
    if (e.connection != nullptr && frame != 0) {
      for (const roce::Side& side : e.connection->side) {
        if (side.cm.seen && side.cm.frame == frame) return side.cm.time_ns;
      }
      if (const auto known = moments.of_frame(frame)) return *known;
    }
    return e.connection != nullptr ? e.connection->last_ns : now_ns;
  }

  void found(const rules::Occurrence& o) {
    const rules::Evidence& e = o.evidence;
    if (e.phase != rules::ReportPhase::kFound) return;  // already drawn where it was found
    Found f{o, 0, nullptr, time_of(e)};
    if (e.connection != nullptr) {
      f.connection_id = context.connection_id(e.connection->index);
      const int client = client_of(e.connection->index);
      if (e.side >= 0 && client >= 0) f.role = client == e.side ? "client" : "server";
    }
    if (!begun) at(f.time_ns);
    format.finding(f);
  }

  void decided(const model::Message& m, const model::Call* call, const model::Message* answer,
               bool taken) {
    if (taken) {
      const Origin o = origin(m);
      format.message(m, o);
      if (call != nullptr) {
        for (const model::ChunkOperation& op : call->operations) format.operation(*call, op, o);
      }
      if (answer != nullptr) format.message(*answer, origin(*answer));
    }
    if (call != nullptr) end(*call, answer, taken);
  }

  void end(const model::Call& call, const model::Message* answer, bool shown) {
    const Origin o = origin(call.message);
    std::int64_t end_ns = call.message.time_ns;
    if (answer != nullptr) {
      end_ns = answer->time_ns;
    } else if (const Connection* c = connections.find(o.connection)) {
      end_ns = c->connection->last_ns;
      // The ledger still counts the Call that ends without a message.
      model::Credits credits = context.model->connection(o.connection).caller[o.caller].credits;
      if (credits.in_use != 0) --credits.in_use;
      at(end_ns).credits(credits, o, end_ns);
    }
    format.call_ended({call, answer, o, end_ns}, shown);
  }

  // Draws most events. Findings on an event come after it.
  struct BeforeRules final : model::Observer {
    explicit BeforeRules(Impl& impl) : t(impl) {}
    void on_message(const model::MessageSeen& event) override;
    void on_cm(const roce::CmMessage& event) override;
    void on_open(const roce::Connection& connection) override;
    void on_merge(const roce::Merge& event) override;
    void on_refusal(const roce::Acknowledgement& event) override;
    void on_retransmission(const roce::Retransmission& event) override;
    void on_operation_end(const model::OperationSeen& event) override;
    Impl& t;
  };
  // Draws the ends of Calls and connections. Findings on them come before.
  struct AfterRules final : model::Observer {
    explicit AfterRules(Impl& impl) : t(impl) {}
    void on_message(const model::MessageSeen& event) override;
    void on_call_end(const model::CallEnded& event) override;
    void on_merge(const roce::Merge& event) override;
    void on_close(const roce::Connection& connection) override;
    void on_evict(const roce::Connection& connection) override;
    Impl& t;
  };

  Format& format;
  BeforeRules before_rules{*this};
  AfterRules after_rules{*this};
  session::Session session;
  const session::Context& context;
  std::unique_ptr<report::Selection> selection;  // null: everything is drawn
  roce::ByConnection<Connection> connections;
  Moments moments;
  std::int64_t now_ns = 0;  // time of the latest event
  bool begun = false;
  Vantage vantage = Vantage::kNetwork;  // of the first connection, if no event precedes it
};

Timeline::Timeline(Format& format, TimelineOptions options)
    : impl_(std::make_unique<Impl>(format, std::move(options))) {}
Timeline::~Timeline() = default;

session::Pipeline& Timeline::pipeline() {
  return impl_->session.pipeline();
}

void Timeline::finish(std::uint64_t dropped) {
  impl_->session.finish_rules(dropped);
  if (impl_->selection) impl_->selection->finish();
  impl_->at(impl_->now_ns).end();
}

void Timeline::Impl::BeforeRules::on_message(const model::MessageSeen& event) {
  const model::Message& m = event.message;
  t.moments.note(m.id, m.frame, m.time_ns);
  const Origin o = t.origin(m);
  t.note_client(o.connection, m.time_ns);
  Format& to = t.at(m.time_ns);
  if (m.kind == model::Kind::kCall && event.call != nullptr) to.call_begun(*event.call, o);
  if (t.selection) {
    t.selection->expect(m.id);
  } else {
    to.message(m, o);
  }
  if (m.kind != model::Kind::kMalformed) to.credits(m.credits, o, m.time_ns);
}

void Timeline::Impl::BeforeRules::on_cm(const roce::CmMessage& event) {
  if (event.connection != nullptr && (std::holds_alternative<wire::CmReq>(event.mad.message) ||
                                      std::holds_alternative<wire::CmRep>(event.mad.message))) {
    t.add_private_data(t.followed(*event.connection), static_cast<std::size_t>(event.sender),
                       event.meta.time_ns);
  }
}

void Timeline::Impl::BeforeRules::on_open(const roce::Connection& connection) {
  Impl::Connection& c = t.followed(connection);
  c.client = t.client_of(connection.index);
  const std::int64_t time_ns = opened_ns(connection);
  if (!t.begun) t.vantage = vantage_of(connection, c.client);
  Format& to = t.at(time_ns);
  // Called again when more is known about the connection.
  std::exchange(c.opened, true) ? to.changed(connection, c.client, time_ns)
                                : to.opened(connection, c.client, time_ns);
  // A recording has no CM messages.
  if (is_complete(connection)) {
    for (std::size_t side = 0; side < 2; ++side) t.add_private_data(c, side, time_ns);
  }
}

void Timeline::Impl::BeforeRules::on_merge(const roce::Merge& event) {
  const roce::Connection& into = event.into;
  t.at(into.last_ns).joined(into, event.from, into.last_ns);
}

void Timeline::Impl::BeforeRules::on_refusal(const roce::Acknowledgement& event) {
  t.at(event.meta.time_ns)
      .refusal(event.connection, event.sender, event.aeth, event.psn, event.meta);
}

void Timeline::Impl::BeforeRules::on_retransmission(const roce::Retransmission& event) {
  t.at(event.meta.time_ns).retransmission(event.connection, event.sender, event.count, event.meta);
}

void Timeline::Impl::BeforeRules::on_operation_end(const model::OperationSeen& event) {
  const roce::Operation& op = event.op;
  const model::Call* const call = event.call;
  if (call == nullptr) {
    // Connections without RPC-over-RDMA are not drawn.
    if (t.context.model->connection(event.connection.index).speaks == model::Speaks::kRpc) {
      t.at(op.last_ns).unmatched_operation(event.connection, op);
    }
  } else if (!t.selection) {
    t.at(op.last_ns)
        .operation(*call, chunk_operation(op, *call, event.segment), t.origin(call->message));
  }
}

void Timeline::Impl::AfterRules::on_message(const model::MessageSeen& event) {
  if (t.selection) t.selection->on_message(event.message, event.call);
}

void Timeline::Impl::AfterRules::on_call_end(const model::CallEnded& event) {
  if (t.selection) return t.selection->on_call_end(event.call, event.answer);
  t.end(event.call, event.answer, true);
}

void Timeline::Impl::AfterRules::on_merge(const roce::Merge& event) {
  if (t.selection) t.selection->on_merge(event.into, event.from);
}

void Timeline::Impl::AfterRules::on_close(const roce::Connection& connection) {
  t.at(connection.last_ns).closed(connection, connection.last_ns);
}

void Timeline::Impl::AfterRules::on_evict(const roce::Connection& connection) {
  if (t.selection) t.selection->on_evict(connection);
  t.format.evict(connection.index);
  t.connections.erase(connection.index);
}

}  // namespace rpcrdma::timeline
