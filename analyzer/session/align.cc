// The offset of two clocks, as NTP finds it: a message that goes from one recorder to the other
// shows the offset and the delay, one that comes back the offset without the delay. The truth lies
// between the least of the former and the greatest of the latter.
#include <algorithm>
#include <new>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <sys/stat.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/iwarp/reader.h>
#include <rpcrdma/roce/coalesced.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/session/align.h>
#include <rpcrdma/session/view_match.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::session {

namespace {

constexpr std::size_t kFiles = 16;
constexpr std::uint64_t kFramesRead = 50'000;   // of each file
constexpr std::size_t kMessagesKept = 100'000;  // of each file
// Fewer equal messages are no evidence: a ring's next file can begin with retransmissions.
constexpr std::size_t kLeastMatches = 3;
constexpr std::size_t kLeastShare = 4;  // a quarter of the messages of the connection with fewer
// Smaller offsets change no order that matters.
constexpr std::int64_t kLeastShift = 1'000'000;
// Views that show less come later in the merged order, by this much for each rank and by how much
// earlier they show a message: see views.cc.
constexpr std::int64_t kOrderStep = 2'000'000;
constexpr std::int64_t kMostEarly = 1'000'000'000;

struct FileConnection {
  std::array<capture::Address, 2> address;
  std::array<std::uint32_t, 2> qpn{};
  int recorder = -1;
  std::size_t messages = 0;
};

struct FileMessage {
  ViewedMessage m;
  std::uint32_t connection = 0;  // index in FileContent::connections
  std::uint8_t sender = 0;
};

// What the first frames of a file show.
struct FileContent {
  std::vector<FileConnection> connections;
  std::vector<FileMessage> messages;
  int rank = 0;  // 0: packets; the higher, the less its views show
};

// Collects the messages of a file.
class Collecting final : public roce::Listener {
 public:
  explicit Collecting(FileContent& to) : to_(to) {}

  void on_open(const roce::Connection& c) override { note(c); }
  void on_merge(const roce::Merge& event) override { note(event.into); }
  void on_send(const roce::Connection& c, const roce::SendMessage& send) override {
    const auto m = viewed(send);
    if (!m || to_.messages.size() >= kMessagesKept) return;
    const std::uint32_t at = note(c);
    ++to_.connections[at].messages;
    to_.messages.push_back({*m, at, send.sender});
  }

 private:
  std::uint32_t note(const roce::Connection& c) {
    const auto [it, fresh] =
        at_.try_emplace(c.index, static_cast<std::uint32_t>(to_.connections.size()));
    if (fresh) to_.connections.emplace_back();
    FileConnection& x = to_.connections[it->second];
    for (std::size_t side = 0; side < 2; ++side) {
      x.address[side] = plain_address(c.side[side].address);
      x.qpn[side] = known_qpn(c, side);
    }
    x.recorder = c.recorded ? c.recorder : -1;
    to_.rank = std::max(to_.rank, rank_of(c));
    return it->second;
  }

  FileContent& to_;
  std::unordered_map<std::uint32_t, std::uint32_t> at_;
};

FileContent content_of(const std::string& path) {
  FileContent content;
  struct stat status {};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return content;
  const auto source = capture::open_file(path);
  if (!source) {
    if (base::is_out_of_memory(source.error())) throw std::bad_alloc();
    return content;  // the merge says so
  }
  Collecting collecting(content);
  roce::ConnectionNumbers numbers;
  roce::Tracker tracker(collecting, &numbers);
  iwarp::Reader iwarp(collecting, numbers);
  trace_reader::Reader reader(collecting, numbers);
  capture::IpPacket ip;
  capture::Frame frame;
  roce::PreparedPacket packet, part;
  roce::CoalescedPackets coalesced;
  for (std::uint64_t i = 0; i < kFramesRead; ++i) {
    const auto more = (*source)->next(frame);
    if (!more && base::is_out_of_memory(more.error())) throw std::bad_alloc();
    if (!more || !*more) break;
    const roce::PacketMeta meta{frame.number, frame.time_ns, frame.interface};
    switch (capture::dissect_link(frame, packet.transport)) {
      case capture::LinkResult::kRoce:
        packet.meta = meta;
        roce::decode(packet);
        if (!roce::CoalescedPackets::possible(packet) || !coalesced.begin(packet)) {
          tracker.packet(packet);
          break;
        }
        while (coalesced.next(part)) tracker.packet(part);
        break;
      case capture::LinkResult::kUpperPdu:
        reader.frame(frame.data, meta, frame.interface);
        break;
      case capture::LinkResult::kTcp:
        if (capture::find_ip(frame, ip)) iwarp.packet(ip, meta);
        break;
      default:
        break;
    }
  }
  return content;
}

// Whether two connections can be the same, and whether their sides are swapped.
std::optional<bool> fit(const FileConnection& a, const FileConnection& b) {
  for (const bool turned : {false, true}) {
    bool fits = true;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t other = side ^ (turned ? 1U : 0U);
      fits &= a.address[side] == b.address[other];
      fits &= a.qpn[side] == 0 || b.qpn[other] == 0 || a.qpn[side] == b.qpn[other];
    }
    if (fits) return turned;
  }
  return std::nullopt;
}

// How the times of two files differ.
struct FileOffset {
  ClockOffset clock;
  std::int64_t least_ahead_ns = 0;  // of any message
};

// How far the clock of `b` is ahead of that of `a`; nothing if they do not show the same traffic.
std::optional<FileOffset> offset_of(const FileContent& a, const FileContent& b) {
  std::unordered_multimap<std::uint32_t, std::size_t> by_xid;
  for (std::size_t i = 0; i < b.messages.size(); ++i) by_xid.emplace(b.messages[i].m.xid, i);
  struct Pair {
    std::size_t matches = 0;
    OffsetSamples samples;
    std::int64_t least_ahead = INT64_MAX;
  };
  std::unordered_map<std::uint64_t, Pair> pairs;
  for (const FileMessage& x : a.messages) {
    constexpr std::size_t kMostEqual = 8;  // XIDs repeat little, unless someone means harm
    std::size_t seen = 0;
    const auto [begin, end] = by_xid.equal_range(x.m.xid);
    for (auto it = begin; it != end && seen < kMostEqual; ++it, ++seen) {
      const FileMessage& y = b.messages[it->second];
      const FileConnection& from = a.connections[x.connection];
      const FileConnection& to = b.connections[y.connection];
      const auto turned = fit(from, to);
      if (!turned || (x.sender != y.sender) != *turned || !same_content(x.m, y.m)) continue;
      const auto ahead = view_time_difference(y.m.time_ns, x.m.time_ns);
      if (!ahead) continue;
      Pair& pair = pairs[std::uint64_t{x.connection} << 32U | y.connection];
      ++pair.matches;
      pair.least_ahead = std::min(pair.least_ahead, *ahead);
      const int there = to.recorder < 0 ? -1 : *turned ? 1 - to.recorder : to.recorder;
      pair.samples.add(from.recorder, there, x.sender, *ahead);
      break;
    }
  }
  std::optional<FileOffset> best;
  std::size_t matches = 0;
  for (auto& [key, pair] : pairs) {
    const std::size_t fewer =
        std::min(a.connections[key >> 32U].messages, b.connections[key & UINT32_MAX].messages);
    if (pair.matches < kLeastMatches || pair.matches * kLeastShare < fewer ||
        pair.matches <= matches) {
      continue;
    }
    matches = pair.matches;
    const auto clock = pair.samples.offset();
    if (!clock) continue;
    best = FileOffset{*clock, pair.least_ahead};
  }
  return best;
}

}  // namespace

std::vector<capture::FileClock> compare_clocks(const std::vector<std::string>& paths) {
  if (paths.size() < 2 || paths.size() > kFiles) return {};
  std::vector<FileContent> files;
  for (const std::string& path : paths) files.push_back(content_of(path));
  // The file whose views show most keeps its times, then those that show the same as it, and so on.
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].rank < files[b].rank; });
  std::vector<capture::FileClock> clocks(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) clocks[i].path = paths[i];
  std::uint32_t run = 0;
  for (const std::size_t first : order) {
    if (clocks[first].run != 0) continue;
    std::vector<std::size_t> reached{first};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const std::size_t other : order) {
        if (clocks[other].run != 0 || std::count(reached.begin(), reached.end(), other) != 0)
          continue;
        const std::size_t known = reached[i];
        const auto offset = offset_of(files[known], files[other]);
        if (!offset) continue;
        reached.push_back(other);
        const ClockOffset& clock = offset->clock;
        const bool apart = std::abs(clock.ns) > std::max(kLeastShift, clock.error_ns);
        const std::int64_t shift = apart ? -clock.ns : 0;
        clocks[other].shift_ns = clocks[known].shift_ns + shift;
        // Then no message comes before the same one in the file that is known.
        const std::int64_t early = -(offset->least_ahead_ns + shift);
        clocks[other].order_ns =
            clocks[known].order_ns + std::clamp<std::int64_t>(early, 0, kMostEarly);
      }
    }
    if (reached.size() == 1) continue;
    ++run;
    for (const std::size_t file : reached) {
      clocks[file].run = run;
      clocks[file].order_ns += kOrderStep * files[file].rank;
    }
  }
  return clocks;
}

capture::Expected<std::unique_ptr<capture::Source>> open_aligned(
    const std::vector<std::string>& paths) {
  return base::or_out_of_memory("several files",
                                [&] { return capture::open_files(paths, compare_clocks(paths)); });
}

}  // namespace rpcrdma::session
