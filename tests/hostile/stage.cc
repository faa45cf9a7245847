// The simulated stage: our endpoint, the scripted peer and a well-behaved client, driven together.
#include "stage.h"

#include "support/trace_builder.h"
#include "words.h"

#include <algorithm>

namespace rpcrdma::hostile {

namespace {

constexpr fabric::Time kFirstGap = 50 * fabric::kMicrosecond;
constexpr fabric::Time kMostGap = 5 * fabric::kSecond;
constexpr std::uint64_t kOperationIds = 1000;

}  // namespace

soft::AdapterOptions adapter_at(const fabric::Address& address, trace::Tracer* tracer) {
  soft::AdapterOptions options;
  options.address = address;
  options.tracer = tracer;
  return options;
}

// ----- OtherClient

OtherClient::OtherClient(Network& network, testing::LoopHost& host, const fabric::Address& server)
    : network_(network), echo_(host, [&] {
        service::ClientOptions options;
        options.server = server;
        options.version.versions = {1, 1};
        return options;
      }()) {}

void OtherClient::hurry() {
  gap_ = 0;
  next_ = network_.clock;
}

void OtherClient::turn() {
  if (finishing_ || network_.clock < next_ || echo_.done.size() != echo_.made) return;
  gap_ = std::clamp(2 * gap_, kFirstGap, kMostGap);
  next_ = network_.clock + gap_;
  echo_.call({service::echo::Proc::kEchoBulk, 3000, 0, ++seed_, 0});
}

void OtherClient::finish() {
  finishing_ = true;
  echo_.client().finish();
}

// ----- Stage

Stage::Stage() : peer_(std::make_unique<Host>(network_.net, adapter_at(kBad), 3), 2U << 20) {
  tracer_.listen(true);
  network_.turns.emplace_back([this] { turn(); });
}

void Stage::turn() {
  peer_.step();
  for (; done_ < peer_.done.size(); ++done_) {
    const fabric::Completion& c = peer_.done[done_];
    if (c.operation != fabric::Operation::kReceive || c.status != fabric::Status::kSuccess)
      continue;
    const auto at = peer_.buffer.begin() + static_cast<std::ptrdiff_t>(
                                               c.id * testing::ScriptedPeerOf<Host>::kReceiveBytes);
    came_.emplace_back(at, at + c.bytes);
  }
  for (; events_ < peer_.events.size(); ++events_) {
    const fabric::EventType type = peer_.events[events_].type;
    if (type == fabric::EventType::kDisconnected) is_down_ = true;
  }
}

void Stage::until(const std::function<bool()>& condition, const char* what) {
  EXPECT_TRUE(network_.until(condition)) << "never: " << what;
}

void Stage::take(std::unique_ptr<fabric::Connection> connection, std::size_t receives) {
  if (peer_.connection != nullptr) earlier_.push_back(std::move(peer_.connection));
  peer_.connection = std::move(connection);
  is_down_ = false;
  post_receives(receives);
}

void Stage::post_receives(std::size_t receives) {
  peer_.post_receives(receives, receives_);
  receives_ += receives;
}

void Stage::send(const Message& message) {
  send(scenes::encode(message), message.invalidate.value_or(0));
}

void Stage::send(const Bytes& content, std::uint32_t invalidate) {
  peer_.send(sends_++, content, invalidate);
}

Bytes Stage::next() {
  until([&] { return anything_came(); }, "a message to the scripted peer");
  return anything_came() ? came_[seen_++] : Bytes();
}

Message Stage::next_message() {
  return read_message(next());
}

wire::Segment Stage::advertise(std::uint32_t length, std::size_t index) {
  const fabric::MemoryRegion e =
      peer_.advertise(testing::ScriptedPeerOf<Host>::kChunkArea + index * kMemory, length);
  return {e.handle, length, e.offset};
}

std::uint8_t* Stage::memory(std::size_t index) {
  return peer_.buffer.data() + testing::ScriptedPeerOf<Host>::kChunkArea + index * kMemory;
}

void Stage::write(const wire::Segment& to, const Bytes& data, bool at_once) {
  const std::uint64_t id = kOperationIds + operations_++;
  std::copy(data.begin(), data.end(), memory(8));
  peer_.post(fabric::Operation::kWrite, id, testing::ScriptedPeerOf<Host>::kChunkArea + 8 * kMemory,
             data.size(), {to.handle, to.offset});
  if (!at_once) until([&] { return peer_.completion(id) != nullptr; }, "the end of a Write");
}

void Stage::read(const wire::Segment& from, bool at_once) {
  const std::uint64_t id = kOperationIds + operations_++;
  peer_.post(fabric::Operation::kRead, id, testing::ScriptedPeerOf<Host>::kChunkArea + 9 * kMemory,
             from.length, {from.handle, from.offset});
  if (!at_once) until([&] { return peer_.completion(id) != nullptr; }, "the end of a Read");
}

void Stage::disconnect() {
  peer_.connection->disconnect();
  until([&] { return is_down_; }, "the end of a connection");
}

void Stage::disconnect_earlier() {
  earlier_.clear();
  run_for(10 * fabric::kMillisecond);
}

Bytes Stage::recording() {
  trace_reader::testing::TraceBuilder file;
  file.step = 0;
  file.now = 0;
  file.begin("hostile", "endpoint");
  tracer_.ring().read([&](const trace::EventHeader& header, std::span<const std::uint8_t> event) {
    file.repeat(header, event);
  });
  EXPECT_EQ(tracer_.ring().lost(), 0U);
  return file.end().pcapng();
}

}  // namespace rpcrdma::hostile
