#include "live_view.h"

#include <chrono>

namespace rpcrdma::cli {

std::int64_t wall_clock_ns() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

LiveView::LiveView(std::unique_ptr<MessagePrinter> printer) : printer_(std::move(printer)) {}

void LiveView::finish(std::uint64_t dropped) {
  printer_->pipeline().finish();
  printer_->finish(dropped);
}

}  // namespace rpcrdma::cli
