// Recognition. Two connections of different sources are views of one if their addresses and all
// QPNs that both know are the same, and
//   - their files show the same traffic, which align_files() found beforehand, and all QPNs are
//     known; or
//   - the first Send of one is among the Sends that the other has shown.
// Addresses and QPNs alone are no evidence: QPNs are reused, and a file may be of another run.
//
// Which view the model gets. A connection is not reported before its first traffic. By then the
// other views are usually known, and the one that shows most is followed: packets, then the
// client's endpoint, the server's, the kernel's, and last one without messages. A view that is
// recognized later is always compared only, since the model has no way back.
//
// Sides. The sides of two views can be swapped, since packets without a set-up do not show which
// side is the client. A group has sides of its own, and each member a flag whether its are swapped.
#include <algorithm>
#include <optional>
#include <utility>

#include <rpcrdma/session/views.h>

namespace rpcrdma::session {

namespace {

constexpr std::size_t kGroupsSearched = 16384;  // of the same addresses, by QPNs
constexpr std::size_t kContentSearched = 64;    // of the same addresses, by a message

// Packets have one tracker, and each endpoint a clock of its own.
const void* source_of(const roce::Connection& c) {
  return c.endpoint_ns;
}

// A connection outside of its endpoint's sample has none that could be followed or compared.
bool shows_messages(const roce::Connection& c) {
  return (c.absent & roce::kAbsentMessages) == 0;
}

bool is_over(const roce::Connection& c) {
  return c.state >= roce::State::kRejected || c.ended_ns != 0;
}

}  // namespace

// One connection of one source.
struct Views::Member {
  explicit Member(ViewBudget& budget) : shown{ViewQueue(budget), ViewQueue(budget)} {}

  const roce::Connection* c = nullptr;
  std::uint32_t index = 0;
  std::uint32_t file = 0;
  Group* group = nullptr;
  bool flip = false;                 // its side 0 is side 1 of the group
  bool followed = false;             // the model gets it
  bool gone = false;                 // its source has ended
  std::array<ViewQueue, 2> shown;    // its latest messages, by side of the group, while followed
  std::unique_ptr<ViewMatch> match;  // null: it is followed, or no view is
  // Operations that began while the model did not get them.
  std::vector<std::pair<std::uint8_t, std::uint32_t>> skipped;

  [[nodiscard]] std::size_t group_side(std::size_t side) const { return side ^ (flip ? 1U : 0U); }
  [[nodiscard]] bool setup_shown() const {
    return c->recorded ? c->setup == roce::Setup::kCm : roce::setup_seen(*c);
  }
  [[nodiscard]] int recorder() const {
    return c->recorded ? static_cast<int>(group_side(c->recorder)) : -1;
  }
};

// The views of one connection, one of which is followed.
struct Views::Group {
  std::array<capture::Address, 2> address;
  std::array<std::uint32_t, 2> qpn{};  // 0: unknown
  std::vector<Member*> members;
  Member* followed = nullptr;
  bool had_followed = false;
  std::vector<View> ended;  // views whose connection was evicted; by side of the group
};

namespace {

constexpr std::size_t kShown = 512;    // messages of each side
constexpr std::size_t kSkipped = 256;  // operations
constexpr std::size_t kEnded = 8;

std::uint64_t missing_in(const roce::Connection& c) {
  if (c.recorded) return c.events_lost;
  return c.side[0].counters.lost_capture + c.side[1].counters.lost_capture;
}

}  // namespace

View swapped_view(View v) {
  std::swap(v.counts[0], v.counts[1]);
  if (v.recorder >= 0) v.recorder = 1 - v.recorder;
  for (ViewDifference& d : v.differences) d.sender = static_cast<std::uint8_t>(1 - d.sender);
  return v;
}

Views::Views(roce::Listener& to) : to_(to) {}
Views::~Views() = default;

void Views::expect(std::span<const capture::MergedFile> files) {
  files_.assign(files.begin(), files.end());
  active_ |= files_.size() > 1;
}

Views::Member* Views::find(std::uint32_t index) const {
  const std::unique_ptr<Member>* const m = members_.find(index);
  return m != nullptr ? m->get() : nullptr;
}

void Views::note_source(const roce::Connection& c) {
  const void* const source = source_of(c);
  if (!any_source_) {
    any_source_ = true;
    source_ = source;
  }
  active_ |= source != source_;
}

// Returns whether addresses and QPNs permit that `m` is a view of `g`, and whether its sides are
// swapped then. `qpn`: a QPN that both know is the same.
bool Views::compatible(const Member& m, const Group& g, bool& flip, bool& qpn) {
  const auto fits = [&](bool turned) {
    qpn = false;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t at = side ^ (turned ? 1U : 0U);
      const roce::Side& own = m.c->side[side];
      if (plain_address(own.address) != g.address[at]) return false;
      const std::uint32_t known = known_qpn(*m.c, side);
      if (known == 0 || g.qpn[at] == 0) continue;
      if (known != g.qpn[at]) return false;
      qpn = true;
    }
    return true;
  };
  flip = false;
  if (fits(false)) return true;
  flip = true;
  return fits(true);
}

// Whether `m` can be one more view of `g`: a source has one connection there, or both halves of one
// whose set-up it does not show.
bool Views::is_vacant(const Member& m, const Group& g) {
  if (g.followed != nullptr && g.followed->gone) return false;
  // Its messages would not be followed.
  if (g.followed != nullptr && !shows_messages(*g.followed->c) && shows_messages(*m.c))
    return false;
  const auto is_half = [](const roce::Connection& c) {
    return !c.recorded && c.side[0].qpn_known != c.side[1].qpn_known;
  };
  return std::all_of(g.members.begin(), g.members.end(), [&](const Member* other) {
    if (source_of(*other->c) != source_of(*m.c)) return true;
    return is_half(*m.c) && is_half(*other->c) && !other->followed;
  });
}

// Whether files of both are known to show the same traffic, at the same time.
bool Views::is_same_run(const Member& m, const Group& g) const {
  const auto run = [&](const Member& x) {
    return x.file < files_.size() ? files_[x.file].run : std::uint32_t{0};
  };
  if (run(m) == 0) return false;
  return std::any_of(g.members.begin(), g.members.end(), [&](const Member* other) {
    return run(*other) == run(m) && !is_over(*other->c);
  });
}

// The group of another source that `m` belongs to: by QPNs, or by its first Send.
Views::Group* Views::find_group(const Member& m, const ViewedMessage* first, std::size_t sender,
                                bool& flip, bool& possible) {
  const auto at = groups_.find(key_of(*m.c));
  possible = false;
  if (at == groups_.end()) return nullptr;
  std::size_t searched = 0, compared = 0;
  for (auto g = at->second.rbegin(); g != at->second.rend(); ++g) {
    if (++searched > kGroupsSearched) break;
    bool qpn = false;
    if (&*g == m.group || !compatible(m, *g, flip, qpn) || !is_vacant(m, *g)) continue;
    if (qpn && is_same_run(m, *g)) return &*g;
    possible = true;
    if (first == nullptr || g->followed == nullptr || ++compared > kContentSearched) continue;
    const std::size_t side = sender ^ (flip ? 1U : 0U);
    if (g->followed->shown[side].has(*first)) return &*g;
  }
  return nullptr;
}

Views::Addresses Views::key_of(const roce::Connection& c) {
  Addresses key{plain_address(c.side[0].address), plain_address(c.side[1].address)};
  if (key.second < key.first) std::swap(key.first, key.second);
  return key;
}

void Views::add_to(Member& m, Group& g, bool flip) {
  m.group = &g;
  m.flip = flip;
  g.members.push_back(&m);
  note_qpns(m);
}

void Views::note_qpns(const Member& m) {
  for (std::size_t side = 0; side < 2; ++side) {
    if (const std::uint32_t known = known_qpn(*m.c, side); known != 0)
      m.group->qpn[m.group_side(side)] = known;
  }
}

void Views::own_group(Member& m) {
  Group& g = groups_[key_of(*m.c)].emplace_back();
  for (std::size_t side = 0; side < 2; ++side)
    g.address[side] = plain_address(m.c->side[side].address);
  add_to(m, g, false);
}

void Views::leave(Member& m) {
  Group& g = *m.group;
  std::erase(g.members, &m);
  m.group = nullptr;
  if (!g.members.empty()) return;
  const auto at = groups_.find(key_of(*m.c));
  if (at == groups_.end()) return;
  at->second.remove_if([&](const Group& x) { return &x == &g; });
  if (at->second.empty()) groups_.erase(at);
}

void Views::join(Member& m, Group& g, bool flip) {
  if (m.group != nullptr) leave(m);
  add_to(m, g, flip);
  if (g.followed != nullptr) compare(m);
}

void Views::compare(Member& m) {
  const Member& here = *m.group->followed;
  if (!shows_messages(*here.c) || !shows_messages(*m.c)) return;
  m.match = std::make_unique<ViewMatch>(
      ViewPair{here.recorder(), m.recorder(), here.setup_shown() && m.setup_shown()}, budget_);
  for (std::size_t side = 0; side < 2; ++side) m.match->begin(side, here.shown[side]);
}

void Views::follow(Member& m) {
  Group& g = *m.group;
  m.followed = true;
  m.match.reset();
  g.followed = &m;
  g.had_followed = true;
  for (Member* other : g.members) {
    if (other != &m) compare(*other);
  }
  to_.on_open(*m.c);
}

// Follows the view in the group that shows most.
void Views::follow_best(Group& g) {
  const auto rank = [](const Member& m) { return std::pair(!shows_messages(*m.c), rank_of(*m.c)); };
  Member* best = nullptr;
  for (Member* m : g.members) {
    if (best == nullptr || rank(*m) < rank(*best)) best = m;
  }
  follow(*best);
}

// Decides about a connection at its first traffic. `first`: its first Send, if the traffic is one.
void Views::decide(Member& m, const roce::SendMessage* send) {
  Group& own = *m.group;
  if (own.followed != nullptr) return;
  if (own.members.size() == 1) {
    const auto first = send != nullptr ? viewed(*send) : std::nullopt;
    bool flip = false, possible = false;
    Group* const g = find_group(m, first ? &*first : nullptr, send != nullptr ? send->sender : 0,
                                flip, possible);
    if (g != nullptr) {
      join(m, *g, flip);
      if (g->followed != nullptr) return;
    } else if (possible && send == nullptr) {
      return;  // its first Send will show
    }
  }
  follow_best(*m.group);
}

// Returns whether the model gets the traffic of this connection.
bool Views::followed(const roce::Connection& c, const roce::SendMessage* send) {
  Member* const m = find(c.index);
  if (m == nullptr || m->followed) return true;
  decide(*m, send);
  return m->followed;
}

void Views::on_open(const roce::Connection& c) {
  note_source(c);
  if (Member* const known = find(c.index)) {
    note_qpns(*known);
    if (known->followed) to_.on_open(c);
    return;
  }
  std::unique_ptr<Member>& slot = members_[c.index];
  slot = std::make_unique<Member>(budget_);
  Member& m = *slot;
  m.c = &c;
  m.index = c.index;
  m.file = file_;
  own_group(m);
  // Sums have no messages that could be compared.
  if (!active_ || c.origin == roce::Origin::kKernelSums) return follow(m);
  bool flip = false, possible = false;
  if (Group* const g = find_group(m, nullptr, 0, flip, possible)) join(m, *g, flip);
}

void Views::on_cm(const roce::CmMessage& event) {
  const Member* const m = event.connection != nullptr ? find(event.connection->index) : nullptr;
  const Member* const here = m != nullptr ? m->group->followed : nullptr;
  if (here == nullptr || here == m) return to_.on_cm(event);
  const int sender = m->flip != here->flip ? 1 - event.sender : event.sender;
  to_.on_cm({here->c, sender, event.mad, event.meta});
}

void Views::on_mpa(const roce::MpaMessage& event) {
  const Member* const m = find(event.connection.index);
  const Member* const here = m != nullptr ? m->group->followed : nullptr;
  if (here == nullptr || here == m) return to_.on_mpa(event);
  const int sender = m->flip != here->flip ? 1 - event.sender : event.sender;
  to_.on_mpa({*here->c, sender, event.meta});
}

void Views::on_send(const roce::Connection& c, const roce::SendMessage& send) {
  const bool goes_on = followed(c, &send);
  Member* const m = active_ ? find(c.index) : nullptr;
  if (m != nullptr && c.origin != roce::Origin::kKernelSums) {
    if (const auto seen = viewed(send)) show(*m, m->group_side(send.sender), *seen);
  }
  if (goes_on) return to_.on_send(c, send);
  ++suppressed_;
}

void Views::show(Member& m, std::size_t side, const ViewedMessage& seen) {
  if (!m.followed) {
    if (m.match != nullptr) m.match->there(side, seen);
    return;
  }
  m.shown[side].add(seen, kShown);
  for (Member* other : m.group->members) {
    if (other->match != nullptr) other->match->here(side, seen);
  }
}

void Views::on_merge(const roce::Merge& event) {
  Member* const into = find(event.into.index);
  Member* const from = find(event.from.index);
  if (into == nullptr || from == nullptr) return to_.on_merge(event);
  // Both are halves of one packet view. If another view is followed, neither is.
  if (into->group->followed != nullptr && !into->followed) {
    if (from->followed) to_.on_close(event.from);
    if (from->match != nullptr && into->match != nullptr) into->match->absorb(*from->match);
  } else if (into->followed || from->followed) {
    if (!into->followed) follow(*into);
    if (!from->followed) to_.on_open(event.from);
    unite(*into, *from);
    to_.on_merge(event);
  }
  leave_for_good(*from);
}

// Moves the other views of `from` to the group of `into`, whose side 1 is side 0 of `from`.
void Views::unite(Member& into, Member& from) {
  if (from.group == into.group) return;
  const bool turned = !(into.flip != from.flip);
  const std::vector<Member*> others = from.group->members;
  for (Member* other : into.group->members) {
    if (other->match == nullptr) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      from.shown[side].for_each(
          [&](const ViewedMessage& m) { other->match->here(side ^ (turned ? 1U : 0U), m); });
    }
  }
  for (Member* other : others) {
    if (other == &from) continue;
    auto match = std::move(other->match);
    leave(*other);
    add_to(*other, *into.group, other->flip != turned);
    if (match == nullptr) continue;
    if (turned) match->swap_sides();
    for (std::size_t side = 0; side < 2; ++side) {
      into.shown[side].for_each([&](const ViewedMessage& m) { match->here(side, m); });
    }
    other->match = std::move(match);
  }
  for (std::size_t side = 0; side < 2; ++side) {
    from.shown[side].for_each(
        [&](const ViewedMessage& m) { into.shown[side ^ (turned ? 1U : 0U)].add(m, kShown); });
  }
}

void Views::leave_for_good(Member& m) {
  const std::uint32_t index = m.index;
  Group& g = *m.group;
  if (m.followed) {
    // No other view can continue it in the model; later traffic of theirs begins a new connection.
    g.followed = nullptr;
    for (Member* other : g.members) other->match.reset();
  } else if (m.match != nullptr && g.ended.size() < kEnded) {
    finish_match(m);
    g.ended.push_back(view(m));
  }
  leave(m);
  members_.erase(index);
}

// Leaves the other views to themselves: the model has no way to continue this one with them.
void Views::give_up(Member& m) {
  Group& g = *m.group;
  m.gone = true;
  if (g.members.size() == 1) return;
  std::vector<View> ended = std::move(g.ended);
  g.ended.clear();
  for (Member* other : g.members) {
    if (other->match == nullptr) continue;
    finish_match(*other);
    if (ended.size() < kEnded) ended.push_back(view(*other));
    other->match.reset();
  }
  g.followed = nullptr;
  const bool flip = m.flip;
  leave(m);
  own_group(m);
  m.group->followed = &m;
  m.group->had_followed = true;
  for (View& v : ended) m.group->ended.push_back(flip ? swapped_view(std::move(v)) : std::move(v));
}

void Views::source_ended(std::uint32_t file) {
  std::vector<Member*> of_file;
  members_.for_each([&](const std::unique_ptr<Member>& m) {
    if (m->file == file && m->followed && !is_over(*m->c)) of_file.push_back(m.get());
  });
  for (Member* m : of_file) give_up(*m);
}

void Views::on_close(const roce::Connection& c) {
  Member* const m = find(c.index);
  if (m == nullptr) return to_.on_close(c);
  if (!m->followed && !m->group->had_followed) follow_best(*m->group);
  if (m->followed) to_.on_close(c);
}

void Views::on_evict(const roce::Connection& c) {
  Member* const m = find(c.index);
  if (m == nullptr || m->followed) to_.on_evict(c);
  if (m != nullptr) leave_for_good(*m);
}

void Views::on_call_recorded(const roce::IdentifiedCall& event) {
  if (followed(event.connection)) to_.on_call_recorded(event);
}

void Views::on_operation(const roce::Connection& c, roce::Operation& op) {
  if (followed(c)) return to_.on_operation(c, op);
  op.tag = 0;
  Member& m = *find(c.index);
  if (m.skipped.size() == kSkipped) m.skipped.erase(m.skipped.begin());
  m.skipped.emplace_back(op.initiator, op.psn);
}

void Views::on_data(const roce::OperationData& event) {
  if (followed(event.connection)) to_.on_data(event);
}

void Views::on_operation_end(const roce::Connection& c, const roce::Operation& op) {
  Member* const m = find(c.index);
  if (m != nullptr && std::erase(m->skipped, std::pair{op.initiator, op.psn}) != 0) return;
  if (followed(c)) to_.on_operation_end(c, op);
}

void Views::on_acknowledge(const roce::Acknowledgement& event) {
  if (followed(event.connection)) to_.on_acknowledge(event);
}

void Views::on_retransmission(const roce::Retransmission& event) {
  if (followed(event.connection)) to_.on_retransmission(event);
}

void Views::on_sent_again(const roce::RepeatedRequest& event) {
  if (followed(event.connection)) to_.on_sent_again(event);
}

void Views::on_congestion(const roce::CongestionSignal& event) {
  if (followed(event.connection)) to_.on_congestion(event);
}

bool Views::answers(const roce::Connection& c, std::span<const std::uint8_t> first,
                    std::uint32_t handle) {
  const Member* const m = find(c.index);
  return (m == nullptr || m->followed) && to_.answers(c, first, handle);
}

bool Views::had_early_operations(const roce::Connection& c) {
  const Member* const m = find(c.index);
  return (m == nullptr || m->followed) && to_.had_early_operations(c);
}

roce::SeenAs Views::seen_as(const roce::Connection& c) const {
  const Member* const m = find(c.index);
  const Member* const here = m != nullptr ? m->group->followed : nullptr;
  if (here == nullptr || here == m) return {&c, false};
  return {here->c, here->flip != m->flip};
}

bool Views::is_other_view(std::uint32_t connection) const {
  const Member* const m = find(connection);
  return m != nullptr && !m->followed && m->group->had_followed;
}

void Views::finish_match(Member& m) {
  const auto whole = [](const Member& x) { return x.c->state >= roce::State::kRejected; };
  m.match->finish(whole(*m.group->followed), whole(m));
}

void Views::finish() {
  members_.for_each([](const std::unique_ptr<Member>& m) {
    if (m->match != nullptr) finish_match(*m);
  });
}

std::string Views::file_name(std::uint32_t file) const {
  return file < files_.size() ? files_[file].path : std::string();
}

// By side of the group.
View Views::view(const Member& m) const {
  View v;
  v.origin = m.c->origin;
  v.recorder = m.recorder();
  v.file = file_name(m.file);
  v.shift_ns = m.file < files_.size() ? files_[m.file].shift_ns : 0;
  v.missing = missing_in(*m.c);
  v.counts = m.match->counts();
  v.differences = m.match->differences();
  v.round_trips = m.match->round_trips();
  v.offset = m.match->offset();
  return v;
}

std::vector<View> Views::of(std::uint32_t connection) const {
  const Member* const here = find(connection);
  std::vector<View> all;
  if (here == nullptr || !here->followed) return all;
  const auto add = [&](View v) {
    all.push_back(here->flip ? swapped_view(std::move(v)) : std::move(v));
  };
  for (const Member* m : here->group->members) {
    if (m->match != nullptr) add(view(*m));
  }
  for (const View& v : here->group->ended) add(v);
  return all;
}

std::vector<std::uint32_t> Views::files_of(std::uint32_t connection) const {
  const Member* const here = find(connection);
  std::vector<std::uint32_t> all;
  if (here == nullptr || !here->followed) return all;
  all.push_back(here->file);
  for (const Member* m : here->group->members) {
    if (m != here) all.push_back(m->file);
  }
  return all;
}

std::string Views::file_of(std::uint32_t connection) const {
  const Member* const m = find(connection);
  return m != nullptr ? file_name(m->file) : std::string();
}

}  // namespace rpcrdma::session
