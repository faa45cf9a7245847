// A plain file can be read at any offset: it stays in place, and only some offsets are kept. All
// other sources are copied to a file while they arrive, so that every frame can be read again in
// the same way.
#include "collector.h"
#include "interleave.h"
#include "pump.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/base/wakeup.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/index/loading.h>
#include <rpcrdma/session/align.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_reader/stream_end.h>

namespace rpcrdma::index {

namespace {

using Clock = std::chrono::steady_clock;
// Shortest time between commits, unless a batch is full.
constexpr auto kCommitEvery = std::chrono::milliseconds(20);

// A source that counts and marks frames as they pass.
class Watched final : public capture::Source {
 public:
  Watched(std::unique_ptr<capture::Source> source, const std::atomic<bool>& cancelled)
      : source_(std::move(source)), cancelled_(cancelled) {}

  capture::Expected<bool> next(capture::Frame& frame) override {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    if (frames_ % Content::kMarkEvery == 0) {
      if (const auto mark = source_->mark()) {
        const std::scoped_lock lock(mutex_);
        marks_.push_back(*mark);
      }
    }
    auto more = source_->next(frame);
    if (more && *more) ++frames_;
    return more;
  }
  [[nodiscard]] bool frames_stay() const override { return source_->frames_stay(); }
  [[nodiscard]] const capture::SourceStats& stats() const override { return source_->stats(); }

  void take_marks(Collector& to) {
    const std::scoped_lock lock(mutex_);
    for (const capture::Mark& mark : marks_) to.mark(mark);
    marks_.clear();
  }

 private:
  std::unique_ptr<capture::Source> source_;
  const std::atomic<bool>& cancelled_;
  std::uint64_t frames_ = 0;
  std::mutex mutex_;  // one thread reads, another passes frames to the collector
  std::vector<capture::Mark> marks_;
};

// True for a source that can be read only once and can block a reader.
bool is_pipe(const std::string& path) {
  struct stat status {};
  if (path == "-") return ::fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode);
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// What happens on connections, as opposed to what describes them.
bool is_traffic(trace::EventType type) {
  using trace::EventType;
  return type == EventType::kMessage || type == EventType::kOperation ||
         type == EventType::kOperationEnd || type == EventType::kCallEnd;
}

// Returns the endpoint's name, if this event holds it.
std::optional<std::string> endpoint_name(const trace::EventView& view) {
  constexpr std::size_t kLongest = 256;
  const auto endpoint = trace::read_event<trace::Endpoint>(view);
  if (!endpoint || endpoint->name_bytes == 0) return std::nullopt;
  const auto payload = view.payload.first(
      std::min({view.payload.size(), std::size_t{endpoint->name_bytes}, kLongest}));
  return std::string(payload.begin(), payload.end());
}

bool readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

}  // namespace

struct Loading::Impl {
  Impl(Store& to, const LoadOptions& with, Changed emit)
      : store(to),
        options(with),
        changed(std::move(emit)),
        wakeup(base::Wakeup::create().value_or(base::Wakeup())) {}

  Store& store;
  LoadOptions options;
  Changed changed;
  std::uint64_t sources = 1;  // files or endpoints
  std::string frames;
  std::unique_ptr<capture::FrameFile> spool;
  std::atomic<bool> cancelled{false};
  base::Wakeup wakeup;
  std::unique_ptr<capture::LiveSource> live;
  Pump pump;
  std::thread thread;

  // Number of bytes kept.
  std::uint64_t kept = 0;
  bool keeping = true;
  bool ring = false;        // the source is live: the buffer has a limit
  std::uint64_t freed = 0;  // bytes of the gap
  std::string trouble;
  Clock::time_point committed = Clock::now();
  Clock::time_point status_time = Clock::now();

  capture::Expected<void> keep_frames() {
    auto file = capture::FrameFile::temporary(options.folder);
    if (!file) return tl::unexpected(file.error());
    spool = std::move(*file);
    frames = spool->path();
    return {};
  }

  void note(const capture::Expected<void>& written) {
    if (written || !keeping) return;
    keeping = false;
    trouble = "the contents of later messages cannot be shown: " + written.error().message;
  }

  // Handles one frame of a source that is copied. `number`s count over all sources.
  void take(Collector& collector, capture::Frame frame) {
    frame.number = ++kept;
    if (keeping) {
      if ((kept - 1) % Content::kMarkEvery == 0) collector.mark(spool->mark());
      note(spool->write(frame));
    }
    collector.pipeline().frame(frame);
  }

  void commit(Collector& collector, capture::SourceStats stats) {
    if (keeping) note(spool->flush());
    if (!trouble.empty()) stats.damage += (stats.damage.empty() ? "" : "; ") + trouble;
    stats.frames = kept;
    collector.commit(stats);
    make_room();
    committed = Clock::now();
    changed();
  }
  // Keeps the buffer of a live source within its limit: drops a stretch behind its first eighth.
  // One eighth is freed at a time.
  void make_room() {
    const std::uint64_t written = spool->mark().offset;
    const std::uint64_t part = options.buffer_limit / 8;
    const std::uint64_t used = written - freed;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    store.write([&](Content& c) {
      c.progress.buffer_bytes = used;
      if (!ring || !keeping) return;
      c.progress.buffer_limit = options.buffer_limit;
      if (used <= options.buffer_limit) return;
      const auto at = [&c](std::uint64_t offset) {
        return std::lower_bound(
            c.marks.begin(), c.marks.end(), offset,
            [](const capture::Mark& m, std::uint64_t wanted) { return m.offset < wanted; });
      };
      const auto first = at(part);
      const auto after = at(part + freed + (used - options.buffer_limit) + part);
      if (first == c.marks.end() || after == c.marks.end() || after <= first) return;
      BufferGap& gap = c.progress.gap;
      gap.first_frame = first->frames + 1;
      gap.last_frame = after->frames;
      gap.after = *after;
      from = first->offset;
      to = after->offset;
      c.progress.buffer_bytes = written - (to - from);
    });
    if (to == 0) return;
    // Readers know of the gap by now.
    note(spool->discard(from, to));
    freed = to - from;
  }
  void commit_if_due(Collector& collector, const capture::SourceStats& stats) {
    if (collector.due() || Clock::now() - committed >= kCommitEvery) commit(collector, stats);
  }

  void end(Collector& collector, capture::SourceStats stats, const std::string& error) {
    if (spool != nullptr && keeping) note(spool->flush());
    if (!trouble.empty()) stats.damage += (stats.damage.empty() ? "" : "; ") + trouble;
    collector.finish(stats);
    if (spool != nullptr) make_room();
    store.write([&](Content& c) {
      c.progress.finished = true;
      c.progress.finished_ns = base::wall_clock_ns();
      c.progress.cancelled = cancelled;
      c.progress.error = error;
    });
    changed();
  }

  // No exception may leave a thread.
  template <typename Work>
  void start(Work&& work) {
    auto started = base::start_thread([this, run = std::forward<Work>(work)]() mutable {
      try {
        run();
      } catch (const std::exception& e) {
        give_up(std::string("the rest cannot be shown: ") + e.what());
      }
    });
    if (!started) return give_up(started.error().message);
    thread = std::move(*started);
  }
  void give_up(const std::string& why) {
    store.write([&](Content& c) {
      c.progress.finished = true;
      c.progress.error = why;
    });
    changed();
  }

  void read_file(std::unique_ptr<capture::Source> source) {
    Collector collector(store, options, sources);
    collector.write_aside([this] { changed(); });
    Watched watched(std::move(source), cancelled);
    const unsigned threads =
        options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    const auto read = collector.pipeline().run(
        watched,
        [&](const capture::SourceStats& stats) {
          watched.take_marks(collector);
          if (!collector.due() && Clock::now() - committed < kCommitEvery) return;
          collector.commit(stats);
          committed = Clock::now();
        },
        threads);
    watched.take_marks(collector);
    end(collector, watched.stats(), read ? "" : read.error().message);
  }

  // Reads a pipe, a compressed file or several files, and keeps a copy. `fd`: a descriptor on which
  // a reader can block; -1: there is none.
  void read_stream(std::unique_ptr<capture::Source> source, int fd) {
    Collector collector(store, options, sources);
    collector.pipeline().expect(*source);
    capture::Frame frame;
    std::string error;
    while (!cancelled) {
      if (fd >= 0 && !readable(fd)) {
        commit(collector, source->stats());
        while (!cancelled && !wait(fd)) {
        }
        if (cancelled) break;
      }
      const auto more = source->next(frame);
      if (!more) error = more.error().message;
      if (!more || !*more) break;
      take(collector, frame);
      if (kept % 256 == 0) commit_if_due(collector, source->stats());
    }
    end(collector, source->stats(), error);
  }

  // Waits until there is data, or until reading is cancelled. Returns false when cancelled.
  [[nodiscard]] bool wait(int fd) const {
    std::array<pollfd, 2> waits{pollfd{fd, POLLIN, 0}, pollfd{wakeup.fd(), POLLIN, 0}};
    return ::poll(waits.data(), waits.size(), -1) >= 0 && waits[0].revents != 0;
  }

  void read_interface() {
    Collector collector(store, options, sources);
    capture::Frame frame;
    std::string error;
    while (!cancelled) {
      const auto polled = live->poll(frame);
      if (!polled) error = polled.error().message;
      if (!polled || *polled == capture::LiveSource::Polled::kStopped) break;
      if (*polled == capture::LiveSource::Polled::kFrame) {
        take(collector, frame);
      } else {
        pass_time(collector);
      }
      commit_if_due(collector, live->stats());
    }
    end(collector, live->stats(), error);
  }

  // Without new frames, checks that depend on time must still make progress.
  void pass_time(Collector& collector) {
    if (Clock::now() - status_time < std::chrono::seconds(1)) return;
    status_time = Clock::now();
    collector.pipeline().time(base::wall_clock_ns());
  }

  void read_endpoints(std::vector<Stream> streams) {
    Collector collector(store, options, sources);
    struct Open {
      std::string name;
      capture::LiveStream stream;
      trace_reader::StreamEnd end;
      bool begun = false;  // it has shown a message or an operation
      bool over = false;   // it ended, and its last frames have been taken
    };
    std::vector<Open> open;
    for (Stream& s : streams) {
      open.push_back({s.name, capture::LiveStream(std::move(s.fd), std::move(s.check)), {}});
    }
    store.write([&open](Content& c) {
      for (const Open& o : open) c.endpoints.push_back({.name = o.name, .why = {}});
    });
    // Live endpoints are all of this machine, so connections with the same addresses and QPNs are
    // the same.
    constexpr std::uint32_t kThisRun = 1;
    std::vector<capture::MergedFile> files;
    for (const Open& o : open) {
      files.push_back({.path = o.name, .recording = true, .run = kThisRun});
    }
    if (options.join_views) collector.pipeline().expect(files);
    Interleave order(open.size());
    bool fresh = false;  // frames that are not committed yet
    const auto take_next = [&](const capture::Frame& frame) {
      take(collector, frame);
      fresh = true;
    };
    const auto look = [&](std::size_t i, std::span<const std::uint8_t> data) {
      const auto event = trace::event_in_pdu(data);
      const auto view = event ? trace::view_event(*event) : std::nullopt;
      if (!view) return;
      open[i].begun |= is_traffic(static_cast<trace::EventType>(view->header.type));
      open[i].end.take(*view);
      if (auto name = endpoint_name(*view)) {
        store.write([&](Content& c) { c.endpoints[i].name = std::move(*name); });
      }
    };
    capture::SourceStats stats;
    std::string error;
    std::vector<pollfd> waits;
    while (!cancelled) {
      waits.clear();
      waits.push_back({wakeup.fd(), POLLIN, 0});
      for (const Open& o : open) waits.push_back({o.stream.fd(), POLLIN, 0});
      if (std::all_of(open.begin(), open.end(), [](const Open& o) { return o.over; })) break;
      const auto left = kCommitEvery - (Clock::now() - committed);
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
      int bound = fresh ? static_cast<int>(std::clamp<std::int64_t>(ms + 1, 0, 100)) : -1;
      // Streams that have not started are polled until they start or time out.
      const bool begins = std::any_of(
          open.begin(), open.end(), [](const Open& o) { return o.stream.deadline().has_value(); });
      if (begins && bound < 0) bound = 100;
      if (const auto due = order.due()) {
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::now()).count();
        const auto most = static_cast<int>(std::clamp<std::int64_t>(wait, 0, 1000));
        bound = bound < 0 ? most : std::min(bound, most);
      }
      if (::poll(waits.data(), waits.size(), bound) < 0 && errno != EINTR) break;
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i].stream.fd() < 0) continue;
        if (waits[i + 1].revents == 0) {
          open[i].stream.expire();
        } else {
          open[i].stream.read([&](capture::Frame frame) {
            frame.file = static_cast<std::uint32_t>(i);
            if (frame.link == capture::LinkType::kUpperPdu) look(i, frame.data);
            if (open.size() == 1) return take_next(frame);
            order.add(i, frame, !open[i].begun, Clock::now());
          });
        }
        if (open[i].stream.fd() < 0) order.end(i);
      }
      order.pass(Clock::now(), take_next);
      for (std::size_t i = 0; i < open.size(); ++i) {
        // Frames of others that belong before its last ones may still come.
        if (open[i].over || open[i].stream.fd() >= 0 || !order.is_empty(i)) continue;
        open[i].over = true;
        const std::string& why = open[i].stream.why();
        if (!why.empty()) error += (error.empty() ? "" : "; ") + open[i].name + ": " + why;
        collector.endpoint_ended(static_cast<std::uint32_t>(i));
        store.write([&](Content& c) {
          LiveEndpoint& e = c.endpoints[i];
          e.ended = true;
          e.in_order = open[i].end.in_order();
          e.ended_ns = base::wall_clock_ns();
          e.why = why;
        });
        // Commits at once: other endpoints may report nothing for a long time.
        commit(collector, stats);
        fresh = false;
      }
      if (fresh && (collector.due() || Clock::now() - committed >= kCommitEvery)) {
        commit(collector, stats);
        fresh = false;
      }
    }
    order.drain(take_next);
    end(collector, stats, error);
  }
};

Loading::Loading(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Loading::~Loading() {
  cancel();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Loading::cancel() {
  impl_->cancelled = true;
  if (impl_->live != nullptr) impl_->live->stop();
  impl_->pump.stop();
  impl_->wakeup.notify();
}

const std::string& Loading::frames() const {
  return impl_->frames;
}
const LoadOptions& Loading::options() const {
  return impl_->options;
}

capture::Expected<std::unique_ptr<Loading>> Loading::files(Store& store,
                                                           const std::vector<std::string>& paths,
                                                           const LoadOptions& options,
                                                           Changed changed) {
  auto impl = std::make_unique<Impl>(store, options, std::move(changed));
  Impl* const i = impl.get();
  i->sources = paths.size();
  if (paths.size() == 1 && is_pipe(paths.front())) {
    if (auto kept = i->keep_frames(); !kept) return tl::unexpected(kept.error());
    base::FileDescriptor from(
        paths.front() == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(paths.front().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const std::string name = paths.front() == "-" ? "standard input" : paths.front();
    if (from.get() < 0) return capture::fail(name + ": " + std::strerror(errno));
    auto end = i->pump.start(std::move(from));
    if (!end) return tl::unexpected(end.error());
    // Opening a file reads its first bytes, for which a pipe can wait long.
    i->start([i, name, fd = end->get(),
              e = std::make_shared<base::FileDescriptor>(std::move(*end))]() mutable {
      auto source = capture::open_descriptor(std::move(*e), name);
      if (source) return i->read_stream(std::move(*source), fd);
      i->store.write([&](Content& c) {
        c.progress.finished = true;
        c.progress.cancelled = i->cancelled;
        if (!i->cancelled) c.progress.error = source.error().message;
      });
      i->changed();
    });
    return std::unique_ptr<Loading>(new Loading(std::move(impl)));
  }
  auto source =
      paths.size() == 1 ? capture::open_file(paths.front()) : session::open_aligned(paths);
  if (!source) return tl::unexpected(source.error());
  if ((*source)->mark()) {
    i->frames = paths.front();
    i->start([i, s = std::move(*source)]() mutable { i->read_file(std::move(s)); });
  } else {
    if (auto kept = i->keep_frames(); !kept) return tl::unexpected(kept.error());
    i->start([i, s = std::move(*source)]() mutable { i->read_stream(std::move(s), -1); });
  }
  return std::unique_ptr<Loading>(new Loading(std::move(impl)));
}

capture::Expected<std::unique_ptr<Loading>> Loading::endpoints(Store& store,
                                                               std::vector<Stream> streams,
                                                               const LoadOptions& options,
                                                               Changed changed) {
  auto impl = std::make_unique<Impl>(store, options, std::move(changed));
  if (auto kept = impl->keep_frames(); !kept) return tl::unexpected(kept.error());
  impl->ring = true;
  Impl* const i = impl.get();
  i->sources = streams.size();
  i->start([i, s = std::move(streams)]() mutable { i->read_endpoints(std::move(s)); });
  return std::unique_ptr<Loading>(new Loading(std::move(impl)));
}

capture::Expected<std::unique_ptr<Loading>> Loading::interface(
    Store& store, std::unique_ptr<capture::LiveSource> source, const LoadOptions& options,
    Changed changed) {
  auto impl = std::make_unique<Impl>(store, options, std::move(changed));
  if (auto kept = impl->keep_frames(); !kept) return tl::unexpected(kept.error());
  impl->ring = true;
  impl->live = std::move(source);
  Impl* const i = impl.get();
  i->start([i] { i->read_interface(); });
  return std::unique_ptr<Loading>(new Loading(std::move(impl)));
}

}  // namespace rpcrdma::index
