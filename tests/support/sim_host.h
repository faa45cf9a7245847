// A user-space adapter in a simulated network, as a provider.
#pragma once

#include "null_provider.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include <rpcrdma/soft/adapter.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::protocol::testing {

class SimHost : public soft::SimNode, public fabric::testing::NullProvider {
 public:
  SimHost(soft::SimNetwork& net, const soft::AdapterOptions& options, std::uint64_t seed,
          const soft::SimLink& link)
      : adapter(options, seed), net_(net), id_(net.add(options.address, *this, link)) {}

  const fabric::Limits& limits() const override {
    static const fabric::Limits as_soft{.holds_first_message = true};
    return as_soft;
  }

  void receive(const soft::Path& path, wire::Bytes packet, fabric::Time now) override {
    adapter.receive(path, packet, now);
  }
  bool transmit(soft::OutPacket& packet, fabric::Time now) override {
    return adapter.transmit(packet, now);
  }
  fabric::Time deadline() override { return adapter.deadline(); }
  void expire(fabric::Time now) override { adapter.expire(now); }

  fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    return adapter.register_memory(memory);
  }
  void deregister_memory(const fabric::Memory& memory) override {
    adapter.deregister_memory(memory);
  }
  fabric::Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t port,
                                                             std::uint64_t cookie) override {
    auto done = adapter.listen(port, cookie);
    if (!done) return tl::unexpected(done.error());
    return std::make_unique<fabric::Listener>();
  }
  fabric::Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address& peer, std::uint16_t port,
      const fabric::ConnectionOptions& options) override {
    const auto id = adapter.connect(peer, port, options, net_.now());
    if (!id) return tl::unexpected(id.error());
    try {
      return std::unique_ptr<fabric::Connection>(std::make_unique<SimConnection>(*this, *id));
    } catch (const std::bad_alloc&) {
      adapter.destroy(*id, net_.now());
      return fabric::fail(fabric::Errc::kSystem);
    }
  }
  std::size_t poll(std::span<fabric::Completion> completions) override {
    return adapter.poll(completions);
  }
  bool poll(fabric::Event& event) override {
    if (!event_waits_ && !adapter.poll(event_)) return false;
    event_waits_ = true;  // until there is memory for its owner
    std::unique_ptr<fabric::Connection> request;
    if (event_.type == fabric::EventType::kRequest) {
      request = std::make_unique<SimConnection>(*this, event_.connection);
    }
    soft::move_event(event_, event);
    event.request = std::move(request);
    event_waits_ = false;
    return true;
  }
  // Called after something that may have to be sent.
  void wake() { net_.wake(id_); }
  [[nodiscard]] soft::SimNetwork::NodeId id() const { return id_; }

  soft::Adapter adapter;

 private:
  class SimConnection : public fabric::Connection {
   public:
    SimConnection(SimHost& host, soft::ConnectionId id) : host_(host), id_(id) {}
    ~SimConnection() override { host_.adapter.destroy(id_, host_.net_.now()); }
    SimConnection(const SimConnection&) = delete;
    SimConnection& operator=(const SimConnection&) = delete;
    fabric::Expected<std::size_t> post_send(
        std::span<const fabric::SendRequest> requests) override {
      return host_.adapter.post_send(id_, requests);
    }
    fabric::Expected<std::size_t> post_receive(
        std::span<const fabric::ReceiveRequest> requests) override {
      return host_.adapter.post_receive(id_, requests);
    }
    fabric::Expected<fabric::MemoryRegion> advertise(std::uint64_t, const fabric::Memory& memory,
                                                     std::uint8_t* data, std::uint32_t length,
                                                     fabric::Access access) override {
      return host_.adapter.advertise(id_, memory, data, length, access);
    }
    fabric::Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) override {
      return host_.adapter.invalidate(id_, id, handle);
    }
    fabric::Expected<void> accept(const fabric::ConnectionOptions& options) override {
      return host_.adapter.accept(id_, options, host_.net_.now());
    }
    fabric::Expected<void> reject(std::span<const std::uint8_t> data) override {
      return host_.adapter.reject(id_, data, host_.net_.now());
    }
    void disconnect() override { host_.adapter.disconnect(id_, host_.net_.now()); }

   private:
    SimHost& host_;
    soft::ConnectionId id_;
  };

  soft::SimNetwork& net_;
  soft::SimNetwork::NodeId id_;
  soft::AdapterEvent event_;
  bool event_waits_ = false;
};

}  // namespace rpcrdma::protocol::testing
