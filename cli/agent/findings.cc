#include "findings.h"

#include <algorithm>
#include <set>

#include <rpcrdma/base/clock.h>

namespace rpcrdma::agent {

namespace {

constexpr std::int64_t kCountsEvery = 10 * base::kSecond;
constexpr std::int64_t kLookEvery = 100 * base::kMillisecond;
// A peer that violates a rule on ever new connections must not fill the bus.
constexpr unsigned kMostPerSecond = 100;

}  // namespace

bool Findings::may_publish(std::int64_t now_ns) {
  if (now_ns - second_began_ >= base::kSecond) {
    second_began_ = now_ns;
    in_second_ = 0;
  }
  if (in_second_ == kMostPerSecond) {
    ++dropped_;
    return false;
  }
  ++in_second_;
  return true;
}

void Findings::look(const Followed& endpoint, std::int64_t now_ns, bool last) {
  OfEndpoint& of = endpoints_[endpoint.generation()];
  last |= endpoint.fd() < 0;  // it will be forgotten soon
  const bool changed = endpoint.gather().found() != of.found;
  const bool due = changed || of.waiting;
  if (!due || (now_ns < of.look_at_ns && !last)) return;
  of.look_at_ns = now_ns + kLookEvery;
  of.found = endpoint.gather().found();
  of.waiting = false;
  top::View view;
  const top::Shown shown = endpoint.gather().show(view, 0, base::wall_clock_ns());
  std::set<std::uint64_t> there;
  // The oldest first.
  for (auto f = shown.findings.rbegin(); f != shown.findings.rend(); ++f) {
    there.insert(f->number);
    const auto [at, is_new] = of.kinds.try_emplace(f->number);
    Published& published = at->second;
    if (f->count == published.count) continue;
    if (!is_new && !last && now_ns - published.at_ns < kCountsEvery) {
      of.waiting = true;
      continue;
    }
    published = {f->count, now_ns};
    if (!may_publish(now_ns)) continue;
    fleet::FindingNote note;
    note.sequence = ++sequence_;
    note.wall_ns = std::max<std::int64_t>(f->last_ns, 0);
    note.endpoint = endpoint.name();
    note.process = endpoint.process();
    note.generation = endpoint.generation();
    note.kind = f->number;
    note.severity = rules::severity_name(f->severity);
    note.rule = f->rule;
    note.local = f->local_end;
    note.peer = f->peer_end;
    note.at_fault = f->peer;
    note.count = f->count;
    note.text = f->text;
    note.advice = f->advice;
    publish_(std::move(note));
  }
  std::erase_if(of.kinds, [&](const auto& kind) { return !there.contains(kind.first); });
}

void Findings::keep_only(const Endpoints& endpoints) {
  std::erase_if(endpoints_, [&](const auto& one) {
    return std::ranges::none_of(endpoints.all(),
                                [&](const auto& e) { return e->generation() == one.first; });
  });
}

}  // namespace rpcrdma::agent
