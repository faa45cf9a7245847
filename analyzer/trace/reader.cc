// Streams and endpoints. An endpoint sends its events in a stream: a live connection, or a file of
// a recording. A stream begins with an Endpoint event. If that names an endpoint already known, the
// stream continues it (the next file of a ring); further events of the previous stream are ignored,
// since the new one has them too. Replayed events of a known connection are ignored as well.
//
// Time. A replayed event has the time at which it was first emitted: only events of the stream
// itself can show that the clock stepped back.
//
// Order. The events of an endpoint's thread are in the order in which they happened, so nothing is
// reordered here, as packets must be. Only the ends of RDMA Writes are not recorded: a Write has
// ended when a later message of its side arrives (RC order).
//
// Exclusions. A recording may be limited to some types of events. Without the operations all of
// them are unseen; without the messages that advertise their memory they cannot be checked, and
// count as unseen too.
//
// Loss. A Loss event marks the place of missing events, with sums over one thread's ring. Events
// that those sums do not explain are missing in the recording itself. Either way, the connections
// of that thread are incomplete: Connection::events_lost. The same holds for a frame that is not a
// valid event: its thread is unknown, so it counts as missing on all connections of its endpoint at
// once, and is not counted again when the sums reveal it.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/roce/idle_order.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_reader/reader.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::trace_reader {

namespace {

using roce::OpKind;
using roce::PacketMeta;
using wire::Bytes;

constexpr std::size_t kMaxStreams = 65536;
constexpr std::size_t kMaxEndpoints = 256;
constexpr std::size_t kMaxRings = 256;      // of one endpoint
constexpr std::size_t kMaxNameBytes = 256;  // significant bytes of an endpoint's name
// RDMA operations in flight, per side of a connection and in total. Beyond that, Writes count as
// ended, and Reads are abandoned.
constexpr std::size_t kMaxOutstanding = 256;
constexpr std::size_t kMaxOutstandingOfAll = 65536;
// Recorded Calls that have not been sent yet, over all connections. The procedures of further ones
// are not kept.
constexpr std::size_t kMaxUnsent = 65536;

struct Outstanding {
  std::uint64_t id = 0;
  roce::Operation op;
};

struct Ring {
  std::uint64_t received = 0;  // since the latest Endpoint event, except:
  std::uint64_t repeated = 0;  // replayed since the latest Loss event
  // Sums of the latest Loss event, and the number received when it came.
  std::uint64_t emitted = 0;
  std::uint64_t lost = 0;
  std::uint64_t accounted = 0;
  std::uint64_t gone = 0;  // all events known to be missing
};

// What a connection cannot show, whatever its messages have.
std::uint16_t absent_of(roce::Origin origin, const trace::Connection& recorded) {
  std::uint16_t absent = roce::is_kernel(origin) ? roce::absent_from(origin) : 0;
  // BPF programs may see private data.
  if (origin == roce::Origin::kKernelBpf) absent &= static_cast<std::uint16_t>(~roce::kAbsentSetup);
  if (recorded.private_data_unknown != 0) absent |= roce::kAbsentSetup;
  if (recorded.not_sampled != 0) absent |= roce::kAbsentUnlessSampled;
  return absent;
}

// What a message cannot show.
std::uint16_t absent_of(const trace::Message& recorded) {
  constexpr std::array<std::pair<trace::MessageUnknown, roce::Absent>, 5> kBits{{
      {trace::kBytesUnknown, roce::kAbsentBytes},
      {trace::kCreditUnknown, roce::kAbsentCredit},
      {trace::kLengthUnknown, roce::kAbsentLengths},
      {trace::kChunksUnknown, roce::kAbsentChunks},
      {trace::kInvalidationUnknown, roce::kAbsentInvalidation},
  }};
  std::uint16_t absent = 0;
  for (const auto& [unknown, bit] : kBits) {
    if ((recorded.unknown & unknown) != 0) absent |= bit;
  }
  return absent;
}

// Text from an endpoint, escaped: a recording may contain anything.
std::string words(Bytes payload) {
  constexpr std::size_t kLongest = 256;
  const Bytes part = payload.first(std::min(payload.size(), kLongest));
  if (part.empty()) return "its endpoint gave no reason";
  return decode::escape_text({reinterpret_cast<const char*>(part.data()), part.size()});
}

struct State;

struct EndpointKey {
  std::uint32_t process = 0;
  std::int64_t since = 0;
  std::string name;
  friend bool operator==(const EndpointKey&, const EndpointKey&) = default;
};

struct EndpointState {
  bool named = false;  // an Endpoint event has set `key`
  EndpointKey key;
  std::uint64_t stream = 0;          // the current stream of its events
  std::int64_t begun = INT64_MIN;    // when that stream began, by the endpoint's clock
  std::int64_t begun_ns = 0;         // the same by the wall clock
  std::int64_t last_ns = INT64_MIN;  // of its latest event
  std::uint64_t streams = 0;         // number of streams so far
  bool shows_operations = true;      // neither operations nor messages are excluded
  roce::Origin origin = roce::Origin::kEndpoint;
  std::uint64_t damaged = 0;      // frames that are not valid events
  std::uint64_t unexplained = 0;  // those not yet explained by a sum
  std::map<std::uint32_t, Ring> rings;
  tsl::robin_map<std::uint32_t, State*> open;  // by the endpoint's own number
};

struct State : roce::Connection {
  EndpointState* endpoint = nullptr;
  std::uint32_t id = 0;  // the endpoint's own number
  std::uint8_t local = 0;
  std::uint64_t begun_in = 0;  // number of its endpoint's stream that opened it
  const Ring* ring = nullptr;  // of the thread that records it; null: not followed
  std::uint64_t gone_before = 0;
  std::array<std::vector<Outstanding>, 2> outstanding;    // by initiator, in order
  std::array<std::uint32_t, 2> order{};                   // in place of PSNs
  std::uint32_t mtu = 0;                                  // see least_mtu()
  tsl::robin_map<std::uint32_t, roce::Procedure> unsent;  // own Calls without a Message, by XID
  roce::IdleKey idle;
};

// Returns no address if it is unknown.
capture::Address address_of(const std::array<std::uint8_t, 16>& bytes) {
  if (bytes == std::array<std::uint8_t, 16>{}) return {};
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin())
             ? capture::make_ipv4(bytes.data() + kMapped.size())
             : capture::make_ipv6(bytes.data());
}

std::vector<std::uint8_t> without_trailing_zeros(Bytes data) {
  while (!data.empty() && data.back() == 0) data = data.first(data.size() - 1);
  return {data.begin(), data.end()};
}

// Whether this is a Connection event for a connection that is older than its stream.
bool stood_before(const trace::EventView& view, const EndpointState& e) {
  return trace::read_event<trace::Connection>(view)->replayed != 0 || view.header.time < e.begun;
}

// The path MTU of a connection, or the smallest one if no event states a valid one.
std::uint32_t least_mtu(const trace::Connection& recorded) {
  constexpr std::uint32_t kLeast = 256;
  constexpr std::uint32_t kMost = 4096;
  const std::uint32_t mtu = recorded.path_mtu;
  return std::has_single_bit(mtu) && mtu >= kLeast && mtu <= kMost ? mtu : kLeast;
}

// The most packets that these bytes need.
std::uint64_t packets_of(std::uint64_t bytes, std::uint32_t mtu) {
  return std::max<std::uint64_t>(1, (bytes + mtu - 1) / mtu);
}

// Whether a stream replays this event: it happened before the stream began.
bool is_replayed(const trace::EventView& view, const EndpointState& e) {
  switch (static_cast<trace::EventType>(view.header.type)) {
    case trace::EventType::kConnection:
      return stood_before(view, e);
    case trace::EventType::kCredits:
      return view.header.time < e.begun;
    default:
      return false;
  }
}

// Wall-clock time of the event itself. The time of its frame is when this reader received it, which
// is later for events from before the stream; in recordings of older versions both are the same.
std::int64_t wall_time(const trace::EventView& view, const PacketMeta& meta,
                       const EndpointState& e) {
  if (view.header.time >= e.begun) return meta.time_ns;
  const std::uint64_t before =
      static_cast<std::uint64_t>(e.begun) - static_cast<std::uint64_t>(view.header.time);
  const bool since_epoch = e.begun_ns >= 0 && before <= static_cast<std::uint64_t>(e.begun_ns);
  if (!since_epoch) return meta.time_ns;
  return e.begun_ns - static_cast<std::int64_t>(before);
}

// Events missing from the connection's history.
std::uint64_t gone(const EndpointState& e, const Ring* ring) {
  return e.damaged + (ring != nullptr ? ring->gone : 0);
}

// The end of a connection that was never established: no other event mentions it.
std::optional<trace::Connection> never_established(const trace::EventView& view) {
  if (view.header.type != static_cast<std::uint16_t>(trace::EventType::kConnectionEnd)) return {};
  const auto recorded = *trace::read_event<trace::ConnectionEnd>(view);
  if (recorded.established != 0) return {};
  trace::Connection connection;
  connection.peer = recorded.peer;
  connection.port = recorded.port;
  connection.active = recorded.active;
  connection.sees_peer_operations = 1;  // there are none
  return connection;
}

// Whether events follow the last sums. A stream that ends properly ends with its sums.
bool is_open_ended(const EndpointState& e) {
  return std::any_of(e.rings.begin(), e.rings.end(), [](const auto& ring) {
    return ring.second.received != ring.second.accounted;
  });
}

// Returns `have` - `had`, or 0 if that is negative.
std::uint64_t more(std::uint64_t have, std::uint64_t had) {
  return have > had ? have - had : 0;
}

}  // namespace

struct Reader::Impl {
  Impl(roce::Listener& l, roce::ConnectionNumbers& n, std::vector<Observer*> o)
      : listener(l), numbers(n), observers(std::move(o)) {}

  roce::Listener& listener;
  roce::ConnectionNumbers& numbers;
  std::vector<Observer*> observers;
  ReaderStats stats;
  roce::PacketStats packets;
  tsl::robin_map<std::uint64_t, EndpointState*> streams;
  std::vector<std::unique_ptr<EndpointState>> endpoints;
  roce::ByConnection<State> connections;
  roce::IdleOrder idle;
  std::size_t outstanding = 0;  // operations, over all connections
  std::size_t unsent = 0;       // Calls, over all connections

  void event(const trace::EventView& view, const PacketMeta& meta, std::uint64_t stream);
  EndpointState* new_endpoint(std::uint64_t stream);
  EndpointState* endpoint_of(std::uint64_t stream);
  void begin_stream(const trace::EventView& view, const PacketMeta& meta, std::uint64_t stream);
  Ring* ring_of(EndpointState& e, std::uint32_t number);
  void account(EndpointState& e, Ring& ring, const trace::Loss& loss);
  void count(EndpointState& e, const trace::EventView& view);
  void damaged(std::uint64_t stream);
  State* open(EndpointState& e, const trace::EventView& view, const PacketMeta& meta);
  State* add(EndpointState& e, const trace::EventView& view, const trace::Connection& recorded,
             const PacketMeta& meta);
  void evict(State& c);
  void close(State& c);
  void end_unseen(State& c);
  void close_all(EndpointState& e);
  void take(State& c, const Event& event);
  void connection_end(State& c, const Event& event);
  void message(State& c, const Event& event);
  void call(State& c, const Event& event);
  void call_sent(State& c, Bytes message);
  void call_end(State& c, const Event& event);
  void forget_unsent(State& c, std::uint32_t xid);
  void begin_operation(State& c, const Event& event);
  void count_packets(State& c, const roce::Operation& op);
  void end_operation(State& c, const Event& event);
  void end(State& c, Outstanding& o, std::uint64_t bytes, bool complete, const PacketMeta& meta);
  void end_writes(State& c, std::uint8_t side, const PacketMeta& meta);
  void give_up_operations(State& c);
  void fabric(State& c, const Event& event);
};

EndpointState* Reader::Impl::new_endpoint(std::uint64_t stream) {
  if (endpoints.size() >= kMaxEndpoints) return nullptr;
  EndpointState& e = *endpoints.emplace_back(std::make_unique<EndpointState>());
  e.stream = stream;
  streams[stream] = &e;
  ++stats.endpoints;
  return &e;
}

// The endpoint whose current stream is `stream`; null: it is not followed, or has ended.
EndpointState* Reader::Impl::endpoint_of(std::uint64_t stream) {
  const auto it = streams.find(stream);
  if (it != streams.end()) return it->second->stream == stream ? it->second : nullptr;
  // The beginning of the recording is missing.
  return streams.size() < kMaxStreams ? new_endpoint(stream) : nullptr;
}

void Reader::Impl::begin_stream(const trace::EventView& view, const PacketMeta& meta,
                                std::uint64_t stream) {
  const trace::Endpoint recorded =
      trace::read_event<trace::Endpoint>(view).value_or(trace::Endpoint{});
  const std::size_t name =
      std::min({view.payload.size(), std::size_t{recorded.name_bytes}, kMaxNameBytes});
  const EndpointKey key{
      recorded.process, recorded.since,
      std::string(view.payload.begin(), view.payload.begin() + static_cast<std::ptrdiff_t>(name))};
  const auto known = std::find_if(endpoints.begin(), endpoints.end(),
                                  [&](const auto& e) { return e->named && e->key == key; });
  EndpointState* e = known != endpoints.end() ? known->get() : nullptr;
  const auto at = streams.find(stream);
  EndpointState* const before = at != streams.end() ? at->second : nullptr;
  if (e == nullptr && before != nullptr && !before->named && before->open.empty()) e = before;
  // Another endpoint used this stream before, and has ended.
  if (before != nullptr && before != e && before->stream == stream) close_all(*before);
  if (e == nullptr)
    e = before != nullptr || streams.size() < kMaxStreams ? new_endpoint(stream) : nullptr;
  if (e == nullptr) return;
  e->named = true;
  e->key = key;
  e->stream = stream;
  e->begun = view.header.time;
  e->begun_ns = meta.time_ns;
  ++e->streams;
  constexpr std::uint64_t kOperations = trace::type_bit(trace::EventType::kMessage) |
                                        trace::type_bit(trace::EventType::kOperation) |
                                        trace::type_bit(trace::EventType::kOperationEnd);
  e->shows_operations = (recorded.left_out & kOperations) == 0;
  e->origin = origin_of(recorded.source);
  stats.left_out |= recorded.left_out;
  streams[stream] = e;
  // Sums restart.
  for (auto& [number, ring] : e->rings) ring = {.gone = ring.gone};
}

Ring* Reader::Impl::ring_of(EndpointState& e, std::uint32_t number) {
  const auto it = e.rings.find(number);
  if (it != e.rings.end()) return &it->second;
  return e.rings.size() < kMaxRings ? &e.rings[number] : nullptr;
}

void Reader::Impl::account(EndpointState& e, Ring& ring, const trace::Loss& loss) {
  const std::uint64_t emitted =
      more(more(loss.emitted, ring.emitted), std::exchange(ring.repeated, 0));
  const std::uint64_t lost = more(loss.lost, ring.lost);
  const std::uint64_t received = ring.received - ring.accounted;
  const std::uint64_t missing = more(more(emitted, lost), received);
  stats.emitted += emitted;
  stats.received += received;
  stats.lost += lost;
  stats.missing += missing;
  const std::uint64_t explained = std::min(missing, e.unexplained);
  e.unexplained -= explained;
  ring.gone += lost + missing - explained;
  ring.emitted = loss.emitted;
  ring.lost = loss.lost;
  ring.accounted = ring.received;
}

// Counts the event toward the sums of its thread.
void Reader::Impl::count(EndpointState& e, const trace::EventView& view) {
  Ring* const ring = view.header.ring != 0 ? ring_of(e, view.header.ring) : nullptr;
  if (ring == nullptr) return;
  switch (static_cast<trace::EventType>(view.header.type)) {
    case trace::EventType::kLoss:
      return account(e, *ring, *trace::read_event<trace::Loss>(view));
    case trace::EventType::kEndpoint:
      return;
    default:
      ++ring->received;
  }
}

void Reader::Impl::damaged(std::uint64_t stream) {
  ++stats.malformed;
  EndpointState* const e = endpoint_of(stream);
  if (e == nullptr) return;
  ++e->damaged;
  ++e->unexplained;
  // Each connection is updated at its next event, or at its end. Updating all of them at powers of
  // two keeps them nearly current, at a cost per frame that does not grow with the number of
  // connections.
  if (!std::has_single_bit(e->damaged)) return;
  for (auto& [id, c] : e->open) c->events_lost = gone(*e, c->ring) - c->gone_before;
}

void Reader::Impl::event(const trace::EventView& view, const PacketMeta& meta,
                         std::uint64_t stream) {
  const auto type = static_cast<trace::EventType>(view.header.type);
  const bool known = view.header.type != 0 && view.header.type <= trace::kEventTypes;
  if (type == trace::EventType::kEndpoint) begin_stream(view, meta, stream);
  EndpointState* const e = endpoint_of(stream);
  if (e == nullptr) {
    ++stats.passed_over;
    return;
  }
  e->last_ns = std::max(e->last_ns, meta.time_ns);
  State* c = nullptr;
  if (const auto it = e->open.find(view.header.connection); it != e->open.end()) c = it->second;
  const bool replayed = known && is_replayed(view, *e);
  if (replayed && c != nullptr && c->begun_in != e->streams) {
    if (Ring* const ring = ring_of(*e, view.header.ring)) ++ring->repeated;
    return;
  }
  ++(known ? stats.events : stats.unknown);
  count(*e, view);
  if (!known) return;

  if (type == trace::EventType::kConnection && c != nullptr && !replayed) {
    end_unseen(*c);  // the number was reused
    c = nullptr;
  }
  const bool opens = c == nullptr && (c = open(*e, view, meta)) != nullptr;
  if (c != nullptr) {
    c->last_frame = meta.frame;
    if (!replayed) {
      c->clock_stepped_back |= meta.time_ns < c->last_ns;
      c->last_ns = meta.time_ns;
    }
    c->events_lost = gone(*e, c->ring) - c->gone_before;
  }
  const roce::SeenAs seen = c != nullptr ? listener.seen_as(*c) : roce::SeenAs{nullptr, false};
  const std::uint8_t local = c != nullptr ? c->local : std::uint8_t{0};
  const Event shown{view, meta, seen.connection,
                    static_cast<std::uint8_t>(local ^ (seen.turned ? 1U : 0U))};
  for (Observer* observer : observers) observer->on_event(shown);
  if (c == nullptr) {
    if (view.header.connection != 0) ++stats.unplaced;
    return;
  }
  if (opens) listener.on_open(*c);
  take(*c, {view, meta, c, local});
}

// Null: the event opens none, or there are no more indexes.
State* Reader::Impl::open(EndpointState& e, const trace::EventView& view, const PacketMeta& meta) {
  if (view.header.type == static_cast<std::uint16_t>(trace::EventType::kConnection)) {
    return add(e, view, *trace::read_event<trace::Connection>(view), meta);
  }
  const auto never = never_established(view);
  return never ? add(e, {view.header, view.fixed, {}}, *never, meta) : nullptr;
}

State* Reader::Impl::add(EndpointState& e, const trace::EventView& view,
                         const trace::Connection& recorded, const PacketMeta& meta) {
  if (view.header.connection == 0 || numbers.next == UINT32_MAX) return nullptr;
  while (connections.size() >= roce::kMaxConnections) {
    evict(idle.first([this](std::uint32_t index) -> State& { return *connections.find(index); }));
  }
  State& c = connections[numbers.next];
  c.index = numbers.next++;
  c.endpoint = &e;
  c.begun_in = e.streams;
  c.id = view.header.connection;
  c.recorded = true;
  c.origin = e.origin;
  c.absent = absent_of(e.origin, recorded);
  c.mtu = least_mtu(recorded);
  c.endpoint_ns = &e.last_ns;
  c.setup = is_replayed(view, e) ? roce::Setup::kInferred : roce::Setup::kCm;
  c.local = c.recorder = recorded.active != 0 ? 0 : 1;
  c.service_id = recorded.port != 0 ? wire::kServiceIdRdmaTcp | recorded.port : 0;
  c.first_frame = c.last_frame = meta.frame;
  c.first_ns = c.last_ns = wall_time(view, meta, e);
  const std::size_t own = c.local;
  c.side[own].address = address_of(recorded.local);
  c.side[1 - own].address = address_of(recorded.peer);
  c.side[own].qpn = recorded.local_qpn;
  c.side[1 - own].qpn = recorded.peer_qpn;
  for (roce::Side& side : c.side) {
    side.qpn_known = side.qpn != 0;
    side.cm.seen = true;
    side.cm.frame = meta.frame;
    side.cm.time_ns = meta.time_ns;
  }
  const std::size_t sent = std::min<std::size_t>(recorded.sent_private_data, view.payload.size());
  c.side[own].cm.private_data = without_trailing_zeros(view.payload.first(sent));
  c.side[1 - own].cm.private_data = without_trailing_zeros(view.payload.subspan(sent));
  // Negotiated values: what one side accepts, the other initiates.
  c.side[own].cm.responder_resources = c.side[1 - own].cm.initiator_depth =
      recorded.responder_resources;
  c.side[own].cm.initiator_depth = c.side[1 - own].cm.responder_resources =
      recorded.initiator_depth;
  c.side[own].reads_recorded_at_start = true;
  if ((c.absent & roce::kAbsentSetup) != 0) {
    c.inline_threshold[own] = recorded.inline_send;
    c.inline_threshold[1 - own] = recorded.inline_receive;
  }
  // Whether a kernel reports RDMA operations of its own shows with the first one.
  c.side[own].operations_unseen = !e.shows_operations || roce::is_kernel(e.origin);
  c.side[1 - own].operations_unseen = !e.shows_operations || recorded.sees_peer_operations == 0;
  c.ring = view.header.ring != 0 ? ring_of(e, view.header.ring) : nullptr;
  c.gone_before = gone(e, c.ring);
  e.open[c.id] = &c;
  idle.add(c, c.idle);
  return &c;
}

void Reader::Impl::evict(State& c) {
  c.evict = true;
  if (roce::IdleOrder::is_open(c)) close(c);
  ++packets.evict;
  listener.on_evict(c);
  idle.erase(c.idle);
  connections.erase(c.index);
}

// Its number may be reused. The caller sets its final state.
void Reader::Impl::close(State& c) {
  c.events_lost = gone(*c.endpoint, c.ring) - c.gone_before;
  c.endpoint->open.erase(c.id);
  c.ended_ns = std::max(c.endpoint->last_ns, c.last_ns);
  give_up_operations(c);
  unsent -= c.unsent.size();
  c.unsent.clear();
  listener.on_close(c);
}

// It has ended, but its ConnectionEnd event is missing.
void Reader::Impl::end_unseen(State& c) {
  c.state = roce::State::kClosed;
  close(c);
  idle.requeue(c, c.idle);
}

void Reader::Impl::close_all(EndpointState& e) {
  while (!e.open.empty()) end_unseen(*e.open.begin()->second);
}

void Reader::Impl::take(State& c, const Event& event) {
  switch (event.type()) {
    case trace::EventType::kConnectionEnd:
      connection_end(c, event);
      break;
    case trace::EventType::kMessage:
      message(c, event);
      break;
    case trace::EventType::kOperation:
      if (c.endpoint->shows_operations) begin_operation(c, event);
      break;
    case trace::EventType::kOperationEnd:
      if (c.endpoint->shows_operations) end_operation(c, event);
      break;
    case trace::EventType::kFabric:
      fabric(c, event);
      break;
    case trace::EventType::kCall:
      call(c, event);
      break;
    case trace::EventType::kCallEnd:
      call_end(c, event);
      break;
    // Events that the model does not use, or whose content it derives itself.
    case trace::EventType::kEndpoint:
    case trace::EventType::kConnection:
    case trace::EventType::kAdvertise:
    case trace::EventType::kInvalidate:
    case trace::EventType::kReceives:
    case trace::EventType::kCredits:
    case trace::EventType::kCreditWait:
    case trace::EventType::kError:
    case trace::EventType::kFault:
    case trace::EventType::kLoss:
    case trace::EventType::kRegistration:
    case trace::EventType::kProcedureSums:
    case trace::EventType::kConnectionSums:
    case trace::EventType::kDuplicate:
      break;
  }
}

void Reader::Impl::connection_end(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::ConnectionEnd>(event.view);
  const bool refused = recorded.established == 0 && recorded.reject_reason != 0;
  c.state = refused ? roce::State::kRejected : roce::State::kClosed;
  // If it was never established, only a refusal has a side.
  if (refused || recorded.established != 0) c.closed_by = event.side(recorded.side);
  c.closed_frame = event.meta.frame;
  c.reject_reason = recorded.reject_reason;
  const Bytes payload = event.view.payload;
  const Bytes reason =
      payload.first(payload.size() - std::min<std::size_t>(payload.size(), recorded.private_data));
  const bool by_peer = recorded.established == 0 && recorded.side != 0;
  if (recorded.failed != 0 || (by_peer && !(refused && reason.empty()))) c.failure = words(reason);
  close(c);
  idle.requeue(c, c.idle);
}

void Reader::Impl::message(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::Message>(event.view);
  roce::SendMessage send;
  send.sender = event.side(recorded.side);
  end_writes(c, send.sender, event.meta);
  send.first_frame = send.frame = event.meta.frame;
  send.first_ns = send.time_ns = event.meta.time_ns;
  send.first_psn = send.psn = c.order[send.sender]++ & wire::kPsnMask;
  send.psn_known = false;
  send.data =
      event.view.payload.first(std::min<std::size_t>(event.view.payload.size(), recorded.length));
  send.wire_length = recorded.length;
  send.absent = absent_of(recorded);
  // The event that states the source is missing: the recording begins in the middle.
  if ((send.absent & roce::kAbsentBytes) != 0 && !roce::is_kernel(c.origin)) {
    c.origin = roce::Origin::kKernelTracepoints;
    c.absent |= roce::absent_from(c.origin);
  }
  send.complete = send.data.size() == recorded.length && (send.absent & roce::kAbsentBytes) == 0;
  send.has_invalidate = recorded.has_invalidate != 0;
  send.invalidate_handle = recorded.invalidate;
  c.side[send.sender].counters.packets_at_most += packets_of(recorded.length, c.mtu);
  listener.on_send(c, send);
  if (send.sender == c.local && !c.unsent.empty()) call_sent(c, send.data);
}

// The endpoint's own Calls are recorded before their Messages, its peer's after them.
void Reader::Impl::call(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::Call>(event.view);
  if (recorded.program == 0) return;
  const roce::Procedure procedure{recorded.program, recorded.version, recorded.procedure};
  const std::uint8_t caller = event.side(recorded.side);
  if (caller != c.local) {
    listener.on_call_recorded({c, caller, recorded.xid, procedure});
  } else if (unsent < kMaxUnsent && c.unsent.insert({recorded.xid, procedure}).second) {
    ++unsent;
  }
}

void Reader::Impl::call_sent(State& c, Bytes message) {
  if (message.size() < sizeof(std::uint32_t)) return;
  const auto xid = wire::load_be32(message.data());
  const auto it = c.unsent.find(xid);
  if (it == c.unsent.end()) return;
  listener.on_call_recorded({c, c.local, xid, it->second});
  forget_unsent(c, xid);
}

void Reader::Impl::call_end(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::CallEnd>(event.view);
  if (event.side(recorded.side) == c.local) forget_unsent(c, recorded.xid);
}

void Reader::Impl::forget_unsent(State& c, std::uint32_t xid) {
  unsent -= c.unsent.erase(xid);
}

void Reader::Impl::begin_operation(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::Operation>(event.view);
  const std::uint8_t side = event.side(recorded.side);
  if (side == c.local) c.side[side].operations_unseen = false;
  std::vector<Outstanding>& list = c.outstanding[side];
  // Ends the oldest if there are too many.
  if (list.size() >= kMaxOutstanding) {
    Outstanding& o = list.front();
    const bool write = o.op.kind == OpKind::kWrite;
    end(c, o, write ? o.op.length : 0, write, event.meta);
    list.erase(list.begin());
    --outstanding;
  }
  Outstanding o;
  o.id = recorded.id;
  roce::Operation& op = o.op;
  op.kind = recorded.kind == trace::Transfer::kRead ? OpKind::kRead : OpKind::kWrite;
  op.initiator = side;
  op.handle = recorded.handle;
  op.length = recorded.length;
  op.offset = recorded.offset;
  op.psn = c.order[side]++ & wire::kPsnMask;
  count_packets(c, op);
  op.first_frame = op.last_frame = event.meta.frame;
  op.first_ns = op.last_ns = event.meta.time_ns;
  listener.on_operation(c, op);
  const Bytes data =
      event.view.payload.first(std::min<std::size_t>(event.view.payload.size(), op.length));
  if (op.want_data && op.kind == OpKind::kWrite && !data.empty())
    listener.on_data({c, op, 0, data});
  if (outstanding >= kMaxOutstandingOfAll) {
    const bool write = op.kind == OpKind::kWrite;
    return end(c, o, write ? op.length : 0, write, event.meta);
  }
  list.push_back(o);
  ++outstanding;
}

void Reader::Impl::count_packets(State& c, const roce::Operation& op) {
  const bool read = op.kind == OpKind::kRead;
  if (read) ++c.side[op.initiator].counters.packets_at_most;
  const std::size_t sender = read ? 1U - op.initiator : op.initiator;
  c.side[sender].counters.packets_at_most += packets_of(op.length, c.mtu);
}

void Reader::Impl::end(State& c, Outstanding& o, std::uint64_t bytes, bool complete,
                       const PacketMeta& meta) {
  o.op.last_frame = meta.frame;
  o.op.last_ns = meta.time_ns;
  o.op.bytes = std::min<std::uint64_t>(bytes, o.op.length);
  o.op.complete = complete && o.op.bytes == o.op.length;
  listener.on_operation_end(c, o.op);
}

// It has ended, successfully or not.
void Reader::Impl::end_operation(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::OperationEnd>(event.view);
  std::vector<Outstanding>& list = c.outstanding[event.side(recorded.side)];
  const OpKind kind = recorded.kind == trace::Transfer::kRead ? OpKind::kRead : OpKind::kWrite;
  const auto it = std::find_if(list.begin(), list.end(), [&](const Outstanding& o) {
    return o.id == recorded.id && o.op.kind == kind;
  });
  if (it == list.end()) return;
  const std::uint64_t moved = std::min(recorded.length, it->op.length);
  const Bytes data =
      event.view.payload.first(std::min<std::size_t>(event.view.payload.size(), moved));
  if (it->op.want_data && kind == OpKind::kRead && !data.empty()) {
    listener.on_data({c, it->op, 0, data});
  }
  end(c, *it, moved, recorded.status == 0, event.meta);
  list.erase(it);
  --outstanding;
}

void Reader::Impl::end_writes(State& c, std::uint8_t side, const PacketMeta& meta) {
  std::vector<Outstanding>& list = c.outstanding[side];
  std::size_t left = 0;
  for (Outstanding& o : list) {
    if (o.op.kind == OpKind::kWrite) {
      end(c, o, o.op.length, true, meta);
    } else {
      list[left++] = o;
    }
  }
  outstanding -= list.size() - left;
  list.resize(left);
}

// Their outcome is unknown.
void Reader::Impl::give_up_operations(State& c) {
  for (std::vector<Outstanding>& list : c.outstanding) {
    for (Outstanding& o : list) end(c, o, 0, false, {o.op.last_frame, o.op.last_ns});
    outstanding -= list.size();
    list = {};
  }
}

void Reader::Impl::fabric(State& c, const Event& event) {
  const auto recorded = *trace::read_event<trace::Fabric>(event.view);
  const std::uint8_t side = event.side(recorded.side);
  roce::SideCounters& counters = c.side[side].counters;
  // In another view than the one that is followed, the totals have all but this: what an endpoint
  // retransmits, its peer's recording does not show.
  const roce::Connection& seen = *listener.seen_as(c).connection;
  const bool followed = &seen == &c;
  constexpr std::uint8_t kCodeMask = 0x1f;
  wire::Aeth aeth;
  switch (recorded.kind) {
    case trace::FabricKind::kRetransmission:
      counters.retransmitted += recorded.count;
      if (followed || (seen.recorded && seen.recorder != c.recorder))
        packets.retransmitted += recorded.count;
      listener.on_retransmission({c, side, recorded.count, event.meta});
      return;
    case trace::FabricKind::kNak:
      aeth.syndrome = static_cast<std::uint8_t>(3U << 5U | (recorded.code & kCodeMask));
      if (aeth.value() < counters.naks.size()) ++counters.naks[aeth.value()];
      if (followed) ++packets.nak;
      break;
    case trace::FabricKind::kRnr:
      aeth.syndrome = static_cast<std::uint8_t>(1U << 5U | (recorded.code & kCodeMask));
      ++counters.rnr;
      if (followed) ++packets.rnr;
      break;
    case trace::FabricKind::kTimeout:
    default:
      return;
  }
  listener.on_acknowledge({c, side, aeth, recorded.psn & wire::kPsnMask, event.meta});
}

Reader::Reader(roce::Listener& listener, roce::ConnectionNumbers& numbers,
               std::vector<Observer*> observers)
    : impl_(std::make_unique<Impl>(listener, numbers, std::move(observers))) {}
Reader::~Reader() = default;

void Reader::frame(std::span<const std::uint8_t> data, const roce::PacketMeta& meta,
                   std::uint64_t stream) {
  const auto event = trace::event_in_pdu(data);
  if (!event) return;  // for another dissector
  const auto view = trace::view_event(*event);
  if (!view) return impl_->damaged(stream);
  impl_->event(*view, meta, stream);
}

void Reader::finish() {
  for (const auto& endpoint : impl_->endpoints) {
    // In the order in which they were opened, not that of the hash table.
    std::vector<State*> left;
    for (const auto& [id, c] : endpoint->open) left.push_back(c);
    std::sort(left.begin(), left.end(),
              [](const State* a, const State* b) { return a->index < b->index; });
    for (State* c : left) impl_->close(*c);
    if (is_open_ended(*endpoint)) ++impl_->stats.open_ends;
  }
}

ReaderStats Reader::reader_stats() const {
  return impl_->stats;
}
roce::PacketStats Reader::stats() const {
  return impl_->packets;
}
std::uint32_t Reader::connection_count() const {
  return impl_->numbers.next;
}
const roce::Connection* Reader::find(std::uint32_t index) const {
  return impl_->connections.find(index);
}

}  // namespace rpcrdma::trace_reader
