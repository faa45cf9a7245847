// A hub with Tracers and readers for tests.
#pragma once

#include "event_stream.h"

#include <memory>
#include <string>

#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/live/hub.h>

namespace rpcrdma::trace {

class HubTest : public OwnRuntime {
 protected:
  Hub& start(HubOptions options = {}) {
    if (options.name.empty()) options.name = "server";
    auto started = Hub::start(std::move(options));
    EXPECT_TRUE(started) << started.error().message;
    hub_ = std::move(*started);
    return *hub_;
  }
  Hub& start_with_socket(HubOptions options = {}) {
    Hub& hub = start(std::move(options));
    const auto opened = hub.open_socket();
    EXPECT_TRUE(opened) << opened.error().message;
    return hub;
  }

  // Connects and reads the snapshot, so that all events emitted from now on reach the reader.
  EventStream connect() {
    auto fd = connect_endpoint(hub_->socket_path());
    EXPECT_TRUE(fd) << fd.error().message;
    EventStream stream(std::move(*fd));
    const auto first = stream.next();
    EXPECT_TRUE(first && first->type() == EventType::kEndpoint);
    return stream;
  }

  static void emit(Tracer& tracer, std::uint64_t events) {
    for (std::uint64_t i = 0; i < events; ++i) {
      tracer.emit(1, static_cast<std::int64_t>(i),
                  Invalidate{static_cast<std::uint32_t>(i), 1, {}});
    }
  }

  std::unique_ptr<Hub> hub_;
};

}  // namespace rpcrdma::trace
