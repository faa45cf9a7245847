#include "bus_source.h"

#include "findings_kept.h"
#include "recorder.h"

#include <QFile>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>

namespace rpcrdma::gui {

namespace {

constexpr auto kRetry = std::chrono::seconds(2);
constexpr auto kShowEach = std::chrono::milliseconds(500);
constexpr std::int64_t kFindingsBackNs = 3600 * base::kSecond;  // of the stream, at first
constexpr qint64 kMostSecret = 4096;                            // bytes of a password file

fleet::ViewTime moment() {
  return {base::monotonic_ns(), base::wall_clock_ns()};
}

// Read anew for each connection, since passwords change.
base::Expected<fleet::BusOptions> options_of(const FleetAddress& address) {
  fleet::BusOptions options;
  options.url = address.url.toStdString();
  options.name = "rpcrdma-gui";
  options.tls_ca = address.ca.toStdString();
  options.user = address.user.toStdString();
  options.nkey_file = address.nkey_file.toStdString();
  if (!address.password_file.isEmpty()) {
    QFile file(address.password_file);
    if (!file.open(QIODevice::ReadOnly)) {
      return base::fail(
          QString("%1: %2").arg(address.password_file, file.errorString()).toStdString());
    }
    options.password = file.read(kMostSecret).split('\n').front().toStdString();
  }
  return options;
}

// The threads of all sources. One whose source is gone may still wait for the network, and the
// interface does not wait for it before the program ends.
class SourceThreads {
 public:
  ~SourceThreads() {
    for (std::thread& t : threads_) t.join();
  }
  void take(std::thread thread) {
    const std::scoped_lock lock(mutex_);
    threads_.push_back(std::move(thread));
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

SourceThreads& source_threads() {
  static SourceThreads threads;
  return threads;
}

}  // namespace

// Its threads share it with the source.
struct BusSource::Impl : std::enable_shared_from_this<BusSource::Impl> {
  Impl(BusSource* owner, FleetAddress where)
      : source(owner), address(std::move(where)), wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  BusSource* source;  // with `mutex`; null: it is gone
  const FleetAddress address;
  base::FileDescriptor wake;
  std::atomic<bool> ending{false};
  std::mutex mutex;
  std::shared_ptr<const FleetShown> newest;  // not yet shown
  std::shared_ptr<fleet::Bus> bus;           // for recordings; null: not connected yet

  // The follower's thread alone uses these.
  bool heard = false;  // the bus, at least once
  fleet::View view;
  FindingsKept findings{kMostFleetFindings};
  std::uint64_t findings_shown = 0;
  std::vector<fleet::FindingNote> findings_now;

  void follow();
  void follow_bus(fleet::Bus& connected);
  void show(bool connecting, std::uint64_t undelivered);
  // Returns false if the source ends.
  bool wait(std::vector<int> readable, std::chrono::milliseconds patience);
};

bool BusSource::Impl::wait(std::vector<int> readable, std::chrono::milliseconds patience) {
  std::vector<pollfd> fds{{wake.get(), POLLIN, 0}};
  for (const int fd : readable) fds.push_back({fd, POLLIN, 0});
  ::poll(fds.data(), fds.size(), static_cast<int>(patience.count()));
  return !ending;
}

// At most one state is on its way: a newer one takes its place.
void BusSource::Impl::show(bool connecting, std::uint64_t undelivered) {
  view.tick(moment());
  auto now = std::make_shared<FleetShown>();
  now->state = view.state();
  now->connecting = connecting;
  if (findings_shown != findings.changes()) {
    findings_shown = findings.changes();
    findings_now = findings.newest_first();
  }
  now->findings = findings_now;
  now->findings_dropped = findings.dropped() + undelivered;
  const std::scoped_lock lock(mutex);
  const bool under_way = newest != nullptr;
  newest = std::move(now);
  if (under_way || source == nullptr) return;
  QMetaObject::invokeMethod(
      source,
      [of = source, impl = shared_from_this()] {
        std::shared_ptr<const FleetShown> state;
        {
          const std::scoped_lock taken(impl->mutex);
          state = std::exchange(impl->newest, nullptr);
        }
        Q_EMIT of->shown(state);
      },
      Qt::QueuedConnection);
}

void BusSource::Impl::follow() {
  while (!ending) {
    auto options = options_of(address);
    auto connected = options ? fleet::Bus::connect(*options)
                             : base::Expected<std::unique_ptr<fleet::Bus>>(
                                   tl::unexpected(std::move(options.error())));
    if (!connected) {
      view.bus(false, connected.error().message, moment());
      show(!heard, 0);
      if (!wait({}, kRetry)) return;
      continue;
    }
    const std::shared_ptr<fleet::Bus> made(std::move(*connected));
    {
      const std::scoped_lock lock(mutex);
      bus = made;
    }
    follow_bus(*made);
    const std::scoped_lock lock(mutex);
    bus.reset();
  }
}

// Until the source ends, or the connection has ended for good.
void BusSource::Impl::follow_bus(fleet::Bus& connected) {
  auto states = connected.subscribe(fleet::kAllStates);
  auto notes = connected.subscribe(fleet::kAllFindings, {}, fleet::kMostFindingBytes);
  if (!states || !notes) {
    view.bus(false, (!states ? states.error() : notes.error()).message, moment());
    show(!heard, 0);
    static_cast<void>(wait({}, kRetry));
    return;
  }
  heard = true;
  view.bus(true, {}, moment());
  show(false, 0);
  const auto is_wanted = [this](const fleet::BusMessage&) { return !ending; };
  // What the streams hold: hosts that are silent now are listed, too. Without permission to read
  // them, the page begins with what comes.
  const auto taken = connected.latest_states([&](const fleet::BusMessage& m) {
    const fleet::ViewTime now = moment();
    view.take(m.subject, m.data, now, std::max<std::int64_t>(0, now.wall_ns - m.stored_ns));
    return is_wanted(m);
  });
  const auto kept = connected.findings_since(moment().wall_ns - kFindingsBackNs, {},
                                             [&](const fleet::BusMessage& m) {
                                               findings.take(m.subject, m.data);
                                               return is_wanted(m);
                                             });
  static_cast<void>(taken);
  static_cast<void>(kept);
  auto next = std::chrono::steady_clock::now();
  bool was_connected = true;
  for (;;) {
    while (const auto m = (*states)->take()) view.take(m->subject, m->data, moment());
    while (const auto m = (*notes)->take()) findings.take(m->subject, m->data);
    const fleet::BusState now = connected.state();
    if (now.connected != was_connected) {
      was_connected = now.connected;
      view.bus(now.connected, now.why, moment());
      next = std::chrono::steady_clock::now();
    }
    if (std::chrono::steady_clock::now() >= next) {
      view.dropped((*states)->dropped());
      show(false, (*notes)->dropped());
      next = std::chrono::steady_clock::now() + kShowEach;
    }
    if (now.closed || !wait({(*states)->fd(), (*notes)->fd()}, kShowEach / 2)) return;
  }
}

BusSource::BusSource(const FleetAddress& address, QObject* parent)
    : FleetSource(parent), impl_(std::make_shared<Impl>(this, address)) {
  auto thread = base::start_thread([impl = impl_] { impl->follow(); });
  if (thread) {
    source_threads().take(std::move(*thread));
    return;
  }
  impl_->view.bus(false, thread.error().message, moment());
  impl_->show(false, 0);
}

BusSource::~BusSource() {
  impl_->ending = true;
  ::eventfd_write(impl_->wake.get(), 1);
  const std::scoped_lock lock(impl_->mutex);
  impl_->source = nullptr;
}

bool BusSource::available() {
  return fleet::Bus::available();
}

// In a thread of its own: the recording takes its time, and the states come meanwhile.
void BusSource::record(const QString& host, const QString& endpoint, int seconds,
                       const QString& path) {
  auto thread = base::start_thread([impl = impl_, host, endpoint, seconds, path] {
    std::shared_ptr<fleet::Bus> connected;
    {
      const std::scoped_lock lock(impl->mutex);
      connected = impl->bus;
    }
    const auto brought =
        connected == nullptr
            ? base::Expected<void>(base::fail("the bus is not connected"))
            : bring_recording(*connected, host.toStdString(), endpoint.toStdString(), seconds,
                              path.toStdString(), [&] { return impl->ending.load(); });
    const std::scoped_lock lock(impl->mutex);
    if (impl->source == nullptr) return;
    const QString why = brought ? QString() : QString::fromStdString(brought.error().message);
    QMetaObject::invokeMethod(
        impl->source,
        [of = impl->source, host, path, why] {
          if (why.isEmpty()) return Q_EMIT of->recorded(host, path);
          Q_EMIT of->record_failed(host, why);
        },
        Qt::QueuedConnection);
  });
  if (thread) return source_threads().take(std::move(*thread));
  Q_EMIT record_failed(host, QString::fromStdString(thread.error().message));
}

}  // namespace rpcrdma::gui
