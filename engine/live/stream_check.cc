#include <rpcrdma/live/hub.h>
#include <rpcrdma/live/stream_check.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

tl::unexpected<const char*> refuse(const char* why) {
  return tl::unexpected(why);
}

}  // namespace

tl::expected<EventView, const char*> StreamCheck::take(std::span<const std::uint8_t> data) {
  const auto event = event_in_pdu(data);
  const auto view = event ? view_event(*event) : std::nullopt;
  if (!view || view->header.ring > Hub::kMostTracers) {
    return refuse("the data is not an endpoint's event");
  }
  const auto type = static_cast<EventType>(view->header.type);
  if ((type == EventType::kEndpoint) == begun_) {
    return refuse(begun_ ? "the stream starts a second time"
                         : "the stream does not identify its endpoint");
  }
  begun_ = true;
  if (type != EventType::kLoss) {
    ++events_;
  } else if (++losses_ > kMostLosses + events_) {
    return refuse("the stream consists almost only of loss events");
  }
  return *view;
}

FrameCheck live_check() {
  return [check = StreamCheck()](const base::Frame& frame) mutable -> const char* {
    if (frame.link != base::LinkType::kUpperPdu) return nullptr;
    const auto event = check.take(frame.data);
    return event ? nullptr : event.error();
  };
}

}  // namespace rpcrdma::trace
