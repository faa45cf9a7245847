#include "record_job.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/live/stream_file.h>

namespace rpcrdma::agent {

namespace {

constexpr int kPollMs = 100;

// A folder that only this user can read; removed with its files.
class Spool {
 public:
  [[nodiscard]] static base::Expected<Spool> create(const std::string& folder) {
    std::error_code error;
    std::string path =
        folder.empty() ? std::filesystem::temp_directory_path(error).string() : folder;
    path += "/rpcrdma-agent-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    return Spool(std::move(path));
  }
  ~Spool() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Spool(Spool&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Spool& operator=(Spool&&) = delete;
  [[nodiscard]] std::string file() const { return path_ + "/recording.pcapng"; }

 private:
  explicit Spool(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::uint64_t size_of(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

RecordJob::RecordJob(Options options, base::FileDescriptor stream, fleet::Bus& bus, LogLine log)
    : options_(std::move(options)),
      bus_(bus),
      log_(std::move(log)),
      subject_(fleet::record_subject(options_.host, options_.request.id)) {
  auto thread =
      base::start_thread([this, fd = std::move(stream)]() mutable { run(std::move(fd)); });
  if (thread) {
    thread_ = std::move(*thread);
  } else {
    end(tl::unexpected(thread.error()));
  }
}

RecordJob::~RecordJob() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void RecordJob::acknowledge(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  acknowledged_ = std::max(acknowledged_, bytes);
  changed_.notify_all();
}

void RecordJob::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

fleet::RecordingSummary RecordJob::summary() const {
  return {fmt::format("for fleet record, request {}", id()), bytes_.load(), true};
}

base::Expected<void> RecordJob::publish(const fleet::RecordMessage& message) {
  return bus_.send(subject_, fleet::to_bytes(message));
}

base::Expected<RecordJob::Recorded> RecordJob::record(base::FileDescriptor stream,
                                                      const std::string& file) {
  auto writer = trace::StreamFile::open(file, {}, options_.endpoint, base::wall_clock_ns());
  if (!writer) return tl::unexpected(writer.error());
  capture::LiveStream events(std::move(stream), trace::live_check());
  const std::int64_t end = base::monotonic_ns() + options_.request.duration_ns;
  std::int64_t progress = 0;
  Recorded recorded;
  base::Expected<void> written;
  for (;;) {
    const std::int64_t now = base::monotonic_ns();
    if (now >= end) break;
    if (events.fd() < 0) {
      recorded.ended_early = events.why().empty() ? "the endpoint ended"
                                                  : fmt::format("the endpoint {}", events.why());
      break;
    }
    if (bytes_ >= options_.request.most_bytes) {
      recorded.ended_early =
          fmt::format("it reached {}", base::format_bytes(options_.request.most_bytes));
      break;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return base::fail("the recording was stopped");
    }
    pollfd wait{events.fd(), POLLIN, 0};
    const auto left = static_cast<int>((end - now) / base::kMillisecond + 1);
    if (::poll(&wait, 1, std::min(left, kPollMs)) > 0) {
      events.read([&](const capture::Frame& frame) {
        if (written) written = (*writer)->write(frame);
      });
    } else {
      events.expire();
    }
    if (written) written = (*writer)->flush();
    if (!written) return tl::unexpected(written.error());
    bytes_ = size_of(file);
    if (now >= progress) {
      progress = now + base::kSecond;
      // While the bus is disconnected, the recording continues.
      (void)publish(fleet::RecordProgress{(*writer)->events(), bytes_});
    }
  }
  if (const auto finished = (*writer)->finish(base::wall_clock_ns()); !finished) {
    return tl::unexpected(finished.error());
  }
  recorded.events = (*writer)->events();
  recorded.lost = (*writer)->lost();
  bytes_ = size_of(file);
  return recorded;
}

// Waits until another chunk fits into the window.
base::Expected<void> RecordJob::wait_for_room(std::uint64_t sent) {
  std::unique_lock lock(mutex_);
  std::uint64_t before = acknowledged_;
  const auto room = [&] {
    return stopped_ || sent < acknowledged_ + fleet::kRecordWindow || acknowledged_ != before;
  };
  while (changed_.wait_for(lock, std::chrono::nanoseconds(fleet::kRecordPatienceNs), room)) {
    if (stopped_) return base::fail("the requester stopped it");
    if (sent < acknowledged_ + fleet::kRecordWindow) return {};
    before = acknowledged_;
  }
  return base::fail("the requester does not acknowledge what it gets");
}

base::Expected<void> RecordJob::send(const std::string& file, const Recorded& recorded) {
  const base::FileDescriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (from.get() < 0) return base::fail(fmt::format("{}: {}", file, std::strerror(errno)));
  std::vector<char> buffer(fleet::kRecordChunk);
  fleet::RecordChecksum checksum;
  std::uint64_t sent = 0;
  for (;;) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0) return base::fail(fmt::format("{}: {}", file, std::strerror(errno)));
    if (n == 0) break;
    const std::string_view data(buffer.data(), static_cast<std::size_t>(n));
    if (const auto room = wait_for_room(sent + data.size() - 1); !room) return room;
    if (const auto done = publish(fleet::RecordChunk{sent, data}); !done) return done;
    checksum.add(data);
    sent += data.size();
  }
  return publish(fleet::RecordEnd{sent, checksum.value(), recorded.events, recorded.lost,
                                  recorded.ended_early});
}

void RecordJob::run(base::FileDescriptor stream) {
  end(base::or_out_of_memory("recording", [&] { return record_and_send(std::move(stream)); }));
}

base::Expected<void> RecordJob::record_and_send(base::FileDescriptor stream) {
  const auto spool = Spool::create(options_.spool);
  if (!spool) return tl::unexpected(spool.error());
  const auto recorded = record(std::move(stream), spool->file());
  if (!recorded) return tl::unexpected(recorded.error());
  return send(spool->file(), *recorded);
}

void RecordJob::end(const base::Expected<void>& result) {
  if (result) {
    log_(Level::kInfo, fmt::format("recording {} of {} sent: {}", id(), options_.endpoint,
                                   base::format_bytes(bytes_)));
  } else {
    log_(Level::kWarning,
         fmt::format("recording {} of {}: {}", id(), options_.endpoint, result.error().message));
    (void)publish(fleet::RecordFailed{result.error().message});
  }
  done_ = true;
}

}  // namespace rpcrdma::agent
