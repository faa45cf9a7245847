#include "live_view.h"

namespace rpcrdma::cli {

LiveView::LiveView(std::unique_ptr<MessagePrinter> printer)
    : printer_(std::move(printer)),
      pipeline_(printer_->observer(), printer_->keep(), &printer_->events()) {
  printer_->set_pipeline(pipeline_);
}

void LiveView::finish(std::uint64_t dropped) {
  pipeline_.finish();
  printer_->finish(dropped);
}

}  // namespace rpcrdma::cli
