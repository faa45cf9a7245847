#include "fleet_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::cli {

namespace {

// Findings of this time before the start are shown, too.
constexpr std::int64_t kBefore = 600 * base::kSecond;

// Messages between two looks at the terminal, so that a flood does not stop it.
constexpr std::size_t kAtOnce = 4096;

fleet::ViewTime now() {
  return {base::monotonic_ns(), base::wall_clock_ns()};
}

rules::Severity severity_of(const std::string& name) {
  return name == "error"     ? rules::Severity::kError
         : name == "warning" ? rules::Severity::kWarning
                             : rules::Severity::kNote;
}

// Credentials may be part of a URL.
std::string without_credentials(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.rfind('@');
  if (scheme == std::string::npos || at == std::string::npos || at < scheme) return url;
  return url.substr(0, scheme + 3) + url.substr(at + 1);
}

}  // namespace

base::Expected<fleet::FindingNote> finding_of(const fleet::BusMessage& message) {
  const auto host = fleet::host_of_subject(message.subject);
  auto note = fleet::finding_from_json(message.data);
  if (!note) {
    return base::fail(fmt::format("finding of {}: {}", host.value_or("?"), note.error().message));
  }
  if (!host || note->host != *host) {
    return base::fail(
        fmt::format("finding of {}: it is about another host: forged", host.value_or("?")));
  }
  return note;
}

top::FleetFinding shown_finding(const fleet::FindingNote& note) {
  return {.wall_ns = note.wall_ns,
          .host = note.host,
          .endpoint = note.endpoint,
          .severity = severity_of(note.severity),
          .rule = note.rule,
          .peer = note.at_fault,
          .count = note.count,
          .text = note.text,
          .advice = note.advice};
}

void FleetFindings::take(const fleet::BusMessage& message) {
  const auto note = finding_of(message);
  if (!note) {
    ++refused_;
    return;
  }
  all_.insert_or_assign(Kind{note->host, note->instance, note->kind}, shown_finding(*note));
  if (all_.size() <= kMost) return;
  all_.erase(
      std::ranges::min_element(all_, {}, [](const auto& one) { return one.second.wall_ns; }));
  ++dropped_;
}

std::vector<top::FleetFinding> FleetFindings::newest_first() const {
  std::vector<top::FleetFinding> all;
  all.reserve(all_.size());
  for (const auto& [kind, finding] : all_) all.push_back(finding);
  std::ranges::stable_sort(all, std::ranges::greater{}, &top::FleetFinding::wall_ns);
  return all;
}

base::Expected<std::unique_ptr<FleetWatch>> FleetWatch::start(const fleet::BusOptions& options,
                                                              bool findings) {
  auto bus = fleet::Bus::connect(options);
  if (!bus) return tl::unexpected(bus.error());
  std::unique_ptr<FleetWatch> watch(
      new FleetWatch(std::move(*bus), without_credentials(options.url)));
  if (const auto subscribed = watch->subscribe(findings); !subscribed) {
    return tl::unexpected(subscribed.error());
  }
  watch->view_.bus(true, {}, now());
  watch->replay(findings);
  return watch;
}

base::Expected<void> FleetWatch::subscribe(bool findings) {
  auto states = bus_->subscribe(fleet::kAllStates);
  if (!states) return tl::unexpected(states.error());
  states_ = std::move(*states);
  if (!findings) return {};
  auto notes = bus_->subscribe(fleet::kAllFindings);
  if (!notes) return tl::unexpected(notes.error());
  finding_notes_ = std::move(*notes);
  return {};
}

// Without the streams, hosts appear when they report, and there are only new findings.
void FleetWatch::replay(bool findings) {
  (void)bus_->latest_states([this](const fleet::BusMessage& message) {
    const fleet::ViewTime at = now();
    view_.take(message.subject, message.data, at,
               std::max<std::int64_t>(at.wall_ns - message.stored_ns, 1));
    return true;
  });
  if (!findings) return;
  (void)bus_->findings_since(base::wall_clock_ns() - kBefore, {},
                             [this](const fleet::BusMessage& message) {
                               findings_.take(message);
                               return true;
                             });
}

void FleetWatch::add_descriptors(std::vector<pollfd>& fds) const {
  fds.push_back({states_->fd(), POLLIN, 0});
  if (finding_notes_ != nullptr) fds.push_back({finding_notes_->fd(), POLLIN, 0});
}

void FleetWatch::take() {
  const fleet::BusState bus = bus_->state();
  view_.bus(bus.connected, bus.why.empty() ? "no connection" : bus.why, now());
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    const auto message = states_->take();
    if (!message) break;
    view_.take(message->subject, message->data, now());
  }
  view_.dropped(states_->dropped());
  for (std::size_t i = 0; i < kAtOnce && finding_notes_ != nullptr; ++i) {
    const auto message = finding_notes_->take();
    if (!message) break;
    findings_.take(*message);
  }
  view_.tick(now());
}

top::FleetShown FleetWatch::shown() const {
  return {.server = server_,
          .state = view_.state(),
          .findings = findings_.newest_first(),
          .findings_dropped = findings_.dropped(),
          .findings_refused = findings_.refused()};
}

}  // namespace rpcrdma::cli
