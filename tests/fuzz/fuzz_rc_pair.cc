// A hostile peer of a queue pair: whatever it sends, only memory advertised for writing and posted
// Receive buffers are written; only memory advertised for reading and posted sends leave; each work
// request completes at most once.
//
// The input is a list of commands, a byte each and its arguments. PSNs are relative to the expected
// one, and small handles select existing ones: guessing them is not the point.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <algorithm>
#include <array>
#include <vector>

#include <rc/queue_pair.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

namespace {

using namespace rpcrdma;
using namespace rpcrdma::soft;
using fabric::Access;
using fabric::Operation;
using fuzz::Input;
using fuzz::require;

constexpr std::uint32_t kTheirPsn = 0xfffff0;
constexpr std::uint32_t kOurPsn = 0xfffff8;
constexpr std::size_t kArea = 1024;
// Every second area is a guard.
enum Area : std::size_t { kWritable = 1, kReadable = 3, kReceives = 5, kSource = 7, kSink = 9 };
constexpr std::size_t kAreas = 11;

class Target {
 public:
  Target() : memory_bytes_(kAreas * kArea, 0x5a) {
    whole_ = memory_.register_memory(memory_bytes_).value();
    QpParameters p;
    p.remote_qpn = 0x22;
    p.send_psn = kOurPsn;
    p.receive_psn = kTheirPsn;
    p.mtu = 256;
    p.window = 8;
    p.read_packets = 2;
    p.initiator_depth = p.responder_resources = 2;
    p.ack_timeout = fabric::kMillisecond;
    p.rnr_retry_count = 2;
    p.retry_count = 2;
    qp_.connect({}, p);
    others_.connect({}, p);
    regions_[0] = advertise(qp_, kWritable, Access::kRemoteWrite);
    regions_[1] = advertise(qp_, kReadable, Access::kRemoteRead);
    regions_[2] = advertise(
        others_, 0,
        Access::kRemoteRead | Access::kRemoteWrite);  // of another connection, over a guard
  }

  void command(Input& in) {
    switch (in.byte() & 7U) {
      case 0:
      case 1:
        return packet(in);
      case 2:
        return send(in);
      case 3:
        return receive(in);
      case 4:
        return transmit(in.byte());
      case 5:
        now_ = qp_.deadline() == fabric::kNever ? now_ : qp_.deadline();
        qp_.expire(now_);
        return;
      case 6: {
        const std::size_t which = in.byte() % 2;
        const std::uint32_t handle = regions_[which].handle;
        if (qp_.invalidate(0, handle)) ++posted_;
        // Invalidated before the next one, so that slots are reused.
        const auto e = qp_.advertise(whole_, area(which == 0 ? kWritable : kReadable), kArea,
                                     which == 0 ? Access::kRemoteWrite : Access::kRemoteRead);
        if (e) regions_[which] = *e;
        return;
      }
      default:
        take();
    }
  }

  void end() {
    transmit(255);
    qp_.fail("the input is over");
    take();
    require(completed_ <= posted_);
    for (std::size_t a = 0; a < kAreas; ++a) {
      if (a == kWritable || a == kReceives || a == kSink) continue;
      require(std::all_of(area(a), area(a) + kArea, [](std::uint8_t b) { return b == 0x5a; }));
    }
    require(others_.state() == QpState::kReady);
  }

 private:
  std::uint8_t* area(std::size_t n) { return memory_bytes_.data() + n * kArea; }
  fabric::MemoryRegion advertise(QueuePair& qp, std::size_t where, Access access) {
    return qp.advertise(whole_, area(where), kArea, access).value();
  }

  // Opcode, flags, PSN, length of extension headers and of payload, then the extension headers.
  void packet(Input& in) {
    const std::uint8_t opcode = in.byte();
    const std::uint8_t flags = in.byte();
    const auto delta = static_cast<std::int8_t>(in.byte());
    const std::size_t headers = in.byte() % 48;
    const std::size_t payload = in.byte() * std::size_t{5};
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    std::uint32_t& base = info.response ? our_psn_ : their_psn_;
    const std::uint32_t psn = (base + static_cast<std::uint32_t>(delta)) & wire::kPsnMask;
    if (delta >= 0) base = psn + 1;
    std::vector<std::uint8_t> b = {opcode,
                                   static_cast<std::uint8_t>(flags & 0xb0),
                                   0xff,
                                   0xff,
                                   0,
                                   0,
                                   0,
                                   0x11,
                                   static_cast<std::uint8_t>(flags << 7),
                                   static_cast<std::uint8_t>(psn >> 16),
                                   static_cast<std::uint8_t>(psn >> 8),
                                   static_cast<std::uint8_t>(psn)};
    const wire::Bytes raw = in.take(headers);
    b.insert(b.end(), raw.begin(), raw.end());
    if (info.reth && b.size() >= wire::kBthBytes + 12) {
      const std::uint32_t which = wire::load_be32(&b[wire::kBthBytes + 8]);
      if (which < regions_.size()) {
        const fabric::MemoryRegion& e = regions_[which];
        wire::store_be32(&b[wire::kBthBytes + 8], e.handle);
        wire::store_be64(&b[wire::kBthBytes], wire::load_be64(&b[wire::kBthBytes]) + e.offset);
      }
    }
    if (info.ieth && b.size() >= wire::kBthBytes + 4) {
      const std::uint32_t which = wire::load_be32(&b[wire::kBthBytes]);
      if (which < regions_.size()) {
        wire::store_be32(&b[wire::kBthBytes], regions_[which].handle);
      }
    }
    b.insert(b.end(), payload + wire::kIcrcBytes, 0xee);
    const auto packet = wire::decode_roce(b, b.size());
    if (packet) qp_.receive(*packet, now_);
  }

  void send(Input& in) {
    fabric::SendRequest r;
    r.operation = static_cast<Operation>(in.byte() % 6);
    const std::size_t length = in.byte() * std::size_t{4};
    std::uint8_t* const at = area(r.operation == Operation::kRead ? kSink : kSource);
    const std::array<fabric::Slice, 2> local = {
        fabric::Slice{at, static_cast<std::uint32_t>(length / 3), whole_.local_key},
        fabric::Slice{at + length / 3, static_cast<std::uint32_t>(length - length / 3),
                      whole_.local_key}};
    r.local = local;
    r.fence = in.byte() % 4 == 0;
    if (qp_.post_send(r)) ++posted_;
  }

  void receive(Input& in) {
    const auto length = static_cast<std::uint32_t>(in.byte() * 4);
    const fabric::Slice s = {area(kReceives), length, whole_.local_key};
    if (qp_.post_receive({1, {&s, 1}})) ++posted_;
  }

  void transmit(std::size_t packets) {
    OutPacket out;
    for (; packets > 0 && qp_.transmit(out, now_); --packets) {
      for (std::size_t i = 0; i < out.payload_parts; ++i) {
        const wire::Bytes part = out.payload[i];
        require(within(part, kReadable) || within(part, kSource));
      }
    }
  }

  bool within(wire::Bytes part, std::size_t where) {
    return part.data() >= area(where) && part.data() + part.size() <= area(where) + kArea;
  }

  void take() {
    std::array<fabric::Completion, 16> done;
    while (const std::size_t n = completions_.poll(done)) completed_ += n;
  }

  MemoryTable memory_;
  fabric::Completions completions_;
  std::vector<std::uint8_t> memory_bytes_;
  fabric::Memory whole_;
  QueuePair qp_{0x11, 1, {8, 8, 8}, memory_, completions_};
  QueuePair others_{0x12, 2, {8, 8, 8}, memory_, completions_};
  std::array<fabric::MemoryRegion, 3> regions_;
  std::uint32_t their_psn_ = kTheirPsn;
  std::uint32_t our_psn_ = kOurPsn;
  fabric::Time now_ = 0;
  std::size_t posted_ = 0;
  std::size_t completed_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Target target;
  while (!in.empty()) target.command(in);
  target.end();
  return 0;
}
