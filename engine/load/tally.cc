#include <iterator>
#include <utility>

#include <rpcrdma/load/tally.h>

namespace rpcrdma::load {

namespace {

constexpr std::size_t kMaxReasons = 16;
constexpr std::string_view kOtherReasons = "other reasons";

// How many there are besides kOtherReasons.
std::size_t named(const TallyState::Reasons& reasons) {
  return reasons.size() - (reasons.contains(kOtherReasons) ? 1 : 0);
}

}  // namespace

void Tally::add(const Sample& s) {
  Procedure& procedure = s_.procedures[s.procedure];
  ++s_.calls;
  ++procedure.calls;
  s_.resent += s.attempts > 1 ? s.attempts - 1 : 0;
  if (s.end != End::kRight) {
    ++(s.end == End::kError ? s_.errors : s_.mismatches);
    return;
  }
  s_.bytes += s.bytes;
  s_.latency.add(s.times.ended - s.due);
  procedure.latency.add(s.times.ended - s.due);
  procedure.over_time.add(s.times.ended - epoch_, s.times.ended - s.due);
  const auto part = [&](Part p, std::optional<fabric::Time> time) {
    if (time) s_.parts[static_cast<std::size_t>(p)].add(*time);
  };
  part(Part::kTurn, s.times.called - s.due);
  part(Part::kCredit, s.times.sent - s.times.called);
  part(Part::kReply, s.times.replied - s.times.sent);
  part(Part::kFence, s.times.ended - s.times.replied);
  const Split of_reply = split(s.times, s.server);
  s_.implausible += of_reply.implausible ? 1 : 0;
  part(Part::kSend, of_reply.sending);
  part(Part::kRead, of_reply.reading);
  part(Part::kPeer, of_reply.working);
  part(s.server ? Part::kNetwork : Part::kPeerOrNetwork, of_reply.rest);
}

void Tally::add_reason(std::string_view reason) {
  auto found = s_.reasons.find(reason);
  if (found == s_.reasons.end()) {
    if (named(s_.reasons) >= kMaxReasons) reason = kOtherReasons;
    found = s_.reasons.try_emplace(std::string(reason), 0).first;
  }
  ++found->second;
}

// Keeps the first in alphabetical order: a reason that is dropped in a part of the tallies is
// dropped in all of them together, too.
void Tally::bound_reasons() {
  while (named(s_.reasons) > kMaxReasons) {
    auto last = std::prev(s_.reasons.end());
    if (last->first == kOtherReasons) last = std::prev(last);
    const std::uint64_t count = last->second;
    s_.reasons.erase(last);
    s_.reasons.try_emplace(std::string(kOtherReasons), 0).first->second += count;
  }
}

void Tally::merge(const Tally& other) {
  const TallyState& o = other.s_;
  s_.calls += o.calls;
  s_.errors += o.errors;
  s_.mismatches += o.mismatches;
  s_.bytes += o.bytes;
  s_.implausible += o.implausible;
  s_.resent += o.resent;
  s_.latency.merge(o.latency);
  for (std::size_t i = 0; i < kParts; ++i) s_.parts[i].merge(o.parts[i]);
  for (std::size_t i = 0; i < kMaxProcedures; ++i) {
    s_.procedures[i].calls += o.procedures[i].calls;
    s_.procedures[i].latency.merge(o.procedures[i].latency);
    s_.procedures[i].over_time.merge(o.procedures[i].over_time);
  }
  for (const auto& [reason, count] : o.reasons) s_.reasons[reason] += count;
  bound_reasons();
}

std::optional<Tally> Tally::restore(TallyState state) {
  if (state.errors > state.calls || state.mismatches > state.calls - state.errors) {
    return std::nullopt;
  }
  std::uint64_t left = state.calls;
  for (const Procedure& p : state.procedures) {
    if (p.calls > left) return std::nullopt;
    left -= p.calls;
  }
  if (named(state.reasons) > kMaxReasons) return std::nullopt;
  Tally tally;
  tally.s_ = std::move(state);
  return tally;
}

}  // namespace rpcrdma::load
