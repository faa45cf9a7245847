// The packet feed's thread: polls the rings of the packet taps and feeds the readers of the packet
// socket.
#include "packet_feed.h"

#include "clock.h"
#include "poll_interval.h"
#include "signal_masked_thread.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include <rpcrdma/live/hub.h>

namespace rpcrdma::trace {

base::Expected<std::unique_ptr<PacketFeed>> PacketFeed::start(ListeningSocket socket,
                                                              Options options) {
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return tl::unexpected(wakeup.error());
  std::unique_ptr<PacketFeed> feed(
      new PacketFeed(std::move(socket), std::move(options), std::move(*wakeup)));
  try {
    feed->thread_ = start_signal_masked_thread([f = feed.get()] { f->run(); });
  } catch (const std::system_error& error) {
    return base::fail(fmt::format("cannot start a thread: {}", error.what()));
  }
  return feed;
}

PacketFeed::PacketFeed(ListeningSocket socket, Options options, base::Wakeup wakeup)
    : options_(std::move(options)),
      path_(socket.path()),
      wakeup_(std::move(wakeup)),
      readers_(std::move(socket), options_.interface, options_.reader_bytes, lost_,
               Content::kPackets) {
  taps_.reserve(Hub::kMostTracers);
}

PacketFeed::~PacketFeed() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wakeup_.notify();
  thread_.join();
}

void PacketFeed::add(PacketTap& tap) {
  {
    const std::lock_guard lock(mutex_);
    new_taps_.push_back(&tap);
  }
  wakeup_.notify();
}

void PacketFeed::run() {
  std::int64_t next_tick = monotonic_ns() + kTick;
  while (take_news()) {
    or_give_up([&] {
      const double fullest = listening_ ? pass() : 0;
      sweep();
      if (const std::int64_t now = monotonic_ns(); now >= next_tick) {
        for (LiveReader* const reader : welcomed_) reader->emit_sums(base::wall_clock_ns());
        readers_.tick();
        next_tick = now + kTick;
      }
      wait(listening_ ? poll_interval_.next(fullest) : kTick);
    });
  }
  or_give_up([&] {
    if (listening_) pass();
    for (LiveReader* const reader : welcomed_) reader->end(base::wall_clock_ns());
  });
  end();
}

// Without memory for packets, all readers are dropped. The endpoint continues, and readers may
// connect again.
template <typename Function>
void PacketFeed::or_give_up(Function&& function) {
  try {
    function();
  } catch (const std::bad_alloc&) {
    welcomed_.clear();
    for (const auto& reader : readers_.readers()) reader->give_up();
    readers_.sweep();
    for (PacketTap* const tap : taps_) tap->listen(false);
    listening_ = false;
  }
}

// Returns false when the thread must stop.
bool PacketFeed::take_news() {
  std::vector<PacketTap*> taps;
  bool stop = false;
  {
    const std::lock_guard lock(mutex_);
    taps.swap(new_taps_);
    stop = stop_;
  }
  for (PacketTap* const tap : taps) {
    taps_.push_back(tap);
    if (!listening_) continue;
    or_give_up([&] {
      add_to_drainer(*tap);
      tap->listen(true);
    });
  }
  return !stop;
}

void PacketFeed::add_to_drainer(PacketTap& tap) {
  Ring& ring = tap.ring(options_.ring_bytes);
  ring.populate();
  drainer_.add(ring, tap.number());
}

// Packets left in the rings by readers that have disconnected are discarded.
void PacketFeed::listen(bool on) {
  listening_ = on;
  if (!on) {
    for (PacketTap* const tap : taps_) tap->listen(false);
    return;
  }
  drainer_ = {};
  for (PacketTap* const tap : taps_) add_to_drainer(*tap);
  pass(false);
  for (PacketTap* const tap : taps_) tap->listen(true);
}

double PacketFeed::pass(bool to_readers) {
  RingDrainer::Out out;
  if (to_readers) {
    out = [this](const EventBatch& batch) {
      for (LiveReader* const reader : welcomed_) reader->take(batch);
    };
  }
  const bool encode = std::any_of(welcomed_.begin(), welcomed_.end(),
                                  [](const LiveReader* reader) { return reader->has_room(); });
  return drainer_.pass(base::wall_clock_ns(), 0, out, encode);
}

// The taps are enabled before the reader learns that its stream has started, so that it misses no
// packet after that.
void PacketFeed::welcome(LiveReader& reader) {
  if (listening_) {
    pass();
  } else {
    listen(true);
  }
  reader.begin({}, 0);
  welcomed_.push_back(&reader);
}

void PacketFeed::sweep() {
  if (std::erase_if(welcomed_, [](const LiveReader* reader) { return reader->over(); }) == 0) {
    return;
  }
  readers_.sweep();
  if (!reads()) listen(false);
}

// Sleeps for `ns`, or until there is other work than reading the rings.
void PacketFeed::wait(std::int64_t ns) {
  watched_.assign(1, {wakeup_.fd(), POLLIN, 0});
  readers_.add_to(watched_);
  const timespec timeout{ns / kSecond, ns % kSecond};
  if (::ppoll(watched_.data(), watched_.size(), &timeout, nullptr) <= 0) return;
  if (watched_[0].revents != 0) wakeup_.clear();
  const bool knocks = readers_.on_poll(std::span(watched_).subspan(1), base::wall_clock_ns());
  sweep();
  if (knocks) readers_.accept([this](LiveReader& reader) { welcome(reader); });
}

void PacketFeed::end() {
  readers_.wait_for_all(monotonic_ns() + kLastWait);
  welcomed_.clear();
  for (PacketTap* const tap : taps_) tap->listen(false);
}

}  // namespace rpcrdma::trace
