// A live endpoint runs out of memory at each allocation of any of its threads in turn, while it
// records, has a reader of events and one of packets, and ends. It must not crash or leak; what it
// cannot do is an error, and the endpoint itself continues.
#include "support/counting_new.h"
#include "support/event_stream.h"

#include <chrono>
#include <memory>
#include <new>
#include <string>

#include <gmock/gmock.h>
#include <poll.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {
namespace {

using wire::testing::FailingEverywhere;
using wire::testing::live_bytes;

constexpr std::chrono::milliseconds kPatience{5};

class LiveMemory : public OwnRuntime {
 protected:
  static void emit(Tracer* tracer) {
    if (!on(tracer)) return;
    for (std::uint32_t i = 0; i < 50; ++i) tracer->emit(1, i, Invalidate{i, 1, {}});
  }
  // Whatever has come within a moment.
  static void read(const base::Expected<base::FileDescriptor>& reader) {
    if (!reader) return;
    std::array<char, 65536> bytes{};
    pollfd wait{reader->get(), POLLIN, 0};
    if (::poll(&wait, 1, 5) > 0) (void)::read(reader->get(), bytes.data(), bytes.size());
  }

  // Everything that an endpoint does. Returns the first error.
  std::string live() {
    HubOptions options;
    options.name = "server";
    options.ring_bytes = 1U << 17;
    options.packet_ring_bytes = 1U << 17;
    auto hub = Hub::start(std::move(options));
    if (!hub) return hub.error().message;
    std::string error;
    const auto note = [&](const base::Expected<void>& done) {
      if (!done && error.empty()) error = done.error().message;
    };
    Tracer* const tracer = (*hub)->add();
    note((*hub)->open_socket());
    note((*hub)->open_packet_socket());
    note((*hub)->record(path("recording.pcapng")));
    const auto reader = connect_endpoint((*hub)->socket_path(), kPatience);
    const auto packets = connect_packets((*hub)->packet_socket_path(), kPatience);
    emit(tracer);
    read(reader);
    read(packets);
    emit(tracer);
    const auto recorded = (*hub)->end_recordings();
    if (error.empty() && (recorded.empty() || recorded[0].events == 0)) error = "nothing recorded";
    return error;
  }
  std::string live_or_throw() {
    try {
      return live();
    } catch (const std::bad_alloc&) {
      return base::kOutOfMemory;
    }
  }
};

TEST_F(LiveMemory, AnEndpointSurvivesWithout) {
  ASSERT_EQ(live_or_throw(), "");
  const std::size_t all = wire::testing::allocations_in([&] { (void)live_or_throw(); });
  ASSERT_GT(all, 50U);
  // The threads allocate in an order that varies; a sample of the later places is enough.
  for (std::size_t n = 0; n < all; n += n < 40 ? 1 : 1 + all / 40) {
    const std::size_t before = live_bytes();
    {
      const FailingEverywhere failing(n);
      (void)live_or_throw();
    }
    ASSERT_EQ(live_bytes(), before) << "leaks at allocation " << n;
    ASSERT_EQ(live_or_throw(), "") << "after allocation " << n;
  }
}

}  // namespace
}  // namespace rpcrdma::trace
