#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::report {

namespace {
constexpr std::uint64_t kFramesPerTick = 16384;
}

void Pipeline::frame(const capture::Frame& frame) {
  if (counts_.total == 0) counts_.first_ns = frame.time_ns;
  if (counts_.total != 0 && frame.time_ns < counts_.last_ns) ++counts_.clock_steps_back;
  ++counts_.total;
  counts_.last_ns = frame.time_ns;
  capture::TransportPacket packet;
  switch (capture::dissect_link(frame, packet)) {
    case capture::LinkResult::kRoce:
      tracker_.packet(packet, {frame.number, frame.time_ns});
      break;
    case capture::LinkResult::kCutShort:
      ++counts_.cut_short;
      break;
    case capture::LinkResult::kFragment:
      ++counts_.fragments;
      break;
    case capture::LinkResult::kUnknownLink:
      ++counts_.unknown_link;
      break;
    case capture::LinkResult::kNotRoce:
      break;
  }
}

capture::Expected<void> Pipeline::run(capture::Source& source, const std::function<void()>& tick) {
  capture::Frame f;
  for (;;) {
    const auto more = source.next(f);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    frame(f);
    if (tick && counts_.total % kFramesPerTick == 0) tick();
  }
}

}  // namespace rpcrdma::report
