// A provider with memory and nothing else, for tests to derive from and override as needed.
#pragma once

#include <memory>

#include <sys/epoll.h>
#include <unistd.h>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::fabric::testing {

class NullProvider : public Provider {
 public:
  const Limits& limits() const override {
    static const Limits all;
    return all;
  }
  Expected<Memory> register_memory(std::span<std::uint8_t> memory) override {
    return Memory{memory.data(), memory.size(), 1};
  }
  void deregister_memory(const Memory& /*memory*/) override {}
  Expected<std::unique_ptr<Listener>> listen(std::uint16_t /*port*/,
                                             std::uint64_t /*cookie*/) override {
    return fail(Errc::kSystem);
  }
  Expected<std::unique_ptr<Connection>> connect(const Address& /*peer*/, std::uint16_t /*port*/,
                                                const ConnectionOptions& /*options*/) override {
    return fail(Errc::kSystem);
  }
  int fd() const override { return epoll_.get(); }
  bool arm() override { return true; }
  void progress() override {}
  std::size_t poll(std::span<Completion> /*completions*/) override { return 0; }
  bool poll(Event& /*event*/) override { return false; }

 private:
  struct Descriptor {
    Descriptor() : fd(::epoll_create1(EPOLL_CLOEXEC)) {}
    ~Descriptor() { ::close(fd); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return fd; }
    int fd;
  };
  Descriptor epoll_;  // watches nothing
};

}  // namespace rpcrdma::fabric::testing
