// The event loop: polls the provider, routes events and completions to members by cookie, and
// sleeps in epoll until the next deadline.
#include "later.h"
#include "short_spin.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/epoll.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::service {

using fabric::Expected;
using fabric::Time;

namespace {

// Completions delivered before work is posted: more make larger batches, fewer reduce delay.
constexpr std::size_t kBatch = 128;
// A loop that never sleeps checks deadlines at this interval.
constexpr Time kDeadlineCheck = fabric::kMillisecond;

// After a pause of the whole thread (SIGSTOP, a suspended machine, a clock that jumps), the peers'
// messages of that time come first: no deadline counts for a while. Otherwise Calls would time out,
// and connections would end, that were answered meanwhile.
constexpr Time kPause = fabric::kSecond;
constexpr Time kGrace = fabric::kSecond;

constexpr std::uint64_t kWoken = 1;  // data of the descriptor that wake() writes to

}  // namespace

struct Loop::Impl {
  struct Route {
    LoopMember* member = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t key = 0;
  };

  Impl(fabric::Provider& p, const LoopOptions& o, base::Wakeup w)
      : provider(p),
        options(o),
        pool(p, o.memory),
        wakeup(std::move(w)),
        now(read()),
        busy(now),
        short_spin(o.clock == nullptr ? o.short_spin : 0),
        ran(now) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Time read() const {
    return options.clock != nullptr ? *options.clock : base::monotonic_ns();
  }

  Route* route(std::uint64_t cookie) {
    const auto index = static_cast<std::uint32_t>(cookie);
    if (index >= routes.size()) return nullptr;
    Route& r = routes[index];
    return r.member != nullptr && r.generation == cookie >> 32U ? &r : nullptr;
  }

  template <typename Function>
  void for_each(Function&& function) {
    // Members may join and leave meanwhile.
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != nullptr) function(*members[i]);
    }
  }

  // If `function` runs out of memory, the others are still served.
  template <typename Function>
  void guard(Function&& function) {
    try {
      function();
    } catch (const std::bad_alloc&) {
      ++counters.no_memory;
    }
  }

  void give_event() {
    ++counters.events;
    if (event.type == fabric::EventType::kProviderLost) {
      lost = event.reason.empty() ? "the device is gone" : event.reason;
      for_each([&](LoopMember& m) { m.on_provider_lost(now); });
      return;
    }
    Route* r = route(event.cookie);
    if (r == nullptr) {
      ++counters.strays;
    } else {
      r->member->on_event(r->key, event, now);
    }
  }

  void give_completion(const fabric::Completion& completion) {
    Route* r = route(completion.connection);
    if (r == nullptr) {
      ++counters.strays;
    } else {
      r->member->on_completion(r->key, completion, now);
    }
  }

  bool give_events() {
    bool any = false;
    guard([&] {
      while (lost.empty() && provider.poll(event)) {
        any = true;
        guard([&] { give_event(); });
        event.request.reset();
      }
    });
    return any;
  }

  bool give_completions() {
    bool any = false;
    std::size_t n = 0;
    do {
      n = provider.poll(completions);
      for (const fabric::Completion& c : std::span(completions).first(n)) {
        guard([&] { give_completion(c); });
      }
      counters.completions += n;
      any = any || n != 0;
    } while (n == completions.size());
    return any;
  }

  // Returns whether there was anything to do.
  Expected<bool> work() {
    guard([&] { provider.progress(); });
    now = read();
    if (options.clock == nullptr && now - ran > kPause) grace = now + kGrace;
    ran = now;
    // A connection's established event precedes its completions, and its end follows them.
    bool any = give_events();
    if (lost.empty() && give_completions()) {
      any = true;
      (void)give_events();
    }
    if (!lost.empty()) return fabric::fail(fabric::Errc::kSystem, lost);
    if (now >= check_at && now >= grace) {
      for_each([&](LoopMember& m) {
        if (m.deadline() > now) return;
        any = true;
        guard([&] { m.expire(now); });
      });
      check_at = now + kDeadlineCheck;
    }
    // Received messages have been processed since; events of what is sent get the current time.
    if (any && trace::on(options.tracer)) now = read();
    for_each([&](LoopMember& m) { guard([&] { m.flush(now); }); });
    std::erase(members, nullptr);
    if (any) {
      busy = now;
      short_spin.found(now);
    }
    return any;
  }

  Time next_deadline() {
    Time least = fabric::kNever;
    for_each([&](LoopMember& m) { least = std::min(least, m.deadline()); });
    return std::max(least, grace);
  }

  // Returns false if it did not sleep, because there is something to do.
  bool sleep(Time until) {
    if (!provider.arm()) return false;
    std::array<epoll_event, 4> events{};
    const Time left = std::max<Time>(until - read(), 0);
    const timespec timeout{left / fabric::kSecond, left % fabric::kSecond};
    ++counters.sleeps;
    // Waits on the provider's own epoll instance, not through another one or poll(): the kernel can
    // then run the woken thread at once on the sender's processor.
    const int n = ::epoll_pwait2(provider.fd(), events.data(), static_cast<int>(events.size()),
                                 until == fabric::kNever ? nullptr : &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      if (events[static_cast<std::size_t>(i)].data.u64 != kWoken) continue;
      wakeup.clear();
    }
    check_at = 0;
    ran = std::min(read(), until);
    return true;
  }

  fabric::Provider& provider;
  LoopOptions options;
  protocol::MemoryPool pool;
  base::Wakeup wakeup;
  std::atomic<bool> stopped{false};
  Time now;
  Time busy;  // of the last activity
  ShortSpin short_spin;
  Time check_at = 0;
  Time ran;        // the last moment at which the thread is known to have run, or to have slept
  Time grace = 0;  // no deadline counts before
  std::vector<LoopMember*> members;  // null: left in this iteration
  std::vector<Route> routes;
  std::vector<std::uint32_t> free_routes;
  std::array<fabric::Completion, kBatch> completions;
  fabric::Event event;
  std::string lost;
  LoopCounters counters;
};

Expected<std::unique_ptr<Loop>> Loop::create(fabric::Provider& provider,
                                             const LoopOptions& options) {
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return fabric::fail(fabric::Errc::kSystem, wakeup.error().message);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWoken;
  if (::epoll_ctl(provider.fd(), EPOLL_CTL_ADD, wakeup->fd(), &event) != 0) {
    return fabric::fail(fabric::Errc::kSystem, fmt::format("epoll_ctl: {}", std::strerror(errno)));
  }
  return std::unique_ptr<Loop>(
      new Loop(std::make_unique<Impl>(provider, options, std::move(*wakeup))));
}

Loop::Loop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loop::~Loop() = default;

Expected<bool> Loop::run_once(Time max_wait) {
  Impl& l = *impl_;
  if (l.stopped.load(std::memory_order_relaxed)) return false;
  ++l.counters.turns;
  const auto done = l.work();
  if (!done || *done || max_wait <= 0) return done.map([](bool) { return true; });
  if (l.now < later(l.busy, l.options.spin) || l.short_spin.polls(l.busy, l.now)) return true;
  const Time until = std::min(later(l.now, max_wait), l.next_deadline());
  if (until <= l.now) {
    l.check_at = 0;
  } else if (!l.sleep(until)) {
    return true;
  }
  if (l.stopped.load(std::memory_order_relaxed)) return false;
  return l.work().map([](bool) { return true; });
}

Expected<void> Loop::run() {
  while (true) {
    const auto going = run_once();
    if (!going) return tl::unexpected(going.error());
    if (!*going) return {};
  }
}

void Loop::stop() noexcept {
  impl_->stopped.store(true, std::memory_order_relaxed);
  wake();
}

void Loop::wake() noexcept {
  impl_->wakeup.notify();
}

Time Loop::now() const {
  return impl_->now;
}
const Time& Loop::clock() const {
  return impl_->now;
}
Time Loop::read_clock() {
  return base::monotonic_ns();
}
fabric::Provider& Loop::provider() {
  return impl_->provider;
}
protocol::MemoryPool& Loop::memory() {
  return impl_->pool;
}
const LoopOptions& Loop::options() const {
  return impl_->options;
}
trace::Tracer* Loop::tracer() const {
  return impl_->options.tracer;
}
const LoopCounters& Loop::counters() const {
  return impl_->counters;
}

void Loop::join(LoopMember& member) {
  impl_->members.push_back(&member);
}

void Loop::leave(LoopMember& member) {
  for (LoopMember*& m : impl_->members) {
    if (m == &member) m = nullptr;
  }
  for (std::uint32_t i = 0; i < impl_->routes.size(); ++i) {
    const Impl::Route& r = impl_->routes[i];
    if (r.member == &member) drop_cookie(std::uint64_t{r.generation} << 32U | i);
  }
}

std::uint64_t Loop::add_cookie(LoopMember& member, std::uint32_t key) {
  if (impl_->free_routes.empty()) {
    impl_->routes.reserve(std::bit_ceil(impl_->routes.size() + 1));
    impl_->free_routes.reserve(impl_->routes.capacity());
    impl_->routes.emplace_back();
    impl_->free_routes.push_back(static_cast<std::uint32_t>(impl_->routes.size() - 1));
  }
  const std::uint32_t index = impl_->free_routes.back();
  impl_->free_routes.pop_back();
  Impl::Route& r = impl_->routes[index];
  r.member = &member;
  r.key = key;
  return std::uint64_t{r.generation} << 32U | index;
}

void Loop::drop_cookie(std::uint64_t cookie) {
  Impl::Route* r = impl_->route(cookie);
  if (r == nullptr) return;
  r->member = nullptr;
  ++r->generation;
  impl_->free_routes.push_back(static_cast<std::uint32_t>(cookie));
}

}  // namespace rpcrdma::service
