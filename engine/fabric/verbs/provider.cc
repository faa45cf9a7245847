// The provider over rdma-core: connects the fabric interface to an Adapter, with an epoll instance
// for its descriptors.
#include "adapter.h"

#include <utility>

#include <fmt/core.h>
#include <sys/epoll.h>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::verbs {

using fabric::Expected;

namespace {

// The descriptors that need no look after each sleep, and none while an owner polls, get one in
// this many calls.
constexpr unsigned kLookEvery = 64;

class VerbsConnection : public fabric::Connection {
 public:
  VerbsConnection(Adapter& adapter, Name name) : adapter_(adapter), name_(name) {}
  ~VerbsConnection() override { adapter_.destroy(name_); }
  VerbsConnection(const VerbsConnection&) = delete;
  VerbsConnection& operator=(const VerbsConnection&) = delete;

  Expected<std::size_t> post_send(std::span<const fabric::SendRequest> requests) override {
    return adapter_.post_send(name_, requests);
  }
  std::uint32_t copied_send() const override { return adapter_.copied_send(name_); }
  Expected<std::size_t> post_receive(std::span<const fabric::ReceiveRequest> requests) override {
    return adapter_.post_receive(name_, requests);
  }
  Expected<fabric::MemoryRegion> advertise(std::uint64_t id, const fabric::Memory& memory,
                                           std::uint8_t* data, std::uint32_t length,
                                           fabric::Access access) override {
    return adapter_.advertise(name_, id, memory, data, length, access);
  }
  Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) override {
    return adapter_.invalidate(name_, id, handle);
  }
  Expected<void> accept(const fabric::ConnectionOptions& options) override {
    return adapter_.accept(name_, options);
  }
  Expected<void> reject(std::span<const std::uint8_t> private_data) override {
    return adapter_.reject(name_, private_data);
  }
  void disconnect() override { adapter_.disconnect(name_); }

 private:
  Adapter& adapter_;
  const Name name_;
};

class VerbsListener : public fabric::Listener {
 public:
  VerbsListener(Adapter& adapter, std::uint16_t port) : adapter_(adapter), port_(port) {}
  ~VerbsListener() override { adapter_.unlisten(port_); }
  VerbsListener(const VerbsListener&) = delete;
  VerbsListener& operator=(const VerbsListener&) = delete;

 private:
  Adapter& adapter_;
  const std::uint16_t port_;
};

class Verbs : public VerbsProvider {
 public:
  Verbs(std::unique_ptr<Device> device, trace::Tracer* tracer)
      : adapter_(std::move(device), tracer) {}

  Expected<void> watch() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (epoll_.get() < 0) return tl::unexpected(system_error("epoll_create1"));
    for (const int fd : adapter_.descriptors()) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        return tl::unexpected(system_error("epoll_ctl"));
      }
    }
    return {};
  }

  const std::string& device() const override { return adapter_.device().name(); }
  const WorkCounters& counters() const override { return adapter_.counters(); }
  const fabric::Limits& limits() const override { return adapter_.device().limits(); }

  Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    return adapter_.register_memory(memory);
  }
  void deregister_memory(const fabric::Memory& memory) override {
    adapter_.deregister_memory(memory);
  }

  Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t port,
                                                     std::uint64_t cookie) override {
    if (const auto done = adapter_.listen(port, cookie); !done) {
      return tl::unexpected(done.error());
    }
    return std::unique_ptr<fabric::Listener>(std::make_unique<VerbsListener>(adapter_, port));
  }

  Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address& peer, std::uint16_t port,
      const fabric::ConnectionOptions& options) override {
    const auto name = adapter_.connect(peer, port, options);
    if (!name) return tl::unexpected(name.error());
    return std::unique_ptr<fabric::Connection>(std::make_unique<VerbsConnection>(adapter_, *name));
  }

  int fd() const override { return epoll_.get(); }

  bool arm() override {
    slept_ = true;
    return adapter_.arm();
  }

  void progress() override {
    const Look usual = std::exchange(slept_, false) ? Look::kAfterSleep : Look::kNone;
    adapter_.progress(++turns_ % kLookEvery == 0 ? Look::kAll : usual);
  }

  std::size_t poll(std::span<fabric::Completion> completions) override {
    return adapter_.poll(completions);
  }

  bool poll(fabric::Event& event) override {
    if (!adapter_.poll(cm_news_)) return false;
    event = std::move(cm_news_.event);
    if (event.type == fabric::EventType::kRequest) {
      event.request = std::make_unique<VerbsConnection>(adapter_, cm_news_.name);
    }
    return true;
  }

 private:
  Adapter adapter_;
  base::FileDescriptor epoll_;
  unsigned turns_ = 0;
  bool slept_ = true;
  CmNews cm_news_;
};

}  // namespace

bool VerbsProvider::available() {
  return true;
}

Expected<std::unique_ptr<VerbsProvider>> VerbsProvider::open(const VerbsOptions& options) {
  auto device = Device::open(options);
  if (!device) return tl::unexpected(device.error());
  auto provider = std::make_unique<Verbs>(std::move(*device), options.tracer);
  if (const auto done = provider->watch(); !done) return tl::unexpected(done.error());
  return std::unique_ptr<VerbsProvider>(std::move(provider));
}

}  // namespace rpcrdma::verbs
