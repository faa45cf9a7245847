// A hostile peer of a whole connection, and an arbitrary fabric: whatever arrives, completes, fails
// or is refused, each Call has one outcome, which is reported when the peer can no longer access
// its memory; each Call of the peer is answered or cancelled once; the number of Calls in flight is
// bounded, enough Receives are posted, and all memory is released.
//
// The input is a list of commands, a byte each and its arguments. XIDs and handles are relative to
// existing ones: guessing them is not the point.
#include "fuzz_check.h"
#include "fuzz_input.h"
#include "support/fake_fabric.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <work_id.h>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/wire/header.h>

namespace {

using namespace rpcrdma;
using namespace rpcrdma::protocol;
using fabric::Operation;
using fabric::Status;
using fuzz::Input;
using fuzz::require;

constexpr std::uint32_t kCredits = 4;
constexpr std::uint32_t kArea = 6000;
constexpr std::size_t kCalls = 8;  // of ours in flight
constexpr ChannelOptions kOptions{
    .versions = {1, 2}, .max_segment = 1500, .sends_invalidate = true, .accepts_invalidate = true};

// Reads the bytes, so that a sanitizer checks them.
void touch(wire::Bytes bytes) {
  volatile std::uint8_t sum = 0;
  for (const std::uint8_t b : bytes) sum = static_cast<std::uint8_t>(sum + b);
}

class Target : public RequesterOwner, public ResponderOwner {
 public:
  explicit Target(std::uint8_t how)
      : roles_(how % 3), rfc5666_(how / 3 % 2 == 1), offer_nothing_(how / 6 % 2 == 1) {
    connect();
  }
  ~Target() override = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void command(Input& in) {
    switch (in.byte() % 12) {
      case 0:
        arrive(in, raw(in));
        break;
      case 1:
        arrive(in, message(in));
        break;
      case 2:
        arrive(in, returned(in));
        break;
      case 3:
        complete(in);
        break;
      case 4:
        complete_invalidation(in.byte());
        break;
      case 5:
        call(in);
        break;
      case 6:
        reply(in);
        break;
      case 7:
        now_ += in.byte() * fabric::kMillisecond;
        channel_->expire(now_);
        break;
      case 8:
        disconnect();
        connect();
        break;
      case 9:
        refuse(in.byte());
        break;
      case 10:
        unmatched(in);
        break;
      default:
        responder_.grant(in.byte() % 8);
    }
    channel_->flush(now_);
    check();
  }

  void end() {
    disconnect();
    channel_.reset();
    require(pool_.in_use() == 0);
    requester_.close(now_);
    for (const Ours& c : ours_) require(!c.used);
    require(theirs_.empty());
    require(requester_.outstanding() == 0 && requester_.waiting() == 0);
    require(responder_.outstanding() == 0);
  }

  void on_outcome(const CallOutcome& o) override {
    require(o.cookie < ours_.size());
    Ours& c = ours_[o.cookie];
    require(c.used && c.xid == o.xid);
    c.used = false;
    touch(o.reply);
    for (const Placed& p : o.items) touch(p.bytes);
    for (std::size_t i = 0; i < o.result_bytes.size(); ++i) {
      require(o.result_bytes[i] <= c.result_length);
    }
    for (const auto& [handle, e] : fabric_.advertised) {
      require(e.data + e.length <= c.memory.data() || e.data >= c.memory.data() + c.memory.size());
    }
    if (o.status == CallStatus::kReplied) {
      require(o.reply.size() >= 8 && wire::load_be32(o.reply.data()) == o.xid);
    }
  }
  void on_call(const IncomingCall& c) override {
    require(theirs_.insert({c.id, false}).second);
    touch(c.stream);
    for (const Placed& p : c.items) touch(p.bytes);
    StreamReader r(c.stream, c.items, c.padding);
    r.u32();
    r.opaque();
    touch(r.opaque());
    if (at_once_) answer(c.id, 1, 100);
  }
  void on_sent(std::uint64_t id) override {
    const auto found = theirs_.find(id);
    require(found != theirs_.end() && found->second);
    theirs_.erase(found);
  }
  void on_cancelled(std::uint64_t id) override {
    const auto found = theirs_.find(id);
    require(found != theirs_.end() && !found->second);
    theirs_.erase(found);
  }

 private:
  struct Ours {
    bool used = false;
    std::uint32_t xid = 0;
    std::uint32_t result_length = 0;
    std::vector<std::uint8_t> memory;
    fabric::Memory registered;
  };

  void connect() {
    refuse_nothing();
    down_ = false;
    ChannelOptions options = kOptions;
    if (rfc5666_) {
      options.versions = {1, 1};
      options.terms.padding = {64, 20, 0};
      options.terms.max_reads = offer_nothing_ ? 2 : UINT32_MAX;
    }
    channel_ = std::make_unique<Channel>(pool_, options, roles_ != 1 ? &requester_ : nullptr,
                                         roles_ != 0 ? &responder_ : nullptr);
    require(channel_->begin(fabric_.connection()).has_value());
    channel_->established(now_);
    channel_->flush(now_);
  }
  void disconnect() {
    fabric_.advertised.clear();
    channel_->disconnected(now_);
    fabric_.posted.clear();
    fabric_.invalidated.clear();
    fabric_.receives.clear();
  }

  void check() {
    require(requester_.outstanding() <= 2 * kCredits);
    require(responder_.outstanding() <= kCredits);
    require(pool_.registered() <= pool_.limit());
    std::size_t handles = fabric_.advertised.size() + fabric_.invalidated.size();
    require(handles <= channel_->depths().handles);
    require(fabric_.posted.size() <= 100'000);
    if (channel_->failure().empty() && !down_ && !fabric_.refuse_receive) {
      require(fabric_.receives.size() == channel_->depths().receive);
    }
    for (const auto& p : fabric_.posted) {
      if (WorkId::decode(p.id).kind == WorkKind::kCallSend) last_call_ = p.bytes;
      require(p.bytes.size() <= kOptions.terms.inline_send_2 || p.operation == Operation::kWrite);
    }
  }

  // A message arrives in the next Receive; perhaps with a handle that it invalidates.
  void arrive(Input& in, const std::vector<std::uint8_t>& bytes) {
    if (fabric_.receives.empty()) return;
    const testing::FakeFabric::Receive r = fabric_.receives.front();
    fabric_.receives.pop_front();
    const std::size_t n = std::min<std::size_t>(bytes.size(), r.local.length);
    std::copy_n(bytes.begin(), n, r.local.data);
    fabric::Completion c;
    c.id = r.id;
    c.operation = Operation::kReceive;
    c.bytes = static_cast<std::uint32_t>(n);
    const std::uint8_t how = in.byte();
    if (how >= 250) c.has_immediate = true;
    if (how >= 200 && how < 250) {
      c.has_invalidated = true;
      c.invalidated = how;
      if (!fabric_.advertised.empty() && how < 240) {
        const auto e = std::next(fabric_.advertised.begin(),
                                 static_cast<std::ptrdiff_t>(how % fabric_.advertised.size()));
        c.invalidated = e->first;
        fabric_.advertised.erase(e);
      }
    }
    channel_->completed(c, now_);
    // Flush the batch, or each message.
    if (how % 2 == 0) channel_->flush(now_);
  }

  static std::vector<std::uint8_t> raw(Input& in) {
    const wire::Bytes b = in.take(in.byte());
    return {b.begin(), b.end()};
  }
  static void change(Input& in, std::vector<std::uint8_t>& bytes) {
    for (unsigned n = in.byte() % 4; n > 0 && !bytes.empty(); --n) {
      const std::size_t at = in.byte() * std::size_t{2};
      bytes[at % bytes.size()] ^= in.byte();
    }
  }
  std::uint32_t some_xid(std::uint8_t which) {
    const Ours& c = ours_[which % kCalls];
    return which < 128 && c.used ? c.xid : which;
  }
  static void put(std::vector<std::uint8_t>& out, std::uint32_t v) {
    out.resize(out.size() + 4);
    wire::store_be32(out.data() + out.size() - 4, v);
  }

  // Generates a message with lists of small numbers.
  std::vector<std::uint8_t> message(Input& in) {
    std::vector<wire::ReadSegment> reads(in.byte() % 6);
    for (wire::ReadSegment& r : reads) {
      r.position = in.byte() % 64 * 4U;
      r.target = {in.byte(), in.byte() * 40U, in.byte()};
    }
    std::vector<std::vector<wire::Segment>> chunks(in.byte() % 6);
    for (auto& chunk : chunks) {
      chunk.resize(in.byte() % 4);
      for (wire::Segment& s : chunk) s = {in.byte(), in.byte() * 20U, in.byte()};
    }
    wire::Header h;
    h.xid = some_xid(in.byte());
    h.credit = in.byte() % 8;
    const std::uint8_t proc = in.byte();
    h.proc = static_cast<wire::Proc>(proc % 5);
    if (proc >= 250) h.vers = 2;
    h.align = proc;
    h.thresh = proc / 8U;
    h.error = proc % 2 == 0 ? wire::RdmaErr::kVers : wire::RdmaErr::kChunk;
    h.reads = reads;
    std::optional<std::vector<wire::Segment>> reply;
    if (!chunks.empty() && proc % 3 == 0) {
      reply = std::move(chunks.back());
      chunks.pop_back();
      h.reply = *reply;
    }
    std::vector<wire::WriteChunk> writes(chunks.begin(), chunks.end());
    h.writes = writes;
    std::vector<std::uint8_t> out(wire::encoded_size(h));
    if (!wire::encode_header(h, out)) return {};
    const std::uint8_t stream = in.byte();
    if (stream % 4 != 0) {
      put(out, h.xid);
      put(out, stream % 4 == 1 ? 0 : 1);
      const wire::Bytes more = in.take(stream / 4);
      out.insert(out.end(), more.begin(), more.end());
    }
    change(in, out);
    return out;
  }

  // Generates the Reply to the latest Call, possibly modified.
  std::vector<std::uint8_t> returned(Input& in) {
    const auto call = wire::decode_header(last_call_);
    if (!call) return {};
    const std::uint8_t how = in.byte();
    std::vector<std::vector<wire::Segment>> chunks;
    for (const wire::WriteChunkView view : call->writes) {
      auto& chunk = chunks.emplace_back(view.begin(), view.end());
      std::uint32_t left = in.byte() * 10U;
      for (wire::Segment& s : chunk) {
        s.length = std::min(s.length, left);
        left -= s.length;
      }
    }
    const std::vector<wire::WriteChunk> writes(chunks.begin(), chunks.end());
    std::vector<wire::Segment> reply;
    wire::Header h;
    h.xid = call->xid;
    h.credit = in.byte() % 8;
    h.writes = writes;
    if (call->reply && how % 2 == 0) {
      h.proc = wire::Proc::kNomsg;
      reply.assign(call->reply->begin(), call->reply->end());
      const auto e = fabric_.advertised.find(reply[0].handle);
      if (e != fabric_.advertised.end() && e->second.length >= 8) {
        wire::store_be32(e->second.data, h.xid);
        wire::store_be32(e->second.data + 4, 1);
      }
      h.reply = reply;
    }
    std::vector<std::uint8_t> out(wire::encoded_size(h));
    if (!wire::encode_header(h, out)) return {};
    if (h.proc == wire::Proc::kMsg) {
      put(out, h.xid);
      put(out, 1);
    }
    if (how >= 64) change(in, out);
    return out;
  }

  static Status some_status(std::uint8_t b) {
    return b < 240 ? Status::kSuccess : b < 248 ? Status::kFlushed : Status::kRemoteAccess;
  }

  // Completes the oldest posted request.
  void complete(Input& in) {
    if (fabric_.posted.empty()) return;
    const testing::FakeFabric::Posted p = fabric_.posted.front();
    fabric_.posted.erase(fabric_.posted.begin());
    const Status status = some_status(in.byte());
    if (p.operation == Operation::kRead) {
      for (const fabric::Slice& s : p.local) {
        const wire::Bytes b = in.take(8);
        std::fill_n(s.data, s.length, std::uint8_t{0});
        std::copy_n(b.begin(), std::min<std::size_t>(b.size(), s.length), s.data);
      }
    }
    if (!p.signaled && status == Status::kSuccess) return;
    finish(p.id, p.operation, status);
  }
  void complete_invalidation(std::uint8_t how) {
    if (fabric_.invalidated.empty()) return;
    const std::uint64_t id = fabric_.invalidated.front().id;
    fabric_.invalidated.erase(fabric_.invalidated.begin());
    finish(id, Operation::kInvalidate, some_status(how));
  }
  void finish(std::uint64_t id, Operation operation, Status status) {
    fabric::Completion c;
    c.id = id;
    c.operation = operation;
    c.status = status;
    if (status == Status::kFlushed) down_ = true;
    channel_->completed(c, now_);
  }
  // Completes a request that was never posted.
  void unmatched(Input& in) {
    const std::uint8_t kind = in.byte();
    if (kind % 12 == static_cast<std::uint8_t>(WorkKind::kReceive)) return;
    WorkId id{static_cast<WorkKind>(kind % 12), in.byte() % 16U, 0};
    finish(id.encode(), Operation::kSend, some_status(in.byte()));
  }

  void call(Input& in) {
    const std::uint64_t cookie = in.byte() % kCalls;
    Ours& c = ours_[cookie];
    const std::uint8_t shape = in.byte();
    const std::uint32_t length = in.byte() * 12U;
    if (c.used) return;
    if (c.memory.empty()) {
      c.memory.resize(3 * kArea);
      c.registered = fabric_.register_memory(c.memory).value();
    }
    std::vector<Piece> message{{wire::Bytes(head_), nullptr, false}};
    for (unsigned i = 0; i < shape % 4U; ++i) {
      message.push_back({wire::Bytes(c.memory).subspan(i * 100, length),
                         (shape & 4U) != 0 ? &c.registered : nullptr, (shape & 8U) != 0});
    }
    c.result_length = (shape & 16U) != 0 ? length : 1400;
    const std::array<ResultSpace, 2> results{
        ResultSpace{c.memory.data() + kArea, c.result_length, &c.registered},
        ResultSpace{c.memory.data() + 2 * kArea, c.result_length, &c.registered}};
    CallSpec spec;
    spec.message = message;
    spec.results = std::span(results).first((shape >> 5U) % 3U);
    spec.max_reply = shape >= 128 ? 4000 : 64;
    spec.timeout = shape % 16 == 0 ? 50 * fabric::kMillisecond : fabric::kNever;
    spec.cookie = cookie;
    const auto xid = requester_.call(spec, now_);
    if (!xid) return;
    c.used = true;
    c.xid = *xid;
  }

  void reply(Input& in) {
    const std::uint8_t which = in.byte();
    const std::uint8_t shape = in.byte();
    const std::uint32_t length = in.byte() * 8U;
    if (which == 255) at_once_ = !at_once_;
    if (theirs_.empty()) return;
    answer(std::next(theirs_.begin(), static_cast<std::ptrdiff_t>(which % theirs_.size()))->first,
           shape, length);
  }
  void answer(std::uint64_t id, std::uint8_t shape, std::uint32_t length) {
    std::vector<Piece> message{{wire::Bytes(head_), nullptr, false}};
    for (unsigned i = 0; i < shape % 4U; ++i) {
      message.push_back({wire::Bytes(source_).first(length),
                         (shape & 4U) != 0 ? &source_memory_ : nullptr, (shape & 8U) != 0});
    }
    const auto found = theirs_.find(id);
    const bool answered = found->second;
    const auto done = responder_.reply(id, message, now_);
    require(!answered || !done);
    if (done) {
      found->second = true;
    } else if (!answered) {
      theirs_.erase(found);
    }
  }

  void refuse_nothing() {
    fabric_.refuse_send.reset();
    fabric_.refuse_advertise.reset();
    fabric_.refuse_invalidate.reset();
    fabric_.refuse_receive.reset();
    fabric_.send_room = SIZE_MAX;
    fabric_.advertise_room = SIZE_MAX;
  }
  void refuse(std::uint8_t what) {
    refuse_nothing();
    const auto code = static_cast<fabric::Errc>(what / 8 % 4);
    if (code == fabric::Errc::kNotConnected) down_ = true;
    fabric_.advertise_room = what / 32;
    switch (what % 8) {
      case 0:
        fabric_.refuse_send = code;
        break;
      case 1:
        fabric_.refuse_advertise = code;
        break;
      case 2:
        fabric_.refuse_invalidate = code;
        break;
      case 3:
        fabric_.refuse_receive = code;
        break;
      case 4:
      case 5:
        fabric_.send_room = what / 8;
        break;
      default:
        break;
    }
  }

  const unsigned roles_;  // 0: requester, 1: responder, 2: both
  const bool rfc5666_;    // its profile
  const bool offer_nothing_;
  testing::FakeFabric fabric_;
  // Too little memory for everything.
  MemoryPool pool_{fabric_, {.slab_bytes = 1U << 14, .limit = 1U << 16}};
  Requester requester_{*this,
                       {.credits = kCredits,
                        .max_calls = kCalls,
                        .rfc5666 = rfc5666_,
                        .offer_nothing = offer_nothing_}};
  Responder responder_{*this,
                       {.credits = kCredits,
                        .max_chunk_bytes = 20'000,
                        .rfc5666 = rfc5666_,
                        .done_timeout = 200 * fabric::kMillisecond,
                        .max_advertised_bytes = 3000,
                        .max_pulled_bytes = 10'000,
                        .patience = 300 * fabric::kMillisecond}};
  std::unique_ptr<Channel> channel_;
  fabric::Time now_ = 0;
  bool down_ = false;  // the connection may have ended
  bool at_once_ = false;
  std::vector<Ours> ours_ = std::vector<Ours>(kCalls);
  std::map<std::uint64_t, bool> theirs_;  // by id; answered
  std::vector<std::uint8_t> last_call_;
  std::vector<std::uint8_t> head_ = std::vector<std::uint8_t>(16);
  std::vector<std::uint8_t> source_ = std::vector<std::uint8_t>(2048);
  fabric::Memory source_memory_ = {source_.data(), source_.size(), 9};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Target target(in.byte());
  while (!in.empty()) target.command(in);
  target.end();
  return 0;
}
