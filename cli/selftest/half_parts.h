// The common parts of both halves: a loop, the bytes of all items, and the program TRANSFER, which
// both halves serve.
#pragma once

#include <memory>
#include <optional>

#include <rpcrdma/selftest/recorder.h>
#include <rpcrdma/selftest/transfer.h>
#include <rpcrdma/service/loop.h>

namespace rpcrdma::selftest {

struct HalfParts {
  // Fails as Loop::create() and Pattern::create() do.
  [[nodiscard]] fabric::Expected<void> open(fabric::Provider& provider, Recorder& recorder,
                                            Damage damage) {
    auto made =
        service::Loop::create(provider, {.memory = {}, .spin = 0, .tracer = recorder.tracer()});
    if (!made) return tl::unexpected(made.error());
    loop = std::move(*made);
    auto bytes = service::echo::Pattern::create(loop->memory(), kMaxItem);
    if (!bytes) return tl::unexpected(bytes.error());
    pattern.emplace(std::move(*bytes));
    transfer = std::make_unique<TransferProgram>(*pattern, damage);
    return {};
  }

  std::unique_ptr<service::Loop> loop;
  std::optional<service::echo::Pattern> pattern;
  std::unique_ptr<TransferProgram> transfer;
};

}  // namespace rpcrdma::selftest
