// A provider for tests of what has no connection: it registers memory and does nothing else.
#pragma once

#include <memory>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::service::testing {

class MemoryOnly final : public fabric::Provider {
 public:
  fabric::Expected<fabric::Memory> remember(std::span<std::uint8_t> memory) override {
    return fabric::Memory{memory.data(), memory.size(), 1};
  }
  void forget(const fabric::Memory&) override {}
  fabric::Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t,
                                                             std::uint64_t) override {
    return fabric::fail(fabric::Errc::kSystem);
  }
  fabric::Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address&, std::uint16_t, const fabric::ConnectionOptions&) override {
    return fabric::fail(fabric::Errc::kSystem);
  }
  int fd() const override { return -1; }
  bool may_sleep() override { return true; }
  const fabric::Limits& limits() const override {
    static const fabric::Limits all;
    return all;
  }
  void progress() override {}
  std::size_t take(std::span<fabric::Completion>) override { return 0; }
  bool take(fabric::Event&) override { return false; }
};

}  // namespace rpcrdma::service::testing
