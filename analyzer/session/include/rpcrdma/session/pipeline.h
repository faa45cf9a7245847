// Passes frames from a source to the model's observers. Frames are packets or trace events of
// endpoints: both become connections, messages and RDMA operations. pipeline.cc explains the
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/capture/fragments.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/pause.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/unread.h>
#include <rpcrdma/iwarp/reader.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/coalesced.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/session/views.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::session {

struct FrameCounts {
  std::uint64_t total = 0;
  std::uint64_t cut_short = 0;  // RoCE, captured without a whole BTH
  std::uint32_t snaplen = 0;    // bytes of the longest truncated RoCE frame; 0: none
  std::uint64_t fragments = 0;  // of datagrams to the RoCE port
  std::uint64_t unknown_link = 0;
  capture::UnreadFrames unread;  // that may hold RDMA and were not decoded
  std::uint64_t nfs_tcp = 0;     // Calls of NFS over TCP
  capture::PauseFrames pauses;
  std::uint64_t events = 0;  // trace events, not packets
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
  // `join_views`: follow one view of a connection that several sources show.
  Pipeline(const model::ObserverList& observers, const model::ModelOptions& options,
           std::vector<trace_reader::Observer*> events = {}, bool join_views = true)
      : observers_(observers),
        check_icrc_(options.check_icrc),
        model_(observers, options),
        views_(model_),
        join_views_(join_views),
        tracker_(std::in_place, model_, &numbers_),
        iwarp_(std::in_place, model_, numbers_),
        reader_(join_views ? static_cast<roce::Listener&>(views_) : model_, numbers_,
                std::move(events)),
        connections_(tracker_, iwarp_, reader_, views_) {}

  // Announces the source of frame(): if it merges files, they may show the same connections. run()
  // does this itself.
  void expect(const capture::Source& source);
  // The same for live streams; Frame::file counts them.
  void expect(std::span<const capture::MergedFile> files);
  // No frame of this file follows: where its view of a connection was followed, the next one of
  // another file begins a new connection.
  void source_ended(std::uint32_t file) { views_.source_ended(file); }
  // Reads one frame, in this thread: for live sources.
  void frame(const capture::Frame& frame);
  // Processes one packet without a frame: for tests that build packets.
  void packet(const roce::PreparedPacket& packet) { roce(packet); }

  // Reads `source` to its end. `tick` is called every few hundred or thousand frames, by one thread
  // at a time. At most `threads` threads work, fewer if the source does not allow it. The result
  // does not depend on their number.
  [[nodiscard]] capture::Expected<void> run(capture::Source& source, const Tick& tick,
                                            unsigned threads);
  // Frames are left out on purpose: the frames so far set connections up, and the next frame is
  // from later in the capture.
  void skip() {
    tracker_->skip();
    iwarp_->skip();
  }
  // Passes the wall clock, for live sources that are silent. Frames must use the same clock.
  void time(std::int64_t now_ns);
  // The source has ended: closes every connection.
  void finish();

  [[nodiscard]] const model::Model& model() const { return model_; }
  [[nodiscard]] const Views& views() const { return views_; }
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
    AllConnections(const std::optional<roce::Tracker>& tracker,
                   const std::optional<iwarp::Reader>& iwarp, const trace_reader::Reader& reader,
                   const Views& views)
        : tracker_(tracker), iwarp_(iwarp), reader_(reader), views_(views) {}
    [[nodiscard]] roce::PacketStats stats() const override;
    [[nodiscard]] std::uint32_t connection_count() const override {
      return tracker_->connection_count();
    }
    // Other views of a connection that is followed belong to that one.
    [[nodiscard]] const roce::Connection* find(std::uint32_t index) const override {
      if (views_.is_other_view(index)) return nullptr;
      const roce::Connection* c = tracker_->find(index);
      if (c == nullptr) c = iwarp_->find(index);
      return c != nullptr ? c : reader_.find(index);
    }

   private:
    const std::optional<roce::Tracker>& tracker_;
    const std::optional<iwarp::Reader>& iwarp_;
    const trace_reader::Reader& reader_;
    const Views& views_;
  };

  void advance(std::int64_t time_ns);
  void count(std::int64_t time_ns, capture::LinkResult result, const capture::Unread& unread);
  void event(const capture::Frame& frame);
  void pause(std::int64_t time_ns, const capture::Unread& unread);
  void join_packets();
  void fragment(const capture::Frame& frame);
  void note_fragments();
  void tcp(const capture::Frame& frame, const capture::Unread& unread);
  void roce(const roce::PreparedPacket& packet) {
    if (roce::CoalescedPackets::possible(packet) && cut(packet)) [[unlikely]]
      return;
    tracker_->packet(packet);
  }
  [[nodiscard]] bool cut(const roce::PreparedPacket& merged);
  struct Team;
  [[nodiscard]] capture::Expected<void> run_team(capture::Source& source, const Tick& tick,
                                                 unsigned threads);

  const model::ObserverList& observers_;
  bool check_icrc_;
  model::Model model_;
  roce::ConnectionNumbers numbers_;
  Views views_;
  bool join_views_;
  bool packets_joined_ = false;  // the next two report to views_
  std::optional<roce::Tracker> tracker_;
  std::optional<iwarp::Reader> iwarp_;
  trace_reader::Reader reader_;
  AllConnections connections_;
  capture::Fragments fragments_;
  roce::CoalescedPackets coalesced_;
  std::uint64_t fragments_unread_ = 0;  // counted in FrameCounts::unread
  FrameCounts counts_;
  std::int64_t last_packet_ns_ = INT64_MIN;
  std::int64_t previous_ns_ = INT64_MIN;  // of the previous frame
  // on_time() is called again at `next_ns_`, or below `back_ns_` if the clock was set back.
  std::int64_t next_ns_ = INT64_MIN + 1, back_ns_ = INT64_MIN;
  std::int64_t clock_ns_ = INT64_MIN;  // the latest of time()
};

}  // namespace rpcrdma::session
