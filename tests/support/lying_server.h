// A server in a thread of its own that answers each message as a test says: with what no server
// sends, too often, or by ending the connection. For programs that are clients.
#pragma once

#include "scripted_peer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include <rpcrdma/soft/provider.h>

namespace rpcrdma::testing {

struct Lie {
  std::string name;
  // Answers a message, whose first words are those of any version. Returns the Sends.
  std::function<std::vector<ByteVector>(const ByteVector& message)> answer;
  ByteVector private_data = {};
  bool rejects = false;   // connection requests, with the private data
  bool hangs_up = false;  // after its answers
};

class LyingServer {
 public:
  LyingServer(const fabric::Address& address, Lie lie)
      : lie_(std::move(lie)), provider_(open(address)), thread_([this] { run(); }) {}
  ~LyingServer() {
    over_ = true;
    thread_.join();
    talks_.clear();
  }
  LyingServer(const LyingServer&) = delete;
  LyingServer& operator=(const LyingServer&) = delete;

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  static constexpr std::size_t kReceives = 32, kReceiveBytes = 4096;
  static constexpr std::size_t kSends = 128, kSendBytes = 8192;
  static constexpr std::size_t kSendArea = kReceives * kReceiveBytes;
  static constexpr std::size_t kMostTalks = 16;

  struct Talk {
    explicit Talk(soft::SoftProvider& p)
        : provider(p),
          buffer(kSendArea + kSends * kSendBytes),
          memory(p.register_memory(buffer).value()) {}
    ~Talk() {
      connection.reset();
      provider.deregister_memory(memory);
    }
    Talk(const Talk&) = delete;
    Talk& operator=(const Talk&) = delete;

    void receive(std::uint64_t id) {
      const fabric::Slice slice{buffer.data() + id * kReceiveBytes, kReceiveBytes,
                                memory.local_key};
      const fabric::ReceiveRequest request{id, {&slice, 1}};
      (void)connection->post_receive({&request, 1});
    }
    // What does not fit into the send queue is left out.
    void send(const ByteVector& message) {
      const std::size_t at = kSendArea + sent++ % kSends * kSendBytes;
      const std::size_t bytes = std::min(message.size(), kSendBytes);
      std::copy_n(message.begin(), bytes, buffer.begin() + static_cast<std::ptrdiff_t>(at));
      const fabric::Slice slice{buffer.data() + at, static_cast<std::uint32_t>(bytes),
                                memory.local_key};
      fabric::SendRequest request;
      request.id = kReceives;
      request.local = {&slice, 1};
      (void)connection->post_send({&request, 1});
    }

    soft::SoftProvider& provider;
    std::vector<std::uint8_t> buffer;
    fabric::Memory memory;
    std::unique_ptr<fabric::Connection> connection;
    std::uint64_t cookie = 0;
    std::size_t sent = 0;
  };

  static std::unique_ptr<soft::SoftProvider> open(const fabric::Address& address) {
    soft::ProviderOptions options;
    options.adapter.address = address;
    return open_soft(options);
  }

  void run() {
    if (provider_ == nullptr) return;
    const auto listener = provider_->listen(kPort, 0).value();
    while (!over_) {
      provider_->progress();
      fabric::Event event;
      while (provider_->poll(event)) on_event(event);
      std::array<fabric::Completion, 64> some;
      const std::size_t n = provider_->poll(some);
      for (std::size_t i = 0; i < n; ++i) on_completion(some[i]);
      if (n != 0 || !provider_->arm()) continue;
      pollfd wait{provider_->fd(), POLLIN, 0};
      ::poll(&wait, 1, 5);
    }
    talks_.clear();
  }

  void on_event(fabric::Event& event) {
    if (event.type == fabric::EventType::kDisconnected) {
      std::erase_if(talks_, [&](const auto& talk) { return talk->cookie == event.cookie; });
    }
    if (event.type != fabric::EventType::kRequest) return;
    if (lie_.rejects) {
      (void)event.request->reject(lie_.private_data);
      return;
    }
    if (talks_.size() == kMostTalks) talks_.pop_front();
    auto talk = std::make_unique<Talk>(*provider_);
    talk->connection = std::move(event.request);
    talk->cookie = ++cookies_;
    for (std::uint64_t i = 0; i < kReceives; ++i) talk->receive(i);
    fabric::ConnectionOptions options;
    options.cookie = talk->cookie;
    options.depths.send = kSends;
    options.private_data = lie_.private_data;
    if (talk->connection->accept(options)) talks_.push_back(std::move(talk));
  }

  void on_completion(const fabric::Completion& done) {
    if (done.operation != fabric::Operation::kReceive || done.status != fabric::Status::kSuccess) {
      return;
    }
    const auto found =
        std::ranges::find(talks_, done.connection, [](const auto& talk) { return talk->cookie; });
    if (found == talks_.end()) return;
    Talk& talk = **found;
    ++messages_;
    const auto begin = talk.buffer.begin() + static_cast<std::ptrdiff_t>(done.id * kReceiveBytes);
    const ByteVector message(begin, begin + static_cast<std::ptrdiff_t>(done.bytes));
    for (const ByteVector& answer : lie_.answer(message)) talk.send(answer);
    talk.receive(done.id);
    if (lie_.hangs_up) talk.connection->disconnect();
  }

  const Lie lie_;
  const std::unique_ptr<soft::SoftProvider> provider_;
  std::list<std::unique_ptr<Talk>> talks_;
  std::uint64_t cookies_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> messages_{0};
  std::thread thread_;
};

}  // namespace rpcrdma::testing
