// Passes frames from a source to the model's observers. Frames are packets or trace events of
// endpoints: both become connections, messages and RDMA operations. pipeline.cc explains the
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/unread.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::session {

struct FrameCounts {
  std::uint64_t total = 0;
  std::uint64_t cut_short = 0;  // RoCE, captured without a whole BTH
  std::uint64_t fragments = 0;
  std::uint64_t unknown_link = 0;
  capture::UnreadFrames unread;  // that may hold RDMA and were not decoded
  std::uint64_t events = 0;      // trace events, not packets
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  // Packets only: events of different threads are not in time order.
  std::uint64_t clock_steps_back = 0;
};

class Pipeline {
 public:
  using Tick = std::function<void(const capture::SourceStats&)>;

  // `observers` may be filled until the first frame. All must outlive the pipeline. `events`:
  // observers of the trace events themselves.
  Pipeline(const model::ObserverList& observers, const model::ModelOptions& options,
           std::vector<trace_reader::Observer*> events = {})
      : observers_(observers),
        model_(observers, options),
        tracker_(model_, &numbers_),
        reader_(model_, numbers_, std::move(events)),
        connections_(tracker_, reader_) {}

  // Reads one frame, in this thread: for live sources.
  void frame(const capture::Frame& frame);
  // Processes one packet without a frame: for tests that build packets.
  void packet(const roce::PreparedPacket& packet) { tracker_.packet(packet); }

  // Reads `source` to its end. `tick` is called every few hundred or thousand frames, by one thread
  // at a time. At most `threads` threads work, fewer if the source does not allow it. The result
  // does not depend on their number.
  [[nodiscard]] capture::Expected<void> run(capture::Source& source, const Tick& tick,
                                            unsigned threads);
  // Frames are left out on purpose: the frames so far set connections up, and the next frame is
  // from later in the capture.
  void skip() { tracker_.skip(); }
  // Passes the wall clock, for live sources that are silent. Frames must use the same clock.
  void time(std::int64_t now_ns);
  // The source has ended: closes every connection.
  void finish();

  [[nodiscard]] const model::Model& model() const { return model_; }
  // From packets and from trace events.
  [[nodiscard]] const roce::Connections& connections() const { return connections_; }
  [[nodiscard]] trace_reader::ReaderStats events() const { return reader_.reader_stats(); }
  [[nodiscard]] const FrameCounts& frames() const { return counts_; }
  // Packets that were dropped while capturing. For a recording: the events that its statistics
  // count as dropped but its Loss events do not, because the file had no room for them.
  [[nodiscard]] std::uint64_t dropped(const capture::SourceStats& source) const {
    if (counts_.events == 0 || counts_.events != counts_.total) return source.dropped;
    const trace_reader::ReaderStats reported = events();
    return source.dropped - std::min(source.dropped, reported.lost + reported.missing);
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

  const model::ObserverList& observers_;
  model::Model model_;
  roce::ConnectionNumbers numbers_;
  roce::Tracker tracker_;
  trace_reader::Reader reader_;
  AllConnections connections_;
  FrameCounts counts_;
  std::int64_t last_packet_ns_ = INT64_MIN;
  std::int64_t previous_ns_ = INT64_MIN;  // of the previous frame
  // on_time() is called again at `next_ns_`, or below `back_ns_` if the clock was set back.
  std::int64_t next_ns_ = INT64_MIN + 1, back_ns_ = INT64_MIN;
  std::int64_t clock_ns_ = INT64_MIN;  // the latest of time()
};

}  // namespace rpcrdma::session
