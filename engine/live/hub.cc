// The hub's thread and its tasks: polls the rings, feeds sinks (live readers and recordings), and
// enables tracers only while there is one.
#include "clock.h"
#include "make_event.h"
#include "metrics_file.h"
#include "packet_feed.h"
#include "poll_interval.h"
#include "reader_group.h"
#include "recording.h"
#include "ring_drainer.h"
#include "signal_masked_thread.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/base/text.h>
#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/live/hub.h>

namespace rpcrdma::trace {

using base::Expected;
using base::fail;

namespace {

constexpr std::size_t kLeastRingBytes = 4096;
// room for several of the largest packets
constexpr std::size_t kLeastPacketRingBytes = std::size_t{128} << 10;
constexpr std::size_t kLeastReaderBytes = 4 * RingDrainer::kBatchBytes;
constexpr std::size_t kLeastRecordingBytes = std::size_t{1} << 20;

constexpr std::string_view kHub = "the live endpoint";

tl::unexpected<base::Error> no_thread(const std::system_error& error) {
  return fail(fmt::format("cannot start a thread: {}", error.what()));
}
tl::unexpected<base::Error> has_stopped() {
  return fail("the hub has stopped");
}

}  // namespace

class Hub::Impl {
 public:
  Impl(HubOptions options, base::Wakeup wakeup)
      : options_(std::move(options)),
        since_(base::wall_clock_ns()),
        wakeup_(std::move(wakeup)),
        wall_offset_(wall_offset_ns()) {
    options_.name.resize(std::min<std::size_t>(options_.name.size(), UINT16_MAX));
    options_.ring_bytes = std::bit_ceil(std::max(options_.ring_bytes, kLeastRingBytes));
    options_.reader_bytes = std::max(options_.reader_bytes, kLeastReaderBytes);
    options_.recording_bytes = std::max(options_.recording_bytes, kLeastRecordingBytes);
    options_.packet_ring_bytes =
        std::bit_ceil(std::max(options_.packet_ring_bytes, kLeastPacketRingBytes));
    options_.packet_reader_bytes = std::max(options_.packet_reader_bytes, kLeastReaderBytes);
    thread_ = start_signal_masked_thread([this] { run(); });
  }

  ~Impl() { stop(); }

  Tracer* add() {
    const std::lock_guard lock(mutex_);
    if (tracers_.size() >= kMostTracers) return nullptr;
    Tracer& tracer = tracers_.emplace_back(static_cast<std::uint32_t>(tracers_.size() + 1),
                                           options_.ring_bytes, std::max(options_.one_in, 1U));
    if (listening_) listen_to(tracer);
    if (packets_) packets_->add(tracer.packets());
    return &tracer;
  }

  Expected<void> open_socket() {
    auto socket = new_socket(false);
    if (!socket) return tl::unexpected(socket.error());
    const std::string path = socket->path();
    const bool done = in_thread([&] {
      readers_.emplace(std::move(*socket), options_.name, options_.reader_bytes, lost_to_readers_);
    });
    if (!done) return has_stopped();
    const std::lock_guard lock(mutex_);
    socket_path_ = path;
    return {};
  }

  std::string socket_path() const {
    const std::lock_guard lock(mutex_);
    return socket_path_;
  }

  Expected<void> open_packet_socket() {
    auto socket = new_socket(true);
    if (!socket) return tl::unexpected(socket.error());
    auto feed =
        PacketFeed::start(std::move(*socket), {.interface = options_.name,
                                               .ring_bytes = options_.packet_ring_bytes,
                                               .reader_bytes = options_.packet_reader_bytes});
    if (!feed) return tl::unexpected(feed.error());
    const std::lock_guard lock(mutex_);
    packets_ = std::move(*feed);
    for (Tracer& tracer : tracers_) packets_->add(tracer.packets());
    return {};
  }

  std::string packet_socket_path() const {
    const std::lock_guard lock(mutex_);
    return packets_ ? packets_->path() : std::string();
  }

  Expected<void> announce_metrics(const std::string& address) {
    if (socket_path().empty()) return {};
    auto folder = make_runtime_folder();
    if (!folder) return tl::unexpected(folder.error());
    auto file = MetricsFile::create(std::move(*folder), socket_name(false), address);
    if (!file) return tl::unexpected(file.error());
    const std::lock_guard lock(mutex_);
    metrics_.emplace(std::move(*file));
    return {};
  }

  Expected<void> record(const std::string& path, const base::RingOptions& ring) {
    auto file = RecordedFile::open(path, ring, options_.name, base::wall_clock_ns());
    if (!file) return tl::unexpected(file.error());
    Recording* recording = nullptr;
    try {
      const std::lock_guard lock(mutex_);
      recording = &recordings_.emplace_back(std::move(*file), options_.recording_bytes,
                                            options_.recording_failed, options_.recording_losing);
    } catch (const std::system_error& error) {
      return no_thread(error);
    }
    try {
      if (!in_thread([&] { welcome_or_forget(*recording); })) return has_stopped();
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(mutex_);
      recordings_.remove_if([&](const Recording& r) { return &r == recording; });
      throw;
    }
    return {};
  }

  std::uint64_t lost_to_readers() const { return lost_to_readers_.load(std::memory_order_relaxed); }

  std::vector<RecordCounters> recordings() const {
    const std::lock_guard lock(mutex_);
    std::vector<RecordCounters> counters;
    for (const Recording& recording : recordings_) counters.push_back(recording.counters());
    return counters;
  }

  std::vector<RecordCounters> end_recordings(std::size_t oldest) {
    std::list<Recording> ended;
    const bool done = in_thread([&] {
      or_give_up([&] { pass(); });
      {
        const std::lock_guard lock(mutex_);
        const auto end = std::next(
            recordings_.begin(), static_cast<std::ptrdiff_t>(std::min(oldest, recordings_.size())));
        ended.splice(ended.begin(), recordings_, recordings_.begin(), end);
      }
      const std::int64_t now = monotonic_ns();
      for (Recording& recording : ended) {
        or_give_up([&] { recording.end(now); });
        std::erase(sinks_, &recording);
      }
      if (!listens()) nobody_listens();
    });
    if (!done) return recordings();
    std::vector<RecordCounters> counters;
    for (Recording& recording : ended) {
      recording.finish();
      counters.push_back(recording.counters());
    }
    return counters;
  }

  void stop() {
    if (!thread_.joinable()) return;
    std::unique_ptr<PacketFeed> packets;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      socket_path_.clear();
      metrics_.reset();
      packets = std::move(packets_);
    }
    wakeup_.notify();
    packets.reset();
    thread_.join();
    for (Recording& recording : recordings_) recording.finish();
  }

 private:
  // ----- any thread

  [[nodiscard]] Expected<ListeningSocket> new_socket(bool packets) const {
    auto folder = make_runtime_folder();
    if (!folder) return tl::unexpected(folder.error());
    return ListeningSocket::open(std::move(*folder), socket_name(packets));
  }
  [[nodiscard]] SocketName socket_name(bool packets) const {
    return {options_.name, static_cast<std::uint32_t>(::getpid()), packets};
  }

  // Runs `what` in the hub's thread. If it returns true, `what` has run. Throws what `what` throws.
  [[nodiscard]] bool in_thread(std::function<void()> what) {
    std::packaged_task<void()> task(std::move(what));
    auto done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return false;
      tasks_.push_back(std::move(task));
    }
    wakeup_.notify();
    done.get();  // or std::bad_alloc
    return true;
  }

  // ----- the hub's thread

  void run() {
    std::int64_t next_tick = monotonic_ns() + kTick;
    while (do_tasks()) {
      or_give_up([&] {
        const double fullest = pass();
        sweep();
        const std::int64_t now = monotonic_ns();
        if (now >= next_tick) {
          tick(now);
          next_tick = now + kTick;
        }
        wait(listens() ? poll_interval_.next(fullest) : PollInterval::kNobodyReads);
      });
    }
    or_give_up([&] {
      pass();
      emit_end();
    });
    end();
  }

  // Without memory for events, all readers and recordings are dropped. The endpoint continues, and
  // readers may connect again.
  template <typename Function>
  void or_give_up(Function&& function) {
    try {
      function();
    } catch (const std::bad_alloc&) {
      for (Sink* const sink : sinks_) sink->give_up();
      sinks_.clear();
      if (readers_) {
        for (const auto& reader : readers_->readers()) reader->give_up();
        readers_->sweep();
      }
      nobody_listens();
    }
  }

  // Returns false when the thread must stop.
  bool do_tasks() {
    std::vector<std::packaged_task<void()>> tasks;
    bool stop = false;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
      stop = stop_;
    }
    for (auto& task : tasks) task();
    return !stop;
  }

  [[nodiscard]] bool listens() const { return !sinks_.empty(); }

  double pass() {
    {
      const std::lock_guard lock(mutex_);
      while (known_tracers_ < tracers_.size()) drainer_.add(tracers_[known_tracers_++]);
    }
    RingDrainer::Out out;
    if (listens()) {
      out = [this](const EventBatch& batch) {
        for (Sink* const sink : sinks_) sink->take(batch);
      };
    }
    const bool encode = std::any_of(sinks_.begin(), sinks_.end(),
                                    [](const Sink* sink) { return sink->has_room(); });
    return drainer_.pass(monotonic_ns(), wall_offset_, out, encode);
  }

  // Tracers start to emit before the rings are read, so that the snapshot holds the state so far
  // and every later event is emitted.
  void welcome(Sink& sink) {
    const bool is_first = !listens();
    if (is_first) {
      wall_offset_ = wall_offset_ns();
      listen(true);
    }
    pass();
    const std::int64_t now = monotonic_ns();
    EventBatch first;
    const auto event = endpoint(now);
    EventHeader header;
    std::memcpy(&header, event.data(), sizeof header);
    first.put(header, event, wall_offset_);
    sink.begin(first.blocks.bytes(), wall_offset_);
    sinks_.push_back(&sink);
    first.clear();
    const auto emit = [&] {
      sink.take(first);
      first.clear();
    };
    // Frames carry the current time: a capture's second frame must not be older than its first.
    drainer_.snapshot().emit([&](const EventHeader& h, std::span<const std::uint8_t> emitted) {
      first.put_at(now, h, emitted, wall_offset_);
      if (first.blocks.bytes().size() >= RingDrainer::kBatchBytes) emit();
    });
    emit();
    if (is_first && options_.listening) options_.listening(true);
  }

  // Without memory for its first events the sink is as if it had never come.
  void welcome_or_forget(Sink& sink) {
    try {
      welcome(sink);
    } catch (const std::bad_alloc&) {
      std::erase(sinks_, &sink);
      if (!listens()) nobody_listens();
      throw;
    }
  }

  std::vector<std::uint8_t> endpoint(std::int64_t now) const {
    Endpoint event;
    event.name_bytes = static_cast<std::uint16_t>(options_.name.size());
    event.process = static_cast<std::uint32_t>(::getpid());
    event.wall = now + wall_offset_;
    event.since = since_;
    event.source = options_.source;
    event.left_out = options_.left_out;
    return make_event(0, now, event, base::as_bytes(options_.name + options_.role));
  }

  // Drops sinks that accept nothing more. Without any sink left, Tracers stop emitting.
  void sweep() {
    if (std::erase_if(sinks_, [](const Sink* sink) { return sink->over(); }) == 0) return;
    if (readers_) readers_->sweep();
    if (!listens()) nobody_listens();
  }

  void nobody_listens() {
    listen(false);
    if (options_.listening) options_.listening(false);
    // The sums of a kernel grow, and reach the snapshot, without a reader, too.
    if (options_.source != EventSource::kKernelSums) drainer_.snapshot().forget_credits();
  }

  void listen(bool on) {
    const std::lock_guard lock(mutex_);
    listening_ = on;
    for (Tracer& tracer : tracers_) on ? listen_to(tracer) : tracer.listen(false);
  }

  static void listen_to(Tracer& tracer) {
    tracer.ring().populate();
    tracer.listen(true);
  }

  void tick(std::int64_t now) {
    for (Sink* const sink : sinks_) sink->emit_sums(now);
    if (readers_) readers_->tick();
  }

  // Sleeps for `ns`, or until there is other work than reading the rings.
  void wait(std::int64_t ns) {
    watched_.assign(1, {wakeup_.fd(), POLLIN, 0});
    if (readers_) readers_->add_to(watched_);
    const timespec timeout{ns / kSecond, ns % kSecond};
    if (::ppoll(watched_.data(), watched_.size(), &timeout, nullptr) <= 0) return;
    if (watched_[0].revents != 0) wakeup_.clear();
    const bool knocks =
        readers_ && readers_->on_poll(std::span(watched_).subspan(1), monotonic_ns());
    sweep();
    if (knocks) readers_->accept([this](LiveReader& reader) { welcome(reader); });
  }

  void emit_end() {
    const std::int64_t now = monotonic_ns();
    for (Sink* const sink : sinks_) sink->end(now);
  }

  void end() {
    const std::int64_t now = monotonic_ns();
    if (readers_) readers_->wait_for_all(now + kLastWait);
    sinks_.clear();
    readers_.reset();
    listen(false);
  }

  HubOptions options_;
  const std::int64_t since_;
  const base::Wakeup wakeup_;

  mutable std::mutex mutex_;
  std::deque<Tracer> tracers_;
  bool listening_ = false;
  bool stop_ = false;
  std::vector<std::packaged_task<void()>> tasks_;
  std::list<Recording> recordings_;
  std::string socket_path_;
  std::optional<MetricsFile> metrics_;
  std::unique_ptr<PacketFeed> packets_;
  std::atomic<std::uint64_t> lost_to_readers_{0};

  // Used by the hub's thread only.
  std::int64_t wall_offset_;
  RingDrainer drainer_;
  std::size_t known_tracers_ = 0;
  PollInterval poll_interval_;
  std::vector<Sink*> sinks_;
  std::optional<ReaderGroup> readers_;
  std::vector<pollfd> watched_;

  std::thread thread_;
};

Expected<std::unique_ptr<Hub>> Hub::start(HubOptions options) {
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return tl::unexpected(wakeup.error());
  return base::or_out_of_memory(kHub, [&]() -> Expected<std::unique_ptr<Hub>> {
    try {
      return std::unique_ptr<Hub>(
          new Hub(std::make_unique<Impl>(std::move(options), std::move(*wakeup))));
    } catch (const std::system_error& error) {
      return no_thread(error);
    }
  });
}

Hub::Hub(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hub::~Hub() = default;

Tracer* Hub::add() {
  return impl_->add();
}
Expected<void> Hub::open_socket() {
  return base::or_out_of_memory(kHub, [&] { return impl_->open_socket(); });
}
std::string Hub::socket_path() const {
  return impl_->socket_path();
}
Expected<void> Hub::open_packet_socket() {
  return base::or_out_of_memory(kHub, [&] { return impl_->open_packet_socket(); });
}
std::string Hub::packet_socket_path() const {
  return impl_->packet_socket_path();
}
Expected<void> Hub::announce_metrics(const std::string& address) {
  return base::or_out_of_memory(kHub, [&] { return impl_->announce_metrics(address); });
}
Expected<void> Hub::record(const std::string& path, const base::RingOptions& ring) {
  return base::or_out_of_memory(path, [&] { return impl_->record(path, ring); });
}
std::uint64_t Hub::lost_to_readers() const {
  return impl_->lost_to_readers();
}
std::vector<RecordCounters> Hub::recordings() const {
  return impl_->recordings();
}
std::vector<RecordCounters> Hub::end_recordings(std::size_t oldest) {
  return impl_->end_recordings(oldest);
}
void Hub::stop() {
  impl_->stop();
}

}  // namespace rpcrdma::trace
