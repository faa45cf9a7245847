#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <rpcrdma/roce/absent.h>
#include <rpcrdma/session/view_match.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::session {

namespace {

// Distinguishes messages; nobody relies on it to withstand a forger.
std::uint64_t view_hash(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kFactor = 0x9fb21c651e98df25ULL;
  std::uint64_t h = bytes.size() * kFactor;
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), n);
    h = (h ^ word) * kFactor;
    h ^= h >> 29;
    bytes = bytes.subspan(n);
  }
  return h;
}

}  // namespace

std::optional<std::int64_t> view_time_difference(std::int64_t to, std::int64_t from) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(to, from, &difference)) return std::nullopt;
  constexpr std::int64_t kMost = INT64_MAX / 4;
  if (difference > kMost || difference < -kMost) return std::nullopt;
  return difference;
}

capture::Address plain_address(const capture::Address& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool gid = address.kind == capture::AddressKind::kGid;
  if (!gid && address.kind != capture::AddressKind::kIpv6) return address;
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin()))
    return capture::make_ipv4(address.bytes.data() + kMapped.size());
  return gid ? capture::make_ipv6(address.bytes.data()) : address;
}

std::uint32_t known_qpn(const roce::Connection& connection, std::size_t side) {
  const roce::Side& s = connection.side[side];
  return s.qpn_known && connection.transport != roce::Transport::kIwarp ? s.qpn : 0;
}

int rank_of(const roce::Connection& connection) {
  if (!connection.recorded) return 0;
  return 2 * static_cast<int>(connection.origin) - (connection.recorder == 0 ? 1 : 0);
}

// A message is seen first at its sender and last at its receiver, packets in between. If it goes
// from the followed view to the other one, the difference is the offset and the delay; the other
// way it is the offset without the delay.
void OffsetSamples::add(int here_recorder, int there_recorder, std::size_t sender,
                        std::int64_t ahead_ns) {
  const int from = static_cast<int>(sender);
  const bool same_place = here_recorder == there_recorder;
  const bool to_other = here_recorder == from || there_recorder == 1 - from;
  std::vector<std::int64_t>& list = ahead_[same_place ? 2 : to_other ? 0 : 1];
  if (list.size() < kMost) list.push_back(ahead_ns);
}

void OffsetSamples::absorb(const OffsetSamples& other) {
  for (std::size_t i = 0; i < ahead_.size(); ++i) {
    for (const std::int64_t ahead : other.ahead_[i]) {
      if (ahead_[i].size() < kMost) ahead_[i].push_back(ahead);
    }
  }
}

std::optional<ClockOffset> OffsetSamples::offset() const {
  // The value below which a share of the list lies, counted from its lowest or its highest.
  const auto quantile = [](std::vector<std::int64_t> list, double share) {
    const auto at = static_cast<std::size_t>(static_cast<double>(list.size() - 1) * share + 0.5);
    const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(list.begin(), place, list.end());
    return *place;
  };
  constexpr double kLow = 1.0 / 16;
  const auto& [to, back, unknown] = ahead_;
  if (!to.empty() && !back.empty()) {
    const std::int64_t most = quantile(to, kLow), least = quantile(back, 1 - kLow);
    return ClockOffset{least + (most - least) / 2, std::abs(most - least) / 2};
  }
  if (!to.empty()) return ClockOffset{quantile(to, kLow), 0};
  if (!back.empty()) return ClockOffset{quantile(back, 1 - kLow), 0};
  if (!unknown.empty()) return ClockOffset{quantile(unknown, 0.5), 0};
  return std::nullopt;
}

std::optional<ViewedMessage> viewed(const roce::SendMessage& send) {
  constexpr std::size_t kFixedHeader = 16;
  if (send.data.size() < kFixedHeader) return std::nullopt;
  ViewedMessage m;
  m.xid = wire::load_be32(send.data.data());
  m.proc = wire::load_be32(send.data.data() + 12);
  m.length = send.wire_length;
  m.length_known = (send.absent & roce::kAbsentLengths) == 0;
  m.frame = send.frame;
  m.time_ns = send.time_ns;
  m.suspect = send.suspect;
  if ((send.absent & roce::kAbsentBytes) != 0) return m;
  if (send.data.size() >= ViewedMessage::kStart) {
    m.start = view_hash(send.data.first(ViewedMessage::kStart));
    m.start_known = true;
  }
  if (send.complete) {
    m.whole = view_hash(send.data);
    m.whole_known = true;
  }
  return m;
}

bool same_content(const ViewedMessage& a, const ViewedMessage& b) {
  if (a.xid != b.xid || a.proc != b.proc) return false;
  if (a.length_known && b.length_known && a.length != b.length) return false;
  if (a.whole_known && b.whole_known) return a.whole == b.whole;
  return !a.start_known || !b.start_known || a.start == b.start;
}

bool ViewQueue::add(const ViewedMessage& m, std::size_t most) {
  bool dropped = false;
  if (live_ >= most || budget_->used >= ViewBudget::kMost) {
    dropped = true;
    if (!take_before(UINT64_MAX)) return true;
  }
  const std::uint64_t place = first_ + slots_.size();
  const auto [it, fresh] = latest_.try_emplace(m.xid, place);
  slots_.push_back({m, fresh ? 0 : it->second + 1, false});
  it->second = place;
  ++live_;
  ++budget_->used;
  return dropped;
}

void ViewQueue::copy(const ViewQueue& from) {
  from.for_each([this](const ViewedMessage& m) { add(m); });
}

void ViewQueue::take(ViewQueue& from) {
  budget_->used -= live_;
  slots_ = std::move(from.slots_);
  latest_ = std::move(from.latest_);
  first_ = from.first_;
  live_ = std::exchange(from.live_, 0);
  from.slots_.clear();
  from.latest_.clear();
}

std::optional<std::uint64_t> ViewQueue::at(const ViewedMessage& like) const {
  const auto latest = latest_.find(like.xid);
  if (latest == latest_.end()) return std::nullopt;
  std::optional<std::uint64_t> same, other;
  std::uint64_t next = latest->second + 1;
  for (int i = 0; i < kEqualXids && next > first_; ++i) {
    const std::uint64_t place = next - 1;
    const Slot& slot = slots_[place - first_];
    next = slot.older;
    if (slot.gone) continue;
    (same_content(slot.message, like) ? same : other) = place;
  }
  return same ? same : other;
}

bool ViewQueue::has(const ViewedMessage& like) const {
  const auto place = at(like);
  return place && same_content(slots_[*place - first_].message, like);
}

ViewedMessage ViewQueue::remove(std::uint64_t place) {
  Slot& slot = slots_[place - first_];
  slot.gone = true;
  --live_;
  --budget_->used;
  const ViewedMessage m = slot.message;
  trim();
  return m;
}

std::optional<ViewedMessage> ViewQueue::take_before(std::uint64_t place) {
  trim();
  if (slots_.empty() || first_ >= place) return std::nullopt;
  return remove(first_);
}

// Frees the slots at the front that are gone.
void ViewQueue::trim() {
  while (!slots_.empty() && slots_.front().gone) {
    const auto latest = latest_.find(slots_.front().message.xid);
    if (latest != latest_.end() && latest->second == first_) latest_.erase(latest);
    slots_.pop_front();
    ++first_;
  }
}

ViewMatch::~ViewMatch() {
  budget_->used -= called_[0].size() + called_[1].size();
}

void ViewMatch::here(std::size_t sender, const ViewedMessage& m) {
  if (const auto at = there_[sender].at(m)) {
    const ViewedMessage there = there_[sender].remove(*at);
    settle(sender, false, *at);
    settle(sender, true, here_[sender].end());
    return matched(sender, m, there);
  }
  if (here_[sender].add(m)) ++counts_[sender].not_compared;
}

void ViewMatch::there(std::size_t sender, const ViewedMessage& m) {
  if (const auto at = here_[sender].at(m)) {
    const ViewedMessage here = here_[sender].remove(*at);
    settle(sender, true, *at);
    settle(sender, false, there_[sender].end());
    return matched(sender, here, m);
  }
  if (there_[sender].add(m)) ++counts_[sender].not_compared;
}

void ViewMatch::matched(std::size_t sender, const ViewedMessage& here, const ViewedMessage& there) {
  ViewCounts& counts = counts_[sender];
  ++counts.both;
  last_here_[sender] = here.frame;
  last_there_[sender] = there.frame;
  if (!same_content(here, there)) {
    ++counts.differ;
    note({ViewDifference::Kind::kContent, static_cast<std::uint8_t>(sender), here.xid, here.frame,
          there.frame});
  }
  if (const auto ahead = view_time_difference(there.time_ns, here.time_ns))
    samples_.add(pair_.here_recorder, pair_.there_recorder, sender, *ahead);
  note_round_trip(sender, here.xid, {here.time_ns, there.time_ns});
}

// A message has found its counterpart. Decides about earlier ones, before the place `before`, that
// can have none any more. Before the first match they are older than the other view.
void ViewMatch::settle(std::size_t sender, bool of_here, std::uint64_t before) {
  ViewQueue& queue = (of_here ? here_ : there_)[sender];
  const bool older = counts_[sender].both == 0 && !pair_.both_begin;
  if (!older) before = before > kBehind ? before - kBehind : 0;
  while (const auto m = queue.take_before(before)) drop(sender, of_here, *m, !older);
}

void ViewMatch::drop(std::size_t sender, bool of_here, const ViewedMessage& m, bool compared) {
  ViewCounts& counts = counts_[sender];
  if (!compared) {
    ++counts.not_compared;
    return;
  }
  ++(of_here ? counts.only_here : counts.only_there);
  note({of_here ? ViewDifference::Kind::kOnlyHere : ViewDifference::Kind::kOnlyThere,
        static_cast<std::uint8_t>(sender), m.xid, of_here ? m.frame : 0, of_here ? 0 : m.frame});
}

void ViewMatch::note(const ViewDifference& d) {
  if (differences_.size() < kViewDifferencesListed) differences_.push_back(d);
}

void ViewMatch::note_round_trip(std::size_t sender, std::uint32_t xid, const Times& times) {
  auto& asked = called_[1 - sender];
  if (const auto call = asked.find(xid); call != asked.end()) {
    const auto here = view_time_difference(times.here_ns, call->second.here_ns);
    const auto there = view_time_difference(times.there_ns, call->second.there_ns);
    std::int64_t here_sum = 0, there_sum = 0;
    const bool fits = here && there && *here >= 0 && *there >= 0 &&
                      !__builtin_add_overflow(round_trips_.here_ns, *here, &here_sum) &&
                      !__builtin_add_overflow(round_trips_.there_ns, *there, &there_sum);
    if (fits) round_trips_ = {round_trips_.count + 1, here_sum, there_sum};
    asked.erase(call);
    --budget_->used;
    return;
  }
  if (budget_->used >= ViewBudget::kMost) return;
  if (called_[sender].insert_or_assign(xid, times).second) ++budget_->used;
}

void ViewMatch::absorb(ViewMatch& other) {
  for (std::size_t sender = 0; sender < 2; ++sender) {
    if (other.counts_[sender].both <= counts_[sender].both) continue;
    std::swap(counts_[sender], other.counts_[sender]);
    here_[sender].take(other.here_[sender]);
    there_[sender].take(other.there_[sender]);
    last_here_[sender] = other.last_here_[sender];
    last_there_[sender] = other.last_there_[sender];
    called_[sender].swap(other.called_[sender]);
  }
  for (const ViewDifference& d : other.differences_) note(d);
  samples_.absorb(other.samples_);
}

void ViewMatch::swap_sides() {
  const auto swap_queues = [&](std::array<ViewQueue, 2>& queues) {
    ViewQueue kept(*budget_);
    kept.take(queues[0]);
    queues[0].take(queues[1]);
    queues[1].take(kept);
  };
  swap_queues(here_);
  swap_queues(there_);
  std::swap(counts_[0], counts_[1]);
  std::swap(called_[0], called_[1]);
  std::swap(last_here_[0], last_here_[1]);
  std::swap(last_there_[0], last_there_[1]);
  if (pair_.here_recorder >= 0) pair_.here_recorder = 1 - pair_.here_recorder;
  if (pair_.there_recorder >= 0) pair_.there_recorder = 1 - pair_.there_recorder;
  for (ViewDifference& d : differences_) d.sender = static_cast<std::uint8_t>(1 - d.sender);
}

void ViewMatch::finish(bool here_whole, bool there_whole) {
  for (std::size_t sender = 0; sender < 2; ++sender) {
    const bool any = counts_[sender].both != 0;
    const auto end = [&](bool of_here, bool other_whole) {
      ViewQueue& queue = (of_here ? here_ : there_)[sender];
      // Messages behind the last match are missing only if the other view still looked.
      const bool compared = other_whole && (any || pair_.both_begin);
      while (const auto m = queue.take_before(UINT64_MAX)) {
        drop(sender, of_here, *m,
             compared || m->frame < (of_here ? last_here_ : last_there_)[sender]);
      }
    };
    end(true, there_whole);
    end(false, here_whole);
  }
}

}  // namespace rpcrdma::session
