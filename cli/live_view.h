// What `capture` and `attach` show while it comes: messages, and findings as they are made.
#pragma once

#include "message_printer.h"

#include <cstdint>
#include <memory>

#include <rpcrdma/report/pipeline.h>

namespace rpcrdma::cli {

// What the wall clock shows, since the epoch.
[[nodiscard]] std::int64_t wall_clock_ns();

class LiveView {
 public:
  explicit LiveView(std::unique_ptr<MessagePrinter> printer);

  void frame(const capture::Frame& frame) { pipeline_.frame(frame); }

  // Nothing comes, and time passes.
  void time(std::int64_t now_ns) { pipeline_.time(now_ns); }

  [[nodiscard]] trace_reader::ReaderStats events() const { return pipeline_.events(); }

  // The capture is over: `dropped` frames were lost by the kernel or the interface.
  void finish(std::uint64_t dropped);

 private:
  std::unique_ptr<MessagePrinter> printer_;
  report::Pipeline pipeline_;
};

}  // namespace rpcrdma::cli
