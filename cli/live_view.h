// What `capture` shows while it captures: the messages, and the findings as they are made.
#pragma once

#include "message_printer.h"

#include <memory>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/pipeline.h>
#include <rpcrdma/rules/checker.h>

namespace rpcrdma::cli {

class LiveView {
 public:
  // `printer`: of messages, on standard output, where findings go too: lines, or with `json`
  // objects.
  LiveView(std::unique_ptr<MessagePrinter> printer, const PrintOptions& options);

  void frame(const capture::Frame& frame) { pipeline_.frame(frame); }

  // The capture is over: `dropped` frames were lost by the kernel or the interface.
  void finish(std::uint64_t dropped);

 private:
  void show(const rules::Occurrence& found) const;

  bool json_;
  bool colour_;
  std::unique_ptr<MessagePrinter> printer_;
  rules::Findings findings_;
  rules::Checker checker_;
  model::ObserverPair both_;
  report::Pipeline pipeline_;
  report::Context context_;
};

}  // namespace rpcrdma::cli
