// Random traffic in both directions over a link that drops, duplicates, delays and reorders:
// everything ends, and all work reported as done was done, once and in order. 500 seeds; set
// another number with the environment variable RPCRDMA_SEEDS, and the first seed with
// RPCRDMA_FIRST_SEED.
#include "rc_exchange_for_tests.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <random>

namespace rpcrdma::soft {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::bytes_of;
using testing::Flying;
using testing::Side;

constexpr std::size_t kMaxBytes = 20'000;
constexpr std::size_t kSource = 0;          // constant: source of Sends, and of the peer's Reads
constexpr std::size_t kSink = 65'536;       // destination of the peer's Writes
constexpr std::size_t kSinkBytes = 40'000;  //
constexpr std::size_t kReads = 110'000;     // a place for each Read in flight
constexpr std::size_t kReceives = 800'000;  // and for each Receive
constexpr std::size_t kPlaces = 32;
constexpr std::size_t kBytes = kReceives + kPlaces * kMaxBytes;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t upto(std::size_t most) { return static_cast<std::size_t>(engine_() % (most + 1)); }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) < p * 9007199254740992.0; }

 private:
  std::mt19937_64 engine_;
};

// A message that the peer is to receive.
struct Message {
  std::vector<std::uint8_t> bytes;  // of a Send
  fabric::Completion completion;
};
struct Posted {
  std::uint64_t id = 0;
  Operation operation = Operation::kSend;
  std::size_t from = 0;  // kRead
  std::size_t length = 0;
  std::size_t place = 0;
};

// One side and its application.
struct Actor {
  explicit Actor(std::uint32_t qpn) : side(qpn, kBytes, kPlaces) {
    const auto& bytes = testing::pattern(qpn == 1);
    std::copy(bytes.begin(), bytes.end(), side.buffer.begin());
    source = side.advertise(kSource, kSink, fabric::Access::kRemoteRead);
    sink = side.advertise(kSink, kSinkBytes, fabric::Access::kRemoteWrite);
    written.resize(kSinkBytes);
    for (std::size_t i = 0; i < 4; ++i)
      spare.push_back(side.advertise(i, 1, fabric::Access::kRemoteRead));
    for (std::size_t i = 0; i < kPlaces; ++i) places.push_back(i);
  }

  Side side;
  fabric::MemoryRegion source, sink;
  std::vector<fabric::MemoryRegion> spare;  // not invalidated yet; the peer may invalidate them
  std::vector<std::uint8_t> written;        // expected contents of the sink
  std::deque<Message> to_come;              // expected by this side
  std::deque<Posted> posted;
  std::vector<std::size_t> places;   // free places for Reads
  std::deque<std::size_t> receives;  // posted, by place
  std::size_t next_place = 0;
  std::size_t left = 0;  // requests still to post
  std::uint64_t next_id = 0;
  std::uint64_t bytes_in = 0;
  bool failed = false;
};

class Traffic {
 public:
  explicit Traffic(std::uint64_t seed)
      : random_(seed),
        depth_(static_cast<std::uint32_t>(1 + random_.upto(31))),
        actors_{Actor(1), Actor(2)} {
    QpParameters p;
    p.mtu = 256U << random_.upto(4);
    p.window = static_cast<std::uint32_t>(1 + random_.upto(63));
    p.read_packets = static_cast<std::uint32_t>(1 + random_.upto(31));
    p.initiator_depth = p.responder_resources = static_cast<std::uint8_t>(1 + random_.upto(7));
    p.flow_control = random_.chance(0.7);
    p.ack_timeout = fabric::kMillisecond;
    p.ack_hold = random_.chance(0.5)
                     ? static_cast<fabric::Time>(random_.upto(100)) * fabric::kMicrosecond
                     : 0;
    p.min_rnr_timer = static_cast<std::uint8_t>(1 + random_.upto(13));
    p.retry_count = static_cast<std::uint8_t>(random_.chance(0.2) ? random_.upto(6) : 7);
    retries_ = p.retry_count;
    const std::array<std::uint32_t, 2> psn = {
        static_cast<std::uint32_t>(random_.chance(0.5) ? 0xffffff - random_.upto(300)
                                                       : random_.upto(0xffffff)),
        static_cast<std::uint32_t>(random_.upto(0xffffff))};
    for (std::size_t i = 0; i < 2; ++i) {
      p.remote_qpn = static_cast<std::uint32_t>(2 - i);
      p.send_psn = psn[i];
      p.receive_psn = psn[1 - i];
      actors_[i].side.qp.connect({}, p);
      actors_[i].left = random_.upto(40);
    }
    const auto rate = [&] { return random_.chance(0.5) ? 0.002 * double(random_.upto(100)) : 0; };
    drop_ = rate();
    duplicate_ = rate();
    reorder_ = rate();
    delay_ = rate();
    receive_rate_ = 0.02 + 0.01 * static_cast<double>(random_.upto(60));
  }

  void run() {
    for (std::size_t steps = 0;; ++steps) {
      ASSERT_LT(steps, 2'000'000U) << "does not come to its end";
      bool did = false;
      for (std::size_t i = 0; i < 2; ++i) {
        actors_[i].side.qp.expire(now_);
        did |= act(i);
        did |= transmit(i);
      }
      did |= deliver();
      for (std::size_t i = 0; i < 2; ++i) take(i);
      if (::testing::Test::HasFatalFailure()) return;
      if (actors_[0].failed || actors_[1].failed) return end_in_failure();
      if (did) {
        now_ += 500;
        continue;
      }
      fabric::Time next = flight_.empty() ? fabric::kNever : flight_.begin()->first;
      for (Actor& a : actors_) next = std::min(next, a.side.qp.deadline());
      if (next != fabric::kNever) {
        now_ = std::max(now_ + 500, next);
      } else if (actors_[0].left + actors_[1].left == 0) {
        return end();
      }
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }
  // At a loss rate of a fifth one round in three fails, and among 10,000 seeds some lose eight in a
  // row; up to a tenth none should fail.
  [[nodiscard]] bool may_fail() const { return retries_ < 7 || drop_ + delay_ > 0.1; }

 private:
  // Returns a random part of the range between `from` and `to`.
  fabric::Slice part(Actor& a, std::size_t from, std::size_t length) {
    return a.side.slice(from, length);
  }

  bool act(std::size_t i) {
    Actor& a = actors_[i];
    Actor& peer = actors_[1 - i];
    bool did = false;
    if (a.side.qp.state() == QpState::kError) return did;
    if (a.receives.size() < depth_ && a.receives.size() < kPlaces &&
        random_.chance(receive_rate_)) {
      post_receive(a);
      did = true;
    }
    if (a.left == 0 || a.posted.size() >= depth_ || !random_.chance(0.3)) return did;
    post(a, peer);
    return true;
  }

  void post_receive(Actor& a) {
    const std::size_t place = a.next_place++ % kPlaces;
    const std::size_t at = kReceives + place * kMaxBytes;
    const std::size_t cut = random_.upto(kMaxBytes);
    const std::array<fabric::Slice, 2> into = {part(a, at, cut),
                                               part(a, at + cut, kMaxBytes - cut)};
    ASSERT_TRUE(a.side.qp.post_receive({place, into}));
    a.receives.push_back(place);
  }

  std::size_t random_length() {
    switch (random_.upto(3)) {
      case 0:
        return random_.upto(4);
      case 1:
        return random_.upto(600);
      default:
        return random_.upto(kMaxBytes);
    }
  }

  void post(Actor& a, Actor& peer) {
    fabric::SendRequest r;
    r.id = a.next_id++;
    r.operation = static_cast<Operation>(random_.upto(5));
    if (r.operation == Operation::kSendInvalidate && peer.spare.empty()) {
      r.operation = Operation::kSend;
    }
    if (r.operation == Operation::kRead && a.places.empty()) r.operation = Operation::kWrite;
    r.fence = random_.chance(0.1);
    r.solicited = random_.chance(0.3);
    Posted p;
    p.id = r.id;
    p.operation = r.operation;
    p.length = random_length();
    std::vector<std::uint8_t> bytes;
    std::vector<fabric::Slice> local;
    std::size_t at = 0;  // in a Read's destination
    if (r.operation == Operation::kRead) {
      p.place = a.places.back();
      a.places.pop_back();
      at = kReads + p.place * kMaxBytes;
      p.from = random_.upto(kSink - p.length);
      r.remote_handle = peer.source.handle;
      r.remote_offset = peer.source.offset + p.from;
    }
    for (std::size_t left = p.length, n = random_.upto(3) + 1; n > 0; --n) {
      const std::size_t length = n == 1 ? left : random_.upto(left);
      if (r.operation == Operation::kRead) {
        local.push_back(a.side.slice(at, length));
        at += length;
      } else {
        const std::size_t from = random_.upto(kSink - length);
        local.push_back(a.side.slice(kSource + from, length));
        const auto begin = a.side.buffer.begin() + static_cast<std::ptrdiff_t>(from);
        bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
      }
      left -= length;
    }
    r.local = local;
    fabric::Completion& c = expected_.completion;
    c = {};
    c.bytes = static_cast<std::uint32_t>(p.length);
    bool message = true;
    switch (r.operation) {
      case Operation::kSendImmediate:
      case Operation::kWriteImmediate:
        c.has_immediate = true;
        c.immediate = r.immediate = static_cast<std::uint32_t>(random_.upto(0xffffffff));
        break;
      case Operation::kSendInvalidate:
        c.has_invalidated = true;
        c.invalidated = r.invalidate = peer.spare.back().handle;
        peer.spare.pop_back();
        break;
      case Operation::kSend:
        break;
      default:
        message = false;
    }
    if (r.operation == Operation::kWrite || r.operation == Operation::kWriteImmediate) {
      const std::size_t to = random_.upto(kSinkBytes - p.length);
      r.remote_handle = peer.sink.handle;
      r.remote_offset = peer.sink.offset + to;
      std::copy(bytes.begin(), bytes.end(), peer.written.begin() + static_cast<std::ptrdiff_t>(to));
      bytes.clear();
    }
    (r.operation == Operation::kRead ? a : peer).bytes_in += p.length;
    ASSERT_TRUE(a.side.qp.post_send(r));
    a.posted.push_back(p);
    --a.left;
    if (message) peer.to_come.push_back({std::move(bytes), c});
  }

  bool transmit(std::size_t i) {
    bool did = false;
    OutPacket out;
    for (std::size_t n = 1 + random_.upto(20); n > 0; --n) {
      if (!actors_[i].side.qp.transmit(out, now_)) break;
      did = true;
      if (random_.chance(drop_)) continue;
      Flying f;
      f.bytes = bytes_of(out);
      f.from_client = i == 0;
      for (std::size_t copies = random_.chance(duplicate_) ? 2 : 1; copies > 0; --copies) {
        fabric::Time latency = 5'000;
        if (random_.chance(reorder_)) latency += static_cast<fabric::Time>(random_.upto(20'000));
        if (random_.chance(delay_)) latency += static_cast<fabric::Time>(random_.upto(3'000'000));
        flight_.emplace(now_ + latency, f);
      }
    }
    return did;
  }

  bool deliver() {
    bool did = false;
    for (; !flight_.empty() && flight_.begin()->first <= now_; flight_.erase(flight_.begin())) {
      const Flying& f = flight_.begin()->second;
      actors_[f.from_client ? 1 : 0].side.qp.receive(f.packet(), now_);
      did = true;
    }
    return did;
  }

  void take(std::size_t i) {
    Actor& a = actors_[i];
    Actor& peer = actors_[1 - i];
    if (a.side.completions.empty()) return;
    for (const fabric::Completion& c : a.side.take()) {
      if (c.status != Status::kSuccess) a.failed = true;
      if (c.operation == Operation::kReceive) {
        ASSERT_FALSE(a.receives.empty());
        ASSERT_EQ(c.id, a.receives.front());
        a.receives.pop_front();
        if (c.status == Status::kSuccess) check_message(a, c);
        continue;
      }
      ASSERT_FALSE(a.posted.empty());
      const Posted p = a.posted.front();
      a.posted.pop_front();
      ASSERT_EQ(c.id, p.id);
      ASSERT_EQ(c.operation, p.operation);
      ASSERT_TRUE(c.status == Status::kSuccess ? !had_failed_[i] : true);
      had_failed_[i] |= c.status != Status::kSuccess;
      if (p.operation != Operation::kRead) continue;
      a.places.push_back(p.place);
      if (c.status != Status::kSuccess) continue;
      ASSERT_EQ(c.bytes, p.length);
      const auto to =
          a.side.buffer.begin() + static_cast<std::ptrdiff_t>(kReads + p.place * kMaxBytes);
      ASSERT_TRUE(std::equal(to, to + static_cast<std::ptrdiff_t>(p.length),
                             peer.side.buffer.begin() + static_cast<std::ptrdiff_t>(p.from)));
    }
  }

  static void check_message(Actor& a, const fabric::Completion& c) {
    ASSERT_FALSE(a.to_come.empty());
    const Message m = std::move(a.to_come.front());
    a.to_come.pop_front();
    ASSERT_EQ(c.bytes, m.completion.bytes);
    ASSERT_EQ(c.has_immediate, m.completion.has_immediate);
    if (c.has_immediate) {
      ASSERT_EQ(c.immediate, m.completion.immediate);
    }
    ASSERT_EQ(c.has_invalidated, m.completion.has_invalidated);
    if (c.has_invalidated) {
      ASSERT_EQ(c.invalidated, m.completion.invalidated);
    }
    const auto at =
        a.side.buffer.begin() + static_cast<std::ptrdiff_t>(kReceives + c.id * kMaxBytes);
    ASSERT_TRUE(std::equal(m.bytes.begin(), m.bytes.end(), at));
  }

  void end() {
    for (Actor& a : actors_) {
      ASSERT_EQ(a.side.qp.state(), QpState::kReady);
      ASSERT_TRUE(a.posted.empty());
      ASSERT_TRUE(a.to_come.empty());
      ASSERT_TRUE(std::equal(a.written.begin(), a.written.end(), a.side.buffer.begin() + kSink));
      // Nothing was executed twice.
      ASSERT_EQ(a.side.qp.counters().bytes_in, a.bytes_in);
    }
  }

  // Visibly: every posted request has a completion.
  void end_in_failure() {
    failed_ = true;
    for (const Actor& a : actors_) {
      const QpCounters& c = a.side.qp.counters();
      if (a.side.qp.state() != QpState::kError) continue;
      // Link faults can end it only in this way; gaps cost one retry between two time-outs.
      const bool explained =
          a.side.qp.reason() == std::string_view(fabric::status_name(Status::kRetriesExceeded)) &&
          2 * c.timeouts >= static_cast<std::uint64_t>(retries_);
      if (!explained || !may_fail()) {
        ADD_FAILURE() << a.side.qp.reason() << ", timeouts " << c.timeouts << ", again "
                      << c.retransmitted << " of " << c.packets_out << ", NAKs " << c.naks_in
                      << ", RNR " << c.rnr_in << ", at " << now_ << " ns";
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      actors_[i].side.qp.fail("the test ends");
      take(i);
      ASSERT_TRUE(actors_[i].posted.empty());
      ASSERT_TRUE(actors_[i].receives.empty());
      ASSERT_EQ(actors_[i].side.memory.advertised(), 0U);
      ASSERT_EQ(actors_[i].side.qp.deadline(), fabric::kNever);
    }
  }

  Random random_;
  std::uint32_t depth_;
  std::array<Actor, 2> actors_;
  std::multimap<fabric::Time, Flying> flight_;
  fabric::Time now_ = 0;
  double drop_ = 0, duplicate_ = 0, reorder_ = 0, delay_ = 0, receive_rate_ = 0;
  Message expected_;
  std::array<bool, 2> had_failed_{};
  int retries_ = 0;
  bool failed_ = false;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(RcProperty, RandomTrafficOverABadLink) {
  const std::uint64_t seeds = from_environment("RPCRDMA_SEEDS", 500);
  const std::uint64_t first = from_environment("RPCRDMA_FIRST_SEED", 1);
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Traffic traffic(seed);
    traffic.run();
    if (traffic.failed()) ++failures;
    if (HasFailure()) return;
  }
  RecordProperty("connections_that_failed", static_cast<int>(failures));
  EXPECT_LT(failures, seeds / 4 + 2);
}

}  // namespace
}  // namespace rpcrdma::soft
