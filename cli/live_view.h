// The live output of `capture` and `attach`: messages as they arrive, and findings.
#pragma once

#include "message_printer.h"

#include <cstdint>
#include <memory>

#include <rpcrdma/session/pipeline.h>

namespace rpcrdma::cli {

class LiveView {
 public:
  explicit LiveView(std::unique_ptr<MessagePrinter> printer);

  void frame(const capture::Frame& frame) { printer_->pipeline().frame(frame); }

  // Advances the clock when no frame arrives.
  void time(std::int64_t now_ns) { printer_->pipeline().time(now_ns); }

  [[nodiscard]] trace_reader::ReaderStats events() const { return printer_->pipeline().events(); }

  // Ends the output: `dropped` frames were lost by the kernel or the interface.
  void finish(std::uint64_t dropped);

 private:
  std::unique_ptr<MessagePrinter> printer_;
};

}  // namespace rpcrdma::cli
