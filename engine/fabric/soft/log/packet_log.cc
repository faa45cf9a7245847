#include "pcapng_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/soft/packet_log.h>

namespace rpcrdma::soft {
namespace {

using fabric::Errc;
using fabric::fail;

constexpr mode_t kOnlyTheUser = 0600;
// The writer is woken for so much, and looks by itself so often.
constexpr std::size_t kWakeBytes = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kLook{200};

// Bytes that were written before an error, and its errno; 0 when there was none.
struct WriteResult {
  std::size_t bytes = 0;
  int error = 0;
};

WriteResult write_all(int fd, wire::Bytes bytes) {
  WriteResult result;
  while (result.bytes < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + result.bytes, bytes.size() - result.bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      result.error = errno;
      return result;
    }
    result.bytes += static_cast<std::size_t>(n);
  }
  return result;
}

void cut(int fd, std::uint64_t bytes) {
  // Of a pipe nothing can be taken back.
  [[maybe_unused]] const int result = ::ftruncate(fd, static_cast<off_t>(bytes));
}

// False, too, where that cannot be done in a file of this kind.
bool write_at(int fd, std::uint64_t offset, wire::Bytes bytes) {
  return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes.size());
}

// A thread that takes no signal: they are its program's, and a pipe that nobody reads any more is
// an error like others.
template <typename Body>
std::thread start_without_signals(Body&& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Body>(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

class PacketLog::Writer {
 public:
  Writer(int fd, std::string file, const PacketLogOptions& options)
      : fd_(fd),
        file_(std::move(file)),
        most_(options.buffer_bytes),
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
    ::close(fd_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The capture's head; errno, 0 when it is written.
  int begin(const std::string& interface) {
    put_section(writing_, interface, true);
    const WriteResult result = write_all(fd_, writing_);
    file_bytes_ = writing_.size();
    writing_.clear();
    if (result.error == 0) thread_ = start_without_signals([this] { run(); });
    return result.error;
  }

  void add(std::int64_t time_ns, Direction direction, const Flow& flow, std::uint16_t ip_id,
           wire::Bytes datagram) {
    bool full = datagram.size() > kMaxDatagramBytes;
    bool wake = false;
    const EthernetFrame frame = ethernet_frame(flow, ip_id, full ? wire::Bytes() : datagram);
    {
      const std::lock_guard lock(mutex_);
      const std::size_t before = waiting_.size();
      full = full || !counters_.error.empty() || before + packet_block_bytes(frame) > most_;
      if (full) {
        ++counters_.lost;
      } else {
        put_packet(waiting_, time_ns, direction, frame);
        last_ns_ = time_ns;
        wake = before < wake_bytes() && waiting_.size() >= wake_bytes();
      }
    }
    if (wake) wake_.notify_one();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    flush_ = true;
    wake_.notify_one();
    done_.wait(lock, [this] { return waiting_.empty() && writing_.empty(); });
    flush_ = false;
  }

  PacketLogCounters counters() {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  [[nodiscard]] std::size_t wake_bytes() const { return std::min(kWakeBytes, most_ / 2); }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait_for(lock, kLook, [this] {
        return stop_ || (flush_ && !waiting_.empty()) || waiting_.size() >= wake_bytes();
      });
      if (waiting_.empty() && stop_) break;
      write_waiting(lock);
    }
    if (counters_.error.empty()) {
      put_statistics(waiting_, statistics());
      write_waiting(lock);
    }
    const PacketLogCounters counters = counters_;
    const LogStatistics last = statistics();
    lock.unlock();
    if (!counters.error.empty()) write_in_place(last);
    if (ended_) ended_(counters);
  }

  [[nodiscard]] LogStatistics statistics() const {
    return {.time_ns = last_ns_,
            .received = counters_.written + counters_.lost,
            .dropped = counters_.lost};
  }

  void write_waiting(std::unique_lock<std::mutex>& lock) {
    std::swap(waiting_, writing_);
    const bool failed_before = !counters_.error.empty();
    lock.unlock();
    const std::size_t size = writing_.size();
    const WriteResult result = failed_before ? WriteResult{0, EIO} : write_all(fd_, writing_);
    const WholeBlocks all = whole_blocks(writing_, size);
    const WholeBlocks whole = whole_blocks(writing_, result.bytes);
    if (whole.packets != 0) last_packet_ = file_bytes_ + whole.last;
    file_bytes_ += whole.bytes;
    lock.lock();
    writing_.clear();
    counters_.written += whole.packets;
    counters_.lost += all.packets - whole.packets;
    const bool fails = result.error != 0 && !failed_before;
    if (fails) {
      counters_.error = fmt::format("{}: cannot write: {}", file_, std::strerror(result.error));
      make_room_for_statistics(result.bytes - whole.bytes);
    }
    done_.notify_all();
    if (!fails) return;
    const std::string error = counters_.error;
    const LogStatistics now = statistics();
    lock.unlock();
    write_in_place(now);
    if (failed_) failed_(error);
    lock.lock();
  }

  // Half a block would make the capture one that was cut short: what the file has room for behind
  // its whole blocks, `bytes`, is for the statistics, and if that is too little, the last packet's.
  void make_room_for_statistics(std::size_t bytes) {
    if (bytes >= kStatisticsBytes || last_packet_ == 0) return;
    file_bytes_ = last_packet_;
    --counters_.written;
    ++counters_.lost;
  }

  // Where the file ends that can grow no more: nothing is asked for but what it has.
  void write_in_place(const LogStatistics& statistics) const {
    std::vector<std::uint8_t> block;
    put_statistics(block, statistics);
    const bool written = write_at(fd_, file_bytes_, block);
    cut(fd_, file_bytes_ + (written ? block.size() : 0));
  }

  const int fd_;
  const std::string file_;
  const std::size_t most_;  // bytes in either buffer
  const std::function<void(const std::string&)> failed_;
  const std::function<void(const PacketLogCounters&)> ended_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::uint8_t> waiting_;
  std::vector<std::uint8_t> writing_;  // the thread's, but for its being empty
  // The thread's: in whole blocks, and where the last packet among them begins; 0: there is none.
  std::uint64_t file_bytes_ = 0;
  std::uint64_t last_packet_ = 0;
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
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOnlyTheUser);
  if (fd < 0) return fail(Errc::kSystem, fmt::format("{}: {}", file, std::strerror(errno)));
  auto writer = std::make_unique<Writer>(fd, file, options);
  if (const int error = writer->begin(options.interface); error != 0) {
    return fail(Errc::kSystem, fmt::format("{}: cannot write: {}", file, std::strerror(error)));
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
