// With several threads all do the same: take the next batch of frames from the source, one thread
// at a time; take the packets apart and verify their ICRCs, which is the larger part of the work,
// at the same time as the others; then give the batch to the tracker, in the order of the capture
// and again one at a time. So what a thread prepared it uses itself while that is in its cache, and
// no thread waits while there is work that it may do.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::report {

namespace {

constexpr std::uint64_t kFramesPerTick = 16384;
// What a second thread costs to start is worth it from here on.
constexpr std::uint64_t kWorthAThread = 4U << 20;  // bytes

constexpr unsigned kMaxThreads = 32;

// All bytes of a capture are looked at, nearly in their order: ask for as many as the frame has, a
// little ahead, so that neither the next record's header nor the ICRC has to wait for memory. An
// address behind the end does no harm.
void prefetch_behind(std::span<const std::uint8_t> frame) {
  constexpr std::uintptr_t kAhead = 1024;
  constexpr std::uintptr_t kCacheLine = 64;
  const auto end = reinterpret_cast<std::uintptr_t>(frame.data()) + frame.size();
  for (std::uintptr_t at = 0; at < frame.size(); at += kCacheLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(end + kAhead + at));
  }
}

// What one thread works on at a time.
struct Batch {
  static constexpr std::size_t kFrames = 512;

  std::array<capture::Frame, kFrames> frames;
  std::array<capture::LinkResult, kFrames> links;
  std::array<roce::PreparedPacket, kFrames> packets;  // of those frames that are RoCE, in order
  std::size_t frame_count = 0;
  std::uint64_t place = 0;  // among all batches
  capture::SourceStats stats;
  capture::Error error;  // why there is no further batch, if not empty

  // Takes frames until the batch is full, spans `max_bytes`, or the source ends; then false.
  bool read(capture::Source& source, std::uint64_t max_bytes) {
    frame_count = 0;
    bool more = true;
    for (std::uint64_t bytes = 0; frame_count < kFrames && bytes < max_bytes; ++frame_count) {
      const auto next = source.next(frames[frame_count]);
      more = next.has_value() && *next;
      if (!next) error = next.error();
      if (!more) break;
      bytes += frames[frame_count].data.size();
      prefetch_behind(frames[frame_count].data);
    }
    stats = source.stats();
    return more;
  }

  void prepare() {
    std::size_t packet_count = 0;
    for (std::size_t i = 0; i < frame_count; ++i) {
      roce::PreparedPacket& packet = packets[packet_count];
      links[i] = capture::dissect_link(frames[i], packet.transport);
      if (links[i] != capture::LinkResult::kRoce) continue;
      packet.meta = {frames[i].number, frames[i].time_ns};
      roce::prepare(packet);
      ++packet_count;
    }
  }
};

}  // namespace

void Pipeline::count(std::int64_t time_ns, capture::LinkResult result) {
  if (counts_.total == 0) counts_.first_ns = time_ns;
  if (counts_.total != 0 && time_ns < counts_.last_ns) ++counts_.clock_steps_back;
  ++counts_.total;
  counts_.last_ns = time_ns;
  switch (result) {
    case capture::LinkResult::kCutShort:
      ++counts_.cut_short;
      break;
    case capture::LinkResult::kFragment:
      ++counts_.fragments;
      break;
    case capture::LinkResult::kUnknownLink:
      ++counts_.unknown_link;
      break;
    case capture::LinkResult::kRoce:
    case capture::LinkResult::kNotRoce:
      break;
  }
}

void Pipeline::frame(const capture::Frame& frame) {
  roce::PreparedPacket packet;
  const capture::LinkResult result = capture::dissect_link(frame, packet.transport);
  count(frame.time_ns, result);
  if (result == capture::LinkResult::kRoce) {
    packet.meta = {frame.number, frame.time_ns};
    roce::prepare(packet);
    tracker_.packet(packet);
  }
}

capture::Expected<void> Pipeline::run(capture::Source& source, const Tick& tick, unsigned threads) {
  if (source.frames_stay()) {
    const bool worth_it = source.stats().bytes_total >= kWorthAThread;
    return run_team(source, tick, worth_it ? std::clamp(threads, 1U, kMaxThreads) : 1);
  }
  capture::Frame f;
  for (;;) {
    const auto more = source.next(f);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    frame(f);
    if (tick && counts_.total % kFramesPerTick == 0) tick(source.stats());
  }
}

// What the threads of one run share.
struct Pipeline::Team {
  Team(Pipeline& owner, capture::Source& from, unsigned threads)
      : pipeline(owner),
        source(from),
        // All batches that are being worked on lie within what the source keeps readable.
        max_batch_bytes(capture::kReadableBehind / (kBatches * threads + 1)) {}

  // A thread that has prepared one batch and may not yet hand it over prepares another.
  static constexpr std::size_t kBatches = 2;

  Pipeline& pipeline;
  capture::Source& source;
  const std::uint64_t max_batch_bytes;

  std::mutex reading;  // guards the source and the next two
  std::uint64_t next_place = 0;
  bool ended = false;

  std::atomic<std::uint64_t> turn{0};  // the place of the batch that the tracker takes next
  capture::Error error;                // written in turn

  bool take(Batch& batch) {
    const std::lock_guard lock(reading);
    if (ended) return false;
    ended = !batch.read(source, max_batch_bytes);
    batch.place = next_place++;
    return true;
  }

  void hand_over(const Batch& batch) {
    std::size_t next_packet = 0;
    for (std::size_t i = 0; i < batch.frame_count; ++i) {
      pipeline.count(batch.frames[i].time_ns, batch.links[i]);
      if (batch.links[i] == capture::LinkResult::kRoce) {
        pipeline.tracker_.packet(batch.packets[next_packet++]);
      }
    }
    if (!batch.error.message.empty()) error = batch.error;
    turn.store(batch.place + 1, std::memory_order_release);
    turn.notify_all();
  }

  void work(const Tick& tick) {
    const auto batches = std::make_unique<std::array<Batch, kBatches>>();
    std::uint64_t taken = 0;
    std::uint64_t handed = 0;
    for (bool more = true;;) {
      if (handed != taken) {
        const Batch& oldest = (*batches)[handed % kBatches];
        const std::uint64_t now = turn.load(std::memory_order_acquire);
        if (now == oldest.place) {
          hand_over(oldest);
          if (tick) tick(oldest.stats);
          ++handed;
          continue;
        }
        if (!more || taken - handed == kBatches) {
          turn.wait(now, std::memory_order_acquire);
          continue;
        }
      } else if (!more) {
        return;
      }
      Batch& batch = (*batches)[taken % kBatches];
      more = take(batch);
      if (more) {
        batch.prepare();
        ++taken;
      }
    }
  }
};

capture::Expected<void> Pipeline::run_team(capture::Source& source, const Tick& tick,
                                           unsigned threads) {
  Team team(*this, source, threads);
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back([&] { team.work(nullptr); });
  team.work(tick);
  for (std::thread& t : others) t.join();
  if (!team.error.message.empty()) return tl::unexpected(team.error);
  return {};
}

}  // namespace rpcrdma::report
