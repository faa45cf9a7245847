// The threads of a pipeline.
//
// Each thread does whatever work is next. Batches of frames are read in capture order, one at a
// time. They are dissected, and their ICRCs verified, in parallel. The tracker then processes them
// in order, one at a time. The tracker and everything after it is nearly half of all work, and its
// state is large. The state stays in one processor's cache if one thread does all of that work and
// prepares only leftover batches. But that thread may not be running; then another idle thread
// takes its place for one batch.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <rpcrdma/base/thread.h>
#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/model/predecode.h>
#include <rpcrdma/session/pipeline.h>

namespace rpcrdma::session {

namespace {

constexpr std::uint64_t kFramesPerTick = 16384;
constexpr std::int64_t kSecond = 1'000'000'000;
// From this size on, a second thread is worth its start.
constexpr std::uint64_t kBytesWorthAThread = 4U << 20;  // bytes

// Three or four threads prepare as much as the tracker can process. Each further one costs memory.
constexpr unsigned kMaxThreads = 16;

constexpr std::size_t kCacheLine = 64;

constexpr std::string_view kReading = "reading the capture";

// GCC assumes that a function that only prefetches has no effect, and drops its calls.
#define RPCRDMA_PREFETCHES [[gnu::always_inline]] inline

// All bytes of a capture are read, nearly in order. So this prefetches as many bytes as the frame
// has, a little ahead: neither the next record's header nor the ICRC waits for memory. An address
// beyond the end is harmless.
RPCRDMA_PREFETCHES void prefetch_behind(std::span<const std::uint8_t> frame) {
  constexpr std::uintptr_t kAhead = 1024;
  const auto end = reinterpret_cast<std::uintptr_t>(frame.data()) + frame.size();
  for (std::uintptr_t at = 0; at < frame.size(); at += kCacheLine) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer must not be moved beyond the end
    __builtin_prefetch(reinterpret_cast<const void*>(end + kAhead + at));
  }
}

// Prefetches an object that will be written and that another processor may have in its cache.
// Fetching it from there costs more than writing it, unless it is requested early.
template <typename T>
RPCRDMA_PREFETCHES void claim_object(T& object, std::size_t bytes = sizeof(T)) {
  auto* p = reinterpret_cast<std::uint8_t*>(&object);
  for (std::size_t i = 0; i < bytes; i += kCacheLine) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(p[i]));
#else
    __builtin_prefetch(p + i, 1);
#endif
  }
}

template <typename T>
RPCRDMA_PREFETCHES void prefetch_object(const T& object, std::size_t bytes = sizeof(T)) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(&object);
  for (std::size_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(p + i);
}

// What a packet outside tunnels uses: all but the description of tunnels at the end.
constexpr std::size_t kPlainPacket = sizeof(roce::PreparedPacket) - sizeof(capture::Tunnels) + 1;

// Another thread may have prepared the packets, so they are in the cache of its processor.
// Prefetches the packet first and, once it has arrived, the front of its payload.
RPCRDMA_PREFETCHES void prefetch_for_tracker(std::span<const roce::PreparedPacket> packets,
                                             std::size_t at) {
  constexpr std::size_t kPacketAhead = 32;
  constexpr std::size_t kPayloadAhead = 14;
  constexpr std::size_t kPayloadFront = 3 * kCacheLine;  // both headers and a Reply's status
  if (at + kPacketAhead < packets.size()) prefetch_object(packets[at + kPacketAhead], kPlainPacket);
  if (at + kPayloadAhead < packets.size()) {
    const roce::PreparedPacket& packet = packets[at + kPayloadAhead];
    if (packet.predecoded == nullptr) return;  // only its headers are read
    const wire::Bytes payload = packet.roce.payload;
    const std::size_t front = std::min(payload.size(), kPayloadFront);
    for (std::size_t i = 0; i < front; i += kCacheLine) __builtin_prefetch(&payload[i]);
    prefetch_object(*static_cast<const model::PredecodedSend*>(packet.predecoded));
  }
}

roce::PacketMeta meta_of(const capture::Frame& frame) {
  return {frame.number, frame.time_ns, std::uint64_t{frame.lane} << 32U | frame.interface};
}

// What changes between two places where a packet passes: MAC addresses and VLAN (with `any`: the
// interface and the direction), tunnels, and the TTL. Headers of a tunnel have counters of
// their own; its length distinguishes it.
std::uint32_t vantage_of(const capture::Frame& frame, const capture::TransportPacket& packet) {
  constexpr std::size_t kMacs = 12, kEthernet = 14, kLongest = 24;
  constexpr std::uint64_t kOne = 0x9e3779b97f4a7c15ULL, kTwo = 0xff51afd7ed558ccdULL;
  const auto before = static_cast<std::size_t>(packet.data.data() - frame.data.data());
  std::uint64_t hash = (before << 16 | packet.ttl) * kTwo;
  if (before == kEthernet) [[likely]] {
    // Loaded as they lie: words written in pieces could not be read back at once.
    std::uint64_t first = 0;
    std::uint32_t rest = 0;
    std::memcpy(&first, frame.data.data(), sizeof first);
    std::memcpy(&rest, frame.data.data() + sizeof first, sizeof rest);
    hash += (first ^ first >> 29) * kOne + rest * kTwo;
  } else {
    std::array<std::uint64_t, 3> words{};
    std::memcpy(words.data(), frame.data.data(), before <= kLongest ? before : kMacs);
    for (const std::uint64_t word : words) hash = (hash ^ word) * kOne;
  }
  return static_cast<std::uint32_t>((hash ^ hash >> 29) * kOne >> 32);
}

bool is_whole_send(const roce::PreparedPacket& packet) {
  if (!packet.decoded) return false;
  const wire::OpcodeInfo& info = wire::opcode_info(packet.roce.bth.opcode);
  return info.send && info.first && info.last && !info.deth &&
         packet.roce.payload.size() == packet.wire_payload;
}

void note_snaplen(const capture::Frame& truncated, std::uint32_t& snaplen) {
  snaplen = std::max(snaplen, static_cast<std::uint32_t>(truncated.data.size()));
}

// The unit of work; one thread at a time owns it.
struct Batch {
  static constexpr std::size_t kFrames = 512;

  std::vector<capture::Frame> frames = std::vector<capture::Frame>(kFrames);
  std::vector<std::int64_t> times = std::vector<std::int64_t>(kFrames);  // of the frames
  std::vector<capture::LinkResult> links = std::vector<capture::LinkResult>(kFrames);
  std::vector<capture::Unread> unread = std::vector<capture::Unread>(kFrames);
  // The frames that are RoCE, in order.
  std::vector<roce::PreparedPacket> packets = std::vector<roce::PreparedPacket>(kFrames);
  // The packets that are whole SENDs.
  std::vector<model::PredecodedSend> sends = std::vector<model::PredecodedSend>(kFrames);
  std::size_t frame_count = 0;
  std::size_t packet_count = 0;
  std::size_t send_count = 0;
  std::uint64_t begin = 0;  // Frame::room of all frames before it
  std::uint64_t room = 0;   // of its own frames
  std::uint32_t snaplen = 0;
  capture::SourceStats stats;
  capture::Error error;  // why there is no further batch, if not empty

  // Reads frames until the batch is full or has `max_room`; returns false if the source has ended.
  bool read(capture::Source& source, std::uint64_t max_room) {
    frame_count = 0;
    room = 0;
    bool more = true;
    for (; frame_count < kFrames && room < max_room; ++frame_count) {
      const auto next = source.next(frames[frame_count]);
      more = next.has_value() && *next;
      if (!next) error = next.error();
      if (!more) break;
      room += frames[frame_count].room;
      prefetch_behind(frames[frame_count].data);
    }
    stats = source.stats();
    return more;
  }

  // `shared`: another thread may have the batch in its cache.
  void prepare(bool check_icrc, bool shared) {
    constexpr std::size_t kPacketsAhead = 10;
    constexpr std::size_t kSendsAhead = 5;
    if (shared) {
      for (std::size_t i = 0; i < kSendsAhead; ++i) claim_object(sends[i]);
    }
    packet_count = 0;
    send_count = 0;
    snaplen = 0;
    for (std::size_t i = 0; i < frame_count; ++i) {
      roce::PreparedPacket& packet = packets[packet_count];
      if (shared && packet_count + kPacketsAhead < kFrames) {
        claim_object(packets[packet_count + kPacketsAhead], kPlainPacket);
      }
      times[i] = frames[i].time_ns;
      links[i] = capture::dissect_link(frames[i], packet.transport);
      if (links[i] != capture::LinkResult::kRoce) {
        unread[i] = capture::unread_of(frames[i], links[i]);
        if (links[i] == capture::LinkResult::kCutShort) note_snaplen(frames[i], snaplen);
        continue;
      }
      packet.meta = meta_of(frames[i]);
      packet.vantage = vantage_of(frames[i], packet.transport);
      roce::prepare(packet, check_icrc);
      if (!packet.transport.complete()) [[unlikely]] {
        note_snaplen(frames[i], snaplen);
      }
      packet.predecoded = nullptr;
      if (is_whole_send(packet)) {
        if (shared && send_count + kSendsAhead < kFrames) {
          claim_object(sends[send_count + kSendsAhead]);
        }
        model::PredecodedSend& send = sends[send_count++];
        model::predecode(packet.roce.payload, send);
        packet.predecoded = &send;
      }
      ++packet_count;
    }
  }
};

}  // namespace

roce::PacketStats Pipeline::AllConnections::stats() const {
  roce::PacketStats stats = tracker_->stats();
  const roce::PacketStats segments = iwarp_->stats();
  stats.iwarp += segments.iwarp;
  stats.crc_good += segments.crc_good;
  stats.crc_bad += segments.crc_bad;
  stats.crc_unchecked += segments.crc_unchecked;
  stats.other_service += segments.other_service;
  stats.retransmitted += segments.retransmitted;
  stats.captured_twice += segments.captured_twice;
  stats.reordered += segments.reordered;
  stats.lost_network += segments.lost_network;
  stats.lost_capture += segments.lost_capture;
  stats.evict += segments.evict;
  const roce::PacketStats reported = reader_.stats();
  stats.retransmitted += reported.retransmitted;
  stats.nak += reported.nak;
  stats.rnr += reported.rnr;
  stats.evict += reported.evict;
  return stats;
}

// Ignores a single frame with an implausible time: only two in a row move the clock.
void Pipeline::advance(std::int64_t time_ns) {
  const std::int64_t now = std::min(time_ns, std::exchange(previous_ns_, time_ns));
  // A clock that was set back continues from its new time.
  if (now < next_ns_ && now >= back_ns_) [[likely]]
    return;
  next_ns_ = now > INT64_MAX - kSecond ? INT64_MAX : now + kSecond;
  back_ns_ = now < INT64_MIN + kSecond ? INT64_MIN : now - kSecond;
  observers_.notify<&model::Observer::on_time>(now);
}

void Pipeline::time(std::int64_t now_ns) {
  clock_ns_ = now_ns;
  observers_.notify<&model::Observer::on_time>(now_ns);
}

void Pipeline::finish() {
  fragments_.finish();
  note_fragments();
  const std::int64_t end = std::max(counts_.total == 0 ? INT64_MIN : counts_.last_ns, clock_ns_);
  tracker_->finish(end);
  iwarp_->finish(end);
  reader_.finish();
  views_.finish();
}

void Pipeline::count(std::int64_t time_ns, capture::LinkResult result,
                     const capture::Unread& unread) {
  advance(time_ns);
  if (counts_.total == 0) counts_.first_ns = counts_.last_ns = time_ns;
  ++counts_.total;
  if (result == capture::LinkResult::kUpperPdu) {
    ++counts_.events;
    counts_.first_ns = std::min(counts_.first_ns, time_ns);
    counts_.last_ns = std::max(counts_.last_ns, time_ns);
    return;
  }
  if (roce::steps_back(last_packet_ns_, time_ns)) ++counts_.clock_steps_back;
  counts_.last_ns = last_packet_ns_ = time_ns;
  switch (result) {
    case capture::LinkResult::kCutShort:
      ++counts_.cut_short;
      break;
    case capture::LinkResult::kUnknownLink:
      ++counts_.unknown_link;
      counts_.unread.note(unread);
      break;
    case capture::LinkResult::kNotRoce:
      if (unread.kind == capture::UnreadKind::kPause) {
        pause(time_ns, unread);
      } else {
        counts_.unread.note(unread);
      }
      break;
    case capture::LinkResult::kTcp:
      if (unread.kind == capture::UnreadKind::kNfsTcp) counts_.nfs_tcp += unread.detail;
      break;
    case capture::LinkResult::kRoce:
    case capture::LinkResult::kFragment:
    case capture::LinkResult::kUpperPdu:
      break;
  }
}

// A capture of packets alone has one source: its readers report to the model without a detour.
void Pipeline::join_packets() {
  if (!join_views_ || packets_joined_) return;
  join_views_ = tracker_->stats().roce == 0 && iwarp_->stats().iwarp == 0;
  if (!join_views_) return;  // packets came before the first event of the same file
  tracker_.emplace(views_, &numbers_);
  iwarp_.emplace(views_, numbers_);
  packets_joined_ = true;
}

void Pipeline::fragment(const capture::Frame& frame) {
  capture::Frame whole;
  const bool complete = fragments_.add(frame, whole);
  note_fragments();
  if (!complete) return;
  roce::PreparedPacket packet;
  const capture::LinkResult result =
      capture::dissect_datagram(whole.data, fragments_.tunnels(), packet.transport);
  if (result == capture::LinkResult::kTcp) {
    capture::IpPacket ip;
    if (capture::find_ip(whole.data, fragments_.tunnels(), ip)) iwarp_->packet(ip, meta_of(whole));
    return;
  }
  if (result != capture::LinkResult::kRoce) {
    counts_.unread.note(capture::unread_of(whole, result));
    return;
  }
  packet.meta = meta_of(whole);
  packet.vantage = vantage_of(whole, packet.transport);
  roce::prepare_reassembled(packet, check_icrc_);
  roce(packet);
}

bool Pipeline::cut(const roce::PreparedPacket& merged) {
  if (!coalesced_.begin(merged)) return false;
  roce::PreparedPacket packet;
  while (coalesced_.next(packet)) tracker_->packet(packet);
  counts_.cut_short += coalesced_.truncated();
  return true;
}

void Pipeline::note_fragments() {
  const capture::FragmentCounts& counts = fragments_.counts();
  counts_.fragments = counts.fragments;
  for (; fragments_unread_ != counts.incomplete_frames; ++fragments_unread_) {
    counts_.unread.note({capture::UnreadKind::kFragment});
  }
}

void Pipeline::pause(std::int64_t time_ns, const capture::Unread& unread) {
  const capture::Pause pause = capture::pause_in(unread);
  counts_.pauses.note(pause, counts_.total);
  observers_.notify<&model::Observer::on_pause>(model::PauseSeen{pause, counts_.total, time_ns});
}

void Pipeline::event(const capture::Frame& frame) {
  if (!packets_joined_) [[unlikely]]
    join_packets();
  views_.from(frame.file);
  reader_.frame(frame.data, meta_of(frame), std::uint64_t{frame.file} << 32U | frame.interface);
}

// Segments that are not read as iWARP may still be RDMA.
void Pipeline::tcp(const capture::Frame& frame, const capture::Unread& unread) {
  capture::IpPacket ip;
  if (capture::find_ip(frame, ip) && iwarp_->packet(ip, meta_of(frame))) return;
  counts_.unread.note(unread);
}

void Pipeline::frame(const capture::Frame& frame) {
  if (packets_joined_) views_.from(frame.file);
  roce::PreparedPacket packet;
  const capture::LinkResult result = capture::dissect_link(frame, packet.transport);
  const capture::Unread unread =
      result == capture::LinkResult::kRoce ? capture::Unread{} : capture::unread_of(frame, result);
  count(frame.time_ns, result, unread);
  if (result == capture::LinkResult::kRoce) {
    packet.meta = meta_of(frame);
    packet.vantage = vantage_of(frame, packet.transport);
    roce::prepare(packet, check_icrc_);
    if (!packet.transport.complete()) note_snaplen(frame, counts_.snaplen);
    roce(packet);
  } else if (result == capture::LinkResult::kFragment) {
    fragment(frame);
  } else if (result == capture::LinkResult::kUpperPdu) {
    event(frame);
  } else if (result == capture::LinkResult::kTcp) {
    tcp(frame, unread);
  } else if (result == capture::LinkResult::kCutShort) {
    note_snaplen(frame, counts_.snaplen);
  }
}

void Pipeline::expect(const capture::Source& source) {
  expect(source.files());
}

void Pipeline::expect(std::span<const capture::MergedFile> files) {
  if (std::none_of(files.begin(), files.end(), [](const auto& file) { return file.recording; }))
    return;
  views_.expect(files);
  join_packets();
}

// Without memory the tracker and the model may be in the middle of a frame: after that error the
// pipeline can only be destroyed.
capture::Expected<void> Pipeline::run(capture::Source& source, const Tick& tick,
                                      unsigned threads) try {
  expect(source);
  if (source.frames_stay()) {
    const bool worth_it = source.stats().bytes_total >= kBytesWorthAThread;
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
} catch (const std::bad_alloc&) {
  return base::out_of_memory(kReading);
}

// The state that the threads of one run share.
struct Pipeline::Team {
  enum class Stage : std::uint8_t { kFree, kFilling, kReady };
  struct Slot {
    Batch batch;
    Stage stage = Stage::kFree;
    unsigned owner = 0;  // the only thread that fills it
  };
  struct Member {
    std::vector<Slot> slots;
    // All slots were in use: the next is not filled before half of them are free. A thread that
    // wakes up for each slot would sleep after each slot, at the expense of the thread that frees
    // them.
    bool full = false;
    bool asleep = false;
    std::atomic<bool> waiting = false;  // written under the lock; spun on without it
    std::condition_variable wake;
  };

  Team(Pipeline& of, capture::Source& from, unsigned threads)
      : pipeline(of), source(from), members(threads), in_order(threads * batches_of_each(threads)) {
    for (unsigned i = 0; i < threads; ++i) {
      members[i].slots = std::vector<Slot>(in_order.size() / threads);
      for (Slot& slot : members[i].slots) slot.owner = i;
    }
    max_batch_room = capture::kReadableBehind / (in_order.size() + 1);
  }

  // A thread may be descheduled for the time of some batches, and a thread that is ahead by all its
  // batches sleeps for half of them. With more threads each needs fewer batches, since all wait for
  // the same tracker. A batch takes half a megabyte.
  static constexpr std::size_t kBatches = 16, kFewest = 2, kMost = 8;  // of all; of each
  static constexpr std::size_t batches_of_each(unsigned threads) {
    return threads == 1 ? 1 : std::clamp(kBatches / threads, kFewest, kMost);
  }
  // A batch takes 50 to 100 us in each stage. Sleeping and waking up costs as much.
  static constexpr int kSpins = 1000;
  static constexpr unsigned kHome = 0;  // the thread whose cache has the tracker's state

  Pipeline& pipeline;
  capture::Source& source;
  std::uint64_t max_batch_room = 0;
  capture::Error error;  // written by the thread that hands over

  std::mutex deciding;  // guards all below; never held while there is work to do
  std::vector<Member> members;
  std::vector<Slot*> in_order;  // the n-th batch of the capture is in place n % size
  std::uint64_t next_filled = 0;
  std::uint64_t next_handed = 0;
  std::uint64_t room = 0;  // Frame::room of all frames that were read
  bool handing = false;    // a thread hands a batch to the tracker
  bool filling = false;    // a thread reads the next batch; later ones must wait
  bool no_more = false;    // all of the source was read
  bool no_memory = false;  // a thread had none: all leave

  [[nodiscard]] bool done() const { return no_memory || (no_more && next_handed == next_filled); }

  // All batches in work must lie within the range that the source keeps readable, up to the last
  // frame of the batch that is read next: a batch may end with a frame of any length.
  [[nodiscard]] bool source_has_room() const {
    if (next_handed == next_filled) return true;
    const Slot* const oldest = in_order[next_handed % in_order.size()];
    return room - oldest->batch.begin + max_batch_room <= capture::kReadableBehind;
  }

  // Returns a slot for the next batch of `thread`, or null.
  Slot* free_slot(unsigned thread) {
    if (!source_has_room()) return nullptr;
    Member& member = members[thread];
    const auto is_free = [](const Slot& s) { return s.stage == Stage::kFree; };
    const auto all =
        static_cast<std::size_t>(std::count_if(member.slots.begin(), member.slots.end(), is_free));
    member.full = all == 0 || (member.full && 2 * all < member.slots.size());
    if (member.full) return nullptr;
    return &*std::find_if(member.slots.begin(), member.slots.end(), is_free);
  }

  // Returns the oldest batch not handed over, if it is ready and no thread is at the tracker.
  Slot* to_hand() {
    if (handing || next_handed == next_filled) return nullptr;
    Slot* const oldest = in_order[next_handed % in_order.size()];
    return oldest->stage == Stage::kReady ? oldest : nullptr;
  }

  struct Work {
    Slot* slot = nullptr;
    bool to_hand = false;  // or else to fill
  };
  Work next_work(unsigned thread) {
    Slot* const ready = to_hand();
    if (ready != nullptr && thread == kHome) return {ready, true};
    Slot* const free = free_slot(thread);
    if (free == nullptr) return {ready, true};
    return {filling || no_more ? nullptr : free, false};
  }

  // Called with the lock held, by a thread that starts work or leaves.
  void wake_others() {
    for (unsigned i = 0; i < members.size(); ++i) {
      Member& member = members[i];
      if (!member.waiting.load(std::memory_order_relaxed)) continue;
      if (!done() && next_work(i).slot == nullptr) continue;
      member.waiting.store(false, std::memory_order_relaxed);
      if (member.asleep) member.wake.notify_one();
    }
  }

  void wait(Member& member, std::unique_lock<std::mutex>& lock) {
    member.waiting.store(true, std::memory_order_relaxed);
    wake_others();
    lock.unlock();
    for (int i = 0; i < kSpins && member.waiting.load(std::memory_order_relaxed); ++i) {
      __builtin_ia32_pause();
    }
    lock.lock();
    member.asleep = true;
    member.wake.wait(lock, [&] { return !member.waiting.load(std::memory_order_relaxed); });
    member.asleep = false;
  }

  void hand_over(const Batch& batch, bool foreign) {
    const auto packets = std::span(batch.packets).first(batch.packet_count);
    std::size_t next_packet = 0;
    for (std::size_t i = 0; i < batch.frame_count; ++i) {
      pipeline.count(batch.times[i], batch.links[i], batch.unread[i]);
      if (pipeline.packets_joined_) pipeline.views_.from(batch.frames[i].file);
      if (batch.links[i] == capture::LinkResult::kRoce) {
        if (foreign) prefetch_for_tracker(packets, next_packet);
        pipeline.roce(packets[next_packet++]);
      } else if (batch.links[i] == capture::LinkResult::kFragment) {
        pipeline.fragment(batch.frames[i]);
      } else if (batch.links[i] == capture::LinkResult::kUpperPdu) {
        pipeline.event(batch.frames[i]);
      } else if (batch.links[i] == capture::LinkResult::kTcp) {
        pipeline.tcp(batch.frames[i], batch.unread[i]);
      }
    }
    pipeline.counts_.snaplen = std::max(pipeline.counts_.snaplen, batch.snaplen);
    if (!batch.error.message.empty()) error = batch.error;
  }

  void hand(Slot& slot, unsigned thread, const Tick& tick, std::unique_lock<std::mutex>& lock) {
    handing = true;
    wake_others();
    lock.unlock();
    hand_over(slot.batch, slot.owner != thread);
    if (tick) tick(slot.batch.stats);
    lock.lock();
    handing = false;
    slot.stage = Stage::kFree;
    ++next_handed;
  }

  void fill(Slot& slot, std::unique_lock<std::mutex>& lock) {
    filling = true;
    slot.stage = Stage::kFilling;
    wake_others();
    slot.batch.begin = room;
    lock.unlock();
    const bool more = slot.batch.read(source, max_batch_room);
    lock.lock();
    filling = false;
    room += slot.batch.room;
    no_more = !more;
    in_order[next_filled++ % in_order.size()] = &slot;
    wake_others();
    lock.unlock();
    slot.batch.prepare(pipeline.check_icrc_, members.size() > 1);
    lock.lock();
    slot.stage = Stage::kReady;
  }

  void work(unsigned thread, const Tick& tick) {
    std::unique_lock lock(deciding);
    while (!done()) {
      const Work next = next_work(thread);
      if (next.slot == nullptr) {
        wait(members[thread], lock);
      } else if (next.to_hand) {
        hand(*next.slot, thread, tick, lock);
      } else {
        fill(*next.slot, lock);
      }
    }
    wake_others();
  }

  // No exception may leave a thread.
  void work_or_give_up(unsigned thread, const Tick& tick) noexcept {
    try {
      work(thread, tick);
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(deciding);
      no_memory = true;
      wake_others();
    }
  }
};

capture::Expected<void> Pipeline::run_team(capture::Source& source, const Tick& tick,
                                           unsigned threads) {
  Team team(*this, source, threads);
  std::vector<std::thread> others;
  others.reserve(threads);
  for (unsigned i = 1; i < threads; ++i) {
    auto started = base::start_thread([&team, &tick, i] { team.work_or_give_up(i, tick); });
    if (!started) break;  // the existing ones do the work
    others.push_back(std::move(*started));
  }
  team.work_or_give_up(0, tick);
  for (std::thread& t : others) t.join();
  if (team.no_memory) return base::out_of_memory(kReading);
  if (!team.error.message.empty()) return tl::unexpected(team.error);
  return {};
}

}  // namespace rpcrdma::session
