// TCP segments of hostile peers: the reader of iWARP keeps its bounds, and its events are sound.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <rpcrdma/iwarp/reader.h>

namespace {

using namespace rpcrdma;
using fuzz::require;

class Sound final : public roce::Listener {
 public:
  void on_open(const roce::Connection& c) override { require(open_.insert(c.index).second); }
  void on_close(const roce::Connection& c) override { require(closed_.insert(c.index).second); }
  void on_send(const roce::Connection& c, const roce::SendMessage& m) override {
    live(c);
    require(m.sender < 2 && m.data.size() <= m.wire_length);
    require(!m.complete || m.data.size() == m.wire_length);
  }
  void on_operation(const roce::Connection& c, roce::Operation& op) override {
    live(c);
    op.want_data = true;
    op.tag = ++tags_;
    operations_[op.tag] = op.length;
  }
  void on_data(const roce::OperationData& e) override {
    const auto at = operations_.find(e.op.tag);
    require(at != operations_.end());
    require(e.offset <= at->second && e.data.size() <= at->second - e.offset);
  }
  void on_operation_end(const roce::Connection& c, const roce::Operation& op) override {
    live(c);
    require(operations_.erase(op.tag) == 1);
    require(op.bytes <= op.length && (!op.complete || op.bytes == op.length));
  }
  void end() const {
    require(operations_.empty());
    for (const std::uint32_t index : open_) require(closed_.contains(index));
  }

 private:
  void live(const roce::Connection& c) const {
    require(open_.contains(c.index) && !closed_.contains(c.index));
  }

  std::set<std::uint32_t> open_, closed_;
  std::map<std::uint64_t, std::uint32_t> operations_;
  std::uint64_t tags_ = 0;
};

}  // namespace

// A command is a byte of flags, the distance of the sequence number from the expected one, and
// a payload. The fuzzer knows the sequence numbers, or it would hardly get beyond TCP.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  Sound sound;
  roce::ConnectionNumbers numbers;
  iwarp::Reader reader(sound, numbers);
  std::array<std::uint32_t, 2> next{0xfffffff0U, 1};
  std::uint64_t frame = 0;
  while (!input.empty()) {
    const std::uint8_t flags = input.byte();
    const std::size_t from = flags & 1U;
    const auto distance = static_cast<std::int8_t>((flags & 2U) != 0 ? input.byte() : 0);
    std::size_t length = input.byte();
    if ((flags & 4U) != 0) length |= std::size_t{input.byte()} << 8U;
    const wire::Bytes payload = input.take(length);
    const std::uint32_t sequence = next[from] + static_cast<std::uint32_t>(distance * 16);
    const std::uint32_t acknowledged = next[1 - from];
    std::vector<std::uint8_t> tcp(20);
    const auto put = [&](std::size_t at, std::uint32_t v) {
      for (int i = 0; i < 4; ++i) tcp[at++] = static_cast<std::uint8_t>(v >> (24 - 8 * i));
    };
    put(0, from == 0 ? 0x9c404e51U : 0x4e519c40U);
    put(4, sequence);
    put(8, acknowledged);
    tcp[12] = 0x50;
    // SYN, FIN and RST in one command of eight each.
    const std::uint8_t kind = flags >> 5U;
    tcp[13] = static_cast<std::uint8_t>(0x10 | (kind == 1 ? 2 : kind == 2 ? 1 : kind == 3 ? 4 : 0));
    tcp.insert(tcp.end(), payload.begin(), payload.end());
    capture::IpPacket ip;
    const std::array<std::uint8_t, 4> a{10, 0, 0, 1}, b{10, 0, 0, 2};
    ip.src = capture::make_ipv4((from == 0 ? a : b).data());
    ip.dst = capture::make_ipv4((from == 0 ? b : a).data());
    ip.protocol = 6;
    ip.payload = tcp;
    ip.wire_payload = tcp.size() + ((flags & 8U) != 0 ? input.byte() : 0U);
    ++frame;
    (void)reader.packet(ip, {frame, static_cast<std::int64_t>(frame) * 1000});
    if ((flags & 16U) != 0) reader.skip();
    const bool one = kind == 1 || kind == 2;
    next[from] = sequence + static_cast<std::uint32_t>(ip.wire_payload - 20) + (one ? 1U : 0U);
    require(reader.held_bytes() <= (16U << 20));
  }
  reader.finish();
  sound.end();
  return 0;
}
