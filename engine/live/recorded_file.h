// Writes the files of a recording block by block. Each file of a ring can be understood by itself:
// it begins with the endpoint and the state snapshot, and its Loss events count what is in that
// file.
#pragma once

#include "state_snapshot.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace {

class RecordedFile {
 public:
  // `interface`: its name in the files.
  [[nodiscard]] static base::Expected<std::unique_ptr<RecordedFile>> open(
      const std::string& path, const base::RingOptions& ring, const std::string& interface,
      std::int64_t wall_now);
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;

  // Writes whole blocks of events (event_batch.h); the very first is an Endpoint event. When it
  // returns they are in the file.
  [[nodiscard]] base::Expected<void> write(std::span<const std::uint8_t> blocks);
  // Writes the data of one such block. It is in the file when flush() has returned, or earlier.
  [[nodiscard]] base::Expected<void> write_event(std::int64_t wall,
                                                 std::span<const std::uint8_t> data);
  [[nodiscard]] base::Expected<void> flush();
  [[nodiscard]] base::Expected<void> finish(std::int64_t wall_now);

  [[nodiscard]] const std::string& file() const { return recorder_->file(); }  // the newest
  // In all files, counting only what could be written, without replayed events.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Sums {
    std::uint64_t in_file = 0;      // events
    std::uint64_t lost = 0;         // since the recording began
    std::uint64_t lost_before = 0;  // before this file
  };

  RecordedFile() = default;
  void count_written();
  Sums& sums(std::uint32_t ring);
  [[nodiscard]] base::Expected<void> write_loss(std::int64_t wall, const EventHeader& header,
                                                const Loss& loss);
  void make_loss();
  [[nodiscard]] std::vector<std::uint8_t> loss(std::uint32_t ring, std::int64_t time);
  void put(const base::RecordOptions::Put& put, std::int64_t wall,
           std::span<const std::uint8_t> event);
  void put_losses(const base::RecordOptions::Put& put);
  void put_head(const base::RecordOptions::Put& put);

  std::unique_ptr<base::Recorder> recorder_;
  StateSnapshot snapshot_;
  std::vector<std::uint8_t> endpoint_;  // the Endpoint event
  std::int64_t wall_offset_ = 0;        // from an event's time to its block's
  std::int64_t time_ = 0;               // of the event that is being written
  // Latest time of all blocks so far. It ensures that joining the files in order of time yields all
  // of one file before the next, although blocks lie in the order in which they left the rings.
  std::int64_t latest_wall_ = 0;
  std::vector<Sums> rings_;  // by number
  std::uint64_t events_ = 0;
  std::uint64_t given_ = 0;               // frames passed to the recorder
  std::deque<std::uint64_t> unwritten_;   // numbers of events that may still wait there
  std::vector<std::uint8_t> data_;        // of a packet that is added at a file's end or beginning
  std::optional<EventHeader> last_loss_;  // of the Loss event that is being written
  std::vector<std::uint8_t> loss_data_;   // of its packet
};

}  // namespace rpcrdma::trace
