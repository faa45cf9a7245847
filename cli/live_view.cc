#include "live_view.h"

namespace rpcrdma::cli {

LiveView::LiveView(std::unique_ptr<MessagePrinter> printer) : printer_(std::move(printer)) {}

void LiveView::finish(std::uint64_t dropped) {
  printer_->pipeline().finish();
  printer_->finish(dropped);
}

}  // namespace rpcrdma::cli
