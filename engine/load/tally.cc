#include <rpcrdma/load/tally.h>

namespace rpcrdma::load {

namespace {

constexpr std::size_t kMaxReasons = 16;
constexpr std::string_view kOtherReasons = "other reasons";

}  // namespace

void Tally::add(const Sample& s) {
  Procedure& procedure = procedures_[s.procedure];
  ++calls_;
  ++procedure.calls;
  resent_ += s.attempts > 1 ? s.attempts - 1 : 0;
  if (s.end != End::kRight) {
    ++(s.end == End::kError ? errors_ : mismatches_);
    return;
  }
  bytes_ += s.bytes;
  latency_.add(s.times.ended - s.due);
  procedure.latency.add(s.times.ended - s.due);
  procedure.over_time.add(s.times.ended, s.times.ended - s.due);
  const auto part = [&](Part p, std::optional<fabric::Time> time) {
    if (time) parts_[static_cast<std::size_t>(p)].add(*time);
  };
  part(Part::kTurn, s.times.called - s.due);
  part(Part::kCredit, s.times.sent - s.times.called);
  part(Part::kReply, s.times.replied - s.times.sent);
  part(Part::kFence, s.times.ended - s.times.replied);
  const Split of_reply = split(s.times, s.server);
  implausible_ += of_reply.implausible ? 1 : 0;
  part(Part::kSend, of_reply.sending);
  part(Part::kRead, of_reply.reading);
  part(Part::kPeer, of_reply.working);
  part(s.server ? Part::kNetwork : Part::kPeerOrNetwork, of_reply.rest);
}

void Tally::add_reason(std::string_view reason) {
  auto found = reasons_.find(reason);
  if (found == reasons_.end()) {
    if (reasons_.size() >= kMaxReasons) reason = kOtherReasons;
    found = reasons_.try_emplace(std::string(reason), 0).first;
  }
  ++found->second;
}

void Tally::merge(const Tally& other) {
  calls_ += other.calls_;
  errors_ += other.errors_;
  mismatches_ += other.mismatches_;
  bytes_ += other.bytes_;
  implausible_ += other.implausible_;
  resent_ += other.resent_;
  latency_.merge(other.latency_);
  for (std::size_t i = 0; i < kParts; ++i) parts_[i].merge(other.parts_[i]);
  for (std::size_t i = 0; i < kMaxProcedures; ++i) {
    procedures_[i].calls += other.procedures_[i].calls;
    procedures_[i].latency.merge(other.procedures_[i].latency);
    procedures_[i].over_time.merge(other.procedures_[i].over_time);
  }
  for (const auto& [reason, count] : other.reasons_) {
    const bool full = reasons_.size() >= kMaxReasons && !reasons_.contains(reason);
    reasons_[full ? std::string(kOtherReasons) : reason] += count;
  }
}

}  // namespace rpcrdma::load
