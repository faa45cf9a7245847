// The analyzer runs again, over the stretch alone. First it gets the frames that set up the
// connections, then the note that frames are skipped. Facts that only the whole capture shows
// (which side is the client, credits, dialect) come from the store.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include <rpcrdma/index/excerpt.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/event_text.h>
#include <rpcrdma/session/session.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::index {

namespace {

// Nobody looks at more frames than this, and a Call may have been in flight for a whole capture.
constexpr std::uint64_t kMaxFrames = 200'000;
constexpr std::size_t kMaxMessages = 4096;
constexpr std::size_t kMaxEvents = 65536;
constexpr std::uint64_t kMaxKeptBytes = 64ULL << 20;
// Maximum distance behind the last message at which its answer is searched.
constexpr std::uint64_t kNear = 20'000;
// Number of frames that are also read before the stretch and, where part of it has not been seen
// yet, behind it: where packets are missing or damaged, the analyzer depends on what it saw before,
// and holds a message back until it can decide.
constexpr std::uint64_t kAround = 512;
constexpr std::size_t kMostSetUp = 128;  // frames

// The store's data about the stretch.
struct Known {
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, MessageRow>>> rows;  // by frame
  std::size_t count = 0;  // number of rows
  std::set<std::uint64_t> set_up;
  std::uint64_t begin = 0;            // the first frame to read, some frames before the stretch
  std::optional<capture::Mark> mark;  // the mark before that frame
  std::vector<capture::Mark> set_up_marks;
  std::vector<ConnectionInfo> connections;
  std::optional<wire::Dialect> dialect;
  bool check_icrc = true;
  bool missing = false;
  bool gone = false;             // the buffer dropped frames that are needed
  std::uint64_t until = 0;       // no frame after this one is read; 0: no limit
  bool recorded = false;         // endpoints report on the stretch
  std::set<std::uint32_t> xids;  // of its messages
};

class Reader final : public model::Observer, public trace_reader::Observer {
 public:
  Reader(const Known& known, const Stretch& stretch)
      : known_(known),
        stretch_(stretch),
        // The store knows by frame which view of a connection is followed.
        session_({.model = options(known), .join_views = false},
                 {.after_rules = {this}, .events = {this}}),
        context_(session_.context()) {
    for (const auto& [frame, rows] : known.rows) {
      for (const auto& [id, row] : rows) xids_.insert(row.xid);
    }
    for (const ConnectionInfo& c : known.connections) joined_ |= !c.other_observers.empty();
  }

  [[nodiscard]] session::Pipeline& pipeline() { return session_.pipeline(); }
  void begin() { begun_ = true; }
  // All of the stretch's messages have been seen, and the Read chunks of its Replies read.
  // An endpoint reports the steps of a Call after its Reply.
  [[nodiscard]] bool all_seen() const {
    return seen_.size() >= known_.count && reading_.empty() && !known_.recorded;
  }
  // Other views show the same messages, by their own clocks: some may lie outside of the stretch.
  [[nodiscard]] bool is_joined() const { return joined_; }
  Excerpt take() {
    std::stable_sort(excerpt_.events.begin(), excerpt_.events.end(),
                     [](const auto& a, const auto& b) { return a.frame < b.frame; });
    return std::move(excerpt_);
  }

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    const std::uint64_t row = begun_ ? row_of(m) : 0;
    if (row == 0 && !is_of_other_view(m)) return;
    if (row != 0) seen_.insert(row);
    if (excerpt_.messages.size() == kMaxMessages) {
      excerpt_.cut = true;
      return;
    }
    Excerpt::Message& made = excerpt_.messages.emplace_back();
    at_[m.id] = excerpt_.messages.size() - 1;
    fill(made, m);
    // A Reply is complete only with its Call, which ends at the Reply.
    if (event.call != nullptr && m.kind != model::Kind::kCall) rebuild(made, *event.call);
  }

  void on_call_end(const model::CallEnded& event) override {
    const model::Call& call = event.call;
    const auto kept = std::make_shared<const model::Call>(call);
    if (const auto it = at_.find(call.message.id); it != at_.end()) {
      Excerpt::Message& made = excerpt_.messages[it->second];
      const std::uint64_t id = made.id;
      fill(made, call.message);
      made.id = id;
      made.call = kept;
      rebuild(made, call);
    }
    if (event.answer == nullptr) return;
    if (const auto it = at_.find(event.answer->id); it != at_.end()) {
      excerpt_.messages[it->second].call = kept;
      const bool replied = event.answer->kind == model::Kind::kReply;
      if (replied && !event.answer->reads.empty()) reading_.insert(event.answer->id);
    }
  }

  void on_reply_read(const model::ReplyRead& event) override {
    reading_.erase(event.reply.id);
    const auto it = at_.find(event.reply.id);
    if (it == at_.end()) return;
    Excerpt::Message& made = excerpt_.messages[it->second];
    made.message.rpc = event.reply.rpc;
    made.call = std::make_shared<const model::Call>(event.call);
    rebuild(made, event.call);
  }

  void on_cm(const roce::CmMessage& event) override {
    if (event.connection == nullptr) return;
    add_event({Excerpt::Event::Kind::kSetUp, event.meta, *event.connection, event.sender,
               fmt::format("CM {}", wire::cm_name(static_cast<wire::CmAttribute>(
                                        event.mad.header.attribute_id)))});
  }

  void on_refusal(const roce::Acknowledgement& event) override {
    Excerpt::Event* const made =
        add_event({Excerpt::Event::Kind::kRefusal, event.meta, event.connection, event.sender,
                   fmt::format("{}, PSN {}",
                               event.aeth.is_rnr() ? "RNR NAK: no Receive is posted"
                                                   : wire::nak_name(event.aeth.value()),
                               event.psn)});
    if (made != nullptr) made->psn = event.psn;
  }

  void on_sent_again(const roce::RepeatedRequest& event) override {
    Excerpt::Event* const made =
        add_event({Excerpt::Event::Kind::kSentAgain, event.meta, event.connection, event.sender,
                   fmt::format("retransmitted, PSN {}", event.psn)});
    if (made != nullptr) made->psn = event.psn;
  }

  void on_operation_end(const model::OperationSeen& event) override {
    const roce::Operation& op = event.op;
    const model::Call* const call = event.call;
    const std::uint32_t segment = event.segment;
    const bool read = op.kind == roce::OpKind::kRead;
    std::string text = fmt::format("RDMA {} {} bytes, handle {:#010x}", read ? "Read" : "Write",
                                   op.length, op.handle);
    if (call != nullptr && segment < call->segments.size()) {
      const model::CallSegment& target = call->segments[segment];
      text += fmt::format(", {} chunk {} segment {}", model::chunk_list_name(target.list),
                          call->chunks[target.chunk].index, target.index);
    }
    Excerpt::Event* const made =
        add_event({Excerpt::Event::Kind::kOperation,
                   {op.first_frame, op.first_ns},
                   event.connection,
                   op.initiator,
                   std::move(text)},
                  // A Reply is shown with the Reads of its Read chunks.
                  call != nullptr && call->reply != nullptr && at_.contains(call->reply->id));
    if (made == nullptr) return;
    made->last_frame = op.last_frame;
    made->to_ns = op.last_ns;
    made->read = read;
    made->complete = op.complete;
    made->suspect = op.suspect;
    made->bytes = op.bytes;
    if (call != nullptr) made->call = row_of(call->message);
  }

  void on_event(const trace_reader::Event& e) override {
    measure(e);
    switch (e.type()) {
      case trace::EventType::kMessage:
      case trace::EventType::kOperation:
      case trace::EventType::kOperationEnd:
        return;  // they are in the list as messages
      default:
        break;
    }
    if (e.connection == nullptr) return;
    add_event({Excerpt::Event::Kind::kRecorded, e.meta, *e.connection, e.local,
               report::event_summary(e, {})});
  }

 private:
  static model::ModelOptions options(const Known& known) {
    model::ModelOptions o;
    o.keep_bytes = true;
    o.keep_chunks = true;
    o.all_speak = true;
    o.max_kept_bytes = kMaxKeptBytes;
    o.dialect = known.dialect;
    o.check_icrc = known.check_icrc;
    return o;
  }

  // Notes when the steps of a Call of the stretch happened. Its endpoint reports them together,
  // behind the Reply, by its own clock.
  void measure(const trace_reader::Event& e) {
    if (e.connection == nullptr) return;
    if (e.type() == trace::EventType::kCreditWait) {
      const auto wait = trace::read_event<trace::CreditWait>(e.view);
      if (!wait || !known_.xids.contains(wait->xid)) return;
      Wait& of = waits_[{e.connection->index, wait->xid}];
      (wait->begun != 0 ? of.from_ns : of.to_ns) = e.meta.time_ns;
      return;
    }
    if (e.type() != trace::EventType::kCallEnd || !begun_) return;
    const auto end = trace::read_event<trace::CallEnd>(e.view);
    if (!end || !known_.xids.contains(end->xid)) return;
    if (excerpt_.measured.size() == kMaxMessages * 2) return;
    const ConnectionInfo* const i = info(*e.connection);
    const auto wall = [&](std::int64_t own) {
      if (own == 0) return std::int64_t{0};
      const auto bits = [](std::int64_t ns) { return static_cast<std::uint64_t>(ns); };
      return static_cast<std::int64_t>(bits(e.meta.time_ns) - bits(e.view.header.time) + bits(own));
    };
    Excerpt::Measured& made = excerpt_.measured.emplace_back();
    made.xid = end->xid;
    made.connection = i != nullptr ? i->id : 0;
    made.recorder = end_of(i, *e.connection, e.local);
    made.requester = end->side == 0;
    made.attempts = end->attempts;
    made.frame = e.meta.frame;
    made.called_ns = wall(end->called);
    made.sent_ns = wall(end->sent);
    made.replied_ns = wall(end->replied);
    made.ended_ns = wall(end->ended);
    made.slot_wait = end->slot_wait;
    made.credit_wait = end->credit_wait;
    made.marshal = end->marshal;
    made.post = end->post;
    const auto wait = waits_.find({e.connection->index, end->xid});
    if (wait == waits_.end()) return;
    if (made.requester && wait->second.from_ns != 0 && wait->second.to_ns != 0) {
      made.credit_from_ns = wait->second.from_ns;
      made.credit_to_ns = wait->second.to_ns;
    }
    waits_.erase(wait);
  }

  // Side 0 is the side that the store knows as the connection's client.
  [[nodiscard]] const ConnectionInfo* info(const roce::Connection& c) const {
    for (const ConnectionInfo& i : known_.connections) {
      const auto is = [&](const roce::Side& side, std::size_t end) {
        std::string text = side.address.to_string();
        if (side.qpn_known) text += fmt::format(" {} {}", side.is_port ? "port" : "QP", side.qpn);
        return text == i.end[end];
      };
      for (std::size_t turned = 0; turned < 2; ++turned) {
        const bool a = is(c.side[0], turned);
        const bool b = is(c.side[1], 1 - turned);
        if (a && (b || !c.side[1].qpn_known)) return &i;
        if (b && !c.side[0].qpn_known) return &i;
      }
    }
    return nullptr;
  }
  [[nodiscard]] static std::uint8_t end_of(const ConnectionInfo* i, const roce::Connection& c,
                                           std::size_t side) {
    if (i == nullptr) return static_cast<std::uint8_t>(side);
    std::string text = c.side[side].address.to_string();
    if (c.side[side].qpn_known)
      text += fmt::format(" {} {}", c.side[side].is_port ? "port" : "QP", c.side[side].qpn);
    return text == i->end[0] ? 0 : text == i->end[1] ? 1 : static_cast<std::uint8_t>(side);
  }

  // A message of the stretch that another view shows: the store has it from the followed one.
  [[nodiscard]] bool is_of_other_view(const model::Message& m) const {
    if (!begun_ || !joined_ || !xids_.contains(m.xid)) return false;
    const roce::Connection& c = context_.connection(m);
    const ConnectionInfo* const i = info(c);
    if (i == nullptr) return false;
    const auto& others = i->other_observers;
    return std::find(others.begin(), others.end(), observer_of(i, c)) != others.end();
  }

  // Who shows the connection.
  [[nodiscard]] static SeenBy observer_of(const ConnectionInfo* i, const roce::Connection& c) {
    if (!c.recorded) return SeenBy::kPackets;
    return end_of(i, c, c.recorder) == 0 ? SeenBy::kClient : SeenBy::kServer;
  }

  // Returns the store's ID of the message.
  [[nodiscard]] std::uint64_t row_of(const model::Message& m) const {
    const auto it = known_.rows.find(m.frame);
    if (it == known_.rows.end()) return 0;
    for (const auto& [id, row] : it->second) {
      if (row.xid == m.xid && row.length == m.wire_length) return id;
    }
    return 0;
  }

  void fill(Excerpt::Message& made, const model::Message& m) {
    made.message = m;
    made.message.payload = {};
    const roce::Connection& c = context_.connection(m);
    const std::size_t sender = context_.sender(m);
    made.sender = c.side[sender];
    made.receiver = c.side[1 - sender];
    made.reverse = context_.model->reverse(m);
    made.thresholds = context_.model->connection(c.index).thresholds;
    made.id = row_of(m);
    const ConnectionInfo* const i = info(c);
    made.observer = observer_of(i, c);
    if (i != nullptr) {
      made.connection = i->id;
      made.thresholds = i->thresholds;
    }
    if (made.id == 0) return;
    // Facts that only the whole capture shows.
    for (const auto& [id, row] : known_.rows.find(m.frame)->second) {
      if (id != made.id) continue;
      // Without QPNs, connections between the same addresses look alike.
      const bool alike = !c.side[0].qpn_known && !c.side[1].qpn_known;
      for (const ConnectionInfo& of : known_.connections) {
        if (!alike || of.id != row.connection + 1) continue;
        made.connection = of.id;
        made.thresholds = of.thresholds;
      }
      made.message.credits = row.credits();
      if (row.latency_ns >= 0) made.message.latency_ns = row.latency_ns;
    }
  }

  void rebuild(Excerpt::Message& made, const model::Call& call) const {
    const model::Message& m = made.message;
    if (m.kind != model::Kind::kCall && m.kind != model::Kind::kReply) return;
    // An inline message is complete by itself.
    const bool written = m.kind == model::Kind::kReply &&
                         std::any_of(m.write_segments.begin(), m.write_segments.end(),
                                     [](const wire::Segment& s) { return s.length != 0; });
    const bool chunks = model::is_external(m) || !m.reads.empty() || written || !m.padding.empty();
    model::Rebuilt whole =
        m.kind == model::Kind::kCall ? model::rebuild_call(call) : model::rebuild_reply(call, m);
    made.incomplete = model::incomplete_reason(whole.incomplete, &context_.connection(m));
    if (chunks && whole.complete()) made.rebuilt = std::move(whole.bytes);
  }

  struct Happened {
    Excerpt::Event::Kind kind;
    roce::PacketMeta meta;
    const roce::Connection& connection;
    int sender;
    std::string text;
  };
  Excerpt::Event* add_event(Happened h, bool also_behind = false) {
    if (h.meta.frame < stretch_.first_frame) return nullptr;
    if (h.meta.frame > stretch_.last_frame && !also_behind) return nullptr;
    if (excerpt_.events.size() == kMaxEvents) {
      excerpt_.cut = true;
      return nullptr;
    }
    const ConnectionInfo* const i = info(h.connection);
    Excerpt::Event& made = excerpt_.events.emplace_back();
    made.kind = h.kind;
    made.frame = made.last_frame = h.meta.frame;
    made.from_ns = made.to_ns = h.meta.time_ns;
    made.connection = i != nullptr ? i->id : 0;
    made.sender = end_of(i, h.connection, static_cast<std::size_t>(h.sender));
    made.observer = observer_of(i, h.connection);
    made.text = std::move(h.text);
    return &made;
  }

  const Known& known_;
  const Stretch& stretch_;
  session::Session session_;
  const report::Context& context_;
  std::set<std::uint32_t> xids_;  // of the stretch
  bool joined_ = false;
  bool begun_ = false;
  std::set<std::uint64_t> seen_;     // rows
  std::set<std::uint64_t> reading_;  // Replies whose Read chunks are being read
  Excerpt excerpt_;
  std::map<std::uint64_t, std::size_t> at_;  // messages, by their ID in this run
  struct Wait {
    std::int64_t from_ns = 0, to_ns = 0;
  };
  // For a credit, by connection and XID: only of the stretch's Calls.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Wait> waits_;
};

Known look_up(const Store& store, const Stretch& stretch) {
  return store.read([&](const Content& c) {
    Known known;
    known.begin = stretch.first_frame > kAround ? stretch.first_frame - kAround : 1;
    const BufferGap& gap = c.progress.gap;
    // Without the frames around it, a stretch behind the gap cannot be read like the first time.
    known.gone = gap.first_frame != 0 && known.begin <= gap.last_frame &&
                 stretch.last_frame >= gap.first_frame;
    if (known.begin < gap.first_frame) known.until = gap.first_frame - 1;
    const std::uint64_t n = (known.begin - 1) / Content::kMarkEvery;
    if (stretch.first_frame == 0 || n >= c.marks.size()) {
      known.missing = true;
      return known;
    }
    known.mark = c.marks[n];
    known.check_icrc = c.check_icrc;
    const std::uint64_t last_frame =
        std::min(stretch.last_frame, stretch.first_frame + kMaxFrames - 1);
    std::vector<std::uint32_t> connections = stretch.connections;
    // Rows are sorted by their last frame, except for a few that were held back.
    constexpr std::size_t kSlack = 4096;
    std::size_t low = 0;
    std::size_t high = c.rows.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (c.rows[middle].frame < stretch.first_frame) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::size_t behind = 0;
    for (std::size_t i = low > kSlack ? low - kSlack : 0; i < c.rows.size() && behind < kSlack;
         ++i) {
      const MessageRow& row = c.rows[i];
      if (row.frame > last_frame) ++behind;
      if (row.frame < stretch.first_frame || row.frame > last_frame) continue;
      known.rows[row.frame].emplace_back(i + 1, row);
      known.xids.insert(row.xid);
      ++known.count;
      const std::uint32_t index = c.canonical(row.connection);
      if (stretch.connections.empty() && connections.size() < 64 &&
          std::find(connections.begin(), connections.end(), index) == connections.end()) {
        connections.push_back(index);
      }
    }
    bool one_dialect = true;
    for (const std::uint32_t index : connections) {
      if (const ConnectionInfo* const info = c.connection(index)) {
        known.connections.push_back(*info);
        known.recorded = known.recorded || info->recorded;
        if (info->version >= 2) {
          if (known.dialect && *known.dialect != info->dialect) one_dialect = false;
          known.dialect = info->dialect;
        }
      }
      if (index >= c.set_up.size()) continue;
      for (const std::uint64_t frame : c.set_up[index]) {
        if (frame < known.begin) known.set_up.insert(frame);
      }
    }
    // The other end's recording shows the same connections, which are followed in this one. Any of
    // those that are not followed may be it.
    for (std::size_t i = c.set_up.size(); known.recorded && i != 0; --i) {
      if (known.set_up.size() >= kMostSetUp) break;
      if (c.connection(static_cast<std::uint32_t>(i - 1)) != nullptr) continue;
      for (const std::uint64_t frame : c.set_up[i - 1]) {
        if (frame < known.begin) known.set_up.insert(frame);
      }
    }
    if (!one_dialect) known.dialect.reset();
    // Packets can be read without their set-up, events of endpoints cannot.
    std::erase_if(known.set_up, [&](std::uint64_t frame) {
      known.gone = known.gone || (gap.has(frame) && known.recorded);
      return gap.has(frame);
    });
    for (const std::uint64_t frame : known.set_up) {
      known.set_up_marks.push_back(c.marks[(frame - 1) / Content::kMarkEvery]);
    }
    return known;
  });
}

}  // namespace

const Excerpt::Message* Excerpt::find(std::uint64_t id) const {
  for (const Message& m : messages) {
    if (m.id == id) return &m;
  }
  return nullptr;
}

const Excerpt::Message* Excerpt::find_as(const Message& like, SeenBy observer) const {
  const Message* found = nullptr;
  for (const Message& m : messages) {
    if (m.observer != observer || m.connection != like.connection) continue;
    if (m.message.kind != like.message.kind || m.message.xid != like.message.xid ||
        m.reverse != like.reverse) {
      continue;
    }
    // An XID can come again later: the nearest one.
    const auto distance = [&](const Message& of) {
      return of.message.frame < like.message.frame ? like.message.frame - of.message.frame
                                                   : of.message.frame - like.message.frame;
    };
    if (found == nullptr || distance(m) < distance(*found)) found = &m;
  }
  return found;
}

Stretch stretch_of(const Content& content, std::uint64_t id) {
  return stretch_of(content, id, id);
}

Stretch stretch_of(const Content& content, std::uint64_t first, std::uint64_t last) {
  Stretch s;
  if (first == 0 || last > content.rows.size() || first > last) return s;
  s.first_frame = UINT64_MAX;
  const auto cover = [&s](const MessageRow& row) {
    s.first_frame = std::min(s.first_frame, row.frame - row.first_frame);
    s.last_frame = std::max(s.last_frame, row.frame);
  };
  for (std::uint64_t id = first; id <= last; ++id) cover(content.rows[id - 1]);
  const std::uint64_t latest = s.last_frame + kNear;
  for (std::uint64_t id = first; id <= last; ++id) {
    const MessageRow& row = content.rows[id - 1];
    const std::uint32_t index = content.canonical(row.connection);
    if (std::find(s.connections.begin(), s.connections.end(), index) == s.connections.end()) {
      s.connections.push_back(index);
    }
    if (row.match == 0 || row.match > content.rows.size()) continue;
    const MessageRow& other = content.rows[row.match - 1];
    // A message is shown with its whole exchange, unless Call and Reply are too far apart to be
    // read together.
    const std::uint64_t apart = std::max(row.frame, other.frame) - std::min(row.frame, other.frame);
    const bool near = other.frame <= latest && other.frame + kNear >= s.first_frame;
    if (near || (first == last && apart + row.first_frame + other.first_frame < kMaxFrames)) {
      cover(other);
    }
  }
  return s;
}

capture::Expected<Excerpt> read_excerpt(const Store& store, const std::string& frames,
                                        const Stretch& stretch,
                                        const std::atomic<bool>& cancelled) {
  const Known known = look_up(store, stretch);
  if (known.gone) return capture::fail("these frames are no longer in the buffer");
  if (known.missing) return capture::fail("these frames were not kept");
  Reader reader(known, stretch);
  capture::Frame frame;
  // Frames that set up the connections.
  auto mark = known.set_up_marks.begin();
  std::unique_ptr<capture::Source> source;
  std::uint64_t offset = UINT64_MAX;
  for (const std::uint64_t wanted : known.set_up) {
    if (mark->offset != offset) {
      auto opened = capture::open_file_at(frames, *mark);
      if (!opened) return tl::unexpected(opened.error());
      source = std::move(*opened);
      offset = mark->offset;
      frame.number = 0;
    }
    ++mark;
    while (frame.number < wanted) {
      const auto more = source->next(frame);
      if (!more) return tl::unexpected(more.error());
      if (!*more) return capture::fail(frames + ": the file was changed: a frame is missing");
    }
    reader.pipeline().frame(frame);
  }
  if (!known.set_up.empty()) reader.pipeline().skip();
  auto opened = capture::open_file_at(frames, *known.mark);
  if (!opened) return tl::unexpected(opened.error());
  reader.begin();
  bool cut = false;
  while (!cancelled.load(std::memory_order_relaxed)) {
    if (known.until != 0 && frame.number >= known.until) break;
    const auto more = (*opened)->next(frame);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    if (frame.number > stretch.last_frame && ((reader.all_seen() && !reader.is_joined()) ||
                                              frame.number > stretch.last_frame + kAround)) {
      break;
    }
    if (frame.number < known.begin) continue;
    if (frame.number >= stretch.first_frame + kMaxFrames) {
      cut = true;
      break;
    }
    reader.pipeline().frame(frame);
  }
  reader.pipeline().finish();
  Excerpt excerpt = reader.take();
  excerpt.cut = excerpt.cut || cut;
  return excerpt;
}

}  // namespace rpcrdma::index
