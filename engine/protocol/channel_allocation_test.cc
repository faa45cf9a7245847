// In steady state no Call allocates memory, however its parts are transferred, with and without a
// trace reader.
#include "support/counting_new.h"
#include "support/sim_host.h"

#include <gtest/gtest.h>

#include <rpcrdma/protocol/channel.h>
#include <rpcrdma/protocol/stream_reader.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::protocol {
namespace {

using wire::testing::allocations_in;

constexpr std::uint16_t kPort = 20049;

class ChannelPair : public RequesterOwner, public ResponderOwner {
 public:
  explicit ChannelPair(trace::Tracer* tracer = nullptr)
      : client_options_{.max_segment = 5000, .tracer = tracer, .connection = 1},
        server_options_{.max_segment = 5000, .tracer = tracer, .connection = 2} {
    EXPECT_TRUE(server_host_.listen(kPort, 0));
    client_ = std::make_unique<Channel>(client_pool_, client_options_, &requester_, nullptr);
    fabric::ConnectionOptions o;
    o.depths = client_->depths();
    auto connection = client_host_.connect(fabric::make_ipv4(10, 0, 0, 2), kPort, o).value();
    EXPECT_TRUE(client_->begin(std::move(connection)));
    client_memory_ = client_host_.register_memory(client_bytes_).value();
    server_memory_ = server_host_.register_memory(server_bytes_).value();
    run();
  }
  ~ChannelPair() override {
    client_.reset();
    server_.reset();
  }
  ChannelPair(const ChannelPair&) = delete;
  ChannelPair& operator=(const ChannelPair&) = delete;

  void on_outcome(const CallOutcome& o) override {
    if (o.status == CallStatus::kReplied) ++replied;
  }
  void on_call(const IncomingCall& call) override {
    StreamReader r(call.stream, call.items);
    r.u32();
    r.u32();
    read += r.opaque().size();
    const Piece data{{server_bytes_.data(), kData}, &server_memory_, true};
    const Piece copied{{server_bytes_.data() + kData, kData}, nullptr, true};
    const std::array<Piece, 3> message{Piece{reply_head_, nullptr, false}, data, copied};
    if (!responder_.reply(call.id, message, 0)) std::abort();
  }
  void on_sent(std::uint64_t) override { ++sent; }
  void on_cancelled(std::uint64_t) override {}

  // Several Calls of each kind.
  void round() {
    for (int i = 0; i < 6; ++i) {
      call(i % 2 == 0, true);
      call(i % 2 == 0, false);
      run();
    }
    call(true, true);
    run();
  }
  void run() {
    for (bool any = true; any;) {
      any = take(client_host_, client_);
      if (take(server_host_, server_)) any = true;
      if (client_) client_->flush(0);
      if (server_) server_->flush(0);
      if (carry(client_host_, server_host_)) any = true;
      if (carry(server_host_, client_host_)) any = true;
    }
  }

  std::uint64_t replied = 0;
  std::uint64_t sent = 0;
  std::uint64_t read = 0;

 private:
  static constexpr std::size_t kData = 6000;

  static soft::AdapterOptions adapter(std::uint8_t last) {
    soft::AdapterOptions o;
    o.address = fabric::make_ipv4(10, 0, 0, last);
    o.ack_hold = 0;  // time does not advance
    return o;
  }

  void call(bool registered, bool with_results) {
    const fabric::Memory* const memory = registered ? &client_memory_ : nullptr;
    const std::array<Piece, 2> message{Piece{head_, nullptr, false},
                                       Piece{{client_bytes_.data(), kData}, memory, true}};
    const std::array<ResultSpace, 2> results{
        ResultSpace{client_bytes_.data() + kData, kData, &client_memory_},
        ResultSpace{client_bytes_.data() + 2 * kData, kData, &client_memory_}};
    CallSpec spec;
    spec.message = message;
    if (with_results) spec.results = results;
    spec.max_reply = with_results ? 100 : 2 * kData + 100;
    spec.timeout = fabric::kSecond;
    if (!requester_.call(spec, 0)) std::abort();
  }

  bool take(testing::SimHost& host, std::unique_ptr<Channel>& channel) {
    bool any = false;
    std::array<fabric::Completion, 16> done;
    while (const std::size_t n = host.poll(done)) {
      any = true;
      for (std::size_t i = 0; i < n; ++i) channel->completed(done[i], 0);
    }
    if (!host.adapter.anything_to_poll()) return any;
    fabric::Event event;
    while (host.poll(event)) {
      if (event.type == fabric::EventType::kEstablished) {
        channel->established(0);
      } else if (event.type == fabric::EventType::kRequest) {
        channel = std::make_unique<Channel>(server_pool_, server_options_, nullptr, &responder_);
        fabric::Connection& c = *event.request;
        EXPECT_TRUE(channel->begin(std::move(event.request)));
        fabric::ConnectionOptions o;
        o.depths = channel->depths();
        EXPECT_TRUE(c.accept(o));
      }
    }
    return true;
  }

  bool carry(testing::SimHost& from, testing::SimHost& to) {
    bool any = false;
    while (from.transmit(out_, 0)) {
      any = true;
      std::size_t n = out_.header_bytes;
      std::memcpy(packet_.data(), out_.header.data(), n);
      for (std::size_t i = 0; i < out_.payload_parts; ++i) {
        std::memcpy(packet_.data() + n, out_.payload[i].data(), out_.payload[i].size());
        n += out_.payload[i].size();
      }
      const soft::Path path{out_.path->remote, out_.path->local, 4791};
      to.receive(path, wire::Bytes(packet_).first(n + out_.pad_bytes), 0);
    }
    return any;
  }

  const ChannelOptions client_options_, server_options_;
  soft::SimNetwork net_{1};
  testing::SimHost client_host_{net_, adapter(1), 1, {}};
  testing::SimHost server_host_{net_, adapter(2), 2, {}};
  MemoryPool client_pool_{client_host_, {}};
  MemoryPool server_pool_{server_host_, {}};
  Requester requester_{*this, {.credits = 8}};
  Responder responder_{*this, {.credits = 8}};
  std::unique_ptr<Channel> client_;
  std::unique_ptr<Channel> server_;
  std::vector<std::uint8_t> client_bytes_ = std::vector<std::uint8_t>(3 * kData);
  std::vector<std::uint8_t> server_bytes_ = std::vector<std::uint8_t>(2 * kData);
  fabric::Memory client_memory_;
  fabric::Memory server_memory_;
  // XID, msg_type, and the count of the opaque that follows.
  std::vector<std::uint8_t> head_{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kData >> 8, kData & 0xff};
  std::vector<std::uint8_t> reply_head_{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, kData >> 8, kData & 0xff};
  soft::OutPacket out_;
  std::array<std::uint8_t, 4200> packet_{};
};

void expect_none(ChannelPair& pair) {
  for (int i = 0; i < 20; ++i) pair.round();
  const std::uint64_t before = pair.replied;
  EXPECT_EQ(before, 20U * 13);
  EXPECT_EQ(pair.sent, before);
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 50; ++i) pair.round();
            }),
            0U);
  EXPECT_EQ(pair.replied - before, 50U * 13);
  EXPECT_EQ(pair.read, 70U * 13 * 6000);
}

TEST(ChannelAllocation, NoneForACall) {
  ChannelPair pair;
  expect_none(pair);
}

TEST(ChannelAllocation, NorWithAListener) {
  trace::Tracer tracer(0, 1U << 16);
  tracer.listen(true);
  ChannelPair pair(&tracer);
  expect_none(pair);
  EXPECT_GT(tracer.ring().emitted(), 10'000U);
}

}  // namespace
}  // namespace rpcrdma::protocol
