// The common part of the readers of all file formats: a feed, counters, and the end of a walk.
#pragma once

#include "feed.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

// Describes bytes that a reader could not parse, in a text whose length does not grow with the
// damage.
class Damage {
 public:
  // The reader skipped `bytes` bytes from `offset` on and continued after them.
  void skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes);
  // The reader stopped here although the file may continue.
  void stopped(const std::string& reason);

  [[nodiscard]] std::string text() const;

 private:
  std::string first_;
  std::string last_;
  std::uint64_t places_ = 0;
  std::uint64_t bytes_ = 0;
};

// How readers recognize records where nothing else shows that there are any: number of consecutive
// headers that must be valid, and the largest distance in time between such neighbours.
inline constexpr int kChain = 3;
inline constexpr std::int64_t kNeighbourSeconds = 86400;

// The largest packet that libpcap itself accepts, whatever a header's snapshot length.
inline constexpr std::uint32_t kUsualLimit = 262144;

class FileSource : public Source {
 public:
  [[nodiscard]] const SourceStats& stats() const final {
    stats_.bytes_read = feed_->stored();
    return stats_;
  }

  [[nodiscard]] bool frames_stay() const final { return feed_->stays(); }

  // For open_file_at(): goes to a mark of the same file. False: the file ends before it, or the
  // mark comes from a file of another format.
  [[nodiscard]] bool go_to(const Mark& mark) {
    if (!take_format(mark) || !feed_->begin_at(mark.offset)) return false;
    stats_.frames = mark.frames;
    passed_ = feed_->passed();
    return true;
  }
  // Called if the bytes can be read from any offset.
  void allow_marks() { marks_ = true; }

 protected:
  // Applies the format state of a mark from here on.
  [[nodiscard]] virtual bool take_format(const Mark& mark) = 0;

  // `bytes_total`: the size of the stored file, 0 when not known.
  FileSource(std::unique_ptr<Feed> feed, std::string name, std::uint64_t bytes_total)
      : feed_(std::move(feed)), name_(std::move(name)) {
    stats_.bytes_total = bytes_total;
  }

  // Called when need() returned nothing where a record or the end was expected.
  [[nodiscard]] Expected<bool> end_of_input(const char* record);

  // Called before end_of_input() when everything was read, but the end that the writer announced is
  // missing.
  void lacks_end(const std::string& reason);

  // Called when the bytes at `offset` make it impossible to continue.
  [[nodiscard]] bool stop(const std::string& reason, std::uint64_t offset);

  void skipped(std::uint64_t offset, const std::string& reason, std::uint64_t bytes);

  // Called at an impossible record header: goes to the next place at which `begins` returns true.
  // Each byte is examined a bounded number of times, and what is found is then read as records, so
  // the whole walk stays linear. False: there is none nearby, and the walk ends.
  template <typename Begins>
  [[nodiscard]] bool resynchronise(const std::string& reason, std::size_t header_bytes,
                                   Begins&& begins) {
    constexpr std::uint64_t kSearchBytes = std::uint64_t{16} << 20;
    const std::uint64_t from = feed_->offset();
    const std::string hopeless = reason + ", with no record found after it,";
    while (feed_->offset() - from < kSearchBytes) {
      if (feed_->need(header_bytes + 1) == nullptr) {
        // The next call reports a read error.
        return !feed_->failure().empty() || stop(hopeless, from);
      }
      feed_->skip(1);
      if (begins()) {
        skipped(from, reason, feed_->offset() - from);
        return true;
      }
    }
    return stop(hopeless, from);
  }

  // Frame::room of the frame just read.
  [[nodiscard]] std::uint32_t room_taken() {
    const std::uint64_t before = std::exchange(passed_, feed_->passed());
    return static_cast<std::uint32_t>(passed_ - before);
  }

  std::unique_ptr<Feed> feed_;
  std::string name_;
  bool marks_ = false;
  mutable SourceStats stats_;  // bytes_read is updated on request

 private:
  Damage damage_;
  std::uint64_t passed_ = 0;  // Feed::passed() after the last frame
};

}  // namespace rpcrdma::capture
