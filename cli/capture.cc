// rpcrdma capture
#include "commands.h"
#include "input.h"
#include "message_printer.h"

#include <csignal>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

namespace rpcrdma::cli {

namespace {

struct Options {
  capture::LiveOptions live;
  PrintOptions print;
};

capture::LiveSource* live_source = nullptr;

void on_interrupt(int) {
  if (live_source != nullptr) live_source->stop();
}

int capture_live(const Options& options) {
  const auto printer = make_printer(options.print, "capture");
  if (!printer) return kUnreadable;
  report::Pipeline pipeline(*printer, options.print.keep());
  printer->set_pipeline(pipeline);
  auto source = capture::open_live(options.live);
  if (!source) {
    complain(source.error().message);
    return kUnreadable;
  }
  live_source = source->get();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  fmt::print(stderr, "rpcrdma: listening on {}, Ctrl-C ends\n", options.live.interface);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  capture::Frame frame;
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more) {
      complain(more.error().message);
      return kUnreadable;
    }
    if (!*more) break;
    pipeline.frame(frame);
  }
  pipeline.finish();
  printer->flush();
  live_source = nullptr;
  fmt::print(stderr, "rpcrdma: {} packets captured, {} dropped by the kernel\n",
             (*source)->stats().frames, (*source)->stats().dropped);
  return kOk;
}

}  // namespace

Run add_capture(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-i,--interface", options->live.interface, "Capture from this interface")
      ->required();
  app.add_option("-f,--capture-filter", options->live.filter, "A pcap filter");
  add_print_options(app, options->print);
  return [options] { return capture_live(*options); };
}

}  // namespace rpcrdma::cli
