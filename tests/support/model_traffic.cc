// The simulation of traffic_for_tests.h: queue pairs, an RPC client and server, and a faulty
// network.
#include "model_traffic.h"

#include "rpc_messages.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <set>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::model::testing {

namespace {

using wire::Opcode;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kTick = 1000;   // nanoseconds
constexpr std::int64_t kDelay = 6;     // ticks from port to port
constexpr std::int64_t kTimeout = 80;  // ticks without progress until a requester retransmits
constexpr std::uint64_t kWindow = 48;  // PSNs in flight
constexpr std::size_t kReadsInFlight = 4;
constexpr std::uint32_t kCredits = 8;
constexpr std::uint8_t kReadsAtOnce = 64;  // more than PSNs in flight

struct Random {
  std::mt19937_64 engine;
  explicit Random(std::uint64_t seed) : engine(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine() % n; }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(below(high - low + 1));
  }
  bool chance(double p) { return p > 0 && static_cast<double>(engine() >> 11) * 0x1.0p-53 < p; }
  Bytes bytes(std::size_t n) {
    Bytes v(n);
    for (auto& b : v) b = static_cast<std::uint8_t>(engine());
    return v;
  }
};

enum class WrKind : std::uint8_t { kSend, kWrite, kRead };

// A work request. PSNs in this file are 64-bit counts; the wire has their low 24 bits.
struct Work {
  WrKind kind = WrKind::kSend;
  Role role = Role::kCall;
  int call = -1;
  Bytes data;  // SEND and WRITE
  std::uint32_t rkey = 0;
  std::uint64_t va = 0;
  std::uint32_t length = 0;  // READ
  Bytes source;              // READ: the data at the other side
  bool invalidate = false;
  std::uint64_t psn = 0;
  std::uint64_t packets = 1;
  std::uint64_t received = 0;  // READ: responses
};

struct Packet {
  wire::RocePacket roce;
  Bytes payload;
  std::uint64_t psn = 0;
  Role role = Role::kAck;
  int call = -1;
  std::uint64_t work_end = 0;     // PSN after the last one of its work request
  const Bytes* source = nullptr;  // READ request: the bytes requested, from `source_at` on
  std::size_t source_at = 0;
};

// Both halves of a QP.
struct Qp {
  std::uint64_t start = 0;
  // Requester.
  std::deque<Work> works;
  std::uint64_t next = 0;  // PSN of the next work request
  std::uint64_t send_at = 0;
  std::uint64_t unacked = 0;
  std::int64_t progress = 0;
  std::int64_t went_back = -1000;
  std::int64_t pause_until = 0;
  // Responder.
  std::uint64_t expected = 0;
  bool nak_sent = false;
  std::uint32_t msn = 0;
  std::deque<Packet> answers;
  // Bytes that queued READs refer to; they survive retransmissions of the request.
  std::deque<Bytes> sources;
};

struct Job {
  int call = -1;
  std::size_t reads_left = 0;
  std::vector<Work> answer;  // WRITEs and the Reply
  std::int64_t not_before = 0;
};

class Simulation {
 public:
  Simulation(const TrafficOptions& options, int connection, Traffic& out, std::int64_t start)
      : o_(options),
        c_(connection),
        out_(out),
        r_(options.seed * 1000003 + static_cast<std::uint64_t>(connection)),
        now_(start) {
    capture_at_ = static_cast<std::int64_t>(r_.below(kDelay + 1));
    const std::uint64_t near = Random(options.seed).below(1U << 24);
    for (int s = 0; s < 2; ++s) {
      Qp& q = qp_[s];
      q.start = (1ULL << 32) + r_.below(1U << 24);
      if (o_.psn_wraps && connection == 0) q.start = (1ULL << 32) - 1 - r_.below(40);
      if (o_.near_psns) q.start = (1ULL << 32) + near + r_.below(20);
      q.next = q.send_at = q.unacked = q.start;
    }
    qp_[0].expected = qp_[1].start;
    qp_[1].expected = qp_[0].start;
    const auto n = static_cast<std::uint32_t>(o_.same_qpns ? 0 : connection);
    truth_.qpn = {0x100 + n * 2, 0x8000 + n * 3};
    comm_ = {0x1000 + n, 0x70000 + n};
    for (std::uint8_t s = 0; s < 2; ++s) {
      const std::array<std::uint8_t, 16> a{
          192, 0, 2, static_cast<std::uint8_t>(1 + s), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
      truth_.address[s] = o_.ipv6 ? capture::make_ipv6(a.data()) : capture::make_ipv4(a.data());
    }
    next_xid_ = static_cast<std::uint32_t>(r_.engine());
    next_rkey_ = static_cast<std::uint32_t>(r_.engine());
  }

  std::int64_t run() {
    out_.connections.push_back(truth_);
    if (o_.cm) open();
    for (int quiet = 0; quiet < 200; ++now_) {
      arrive();
      for (int s = 0; s < 2; ++s) applications(s);
      for (int s = 0; s < 2; ++s) transmit(s);
      const bool idle = calls_done_ && wire_.empty() && jobs_.empty() && qp_[0].works.empty() &&
                        qp_[1].works.empty() && qp_[0].answers.empty() && qp_[1].answers.empty();
      quiet = idle ? quiet + 1 : 0;
    }
    if (o_.cm) close();
    return now_ + 20;
  }

 private:
  struct InFlight {
    std::int64_t time = 0;
    std::uint64_t order = 0;
    int from = 0;
    Packet packet;
    bool operator<(const InFlight& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  // --- CM ---

  void mad(int from, const wire::CmMessage& message) {
    wire::CmMad m;
    m.message = message;
    Bytes payload(wire::kMadBytes);
    (void)wire::encode_cm(m, payload);
    Packet p;
    p.role = Role::kCm;
    p.roce.bth.opcode = static_cast<std::uint8_t>(Opcode::kUdSendOnly);
    p.roce.bth.dest_qp = wire::kGsiQp;
    p.payload = payload;
    capture(from, p, false, now_);
    now_ += kDelay;
  }

  void open() {
    wire::PrivateData detected;
    detected.flags = wire::kPrivateDataFlagR;
    detected.send_code = detected.recv_code = wire::inline_size_code(4096);
    const auto private_data = wire::encode_private_data(detected);
    // A REQ begins with the IP CM header, which is not read here.
    Bytes req_private(wire::kIpCmHeaderBytes);
    req_private.insert(req_private.end(), private_data.begin(), private_data.end());
    wire::CmReq req;
    req.private_data = req_private;
    req.responder_resources = req.initiator_depth = kReadsAtOnce;
    req.local_comm_id = comm_[0];
    req.service_id = wire::kServiceIdRdmaTcp | 20049;
    req.local_qpn = truth_.qpn[0];
    req.starting_psn = static_cast<std::uint32_t>(qp_[0].start) & wire::kPsnMask;
    req.path_mtu = static_cast<std::uint8_t>(o_.mtu == 256    ? 1
                                             : o_.mtu == 512  ? 2
                                             : o_.mtu == 1024 ? 3
                                             : o_.mtu == 2048 ? 4
                                                              : 5);
    mad(0, req);
    if (r_.chance(0.3)) mad(0, req);  // retransmitted
    wire::CmRep rep;
    rep.private_data = private_data;
    rep.responder_resources = rep.initiator_depth = kReadsAtOnce;
    rep.local_comm_id = comm_[1];
    rep.remote_comm_id = comm_[0];
    rep.local_qpn = truth_.qpn[1];
    rep.starting_psn = static_cast<std::uint32_t>(qp_[1].start) & wire::kPsnMask;
    mad(1, rep);
    if (r_.chance(0.3)) mad(1, rep);
    wire::CmRtu rtu;
    rtu.local_comm_id = comm_[0];
    rtu.remote_comm_id = comm_[1];
    mad(0, rtu);
  }

  void close() {
    const int first = static_cast<int>(r_.below(2));
    wire::CmDreq dreq;
    dreq.local_comm_id = comm_[static_cast<std::size_t>(first)];
    dreq.remote_comm_id = comm_[static_cast<std::size_t>(1 - first)];
    dreq.remote_qpn = truth_.qpn[static_cast<std::size_t>(1 - first)];
    mad(first, dreq);
    if (r_.chance(0.3)) mad(first, dreq);
    wire::CmDrep drep;
    drep.local_comm_id = dreq.remote_comm_id;
    drep.remote_comm_id = dreq.local_comm_id;
    mad(1 - first, drep);
  }

  // --- the wire ---

  void capture(int from, const Packet& p, bool bad, std::int64_t time) {
    CapturedPacket& c = out_.packets.emplace_back();
    c.connection = c_;
    c.from = from;
    c.role = p.role;
    c.call = p.call;
    c.psn = p.roce.bth.psn;
    c.time_ns = time * kTick;
    c.bad_icrc = bad;
    wire::RocePacket roce = p.roce;
    roce.payload = p.payload;
    c.bytes.resize(wire::encoded_size(roce) + wire::kIcrcBytes);
    (void)wire::encode_roce(roce, c.bytes);
    if (bad) {
      // Any bit but those of the destination QP.
      std::size_t at = 0;
      do {
        at = r_.below(c.bytes.size() - wire::kIcrcBytes);
      } while (at < 8);
      c.bytes[at] ^= static_cast<std::uint8_t>(1U << r_.below(8));
      c.bytes.back() = 1;
    }
    c.wire_length = c.bytes.size();
  }

  void put(int from, Packet p) {
    p.roce.bth.dest_qp = truth_.qpn[static_cast<std::size_t>(1 - from)];
    p.roce.bth.psn = static_cast<std::uint32_t>(p.psn) & wire::kPsnMask;
    // The first packets are spared: a stream must have started before its order can be checked.
    const bool spared = ++sent_[from] <= 3;
    if (!spared && r_.chance(o_.lost_before)) {
      ++out_.lost_before;
      return;
    }
    const std::int64_t before = from == 0 ? capture_at_ : kDelay - capture_at_;
    std::int64_t behind = kDelay - before;
    std::int64_t seen = now_ + before;
    if (!spared && r_.chance(o_.late)) seen += r_.between(1, 3);
    const bool dropped = !spared && r_.chance(o_.damaged_before);
    const bool bad = dropped || (!spared && r_.chance(o_.damaged_copy));
    capture(from, p, bad, seen);
    if (dropped) return;
    if (!spared && r_.chance(o_.lost_behind)) {
      ++out_.lost_behind;
      return;
    }
    wire_.push({seen + behind, order_++, from, std::move(p)});
  }

  void arrive() {
    while (!wire_.empty() && wire_.top().time <= now_) {
      InFlight f = wire_.top();
      wire_.pop();
      const int to = 1 - f.from;
      if (wire::opcode_info(f.packet.roce.bth.opcode).response) {
        response(to, f.packet);
      } else {
        request(to, f.packet);
      }
    }
  }

  // --- requester ---

  void post(int side, Work w) {
    Qp& q = qp_[side];
    const std::size_t n = w.kind == WrKind::kRead ? w.length : w.data.size();
    w.packets = n == 0 ? 1 : (n + o_.mtu - 1) / o_.mtu;
    w.psn = q.next;
    q.next += w.packets;
    if (q.works.empty()) q.progress = now_;
    q.works.push_back(std::move(w));
  }

  void transmit(int side) {
    Qp& q = qp_[side];
    for (std::uint64_t budget = r_.below(5); budget != 0; --budget) {
      if (!q.answers.empty() && r_.chance(0.6)) {
        Packet p = std::move(q.answers.front());
        q.answers.pop_front();
        put(side, std::move(p));
      } else if (now_ >= q.pause_until) {
        send_request(side);
      }
    }
    if (!q.works.empty() && q.unacked != q.send_at && now_ - q.progress > kTimeout) {
      q.send_at = q.unacked;
      q.progress = now_;
    }
  }

  void send_request(int side) {
    Qp& q = qp_[side];
    if (q.send_at >= q.next || q.send_at - q.unacked > kWindow) return;
    const auto w = std::find_if(q.works.begin(), q.works.end(),
                                [&](const Work& x) { return q.send_at < x.psn + x.packets; });
    if (w == q.works.end()) return;
    const std::size_t reads = static_cast<std::size_t>(
        std::count_if(q.works.begin(), w, [](const Work& x) { return x.kind == WrKind::kRead; }));
    if (w->kind == WrKind::kRead && reads >= kReadsInFlight) return;
    const std::uint64_t i = q.send_at - w->psn;
    Packet p;
    p.psn = q.send_at;
    p.role = w->role;
    p.call = w->call;
    p.work_end = w->psn + w->packets;
    const std::size_t at = static_cast<std::size_t>(i) * o_.mtu;
    if (w->kind == WrKind::kRead) {
      p.roce.bth.opcode = static_cast<std::uint8_t>(Opcode::kReadRequest);
      p.roce.reth = {w->va + at, w->rkey, static_cast<std::uint32_t>(w->length - at)};
      p.source_at = at;
      q.sources.push_back(w->source);
      p.source = &q.sources.back();
      q.send_at = p.work_end;
    } else {
      const bool first = i == 0;
      const bool last = i + 1 == w->packets;
      const bool send = w->kind == WrKind::kSend;
      Opcode op = first  ? (send ? Opcode::kSendFirst : Opcode::kWriteFirst)
                  : last ? (send ? Opcode::kSendLast : Opcode::kWriteLast)
                         : (send ? Opcode::kSendMiddle : Opcode::kWriteMiddle);
      if (first && last) op = send ? Opcode::kSendOnly : Opcode::kWriteOnly;
      if (last && w->invalidate) op = first ? Opcode::kSendOnlyInv : Opcode::kSendLastInv;
      p.roce.bth.opcode = static_cast<std::uint8_t>(op);
      p.roce.bth.ack_req = last;
      if (w->invalidate) p.roce.invalidate_key = w->rkey;
      p.roce.reth = {w->va, w->rkey, static_cast<std::uint32_t>(w->data.size())};
      p.payload.assign(w->data.begin() + static_cast<std::ptrdiff_t>(at),
                       w->data.begin() + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(at + o_.mtu, w->data.size())));
      ++q.send_at;
    }
    put(side, std::move(p));
  }

  void go_back(Qp& q, std::uint64_t psn) {
    if (now_ - q.went_back < 2 * kDelay + 2) return;
    q.went_back = now_;
    q.send_at = psn;
  }

  // Everything up to and including `psn` was acknowledged, except READs with missing responses.
  void acknowledged(int side, std::uint64_t psn) {
    Qp& q = qp_[side];
    while (!q.works.empty()) {
      Work& w = q.works.front();
      if (w.kind == WrKind::kRead) {
        if (w.received < w.packets) {
          if (psn >= w.psn + w.packets) go_back(q, w.psn + w.received);
          break;
        }
      } else if (w.psn + w.packets - 1 > psn) {
        q.unacked = std::max(q.unacked, psn + 1);
        break;
      }
      q.unacked = std::max(q.unacked, w.psn + w.packets);
      q.progress = now_;
      q.works.pop_front();
    }
    q.send_at = std::max(q.send_at, q.unacked);
  }

  void response(int side, const Packet& p) {
    Qp& q = qp_[side];
    if (p.role != Role::kReadResponse) {
      if (p.roce.aeth.is_ack()) {
        acknowledged(side, p.psn);
        return;
      }
      acknowledged(side, p.psn - 1);
      if (p.psn < q.unacked) return;
      go_back(q, p.psn);
      if (p.roce.aeth.is_rnr()) q.pause_until = now_ + 20;
      return;
    }
    const auto w = std::find_if(q.works.begin(), q.works.end(), [&](const Work& x) {
      return p.psn >= x.psn && p.psn < x.psn + x.packets;
    });
    if (w == q.works.end() || w->kind != WrKind::kRead) return;
    for (auto x = q.works.begin(); x != w; ++x) {
      if (x->kind == WrKind::kRead && x->received < x->packets) {
        go_back(q, x->psn + x->received);
        return;
      }
    }
    if (p.psn < w->psn + w->received) return;
    if (p.psn > w->psn + w->received) {
      go_back(q, w->psn + w->received);
      return;
    }
    ++w->received;
    q.progress = now_;
    const int call = w->call;
    const bool done = w->received == w->packets;
    const std::uint64_t psn = p.psn;
    if (w->psn != 0) acknowledged(side, w->psn - 1);
    if (!q.works.empty() && q.works.front().kind == WrKind::kRead) {
      q.unacked = std::max(q.unacked, psn + 1);
      q.send_at = std::max(q.send_at, q.unacked);
    }
    if (done) {
      acknowledged(side, psn);
      for (Job& job : jobs_) {
        if (job.call == call && job.reads_left != 0) --job.reads_left;
      }
    }
  }

  // --- responder ---

  void acknowledge(Qp& q, std::uint64_t psn, std::uint8_t syndrome) {
    Packet p;
    p.roce.bth.opcode = static_cast<std::uint8_t>(Opcode::kAck);
    p.roce.aeth = {syndrome, q.msn};
    p.psn = psn;
    if (!q.answers.empty() && q.answers.back().role == Role::kAck && syndrome < 0x20 &&
        q.answers.back().roce.aeth.is_ack()) {
      q.answers.back() = p;  // coalesced
    } else {
      q.answers.push_back(p);
    }
  }

  void answer_read(Qp& q, const Packet& request) {
    const std::uint64_t n = request.work_end - request.psn;
    for (std::uint64_t i = 0; i < n; ++i) {
      Packet p;
      const Opcode op = n == 1       ? Opcode::kReadRespOnly
                        : i == 0     ? Opcode::kReadRespFirst
                        : i + 1 == n ? Opcode::kReadRespLast
                                     : Opcode::kReadRespMiddle;
      p.roce.bth.opcode = static_cast<std::uint8_t>(op);
      p.roce.aeth = {0, q.msn};
      p.psn = request.psn + i;
      p.role = Role::kReadResponse;
      p.call = request.call;
      const std::size_t at = request.source_at + static_cast<std::size_t>(i) * o_.mtu;
      const Bytes& s = *request.source;
      p.payload.assign(
          s.begin() + static_cast<std::ptrdiff_t>(at),
          s.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(at + o_.mtu, s.size())));
      q.answers.push_back(std::move(p));
    }
  }

  void request(int side, const Packet& p) {
    Qp& q = qp_[side];
    const auto& info = wire::opcode_info(p.roce.bth.opcode);
    const bool read = p.role == Role::kRead;
    if (p.psn > q.expected) {
      if (!q.nak_sent) acknowledge(q, q.expected, 0x60);
      q.nak_sent = true;
      return;
    }
    if (p.psn < q.expected) {
      if (read) {
        answer_read(q, p);
      } else if (info.last) {
        acknowledge(q, q.expected - 1, 0x1f);
      }
      return;
    }
    if (info.send && info.first && r_.chance(o_.rnr)) {
      acknowledge(q, p.psn, 0x20 | 5);
      q.nak_sent = true;
      return;
    }
    q.nak_sent = false;
    if (read) {
      q.expected = p.work_end;
      q.msn = (q.msn + 1) & 0xffffff;
      answer_read(q, p);
      return;
    }
    ++q.expected;
    if (!info.last) return;
    q.msn = (q.msn + 1) & 0xffffff;
    acknowledge(q, p.psn, 0x1f);
    if (info.send) deliver(side, p);
  }

  // --- RPC ---

  void deliver(int side, const Packet& p) {
    if (p.role == Role::kCall) {
      for (Job& job : jobs_) {
        if (job.call == p.call) job.not_before = now_ + static_cast<std::int64_t>(r_.below(30));
      }
      for (Work& read : pending_reads_[p.call]) post(side, std::move(read));
      pending_reads_.erase(p.call);
      return;
    }
    --outstanding_[side];
    const auto grant = grant_of_.find(p.call);
    if (grant != grant_of_.end()) limit_[side] = grant->second;
    if (!o_.reuse_numbers) return;
    const TrueCall& call = out_.calls[static_cast<std::size_t>(p.call)];
    free_xids_[side].push_back(call.xid);
    auto& keys = rkeys_of_[p.call];
    free_rkeys_.insert(free_rkeys_.end(), keys.begin(), keys.end());
  }

  void applications(int side) {
    if (side == 0) {
      if (made_ < o_.calls && outstanding_[0] < limit_[0] && r_.chance(0.3)) {
        ++made_;
        make_call(0);
      }
      calls_done_ = made_ == o_.calls;
    } else if (o_.reverse && made_ > 2 && made_ < o_.calls &&
               outstanding_[1] < std::min(limit_[1], 2) && r_.chance(0.03)) {
      make_call(1);
    }
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      const int caller = out_.calls[static_cast<std::size_t>(job->call)].caller;
      if (caller == side || job->reads_left != 0 || job->not_before < 0 || job->not_before > now_) {
        ++job;
        continue;
      }
      for (Work& w : job->answer) post(side, std::move(w));
      job = jobs_.erase(job);
    }
  }

  std::uint32_t take(std::vector<std::uint32_t>& free, std::uint32_t& next) {
    if (!free.empty() && r_.chance(0.7)) {
      const std::uint32_t v = free.back();
      free.pop_back();
      return v;
    }
    return ++next;
  }

  // Cuts `length` bytes into one to three segments, none of them empty.
  std::vector<wire::Segment> segments(int call, std::uint32_t length) {
    std::vector<wire::Segment> list;
    const std::uint32_t n = std::min<std::uint32_t>(r_.between(1, 3), length);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t left = n - 1 - i;
      const std::uint32_t take_bytes = left == 0 ? length : r_.between(1, length - left);
      wire::Segment s;
      s.handle = take(free_rkeys_, next_rkey_);
      rkeys_of_[call].push_back(s.handle);
      s.length = take_bytes;
      // Few addresses, so that a reused handle names the same memory.
      s.offset = 0x7f0000000000ULL + r_.below(4) * 0x1000;
      list.push_back(s);
      length -= take_bytes;
    }
    return list;
  }

  std::uint32_t some_length() {
    return r_.between(24, r_.chance(0.5) ? 600 : std::min<std::uint32_t>(9 * o_.mtu, 12000));
  }

  // A Read chunk: advertised in the header, fetched by READs.
  void add_read_chunk(int call, std::uint32_t position, const Bytes& data, std::uint32_t index) {
    std::size_t at = 0;
    for (const wire::Segment& s : segments(call, static_cast<std::uint32_t>(data.size()))) {
      reads_.push_back({position, s});
      const std::uint32_t half = s.length > 8 && r_.chance(0.3) ? r_.between(1, s.length - 1) : 0;
      for (const auto& [from, to] : {std::pair{0U, half}, std::pair{half, s.length}}) {
        if (from == to) continue;
        Work w;
        w.kind = WrKind::kRead;
        w.role = Role::kRead;
        w.call = call;
        w.rkey = s.handle;
        w.va = s.offset + from;
        w.length = to - from;
        w.source.assign(data.begin() + static_cast<std::ptrdiff_t>(at + from),
                        data.begin() + static_cast<std::ptrdiff_t>(at + to));
        pending_reads_[call].push_back(std::move(w));
      }
      at += s.length;
    }
    truth(call).chunks.push_back({ChunkList::kRead, index, data});
  }

  // WRITEs that fill `offered` from its start; the segments as the Reply returns them.
  std::vector<wire::Segment> fill(int call, const std::vector<wire::Segment>& offered,
                                  const Bytes& data, std::vector<Work>& works) {
    std::vector<wire::Segment> returned = offered;
    std::size_t at = 0;
    for (wire::Segment& s : returned) {
      s.length = static_cast<std::uint32_t>(std::min<std::size_t>(s.length, data.size() - at));
      const std::uint32_t half = s.length > 8 && r_.chance(0.3) ? r_.between(1, s.length - 1) : 0;
      for (const auto& [from, to] : {std::pair{0U, half}, std::pair{half, s.length}}) {
        if (from == to) continue;
        Work w;
        w.kind = WrKind::kWrite;
        w.role = Role::kWrite;
        w.call = call;
        w.rkey = s.handle;
        w.va = s.offset + from;
        w.data.assign(data.begin() + static_cast<std::ptrdiff_t>(at + from),
                      data.begin() + static_cast<std::ptrdiff_t>(at + to));
        works.push_back(std::move(w));
      }
      at += s.length;
    }
    return returned;
  }

  TrueCall& truth(int call) { return out_.calls[static_cast<std::size_t>(call)]; }

  Bytes words() { return r_.bytes(4 * r_.between(10, 60)); }

  void make_call(int side) {
    const int call = static_cast<int>(out_.calls.size());
    const std::uint32_t xid = take(free_xids_[side], next_xid_);
    out_.calls.push_back({c_, side, xid, false, {}});
    ++outstanding_[side];
    Job job;
    job.call = call;
    job.not_before = -1;

    reads_.clear();
    const std::uint32_t program = side == 0 ? 400123 : 0x40000000;
    const bool chunks = o_.rdma && side == 0;
    const bool long_call = chunks && r_.chance(0.2);
    Bytes rpc = rpc_call(xid, program, 1, 1, words());
    std::uint32_t index = 0;
    if (long_call) {
      const Bytes more = r_.bytes(4 * r_.between(100, 900));
      rpc.insert(rpc.end(), more.begin(), more.end());
      add_read_chunk(call, 0, rpc, index++);
    }
    if (chunks && r_.chance(0.35)) {
      std::uint32_t position = 64;
      for (std::uint32_t n = r_.between(1, 2); n != 0; --n) {
        const Bytes data = r_.bytes((some_length() + 3) & ~3U);
        add_read_chunk(call, position, data, index++);
        position += static_cast<std::uint32_t>(data.size()) + 8;
      }
    }
    job.reads_left = pending_reads_[call].size();

    std::vector<std::vector<wire::Segment>> offered;
    if (chunks && r_.chance(0.4)) {
      for (std::uint32_t n = r_.between(1, 3); n != 0; --n) {
        offered.push_back(segments(call, some_length()));
      }
    }
    const bool long_reply = chunks && r_.chance(0.25);
    const bool offer_reply = chunks && (long_reply || r_.chance(0.1));
    Bytes results = rpc_reply(xid, words());
    std::vector<wire::Segment> reply_offered;
    if (offer_reply) {
      if (long_reply) {
        const Bytes more = r_.bytes(4 * r_.between(100, 900));
        results.insert(results.end(), more.begin(), more.end());
      }
      // The first segment must be long enough for an RPC header.
      reply_offered = segments(call, static_cast<std::uint32_t>(results.size()) + 200);
      reply_offered[0].length += 200;
    }

    wire::Header h = header(xid, kCredits);
    h.vers = o_.version;
    if (long_call) h.proc = wire::Proc::kNomsg;
    h.reads = reads_;
    std::vector<wire::WriteChunk> writes(offered.begin(), offered.end());
    h.writes = writes;
    if (offer_reply) h.reply = reply_offered;
    Work w;
    w.role = Role::kCall;
    w.call = call;
    w.data = message(h, long_call ? wire::Bytes{} : wire::Bytes(rpc));
    post(side, std::move(w));

    // The Reply.
    wire::Header a = header(xid, kCredits - static_cast<std::uint32_t>(r_.below(3)));
    a.vers = o_.version;
    a.direction = wire::MsgType::kReply;
    Work reply;
    reply.role = Role::kReply;
    reply.call = call;
    if (r_.chance(0.05)) {
      truth(call).error = true;
      a.proc = wire::Proc::kError;
      a.error = wire::RdmaErr::kChunk;
      reply.data = message(a);
    } else {
      std::vector<std::vector<wire::Segment>> returned;
      std::uint32_t chunk_index = 0;
      for (const auto& chunk : offered) {
        std::uint64_t room = 0;
        for (const wire::Segment& s : chunk) room += s.length;
        const Bytes data = r_.bytes(r_.chance(0.2) ? 0 : r_.below(room + 1));
        returned.push_back(fill(call, chunk, data, job.answer));
        truth(call).chunks.push_back({ChunkList::kWrite, chunk_index++, data});
      }
      std::vector<wire::WriteChunk> back(returned.begin(), returned.end());
      a.writes = back;
      std::vector<wire::Segment> reply_returned;
      if (long_reply) {
        reply_returned = fill(call, reply_offered, results, job.answer);
        truth(call).chunks.push_back({ChunkList::kReply, 0, results});
        a.reply = reply_returned;
        a.proc = wire::Proc::kNomsg;
      }
      const auto& keys = rkeys_of_[call];
      if (!keys.empty() && r_.chance(0.4)) {
        reply.invalidate = true;
        reply.rkey = keys[0];
        a.inv_handle = keys[0];
      }
      grant_of_[call] = static_cast<int>(a.credit);
      reply.data = message(a, long_reply ? wire::Bytes{} : wire::Bytes(results));
    }
    job.answer.push_back(std::move(reply));
    jobs_.push_back(std::move(job));
  }

  const TrafficOptions& o_;
  int c_;
  Traffic& out_;
  Random r_;
  std::int64_t now_;
  std::int64_t capture_at_ = 0;
  TrueConnection truth_;
  std::array<std::uint32_t, 2> comm_{};
  Qp qp_[2];
  int sent_[2] = {};
  std::priority_queue<InFlight> wire_;
  std::uint64_t order_ = 0;

  int made_ = 0;
  bool calls_done_ = false;
  int outstanding_[2] = {};
  int limit_[2] = {1, 1};
  std::map<int, int> grant_of_;  // by call: the credits that its Reply grants
  std::vector<Job> jobs_;
  std::map<int, std::vector<Work>> pending_reads_;
  std::vector<wire::ReadSegment> reads_;
  std::vector<std::uint32_t> free_xids_[2];
  std::vector<std::uint32_t> free_rkeys_;
  std::map<int, std::vector<std::uint32_t>> rkeys_of_;
  std::uint32_t next_xid_ = 0;
  std::uint32_t next_rkey_ = 0;
};

}  // namespace

Traffic make_traffic(const TrafficOptions& options) {
  Traffic t;
  std::int64_t end = 1;
  for (int c = 0; c < options.connections; ++c) {
    const std::int64_t start = options.one_after_other ? end : 1 + c * 15;
    end = Simulation(options, c, t, start).run();
  }
  std::stable_sort(
      t.packets.begin(), t.packets.end(),
      [](const CapturedPacket& a, const CapturedPacket& b) { return a.time_ns < b.time_ns; });
  return t;
}

void play(const Traffic& traffic, const std::function<void(const roce::PreparedPacket&)>& packet) {
  std::uint64_t frame = 0;
  for (const CapturedPacket& c : traffic.packets) {
    const TrueConnection& connection = traffic.connections[static_cast<std::size_t>(c.connection)];
    roce::PreparedPacket p;
    p.transport.src = connection.address[static_cast<std::size_t>(c.from)];
    p.transport.dst = connection.address[static_cast<std::size_t>(1 - c.from)];
    p.transport.data = c.bytes;
    p.transport.wire_length = c.wire_length;
    p.meta = {++frame, c.time_ns};
    // Checksums have tests of their own; here they would dominate the run time.
    roce::decode(p);
    p.icrc = c.cut_short  ? roce::IcrcCheck::kUnchecked
             : c.bad_icrc ? roce::IcrcCheck::kBad
                          : roce::IcrcCheck::kGood;
    packet(p);
  }
}

void play(const Traffic& traffic, roce::Tracker& tracker) {
  play(traffic, [&](const roce::PreparedPacket& packet) { tracker.packet(packet); });
  tracker.finish();
}

}  // namespace rpcrdma::model::testing
