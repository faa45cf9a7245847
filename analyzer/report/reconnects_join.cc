// Compares the first Calls of the later report's connections with the unanswered and the last
// answered Calls of the earlier report's connections, by the code that rules use while a capture is
// read.
#include "reconnects_join.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::report {

namespace {

using Pair = std::pair<std::string, std::string>;

Pair pair_of(const std::string& a, const std::string& b) {
  return a < b ? Pair{a, b} : Pair{b, a};
}

// Maps each address text to a distinct address. Addresses are only compared.
class Addresses {
 public:
  const capture::Address& of(const std::string& text) {
    const auto [at, added] = all_.try_emplace(text);
    if (added) {
      const auto number = static_cast<std::uint32_t>(all_.size());
      for (std::size_t i = 0; i < 4; ++i) {
        at->second.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
      }
      at->second.kind = capture::AddressKind::kIpv4;
    }
    return at->second;
  }

 private:
  std::map<std::string, capture::Address> all_;
};

struct Judged {
  rules::Successor successor;
  std::array<std::optional<std::size_t>, 2> may_be_again;  // of client and server
};

class Join {
 public:
  Join(Report& earlier, Report& later) : profile_(earlier.profile), to_(earlier.reconnects) {
    from_ = std::move(later.reconnects);
    later.reconnects = {};
  }

  void number(const ConnectionJoin& join, std::uint64_t frames) {
    // A connection that continues from the earlier report does not start here.
    std::erase_if(from_.begun, [&](const BegunConnection& b) { return join.joined(b.connection); });
    for (BegunConnection& b : from_.begun) {
      b.connection = join.id(b.connection);
      for (rules::FirstCall& call : b.calls) call.frame += frames;
    }
    for (LostCall& lost : from_.lost) lost.call.frame += frames;
  }

  void judge() {
    for (LostCall& lost : to_.lost) add_lost(std::move(lost));
    judged_.resize(from_.begun.size());
    std::vector<std::tuple<std::uint64_t, std::size_t, std::size_t>> order;  // frame, two places
    for (std::size_t i = 0; i < from_.begun.size(); ++i) {
      const BegunConnection& b = from_.begun[i];
      if (!b.calls.empty()) judged_[i].successor.follow(predecessor(b));
      for (std::size_t k = 0; k < b.calls.size(); ++k) order.emplace_back(b.calls[k].frame, i, k);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [frame, i, k] : order) {
      called(static_cast<std::uint32_t>(i), from_.begun[i].calls[k]);
    }
  }

  SentAgainFindings report() {
    for (std::size_t i = 0; i < judged_.size(); ++i) report(i);
    return std::move(found_);
  }

  void add() {
    std::vector<BegunConnection> left;
    for (std::size_t i = 0; i < from_.begun.size(); ++i) {
      BegunConnection& b = from_.begun[i];
      b.ended_before += to_.ended.size();
      if (judged_[i].successor.follows() || b.ended_before >= rules::kDeparted) continue;
      left.push_back(std::move(b));
    }
    std::move(left.begin(), left.end(), std::back_inserter(to_.begun));
    bound_begun(to_, kBegunWhileMerging);
    for (const EndedConnection& e : from_.ended) {
      const auto lost = lost_.find(pair_of(e.address[0], e.address[1]));
      if (lost == lost_.end()) continue;
      lost->second.pass_over(addresses_.of(e.address[0]), addresses_.of(e.address[1]),
                             e.left.end_ns);
    }
    std::move(from_.ended.begin(), from_.ended.end(), std::back_inserter(to_.ended));
    if (to_.ended.size() > rules::kDeparted) {
      to_.ended.erase(to_.ended.begin(), to_.ended.end() - rules::kDeparted);
    }
    for (LostCall& lost : from_.lost) add_lost(std::move(lost));
    to_.lost.clear();
    for (const auto& [pair, calls] : lost_) {
      for (const rules::LostCall& call : calls.all()) {
        if (to_.lost.size() == rules::kLostCallsHandedOver) {
          to_.complete = false;
          break;
        }
        const bool first_calls = call.caller == addresses_.of(pair.first);
        LostCall& lost = to_.lost.emplace_back();
        lost.caller = first_calls ? pair.first : pair.second;
        lost.responder = first_calls ? pair.second : pair.first;
        lost.call = call;
      }
    }
    to_.complete &= from_.complete;
    to_.unsought |= from_.unsought;
  }

  // Returns whether the lists that are compared may be truncated. The connections that started in
  // the earlier report are not compared with anything in the later one.
  [[nodiscard]] bool lacks() const {
    const bool only_begun =
        to_.begun.size() >= rules::kBegun && to_.lost.size() < rules::kLostCallsHandedOver;
    return (!to_.complete && !only_begun) || !from_.complete;
  }
  void doubt() { to_.unsought = true; }

 private:
  void add_lost(LostCall lost) {
    lost.call.caller = addresses_.of(lost.caller);
    lost.call.responder = addresses_.of(lost.responder);
    lost_[pair_of(lost.caller, lost.responder)].add(lost.call);
  }

  // Returns the latest ended connection between the same two addresses, from those that would still
  // be remembered at its first Call.
  std::shared_ptr<const rules::Departed> predecessor(const BegunConnection& b) const {
    const std::size_t remembered =
        rules::kDeparted - std::min<std::size_t>(rules::kDeparted, b.ended_before);
    const std::size_t oldest = to_.ended.size() - std::min(remembered, to_.ended.size());
    for (std::size_t i = to_.ended.size(); i > oldest; --i) {
      const EndedConnection& e = to_.ended[i - 1];
      // Captures can overlap in time.
      if (e.address == b.address && e.left.end_ns <= b.calls.front().time_ns) {
        return std::make_shared<const rules::Departed>(e.left);
      }
    }
    return nullptr;
  }

  void called(std::uint32_t i, const rules::FirstCall& call) {
    const BegunConnection& b = from_.begun[i];
    const bool known_again = call.forward && judged_[i].successor.called(call);
    const auto lost = lost_.find(pair_of(b.address[0], b.address[1]));
    if (lost == lost_.end()) return;
    const std::size_t side = call.forward ? 0 : 1;
    static_cast<void>(lost->second.called(
        call, known_again,
        {i, b.first_ns, addresses_.of(b.address[side]), judged_[i].may_be_again[side]}));
  }

  Finding finding(const BegunConnection& b, const rules::SentAgain& reported,
                  rules::Level at_most) const {
    const rules::Rule& rule = rules::rule(reported.rule);
    Finding f;
    f.rule = rule.name;
    f.severity = rules::severity_of(std::min(rule.level(profile_), at_most));
    f.connection = b.connection;
    const auto& [first, last] = reported.frames;
    for (const std::uint64_t frame : {first, last == first ? 0 : last}) {
      if (frame != 0) f.frames.push_back(frame);
    }
    f.text = reported.text;
    f.advice = reported.advice != nullptr ? reported.advice : rule.advice;
    return f;
  }

  void report(std::size_t i) {
    const BegunConnection& b = from_.begun[i];
    const rules::Successor& successor = judged_[i].successor;
    for (const rules::SentAgain& reported : successor.reported()) {
      found_.findings.push_back(finding(b, reported, rules::Level::kError));
    }
    if (b.more && successor.awaits_more()) doubt();
    const auto lost = lost_.find(pair_of(b.address[0], b.address[1]));
    if (lost == lost_.end()) return;
    for (const rules::LostCall& call : lost->second.take_renamed(static_cast<std::uint32_t>(i))) {
      report_renamed(b, call);
    }
  }

  void report_renamed(const BegunConnection& b, const rules::LostCall& call) {
    const rules::SentAgain reported = rules::renamed(call);
    if (!b.unsure.empty()) {
      found_.inconclusive.push_back(
          {{rules::rule(reported.rule).name, b.connection, 1, b.unsure}, false});
      return;
    }
    if (call.again_left_out) return;
    Finding f = finding(b, reported, rules::kRenamedAtMost);
    const bool by_client = call.caller == addresses_.of(b.address[0]);
    f.peer = b.address[by_client ? 0 : 1];
    f.role = by_client ? "client" : "server";
    f.topic = 2 * rules::kRenamedTopic;
    found_.findings.push_back(std::move(f));
  }

  rules::Profile profile_;
  Reconnects& to_;
  Reconnects from_;
  Addresses addresses_;
  std::map<Pair, rules::LostCalls> lost_;
  std::vector<Judged> judged_;
  SentAgainFindings found_;
};

}  // namespace

void bound_begun(Reconnects& reconnects, std::size_t most) {
  if (reconnects.begun.size() <= most) return;
  reconnects.begun.resize(most);
  reconnects.complete = false;
}

void sort_lost(std::vector<LostCall>& lost) {
  const auto pair = [](const LostCall& l) { return pair_of(l.caller, l.responder); };
  std::stable_sort(lost.begin(), lost.end(),
                   [&](const LostCall& a, const LostCall& b) { return pair(a) < pair(b); });
}

SentAgainFindings join_reconnects(Report& earlier, Report& later, const ConnectionJoin& join,
                                  std::uint64_t frames) {
  Join j(earlier, later);
  if (j.lacks() && earlier.capture.frames != 0 && later.capture.frames != 0) j.doubt();
  j.number(join, frames);
  j.judge();
  SentAgainFindings reported = j.report();
  j.add();
  return reported;
}

}  // namespace rpcrdma::report
