#include <utility>

#include <rpcrdma/report/selection.h>

namespace rpcrdma::report {

namespace {

// The number of messages whose decision is remembered. Findings on older ones are kept.
constexpr std::size_t kRemembered = 1U << 18;
// The number of findings that can wait for a decision, whatever the capture contains.
constexpr std::size_t kMaxWaiting = 1U << 14;
// A filter that uses findings decides this many messages later.
constexpr std::uint64_t kMessagesToWait = 256;

}  // namespace

Selection::Selection(filter::Filter filter, rules::Findings::Options kept, Decided decided,
                     const session::Session& session)
    : filter_(std::move(filter)),
      late_(filter_.needs_findings()),
      decided_(std::move(decided)),
      findings_(std::move(kept), *session.context().connections, *session.context().model),
      context_(session.context()),
      frames_(session.pipeline().frames()),
      fates_(kRemembered) {}

Selection::Fate& Selection::fate(std::uint64_t message) {
  return fates_[message % kRemembered];
}

void Selection::expect(std::uint64_t message) {
  newest_ = message;
  fate(message) = Fate::kOpen;
}

void Selection::on_message(const model::Message& m, const model::Call* call) {
  while (!held_.empty() && held_.front().due <= m.id) {
    release(held_.front());
    held_.pop_front();
  }
  if (call != nullptr) return;
  if (!late_) return decide(m, nullptr, nullptr);
  Held& held = held_.emplace_back();
  held.call.message = m;
  held.alone = true;
  held.due = newest_ + kMessagesToWait;
}

void Selection::on_call_end(const model::Call& call, const model::Message* answer) {
  if (!late_) return decide(call.message, &call, answer);
  Held& held = held_.emplace_back();
  held.call = call;
  if (answer != nullptr) held.answer = *answer;
  held.due = newest_ + kMessagesToWait;
}

void Selection::release(const Held& held) {
  decide(held.call.message, held.alone ? nullptr : &held.call,
         held.answer ? &*held.answer : nullptr);
}

bool Selection::matches(const model::Message& m, const model::Call* call) {
  filter::Inputs inputs = context_.inputs(m, call, frames_.first_ns);
  rules_.clear();
  if (late_) {
    if (const auto at = waiting_.find(m.id); at != waiting_.end()) {
      for (const Waiting& w : at->second) rules_.emplace_back(w.rule->name);
    }
  }
  inputs.findings = rules_;
  return filter_.matches(inputs);
}

void Selection::decide(const model::Message& m, const model::Call* call,
                       const model::Message* answer) {
  const bool taken = matches(m, call) || (answer != nullptr && matches(*answer, call));
  const Fate fate = taken ? Fate::kTaken : Fate::kLeft;
  settle(m.id, fate);
  if (answer != nullptr) settle(answer->id, fate);
  decided_(m, call, answer, taken);
}

void Selection::settle(std::uint64_t message, Fate decided) {
  if (message + kRemembered > newest_) fate(message) = decided;
  const auto at = waiting_.find(message);
  if (at == waiting_.end()) return;
  if (decided == Fate::kTaken) {
    for (const Waiting& w : at->second) {
      findings_.repeat({*w.rule, w.severity, w.evidence, w.text, w.advice});
    }
  }
  waiting_count_ -= at->second.size();
  waiting_.erase(at);
}

void Selection::found(const rules::Occurrence& o) {
  const std::uint64_t message = o.evidence.message;
  const bool remembered = message != 0 && message + kRemembered > newest_;
  switch (remembered ? fate(message) : Fate::kTaken) {
    case Fate::kTaken:
      findings_.repeat(o);
      break;
    case Fate::kLeft:
      break;
    case Fate::kOpen:
      if (waiting_count_ == kMaxWaiting) {
        ++omitted_[static_cast<std::size_t>(o.severity)];
        break;
      }
      ++waiting_count_;
      waiting_[message].push_back({&o.rule, o.severity, o.evidence, o.text, o.advice});
      break;
  }
}

void Selection::on_merge(const roce::Connection& into, const roce::Connection& from) {
  for (auto& [message, list] : waiting_) {
    for (Waiting& w : list) {
      if (w.evidence.connection != &from) continue;
      w.evidence.connection = &into;
      // Side 0 of `from` is side 1 of `into`.
      if (w.evidence.side >= 0) w.evidence.side = 1 - w.evidence.side;
    }
  }
  findings_.connections_merged(into, from);
}

// Decides the waiting RPCs of the connection now, because that needs its state.
void Selection::on_evict(const roce::Connection& connection) {
  std::erase_if(held_, [&](const Held& held) {
    const std::uint32_t of = held.call.message.connection;
    if (of != connection.index && context_.model->canonical(of) != connection.index) return false;
    release(held);
    return true;
  });
  findings_.connection_evicted(connection);
}

void Selection::finish() {
  for (const Held& held : held_) release(held);
  held_.clear();
  findings_.finish();
}

}  // namespace rpcrdma::report
