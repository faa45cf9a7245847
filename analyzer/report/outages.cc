#include "outages.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/rules/rejection.h>
#include <rpcrdma/wire/cm.h>

namespace rpcrdma::report {

namespace {

constexpr std::int64_t kShortest = 100'000'000;
// Without a successor, the capture may just have ended in time.
constexpr std::int64_t kShortestAtEnd = 1'000'000'000;
constexpr std::uint16_t kInvalidServiceId = 8;

std::int64_t distance(std::int64_t from_ns, std::int64_t until_ns) {
  // A file can contain any times.
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  if (until_ns <= from_ns) return 0;
  return std::clamp(until_ns, -kMost, kMost) - std::clamp(from_ns, -kMost, kMost);
}

bool is_refused(const Connection& c) {
  return c.state == roce::State::kRejected;
}

bool has_reply(const Connection& c) {
  return c.forward_replies.first_frame != 0;
}

std::int64_t end_of(const Connection& c) {
  return c.ended_ns != 0 ? c.ended_ns : c.last_ns;
}

// Connections between one client and one server, to the same service as far as known, by their
// first packets.
struct Group {
  std::vector<const Connection*> all;
  // By place in `all`: of the connections with Replies up to there, the one that ended last.
  std::vector<const Connection*> ended_last;

  void settle() {
    std::stable_sort(all.begin(), all.end(), [](const Connection* a, const Connection* b) {
      return a->first_ns < b->first_ns;
    });
    const Connection* last = nullptr;
    for (const Connection* c : all) {
      if (!is_refused(*c) && has_reply(*c) && (last == nullptr || end_of(*c) > end_of(*last))) {
        last = c;
      }
      ended_last.push_back(last);
    }
  }
  // Returns the place of the first connection that began at `ns` or later.
  [[nodiscard]] std::size_t begun_from(std::int64_t ns) const {
    return static_cast<std::size_t>(
        std::partition_point(all.begin(), all.end(),
                             [ns](const Connection* c) { return c->first_ns < ns; }) -
        all.begin());
  }
};

// The last connection of its group that was in use ended, and no other one was in use then.
bool leaves_none(const Connection& lost, const Group& group) {
  if (is_refused(lost) || !has_reply(lost) || lost.clock_stepped_back) return false;
  const bool hung = lost.state == roce::State::kOpen && lost.direction[0].unmatched_calls != 0;
  if (lost.state != roce::State::kClosed && !hung) return false;
  const std::size_t next = group.begun_from(end_of(lost));
  return next != 0 && group.ended_last[next - 1] == &lost;
}

// Returns an outage without `lost` if there was none.
Outage outage_after(const Connection& lost, const Group& group, std::int64_t end_ns) {
  Outage o;
  for (std::size_t i = group.begun_from(end_of(lost)); i < group.all.size(); ++i) {
    const Connection* const next = group.all[i];
    if (next == &lost) continue;
    if (has_reply(*next)) {
      o.successor = next;
      break;
    }
    if (is_refused(*next)) {
      if (o.refused++ == 0) o.first_refused = next;
    } else {
      ++o.in_vain;
    }
  }
  const bool wanted = o.refused + o.in_vain != 0 || lost.direction[0].unmatched_calls != 0;
  o.from_ns = end_of(lost);
  o.until_ns = o.successor != nullptr ? o.successor->forward_replies.first_ns : end_ns;
  const std::int64_t length = distance(o.from_ns, o.until_ns);
  if (!wanted || length < (o.successor != nullptr ? kShortest : kShortestAtEnd)) return o;
  // An open connection without a successor is hung, not lost.
  if (o.successor == nullptr && lost.state != roce::State::kClosed) return o;
  o.until_ns = o.from_ns + length;
  if (has_reply(lost)) o.silent_ns = distance(lost.forward_replies.last_ns, o.until_ns);
  o.lost = &lost;
  return o;
}

// Connections whose set-up is not in the capture may be to the one service that is known.
std::vector<Group> by_service(const std::vector<const Connection*>& connections) {
  std::map<std::optional<std::uint64_t>, Group> groups;
  for (const Connection* c : connections) {
    groups[c->by_cm ? std::optional(c->service_id) : std::nullopt].all.push_back(c);
  }
  const auto unknown = groups.find(std::nullopt);
  if (unknown != groups.end() && groups.size() == 2) {
    std::vector<const Connection*>& known = std::next(unknown)->second.all;
    known.insert(known.end(), unknown->second.all.begin(), unknown->second.all.end());
    groups.erase(unknown);
  }
  std::vector<Group> list;
  for (auto& [service, group] : groups) list.push_back(std::move(group));
  return list;
}

}  // namespace

std::vector<Outage> outages(const Report& r) {
  using Pair = std::pair<std::string_view, std::string_view>;
  std::map<Pair, std::vector<const Connection*>> pairs;
  for (const Connection& c : r.connections) {
    if (c.roles == Roles::kUnknown && !is_refused(c)) continue;
    pairs[{c.side[0].address, c.side[1].address}].push_back(&c);
  }
  std::vector<Outage> all;
  for (const auto& [pair, connections] : pairs) {
    for (Group& group : by_service(connections)) {
      group.settle();
      for (const Connection* c : group.all) {
        if (!leaves_none(*c, group)) continue;
        const Outage o = outage_after(*c, group, r.capture.last_ns);
        if (o.lost != nullptr) all.push_back(o);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Outage& a, const Outage& b) { return a.from_ns < b.from_ns; });
  return all;
}

std::string refusal_text(const Connection& c) {
  if (!is_refused(c)) return {};
  std::string text = c.reject_reason;
  if (text == wire::cm_rej_reason(kInvalidServiceId)) {
    text += fmt::format(" (reason {}): {}", kInvalidServiceId,
                        rules::rejection_meaning(kInvalidServiceId, c.service_id));
  }
  return text;
}

std::string outage_text(const Outage& o) {
  const Connection& lost = *o.lost;
  std::string text =
      fmt::format("{} between the loss of connection {}", format_duration(o.length_ns()), lost.id);
  if (lost.closed_by >= 0) {
    text += fmt::format(" (closed by the {} in frame {})",
                        lost.closed_by == 0 ? "client" : "server", lost.closed_frame);
  } else {
    text += fmt::format(" (last packet in frame {})", lost.last_frame);
  }
  if (o.successor != nullptr) {
    text += fmt::format(" and the first Reply of its successor, connection {} (frame {})",
                        o.successor->id, o.successor->forward_replies.first_frame);
  } else {
    text += " and the end of the capture, without a successor that answers";
  }
  // The connection was silent before it ended.
  if (o.silent_ns > o.length_ns() + o.length_ns() / 10) {
    text += fmt::format("; no Reply for {}", format_duration(o.silent_ns));
  }
  if (lost.direction[0].unmatched_calls != 0) {
    const std::uint64_t n = lost.direction[0].unmatched_calls;
    text += n == 1 ? std::string("; 1 of its Calls has no answer")
                   : fmt::format("; {} of its Calls have no answer", n);
  }
  if (o.refused != 0) {
    text += fmt::format(
        "; the server refused {} for a connection meanwhile, the first in frame {}: {}",
        o.refused == 1 ? std::string("1 request") : fmt::format("{} requests", o.refused),
        o.first_refused->closed_frame, refusal_text(*o.first_refused));
  }
  if (o.in_vain != 0) {
    text += fmt::format("; {} meanwhile without a Reply",
                        o.in_vain == 1 ? std::string("1 other connection")
                                       : fmt::format("{} other connections", o.in_vain));
  }
  return text;
}

}  // namespace rpcrdma::report
