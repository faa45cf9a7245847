// Records frames to one pcapng file or to a ring of files, and buffers them for up to a second.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/pcapng/recorder.h>

namespace rpcrdma::base {
namespace {

constexpr std::int64_t kFlushNs = 1'000'000'000;

// dumpcap's form: the path up to the last dot, number, local time, and the rest of the path.
std::string ring_name(const std::string& path, std::uint64_t number, std::int64_t now_ns) {
  const std::time_t seconds = now_ns / 1'000'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> time{};
  std::strftime(time.data(), time.size(), "%Y%m%d%H%M%S", &local);
  std::array<char, 96> middle{};
  std::snprintf(middle.data(), middle.size(), "_%05llu_%s", static_cast<unsigned long long>(number),
                time.data());
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return path.substr(0, end) + middle.data() + path.substr(end);
}

class FileRecorder final : public Recorder {
 public:
  explicit FileRecorder(RecordOptions options) : options_(std::move(options)) {}

  Expected<void> begin(std::int64_t now_ns) {
    int fd = -1;
    if (options_.path == "-") {
      file_ = "standard output";
      fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    } else {
      file_ = options_.ring.on() ? ring_name(options_.path, ++number_, now_ns) : options_.path;
      fd = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
    }
    if (fd < 0) return fail(file_ + ": " + std::strerror(errno));
    if (out_) earlier_frames_ += out_->packets();
    out_.emplace(FileDescriptor(fd));
    begun_ns_ = latest_ns_ = now_ns;
    frames_ = 0;
    full_ = false;
    blocks_.section(PcapngBlocks::End::kStatistics);
    blocks_.interface(options_.interface);
    if (auto flushed = flush(); !flushed) return flushed;
    return options_.ring.on() ? delete_oldest() : Expected<void>{};
  }

  Expected<void> write(const Frame& frame) override {
    if (frames_ != 0 && is_full(frame)) {
      const auto put = [this](const Frame& f) {
        ++frames_;
        blocks_.packet(f);
      };
      if (options_.at_end) options_.at_end(put);
      if (auto ended = finish(frame.time_ns); !ended) return ended;
      if (auto begun = begin(frame.time_ns); !begun) return begun;
      if (options_.at_begin) options_.at_begin(put);
    }
    if (frames_++ == 0) begun_ns_ = frame.time_ns;
    latest_ns_ = frame.time_ns;
    if (blocks_.bytes().empty()) oldest_waiting_ns_ = frame.time_ns;
    blocks_.packet(frame);
    const bool due =
        blocks_.bytes().size() >= kFlushBytes || frame.time_ns - oldest_waiting_ns_ >= kFlushNs;
    return due ? flush() : Expected<void>{};
  }

  Expected<void> flush() override {
    if (full_) {
      blocks_.clear();
      return {};
    }
    const int why = out_->write(blocks_.bytes());
    blocks_.clear();
    if (why == 0) return {};
    full_ = true;
    end_full();
    return fail(file_ + ": cannot write: " + std::strerror(why));
  }

  Expected<void> finish(std::int64_t now_ns) override {
    latest_ns_ = now_ns;
    if (full_) {
      end_full();
      return {};
    }
    blocks_.statistics(statistics());
    dropped_before_ = dropped();
    if (auto flushed = flush(); !flushed) return flushed;
    const int late = out_->late_error();
    if (late == 0) return {};
    return fail(file_ + ": cannot write: " + std::strerror(late));
  }

  const std::string& file() const override { return file_; }
  std::uint64_t frames() const override { return earlier_frames_ + out_->packets(); }

 private:
  std::uint64_t dropped() const { return options_.dropped ? options_.dropped() : 0; }

  PcapngBlocks::Statistics statistics() const {
    return {.first_ns = begun_ns_,
            .last_ns = latest_ns_,
            .received = frames_,
            .dropped = dropped() - dropped_before_};
  }

  // Frames that the file had no room for count as dropped, like the kernel's drops.
  void end_full() {
    out_->end_full([this] {
      PcapngBlocks::Statistics all = statistics();
      all.dropped += frames_ - out_->packets();
      return all;
    });
  }

  bool is_full(const Frame& frame) const {
    const RingOptions& ring = options_.ring;
    return (ring.file_bytes != 0 &&
            out_->bytes() + blocks_.bytes().size() + PcapngBlocks::packet_bytes(frame) >
                ring.file_bytes) ||
           (ring.file_ns != 0 && frame.time_ns - begun_ns_ >= ring.file_ns);
  }

  Expected<void> delete_oldest() {
    ring_.push_back(file_);
    if (options_.ring.files == 0 || ring_.size() <= options_.ring.files) return {};
    const std::string oldest = std::move(ring_.front());
    ring_.pop_front();
    if (::unlink(oldest.c_str()) == 0 || errno == ENOENT) return {};
    return fail(oldest + ": cannot delete the oldest file: " + std::strerror(errno));
  }

  RecordOptions options_;
  PcapngBlocks blocks_;  // not yet written
  std::int64_t oldest_waiting_ns_ = 0;
  std::string file_;
  std::optional<BlockFile> out_;
  bool full_ = false;                 // it cannot grow
  std::uint64_t earlier_frames_ = 0;  // in previous files of the ring
  std::uint64_t number_ = 0;          // of the current file in the ring
  std::deque<std::string> ring_;      // files that are kept
  // State of the current file.
  std::int64_t begun_ns_ = 0;
  std::int64_t latest_ns_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t dropped_before_ = 0;  // before the file started
};

}  // namespace

Expected<std::unique_ptr<Recorder>> open_recorder(RecordOptions options, std::int64_t now_ns) {
  if (options.path == "-" && options.ring.on()) {
    return fail("standard output cannot be a ring of files; give -w a file name");
  }
  auto recorder = std::make_unique<FileRecorder>(std::move(options));
  if (auto begun = recorder->begin(now_ns); !begun) return tl::unexpected(begun.error());
  return recorder;
}

}  // namespace rpcrdma::base
