#include "batch_queue.h"

#include <array>
#include <memory>
#include <thread>

#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::report {

namespace {

constexpr std::uint64_t kFramesPerTick = 16384;
// What a second thread costs to start is worth it from here on.
constexpr std::uint64_t kWorthAThread = 4U << 20;  // bytes

constexpr std::size_t kBatchFrames = 512;
constexpr std::size_t kBatches = 6;
// All batches that are full or being emptied lie within what the source keeps readable.
constexpr std::uint64_t kMaxBatchBytes = capture::kReadableBehind / (kBatches + 2);

struct Batch {
  struct FrameInfo {
    std::int64_t time_ns = 0;
    capture::LinkResult link = capture::LinkResult::kNotRoce;
  };
  std::array<FrameInfo, kBatchFrames> frames;
  std::array<roce::PreparedPacket, kBatchFrames>
      packets;  // of those frames that are RoCE, in order
  std::size_t frame_count = 0;
  std::size_t packet_count = 0;
  std::uint64_t bytes = 0;
  capture::SourceStats stats;
  capture::Error error;  // why there is no further batch, if not empty
  bool last = false;
};

// Reads until the batch is full, the source ends, or the batch spans as much as stays readable.
void fill(Batch& batch, capture::Source& source) {
  batch.frame_count = batch.packet_count = 0;
  batch.bytes = 0;
  batch.last = false;
  capture::Frame frame;
  while (batch.frame_count < kBatchFrames && batch.bytes < kMaxBatchBytes) {
    const auto more = source.next(frame);
    if (!more || !*more) {
      if (!more) batch.error = more.error();
      batch.last = true;
      break;
    }
    batch.bytes += frame.data.size();
    roce::PreparedPacket& packet = batch.packets[batch.packet_count];
    Batch::FrameInfo& info = batch.frames[batch.frame_count++];
    info.time_ns = frame.time_ns;
    info.link = capture::dissect_link(frame, packet.transport);
    if (info.link == capture::LinkResult::kRoce) {
      packet.meta = {frame.number, frame.time_ns};
      roce::prepare(packet);
      ++batch.packet_count;
    }
  }
  batch.stats = source.stats();
}

// The packets were written by another core: ask for them before they are needed.
constexpr std::size_t kPrefetchPackets = 4;
void prefetch(const Batch& batch, std::size_t packet) {
  constexpr std::size_t kCacheLine = 64;
  if (packet >= batch.packet_count) return;
  const auto* p = reinterpret_cast<const char*>(&batch.packets[packet]);
  for (std::size_t at = 0; at < sizeof(roce::PreparedPacket); at += kCacheLine) {
    __builtin_prefetch(p + at);
  }
}

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
  if (threads > 1 && source.frames_stay() && source.stats().bytes_total >= kWorthAThread) {
    return run_ahead(source, tick);
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

capture::Expected<void> Pipeline::run_ahead(capture::Source& source, const Tick& tick) {
  const auto queue = std::make_unique<BatchQueue<Batch, kBatches>>();
  std::thread reader([&] {
    for (bool last = false; !last;) {
      Batch& batch = queue->to_fill();
      fill(batch, source);
      last = batch.last;
      queue->filled();
    }
  });
  capture::Expected<void> result;
  for (;;) {
    Batch& batch = queue->to_empty();
    std::size_t next_packet = 0;
    for (std::size_t i = 0; i < batch.frame_count; ++i) {
      const Batch::FrameInfo& info = batch.frames[i];
      count(info.time_ns, info.link);
      if (info.link == capture::LinkResult::kRoce) {
        prefetch(batch, next_packet + kPrefetchPackets);
        tracker_.packet(batch.packets[next_packet++]);
      }
    }
    if (tick) tick(batch.stats);
    if (batch.last) {
      if (!batch.error.message.empty()) result = tl::unexpected(batch.error);
      break;
    }
    queue->emptied();
  }
  reader.join();
  return result;
}

}  // namespace rpcrdma::report
