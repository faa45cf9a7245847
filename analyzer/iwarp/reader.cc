// Connections. A TCP connection is iWARP if it begins with MPA's Request or Reply, or if FPDUs are
// found in it: the capture may begin after the set-up. What begins with anything else is forgotten
// at once, and a place in `rejected` keeps it from being searched again.
//
// Order. tcp_stream.cc puts the segments of each direction in order and finds out what is missing.
// fpdu_stream.cc finds the FPDUs in the bytes, operations.cc the Sends, RDMA Writes and RDMA Reads
// in the FPDUs. iWARP has no packet sequence numbers: everything else that the analyzer knows of
// RoCE packets is absent here (roce::kAbsentPackets, roce::kAbsentRefusals).
//
// Sides. Side 0 sends the MPA Request. Without it, side 0 is the one whose segment was seen first.
// The acknowledgement of a segment counts before its bytes: these may answer what the capture lost.
#include "state.h"

#include <algorithm>
#include <utility>

#include <rpcrdma/roce/note_tunnels.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::iwarp {

namespace {

// The reason of a CM REJ by the program that was called.
constexpr std::uint16_t kConsumerReject = 28;

bool less(const End& a, const End& b) {
  if (a.port != b.port) return a.port < b.port;
  return a.address.bytes < b.address.bytes;
}

std::vector<std::uint8_t> without_trailing_zeros(Bytes data) {
  while (!data.empty() && data.back() == 0) data = data.first(data.size() - 1);
  return {data.begin(), data.end()};
}

}  // namespace

// Passes on the bytes that one end sends.
struct Reader::Impl::EndSink final : ByteSink {
  EndSink(Impl& reader, Flow& flow, std::size_t from) : reader_(reader), flow_(flow), from_(from) {}
  void on_bytes(Bytes bytes, const roce::PacketMeta& meta) override {
    reader_.bytes(flow_, from_, bytes, meta);
  }
  void on_missing(std::uint64_t count, const roce::PacketMeta& meta) override {
    reader_.missing(flow_, from_, count, meta);
  }

 private:
  Impl& reader_;
  Flow& flow_;
  std::size_t from_;
};

Reader::Reader(roce::Listener& listener, roce::ConnectionNumbers& numbers)
    : impl_(std::make_unique<Impl>(listener, numbers)) {}
Reader::~Reader() = default;

bool Reader::packet(const capture::IpPacket& ip, const roce::PacketMeta& meta) {
  return impl_->packet(ip, meta);
}
void Reader::skip() {
  impl_->skip();
}
void Reader::finish(std::int64_t end_ns) {
  impl_->finish(end_ns);
}
roce::PacketStats Reader::stats() const {
  return impl_->stats;
}
std::uint32_t Reader::connection_count() const {
  return impl_->numbers.next;
}
const roce::Connection* Reader::find(std::uint32_t index) const {
  return impl_->connections.find(index);
}
std::size_t Reader::held_bytes() const {
  return impl_->memory;
}

bool Reader::Impl::packet(const capture::IpPacket& ip, const roce::PacketMeta& meta) {
  TcpSegment s;
  if (!decode_tcp(ip, s)) return false;
  s.meta = meta;
  now_ns = meta.time_ns;
  const End source{ip.src, s.source_port};
  const End destination{ip.dst, s.destination_port};
  const FlowKey key =
      less(source, destination) ? FlowKey{source, destination} : FlowKey{destination, source};
  Flow* const flow = find_flow(key, s, source, destination);
  if (flow == nullptr) return false;
  in_order(*flow, flow->end[0] == source ? 0 : 1, s);
  if (flow->rejected) {
    forget(*flow);
    return false;
  }
  if (flow->connection != nullptr) {
    roce::Connection& c = *flow->connection;
    const std::size_t from = flow->side_of(flow->end[0] == source ? 0 : 1);
    roce::note_tunnels(c.side[from], ip.tunnels, meta.frame);
  }
  if (flow->closed) release(*flow);
  account(*flow);
  return flow->connection != nullptr;
}

// Null: it is not iWARP, or shows nothing yet.
Flow* Reader::Impl::find_flow(const FlowKey& key, const TcpSegment& s, const End& source,
                              const End& destination) {
  const std::uint64_t hash = hash_value(key);
  std::uint64_t& passed = rejected[hash % rejected.size()];
  const auto at = flows.find(key);
  Flow* flow = at == flows.end() ? nullptr : at->second.get();
  if (s.syn && flow != nullptr) {
    // The same ports again: a new connection, unless it is the same SYN.
    const Direction& d = flow->direction[flow->end[0] == source ? 0 : 1];
    const bool begun = flow->closed || d.any_fpdu || d.stage != Direction::Stage::kFirst;
    if (d.syn ? d.isn != s.sequence : begun) {
      if (flow->connection != nullptr) end(*flow, s.meta);
      forget(*flow);
      flow = nullptr;
    }
  }
  if (flow != nullptr) return flow;
  if (s.syn) {
    if (passed == hash) passed = 0;
    return s.ack ? &new_flow(key, destination, source) : &new_flow(key, source, destination);
  }
  if (s.rst || s.payload.empty() || passed == hash) return nullptr;
  return &new_flow(key, source, destination);
}

Flow& Reader::Impl::new_flow(const FlowKey& key, const End& first, const End& second) {
  while (unknown.size() >= kMaxUnknown) {
    const FlowKey oldest = unknown.front();
    unknown.pop_front();
    const auto at = flows.find(oldest);
    if (at != flows.end() && at->second->connection == nullptr) forget(*at->second);
  }
  unknown.push_back(key);
  auto flow = std::make_unique<Flow>();
  flow->key = key;
  flow->end = {first, second};
  Flow& added = *flow;
  flows[key] = std::move(flow);
  return added;
}

// The connection's counters follow those of its streams.
void Reader::Impl::count_losses(Flow& flow) {
  if (flow.connection == nullptr) return;
  for (std::size_t end = 0; end < 2; ++end) {
    const roce::SideCounters& from = flow.direction[end].counters;
    roce::SideCounters& to = flow.connection->side[flow.side_of(end)].counters;
    to.packets = from.packets;
    to.payload_bytes = from.payload_bytes;
    const auto add = [](std::uint64_t have, std::uint64_t& had, std::uint64_t& sum) {
      sum += have - std::exchange(had, have);
    };
    add(from.retransmitted, to.retransmitted, stats.retransmitted);
    add(from.captured_twice, to.captured_twice, stats.captured_twice);
    add(from.reordered, to.reordered, stats.reordered);
    add(from.lost_network, to.lost_network, stats.lost_network);
    add(from.lost_capture, to.lost_capture, stats.lost_capture);
  }
}

// Passes a segment on, unless it must wait for what it acknowledges (early_segments.h).
void Reader::Impl::in_order(Flow& flow, std::size_t from, const TcpSegment& s) {
  Direction& d = flow.direction[from];
  ++d.counters.packets;
  d.counters.payload_bytes += s.wire_payload;
  if (State* const c = flow.connection; c != nullptr) {
    ++stats.iwarp;
    c->last_frame = s.meta.frame;
    c->clock_stepped_back |= roce::steps_back(c->last_ns, s.meta.time_ns);
    c->last_ns = s.meta.time_ns;
    count_losses(flow);
  }
  const bool known = flow.connection != nullptr && !flow.closed && !s.syn && !s.rst;
  if (known &&
      (flow.early.from(from) || (s.ack && flow.direction[1 - from].tcp.unseen(s.acknowledged)))) {
    flow.early.add(from, s);
  } else {
    if (s.rst) take_early(flow, true);
    segment(flow, from, s);
  }
  take_early(flow, false);
}

void Reader::Impl::take_early(Flow& flow, bool all) {
  while (!flow.early.empty()) {
    const EarlySegments::Early& first = flow.early.front();
    const bool unseen =
        first.segment.ack && flow.direction[1 - first.from].tcp.unseen(first.segment.acknowledged);
    if (unseen && !all && !flow.early.expired(now_ns)) return;
    const EarlySegments::Early e = flow.early.take();
    segment(flow, e.from, e.segment);
  }
}

void Reader::Impl::segment(Flow& flow, std::size_t from, const TcpSegment& s) {
  Direction& d = flow.direction[from];
  Direction& other = flow.direction[1 - from];
  // Segments after the end are counted and not read.
  if (flow.closed) return;
  if (s.syn) {
    if (!d.syn) d.tcp.start(s.sequence + 1);
    d.syn = true;
    d.isn = s.sequence;
    return;
  }
  if (s.ack) {
    EndSink sink(*this, flow, 1 - from);
    other.tcp.acknowledge(s.acknowledged, s.meta, other.counters, sink);
    if (flow.rejected) return;
  }
  std::uint64_t again = 0;
  if (s.wire_payload != 0) {
    EndSink sink(*this, flow, from);
    again = d.tcp.segment(s, d.counters, sink);
    if (flow.rejected) return;
  }
  State* const c = flow.connection;
  if (s.fin) {
    d.tcp.finish_at(s.sequence + static_cast<std::uint32_t>(s.wire_payload));
    d.fin = true;
  }
  if (c != nullptr) {
    count_losses(flow);
    const int side = static_cast<int>(flow.side_of(from));
    if (again != 0) listener.on_retransmission({*c, side, again, s.meta});
    if ((s.fin || s.rst) && c->closed_by < 0) {
      c->closed_by = side;
      c->closed_frame = s.meta.frame;
    }
  }
  const bool over = s.rst || (d.fin && other.fin && d.tcp.ended() && other.tcp.ended());
  if (!over || flow.closed) return;
  end(flow, s.meta);
  if (flow.connection == nullptr) flow.rejected = true;
}

// What the flush delivers may close the connection itself.
void Reader::Impl::end(Flow& flow, const roce::PacketMeta& meta) {
  if (flow.closed) return;
  flush(flow, meta);
  if (flow.connection == nullptr || flow.closed) return;
  close(*flow.connection, roce::State::kClosed, meta.time_ns);
}

// What is left of the streams.
void Reader::Impl::flush(Flow& flow, const roce::PacketMeta& meta) {
  take_early(flow, true);
  if (flow.closed || flow.rejected) return;
  for (std::size_t end = 0; end < 2; ++end) {
    Direction& d = flow.direction[end];
    EndSink sink(*this, flow, end);
    d.tcp.flush(meta, d.counters, sink);
    if (flow.connection == nullptr || flow.closed) return;
    d.fpdus.finish();
    fpdus(flow, end);
  }
  count_losses(flow);
}

void Reader::Impl::search(Flow& flow, std::size_t from) {
  Direction& d = flow.direction[from];
  const Direction& peer = flow.direction[1 - from];
  d.stage = Direction::Stage::kStream;
  const bool no_markers = peer.mpa_known && !peer.wants_markers;
  const bool crc = peer.mpa_known && peer.wants_crc;
  d.fpdus.search(no_markers ? Known::kOff : Known::kUnknown, crc ? Known::kOn : Known::kUnknown);
  if (flow.connection != nullptr) d.fpdus.trust();
}

void Reader::Impl::bytes(Flow& flow, std::size_t from, Bytes bytes, const roce::PacketMeta& meta) {
  if (flow.closed || flow.rejected) return;
  count_losses(flow);
  Direction& d = flow.direction[from];
  if (d.stage == Direction::Stage::kFirst) {
    d.first_bytes.insert(d.first_bytes.end(), bytes.begin(), bytes.end());
    const MpaBegin begin = mpa_begins(d.first_bytes);
    const auto frame = decode_mpa(d.first_bytes);
    if (begin != MpaBegin::kNo && !frame && !mpa_too_long(d.first_bytes)) return;
    const std::vector<std::uint8_t> first = std::exchange(d.first_bytes, {});
    const std::size_t initiator = frame && frame->reply ? 1 - from : from;
    if (!frame || (flow.connection != nullptr && flow.side_of(initiator) != 0)) {
      // From its beginning on, an iWARP connection has MPA frames.
      if (d.syn && flow.connection == nullptr) return reject(flow);
      search(flow, from);
      d.fpdus.on_bytes(first, meta);
      return fpdus(flow, from);
    }
    if (flow.connection == nullptr) flow.first = static_cast<std::uint8_t>(initiator);
    if (!set_up(flow, from, *frame, meta) || first.size() == frame->length) return;
    return this->bytes(flow, from, Bytes(first).subspan(frame->length), meta);
  }
  if (d.stage == Direction::Stage::kSetUp) begin_stream(flow, from);
  d.fpdus.on_bytes(bytes, meta);
  fpdus(flow, from);
}

void Reader::Impl::missing(Flow& flow, std::size_t from, std::uint64_t count,
                           const roce::PacketMeta& meta) {
  if (flow.closed || flow.rejected) return;
  if (State* const c = flow.connection; c != nullptr) {
    const auto lost = [&] {
      return c->side[0].counters.lost_capture + c->side[1].counters.lost_capture;
    };
    const std::uint64_t before = lost();
    count_losses(flow);
    if (lost() != before) c->gap_known_frame = meta.frame;
  }
  Direction& d = flow.direction[from];
  if (d.stage == Direction::Stage::kFirst) {
    d.first_bytes.clear();
    search(flow, from);
  }
  if (d.stage == Direction::Stage::kSetUp) begin_stream(flow, from);
  d.fpdus.on_missing(count, meta);
  fpdus(flow, from);
}

void Reader::Impl::reject(Flow& flow) {
  const std::uint64_t hash = hash_value(flow.key);
  rejected[hash % rejected.size()] = hash;
  flow.rejected = true;
}

void Reader::Impl::forget(Flow& flow) {
  memory -= flow.memory;
  if (flow.connection != nullptr) flow.connection->flow = nullptr;
  const FlowKey key = flow.key;
  flows.erase(key);
}

// Bounds what all connections hold together.
void Reader::Impl::account(Flow& flow) {
  const auto measure = [&] {
    std::size_t n = flow.early.bytes();
    for (const Direction& d : flow.direction) {
      n += d.tcp.held_bytes() + d.fpdus.buffered() + d.first_bytes.size() + d.send.buffer.size() +
           d.write.buffer.size();
    }
    memory += n - flow.memory;
    flow.memory = n;
  };
  measure();
  if (memory <= kMaxMemory) return;
  shed(flow, {flow.connection != nullptr ? flow.connection->last_frame : 0, now_ns});
  measure();
}

// Drops what the flow holds, as if the capture had lost it.
void Reader::Impl::shed(Flow& flow, const roce::PacketMeta& meta) {
  for (std::size_t end = 0; end < 2; ++end) {
    Direction& d = flow.direction[end];
    ++d.counters.lost_capture;
    count_losses(flow);
    if (flow.connection != nullptr) {
      give_send(*flow.connection, flow.side_of(end), false);
      give_write(*flow.connection, flow.side_of(end), false);
    }
    d.send = {};
    d.write = {};
    d.first_bytes = {};
    d.tcp.restart();
    if (d.stage == Direction::Stage::kStream) d.fpdus.on_missing(UINT64_MAX, meta);
  }
}

// Frees what a closed connection held.
void Reader::Impl::release(Flow& flow) {
  for (Direction& d : flow.direction) {
    d.tcp.restart();
    d.fpdus = {};
    d.first_bytes = {};
  }
}

bool Reader::Impl::set_up(Flow& flow, std::size_t from, const MpaFrame& frame,
                          const roce::PacketMeta& meta) {
  Direction& d = flow.direction[from];
  d.stage = Direction::Stage::kSetUp;
  d.mpa_known = true;
  d.wants_markers = frame.markers;
  d.wants_crc = frame.crc;
  State* c = flow.connection;
  if (c == nullptr) {
    c = recognise(flow, frame.reply ? roce::Setup::kInferred : roce::Setup::kCm, meta);
    if (c == nullptr) {
      reject(flow);
      return false;
    }
    c->state = roce::State::kOpening;
  }
  roce::CmSide& cm = c->side[flow.side_of(from)].cm;
  cm.seen = true;
  cm.frame = meta.frame;
  cm.time_ns = meta.time_ns;
  cm.depths_known = frame.enhanced;
  cm.responder_resources = frame.ird;
  cm.initiator_depth = frame.ord;
  cm.private_data = without_trailing_zeros(frame.private_data);
  c->mpa_revision = frame.revision;
  if (frame.reply) {
    reply(flow, frame, meta);
  } else {
    request(flow, frame, meta);
  }
  return !flow.closed;
}

void Reader::Impl::request(Flow& flow, const MpaFrame& f, const roce::PacketMeta& meta) {
  State& c = *flow.connection;
  c.requests_sent = 1;
  flow.peer_to_peer = f.peer_to_peer;
  c.service_id = wire::kServiceIdRdmaTcp | flow.end[1U - flow.first].port;
  listener.on_mpa({c, 0, meta});
}

void Reader::Impl::reply(Flow& flow, const MpaFrame& f, const roce::PacketMeta& meta) {
  State& c = *flow.connection;
  if (c.state == roce::State::kOpening && !f.reject) {
    c.state = roce::State::kOpen;
    listener.on_open(c);
  }
  listener.on_mpa({c, 1, meta});
  if (!f.reject) return;
  c.closed_by = 1;
  c.closed_frame = meta.frame;
  c.reject_reason = kConsumerReject;
  close(c, roce::State::kRejected, meta.time_ns);
}

// Both sides' MPA frames say what there is in the stream; one of them may not be in the capture.
void Reader::Impl::begin_stream(Flow& flow, std::size_t from) {
  Direction& d = flow.direction[from];
  const Direction& peer = flow.direction[1 - from];
  d.stage = Direction::Stage::kStream;
  const Known markers = !peer.mpa_known      ? Known::kUnknown
                        : peer.wants_markers ? Known::kOn
                                             : Known::kOff;
  const bool crc = d.wants_crc || peer.wants_crc;
  const bool both = d.mpa_known && peer.mpa_known;
  d.fpdus.start(markers, crc ? Known::kOn : both ? Known::kOff : Known::kUnknown);
}

// Null: there are no more indexes.
State* Reader::Impl::recognise(Flow& flow, roce::Setup setup, const roce::PacketMeta& meta) {
  if (numbers.next == UINT32_MAX) return nullptr;
  make_room();
  State& c = connections[numbers.next];
  c.index = numbers.next++;
  c.transport = roce::Transport::kIwarp;
  c.absent = roce::kAbsentPackets | roce::kAbsentRefusals;
  c.setup = setup;
  c.flow = &flow;
  c.first_frame = c.last_frame = meta.frame;
  c.first_ns = c.last_ns = meta.time_ns;
  for (std::size_t end = 0; end < 2; ++end) {
    roce::Side& side = c.side[flow.side_of(end)];
    side.address = flow.end[end].address;
    side.qpn = flow.end[end].port;
    side.qpn_known = side.is_port = true;
    stats.iwarp += flow.direction[end].counters.packets;
    flow.direction[end].fpdus.trust();
  }
  flow.connection = &c;
  count_losses(flow);
  idle.add(c, c.idle);
  return &c;
}

// Passes on the FPDUs that have come.
void Reader::Impl::fpdus(Flow& flow, std::size_t from) {
  Direction& d = flow.direction[from];
  Fpdu f;
  if (flow.connection != nullptr) {
    while (!flow.closed && d.fpdus.next(f)) take(flow, from, f);
    return;
  }
  if (!d.fpdus.next(f)) {
    if (d.fpdus.searched() > kSearched) reject(flow);
    return;
  }
  if (recognise(flow, roce::Setup::kInferred, f.first) == nullptr) return reject(flow);
  listener.on_open(*flow.connection);
  // The other direction may have waited to be recognised as well.
  Direction& other = flow.direction[1 - from];
  Fpdu g;
  bool more = true, more_of_other = other.fpdus.next(g);
  while (more || more_of_other) {
    if (more && (!more_of_other || f.last.frame <= g.last.frame)) {
      take(flow, from, f);
      more = d.fpdus.next(f);
    } else {
      take(flow, 1 - from, g);
      more_of_other = other.fpdus.next(g);
    }
  }
}

void Reader::Impl::take(Flow& flow, std::size_t from, const Fpdu& f) {
  State& c = *flow.connection;
  if (c.state == roce::State::kOpening) {
    c.state = roce::State::kOpen;
    listener.on_open(c);
  }
  fpdu(c, flow.side_of(from), f);
}

void Reader::Impl::skip() {
  for (const auto& [key, flow] : flows) {
    if (flow->closed) continue;
    for (std::size_t end = 0; end < 2; ++end) {
      Direction& d = flow->direction[end];
      if (d.stage == Direction::Stage::kFirst) continue;
      if (d.stage == Direction::Stage::kSetUp) begin_stream(*flow, end);
      d.tcp.restart();
      d.fpdus.on_missing(UINT64_MAX, {});
    }
  }
}

void Reader::Impl::finish(std::int64_t end_ns) {
  connections.for_each([&](State& c) {
    if (c.flow == nullptr || c.flow->closed) return;
    flush(*c.flow, {c.last_frame, c.last_ns});
    if (c.flow->closed) return;
    end_messages(c, 0);
    end_messages(c, 1);
    c.flow->closed = true;
    c.ended_ns = std::max(end_ns, c.last_ns);
    listener.on_close(c);
  });
}

void Reader::Impl::close(State& c, roce::State state, std::int64_t ended_ns) {
  end_messages(c, 0);
  end_messages(c, 1);
  c.state = state;
  c.ended_ns = ended_ns;
  listener.on_close(c);
  c.flow->closed = true;  // its further segments are recognised
  idle.requeue(c, c.idle);
}

void Reader::Impl::make_room() {
  while (connections.size() >= roce::kMaxConnections) {
    evict(idle.first([this](std::uint32_t index) -> State& { return *connections.find(index); }));
  }
}

void Reader::Impl::evict(State& c) {
  c.evict = true;
  if (roce::IdleOrder::is_open(c)) end(*c.flow, {c.last_frame, c.last_ns});
  if (c.flow != nullptr) forget(*c.flow);
  ++stats.evict;
  listener.on_evict(c);
  idle.erase(c.idle);
  connections.erase(c.index);
}

}  // namespace rpcrdma::iwarp
