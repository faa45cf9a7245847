// Reads a whole capture file of any kind, compressed or not, and decodes each frame.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>

using rpcrdma::fuzz::require;
using namespace rpcrdma::capture;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto source = open_memory({data, size});
  if (!source) {
    require(!source.error().message.empty());
    return 0;
  }
  std::uint64_t frames = 0;
  std::uint64_t sum = 0;
  Frame frame;
  for (;;) {
    const auto more = (*source)->next(frame);
    require(more.has_value());  // reading from memory cannot fail
    if (!*more) break;
    require(frame.number == ++frames);
    sum = std::accumulate(frame.data.begin(), frame.data.end(), sum);
    TransportPacket packet;
    if (dissect_link(frame, packet) == LinkResult::kRoce) {
      require(packet.data.size() <= frame.data.size());
    }
  }
  [[maybe_unused]] volatile std::uint64_t touched = sum;
  const SourceStats& stats = (*source)->stats();
  require(stats.frames == frames);
  require(stats.bytes_read <= size);
  require(!stats.cut_short || !stats.damage.empty());
  require(stats.damage.size() < 1000);
  require(!(*source)->next(frame).value());
  return 0;
}
