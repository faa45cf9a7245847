// Writes the packet log: callers fill one buffer while a thread writes the other to the file.
#include "pcapng_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/soft/packet_log.h>

namespace rpcrdma::soft {
namespace {

using fabric::Errc;
using fabric::fail;

// The writer wakes up for this many bytes, and at this interval.
constexpr std::size_t kWakeBytes = base::kFlushBytes;
constexpr std::chrono::milliseconds kLook{200};

// Starts a thread that handles no signals: they are for the program's own threads, and a broken
// pipe is an ordinary error.
template <typename Body>
base::Expected<std::thread> start_without_signals(Body&& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto thread = base::start_thread(std::forward<Body>(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

class PacketLog::Writer {
 public:
  Writer(base::FileDescriptor fd, std::string name, const PacketLogOptions& options)
      : file_(std::move(fd)),
        name_(std::move(name)),
        most_(options.buffer_bytes),
        losing_(options.losing),
        failed_(options.failed),
        ended_(options.ended) {
    waiting_.reserve(most_);
    writing_.reserve(most_);
  }

  ~Writer() {
    if (thread_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        stop_ = true;
      }
      wake_.notify_one();
      thread_.join();
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Writes the head of the capture, and starts the thread.
  base::Expected<void> begin(const std::string& interface) {
    put_head(writing_, interface, base::PcapngBlocks::End::kStatistics);
    const int error = file_.write(writing_.bytes());
    writing_.clear();
    if (error != 0) return base::fail(fmt::format("cannot write: {}", std::strerror(error)));
    auto thread = start_without_signals([this] { run_or_give_up(); });
    if (!thread) return tl::unexpected(thread.error());
    thread_ = std::move(*thread);
    return {};
  }

  void add(std::int64_t time_ns, Direction direction, const Flow& flow, std::uint16_t ip_id,
           wire::Bytes datagram) {
    bool full = datagram.size() > kMaxDatagramBytes;
    bool wake = false;
    bool first = false;
    const EthernetFrame frame = ethernet_frame(flow, ip_id, full ? wire::Bytes() : datagram);
    {
      const std::lock_guard lock(mutex_);
      const std::size_t before = waiting_.bytes().size();
      full = full || !counters_.error.empty() || before + packet_block_bytes(frame) > most_;
      if (full) {
        first = counters_.lost == 0 && counters_.error.empty();
        ++counters_.lost;
      } else {
        put_packet(waiting_, time_ns, direction, frame);
        ++waiting_packets_;
        last_ns_ = time_ns;
        wake = before < wake_bytes() && waiting_.bytes().size() >= wake_bytes();
      }
    }
    if (wake) wake_.notify_one();
    if (first && losing_) losing_();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    flush_ = true;
    wake_.notify_one();
    done_.wait(lock, [this] { return waiting_.bytes().empty() && writing_.bytes().empty(); });
    flush_ = false;
  }

  PacketLogCounters counters() {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  [[nodiscard]] std::size_t wake_bytes() const { return std::min(kWakeBytes, most_ / 2); }

  // No exception may leave the thread.
  void run_or_give_up() noexcept {
    try {
      run();
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(mutex_);
      counters_.error = base::kOutOfMemory;
      counters_.lost += std::exchange(waiting_packets_, 0);
      waiting_.clear();
      writing_.clear();
      done_.notify_all();
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait_for(lock, kLook, [this] {
        return stop_ || (flush_ && !waiting_.bytes().empty()) ||
               waiting_.bytes().size() >= wake_bytes();
      });
      if (waiting_.bytes().empty() && stop_) break;
      write_waiting(lock);
    }
    if (counters_.error.empty()) {
      waiting_.statistics(statistics(counters_.written, counters_.lost));
      write_waiting(lock);
    }
    const bool full = !counters_.error.empty();
    if (const int late = full ? 0 : file_.late_error(); late != 0) stop(lock, late);
    const PacketLogCounters counters = counters_;
    lock.unlock();
    if (full) {
      file_.end_full([&] { return statistics(counters.written, counters.lost); });
    }
    if (ended_) ended_(counters);
  }

  [[nodiscard]] base::PcapngBlocks::Statistics statistics(std::uint64_t written,
                                                          std::uint64_t lost) const {
    return {.last_ns = last_ns_, .received = written + lost, .dropped = lost, .end_time = false};
  }

  void write_waiting(std::unique_lock<std::mutex>& lock) {
    std::swap(waiting_, writing_);
    const std::uint64_t packets = std::exchange(waiting_packets_, 0);
    const bool failed_before = !counters_.error.empty();
    lock.unlock();
    const int error = failed_before ? 0 : file_.write(writing_.bytes());
    if (error != 0) {
      file_.end_full([&] {
        const std::lock_guard guard(mutex_);
        const std::uint64_t all = counters_.written + counters_.lost + packets;
        return statistics(file_.packets(), all - file_.packets());
      });
    }
    lock.lock();
    writing_.clear();
    counters_.lost += counters_.written + packets - file_.packets();
    counters_.written = file_.packets();
    done_.notify_all();
    if (error != 0) stop(lock, error);
  }

  void stop(std::unique_lock<std::mutex>& lock, int error) {
    const std::string why = fmt::format("{}: cannot write: {}", name_, std::strerror(error));
    counters_.error = why;
    lock.unlock();
    if (failed_) failed_(why);
    lock.lock();
  }

  base::BlockFile file_;  // used by the thread only
  const std::string name_;
  const std::size_t most_;  // bytes in each buffer
  const std::function<void()> losing_;
  const std::function<void(const std::string&)> failed_;
  const std::function<void(const PacketLogCounters&)> ended_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  base::PcapngBlocks waiting_;
  std::uint64_t waiting_packets_ = 0;
  base::PcapngBlocks writing_;  // used by the thread; others only check whether it is empty
  std::int64_t last_ns_ = 0;
  bool stop_ = false;
  bool flush_ = false;
  PacketLogCounters counters_;
  std::thread thread_;
};

PacketLog::PacketLog(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
PacketLog::~PacketLog() = default;
PacketLog::PacketLog(PacketLog&&) noexcept = default;
PacketLog& PacketLog::operator=(PacketLog&&) noexcept = default;

fabric::Expected<PacketLog> PacketLog::create(const std::string& file,
                                              const PacketLogOptions& options) {
  base::FileDescriptor fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, base::kFileMode));
  if (fd.get() < 0) return fail(Errc::kSystem, fmt::format("{}: {}", file, std::strerror(errno)));
  auto writer = std::make_unique<Writer>(std::move(fd), file, options);
  if (const auto begun = writer->begin(options.interface); !begun) {
    return fail(Errc::kSystem, fmt::format("{}: {}", file, begun.error().message));
  }
  return PacketLog(std::move(writer));
}

void PacketLog::sent(std::int64_t time_ns, const Path& path, std::uint16_t ip_id,
                     wire::Bytes datagram) {
  writer_->add(time_ns, Direction::kOutbound, {path.local, path.remote, path.udp_source_port},
               ip_id, datagram);
}

void PacketLog::received(std::int64_t time_ns, const Path& path, std::uint16_t ip_id,
                         wire::Bytes datagram) {
  writer_->add(time_ns, Direction::kInbound, {path.remote, path.local, path.udp_source_port}, ip_id,
               datagram);
}

void PacketLog::flush() {
  writer_->flush();
}

PacketLogCounters PacketLog::counters() const {
  return writer_->counters();
}

}  // namespace rpcrdma::soft
