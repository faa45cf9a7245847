// From a source of frames, packets and endpoints' events alike, to the model's observer: the way
// every command takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/unread.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::report {

struct FrameCounts {
  std::uint64_t total = 0;
  std::uint64_t cut_short = 0;  // RoCE, captured without a whole BTH
  std::uint64_t fragments = 0;
  std::uint64_t unknown_link = 0;
  capture::UnreadFrames unread;  // in which RDMA may be, and was not looked for
  std::uint64_t events = 0;      // no packets, but what endpoints tell
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t clock_steps_back = 0;  // of packets: an endpoint's threads tell in turns
};

class Pipeline {
 public:
  using Tick = std::function<void(const capture::SourceStats&)>;

  // Both observers must outlive the pipeline. `events`: of endpoints' events as such; null: nobody
  // asks for them.
  Pipeline(model::Observer& observer, const model::ModelOptions& options,
           trace_reader::Observer* events = nullptr)
      : observer_(observer),
        model_(observer, options),
        tracker_(model_, &numbers_),
        reader_(model_, numbers_, events),
        connections_(tracker_, reader_) {}

  // One frame, in this thread: for live sources.
  void frame(const capture::Frame& frame);

  // Reads `source` to its end. `tick` is called now and then (every few hundred or thousand
  // frames), by one thread at a time. `threads`: at most so many work, where the source allows it.
  // The result does not depend on it.
  [[nodiscard]] capture::Expected<void> run(capture::Source& source, const Tick& tick,
                                            unsigned threads);
  // Frames are left out on purpose: those so far set connections up, and what comes next is from
  // later in the capture.
  void skip() { tracker_.skip(); }
  // For live sources that are silent: the wall clock. It must be the one that frames are stamped
  // by.
  void time(std::int64_t now_ns);
  void finish();

  [[nodiscard]] const model::Model& model() const { return model_; }
  // Those that packets show, and those that endpoints tell of.
  [[nodiscard]] const roce::Connections& connections() const { return connections_; }
  [[nodiscard]] trace_reader::ReaderStats events() const { return reader_.reader_stats(); }
  [[nodiscard]] const FrameCounts& frames() const { return counts_; }
  // Packets that were dropped while capturing; of a recording, events that its statistics count and
  // its Loss events do not: those for which the file had no room.
  [[nodiscard]] std::uint64_t dropped(const capture::SourceStats& source) const {
    if (counts_.events == 0 || counts_.events != counts_.total) return source.dropped;
    const trace_reader::ReaderStats recorded = events();
    return source.dropped - std::min(source.dropped, recorded.lost + recorded.missing);
  }

 private:
  class AllConnections final : public roce::Connections {
   public:
    AllConnections(const roce::Tracker& tracker, const trace_reader::Reader& reader)
        : tracker_(tracker), reader_(reader) {}
    [[nodiscard]] roce::PacketStats stats() const override;
    [[nodiscard]] std::uint32_t connection_count() const override {
      return tracker_.connection_count();
    }
    [[nodiscard]] const roce::Connection* find(std::uint32_t index) const override {
      const roce::Connection* c = tracker_.find(index);
      return c != nullptr ? c : reader_.find(index);
    }

   private:
    const roce::Tracker& tracker_;
    const trace_reader::Reader& reader_;
  };

  void advance(std::int64_t time_ns);
  void count(std::int64_t time_ns, capture::LinkResult result, const capture::Unread& unread);
  void event(const capture::Frame& frame);
  struct Team;
  [[nodiscard]] capture::Expected<void> run_team(capture::Source& source, const Tick& tick,
                                                 unsigned threads);

  model::Observer& observer_;
  model::Model model_;
  roce::ConnectionNumbers numbers_;
  roce::Tracker tracker_;
  trace_reader::Reader reader_;
  AllConnections connections_;
  FrameCounts counts_;
  std::int64_t last_packet_ns_ = INT64_MIN;
  std::int64_t previous_ns_ = INT64_MIN;  // of the frame before
  // When the observer is next told the time, and before when the clock was set back.
  std::int64_t next_ns_ = INT64_MIN + 1, back_ns_ = INT64_MIN;
  std::int64_t clock_ns_ = INT64_MIN;  // the latest of time()
};

}  // namespace rpcrdma::report
