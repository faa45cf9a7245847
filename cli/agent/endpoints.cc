#include "endpoints.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/live/stream_check.h>

namespace rpcrdma::agent {

namespace {

constexpr std::int64_t kLook = 250 * base::kMillisecond;
// An endpoint that cannot be read, because it has its maximum of readers for example, is not
// bothered more often.
constexpr std::int64_t kRetry = 5 * base::kSecond;
constexpr std::int64_t kReportEnded = 10 * base::kSecond;

}  // namespace

Followed::Followed(const trace::RunningEndpoint& found, base::FileDescriptor fd,
                   std::uint64_t generation, rules::Profile profile)
    : found_(found),
      generation_(generation),
      stream_(std::move(fd), trace::live_check()),
      gather_(std::make_unique<top::Gather>(profile)) {
  gather_->add(found.name);
  gather_->tick(base::monotonic_ns());
}

void Followed::read(bool ready) {
  if (stream_.fd() < 0) return;
  if (ready) {
    stream_.read([this](const capture::Frame& frame) { gather_->frame(0, frame); });
  } else {
    stream_.expire();
  }
  if (stream_.fd() >= 0) return;
  gather_->ended(0, stream_.why(), base::wall_clock_ns());
  ended_ns_ = base::monotonic_ns();
}

bool Followed::is_over(std::int64_t now_ns) const {
  return ended_ns_ >= 0 && now_ns - ended_ns_ >= kReportEnded;
}

std::uint32_t Followed::process() const {
  const std::uint32_t said = gather_->endpoint(0).process;
  return said != 0 ? said : found_.process;
}

fleet::EndpointSummary Followed::summary() const {
  const top::ShownEndpoint& endpoint = gather_->endpoint(0);
  const top::Cumulative c = gather_->cumulative();
  fleet::EndpointSummary s;
  s.name = endpoint.name;
  s.role = endpoint.role;
  s.user = found_.user;
  s.process = process();
  s.source = endpoint.source == trace::EventSource::kEndpoint ? fleet::Source::kEndpoint
                                                              : fleet::Source::kKernel;
  s.since_ns = std::max<std::int64_t>(endpoint.since_ns, 0);
  s.generation = generation_;
  if (endpoint.ended) {
    s.end = !endpoint.why.empty() ? fleet::EndpointEnd::kRefused
            : endpoint.in_order   ? fleet::EndpointEnd::kClosed
                                  : fleet::EndpointEnd::kKilled;
    s.why = endpoint.why;
  }
  s.connections = c.open;
  s.credits = {c.requested, c.granted, c.in_use, c.waiting};
  s.counters.calls = c.totals.calls;
  s.counters.replies = c.totals.replies;
  s.counters.errors = c.totals.errors;
  s.counters.chunk_bytes = c.totals.chunk_bytes;
  s.latency = base::CompactHistogram(c.latency);
  s.latency_epoch = c.latency_epoch;
  s.events = c.events.events;
  s.events_lost = c.events.lost + c.events.missing;
  s.faults = c.faults;
  s.findings = c.found;
  return s;
}

void Endpoints::connect(const trace::RunningEndpoint& found, std::int64_t deadline_ns) {
  const std::chrono::nanoseconds patience(
      std::max<std::int64_t>(deadline_ns - base::monotonic_ns(), 0));
  auto fd = trace::connect_running(found, patience);
  if (fd) {
    all_.push_back(std::make_unique<Followed>(found, std::move(*fd), ++generations_, profile_));
    log_(Level::kInfo, fmt::format("follows {} (process {})", found.name, found.process));
    unread_.erase(found.path);
    return;
  }
  // It has just ended or was killed, or it has too many readers.
  Unread& unread = unread_[found.path];
  unread.retry_ns = base::monotonic_ns() + kRetry;
  if (std::exchange(unread.why, fd.error().message) != fd.error().message) {
    log_(Level::kWarning, fmt::format("cannot read an endpoint: {}", fd.error().message));
  }
}

void Endpoints::look(std::int64_t now_ns) {
  if (now_ns < look_at_) return;
  look_at_ = now_ns + kLook;
  std::erase_if(all_, [&](const auto& e) { return e->is_over(now_ns); });
  const auto there = trace::find_endpoints();
  const std::string error = there ? std::string() : there.error().message;
  if (std::exchange(search_error_, error) != error && !error.empty()) {
    log_(Level::kError, error);
  }
  if (!there) return;
  const auto stands = [&](const std::string& path) {
    return std::ranges::any_of(*there, [&](const auto& one) { return one.path == path; });
  };
  // The path of an endpoint that ended may be used again by a new one.
  for (const auto& e : all_) {
    if (e->fd() < 0 && !stands(e->path())) e->forget_path();
  }
  std::erase_if(unread_, [&](const auto& one) { return !stands(one.first); });
  // All new endpoints share one deadline, since some may be silent.
  const std::int64_t deadline = now_ns + trace::kEndpointPatience.count();
  beyond_ = 0;
  for (const trace::RunningEndpoint& one : *there) {
    const auto same = [&](const auto& e) { return e->path() == one.path; };
    if (std::ranges::any_of(all_, same)) continue;
    if (all_.size() >= fleet::kMostEndpoints) {
      ++beyond_;
      continue;
    }
    const auto unread = unread_.find(one.path);
    if (unread != unread_.end() && now_ns < unread->second.retry_ns) continue;
    connect(one, deadline);
  }
}

void Endpoints::add_to(std::vector<pollfd>& fds) const {
  for (const auto& e : all_) fds.push_back({e->fd(), POLLIN, 0});
}

void Endpoints::read(const pollfd* fds) {
  for (const auto& e : all_) {
    const bool running = e->fd() >= 0;
    e->read((fds++)->revents != 0);
    if (running && e->fd() < 0) {
      const fleet::EndpointSummary s = e->summary();
      const char* const how = s.end == fleet::EndpointEnd::kClosed   ? "ended"
                              : s.end == fleet::EndpointEnd::kKilled ? "was killed or crashed"
                                                                     : "is not read any more";
      log_(s.end == fleet::EndpointEnd::kClosed ? Level::kInfo : Level::kWarning,
           fmt::format("{} (process {}) {}{}{}", s.name, s.process, how, s.why.empty() ? "" : ": ",
                       s.why));
    }
  }
}

void Endpoints::tick(std::int64_t now_ns) {
  for (const auto& e : all_) e->tick(now_ns);
}

base::Expected<const Followed*> Endpoints::find(const std::string& which) const {
  const Followed* found = nullptr;
  std::size_t several = 0;
  for (const auto& e : all_) {
    if (e->fd() < 0) continue;
    if (!which.empty() && e->name() != which && std::to_string(e->process()) != which) continue;
    found = e.get();
    ++several;
  }
  if (several == 1) return found;
  if (several == 0) {
    return base::fail(which.empty() ? "no endpoint runs on this host"
                                    : fmt::format("no endpoint {} runs on this host", which));
  }
  return base::fail(
      which.empty()
          ? fmt::format("{} endpoints run on this host: choose one with --endpoint", several)
          : fmt::format("{} endpoints are named {}: choose one by its process ID", several, which));
}

}  // namespace rpcrdma::agent
