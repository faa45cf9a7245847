// rpcrdma-extcap: presents running RPC-over-RDMA endpoints as capture interfaces to Wireshark
// (docs/extcap.md). Wireshark runs it with the options of its extcap interface, and shows its
// errors, which are one line on standard error.
#include "interfaces.h"
#include "kinds.h"
#include "pump.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <fmt/core.h>

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::extcap {
namespace {

constexpr int kPatienceMs = 30'000;  // for Wireshark to open the pipe that it created
constexpr int kFailed = 1;
constexpr std::uint32_t kLongestSnaplen = 65535;

struct Options {
  bool interfaces = false, link_types = false, config = false, capture = false;
  std::string version;  // Wireshark's
  std::string interface, filter, fifo, reload;
  std::uint32_t snaplen = 0;
  std::string events;
};

int failed(const std::string& why) {
  fmt::print(stderr, "rpcrdma-extcap: {}\n", plot::escape_terminal(why));
  return kFailed;
}

int answer(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : failed("cannot write to standard output");
}

int list() {
  const auto endpoints = trace::list_endpoints();
  // A failed search for endpoints must not hide Wireshark's other interfaces: it exits with
  // success.
  if (!endpoints) failed(endpoints.error().message);
  return answer(list_interfaces(endpoints.value_or(std::vector<trace::RunningEndpoint>{})));
}

int capture(const Options& options, bool all_events) {
  if (options.fifo.empty()) return failed("--capture requires --fifo FILE");
  if (!options.filter.empty()) {
    return failed(fmt::format(
        "{}: endpoints have no capture filters; choose kinds of events instead, or use a "
        "display filter",
        options.filter));
  }
  StreamEdit::Options edit;
  edit.packets = is_packets_interface(options.interface);
  edit.snaplen = options.snaplen;
  if (!all_events) {
    const auto left_out = left_out_by(options.events);
    if (!left_out) return failed(left_out.error());
    edit.left_out = *left_out;
  }
  const auto signals = take_signals();
  if (!signals) return failed(signals.error());
  const auto from = connect(options.interface);
  if (!from) return failed(from.error());
  const auto fifo = open_fifo(options.fifo, signals->get(), kPatienceMs);
  if (!fifo) return failed(fifo.error());
  if (fifo->get() < 0) return 0;
  // Wireshark's own process cannot be confined; what reads the endpoint can.
  base::confine({.processes = base::Processes::kNone, .files = true, .read = {}, .written = {}});
  const auto done = pump(from->fd, *fifo, signals->get(), StreamEdit(edit));
  if (!done) return failed(fmt::format("{}: {}", options.interface, done.error()));
  return 0;
}

int run(int argc, char** argv) {
  command_line::Command program(
      "rpcrdma-extcap", "Running RPC-over-RDMA endpoints as capture interfaces for Wireshark");
  program.version(fmt::format("rpcrdma-extcap {}", version::text()));
  Options o;
  program.flag("--extcap-interfaces", o.interfaces, "List the interfaces");
  program.option("--extcap-version", o.version, "Version of Wireshark; ignored");
  program.option("--extcap-interface", o.interface, "The interface to query or capture from");
  program.flag("--extcap-dlts", o.link_types, "Print the link types of the interface");
  program.flag("--extcap-config", o.config, "Print the options of the interface");
  program.option("--extcap-reload-option", o.reload,
                 "Reload an option; prints nothing, since options do not change");
  program.flag("--capture", o.capture, "Capture from the interface");
  program.option("--extcap-capture-filter", o.filter, "A capture filter; always rejected");
  program.option("--fifo", o.fifo, "The pipe to write to");
  program.option("--snaplen", o.snaplen, "Bytes to keep of each message or packet; 0: all (0)")
      .range(0, kLongestSnaplen);
  const command_line::Option& events =
      program.option("--events", o.events, "Kinds of events, separated by commas (all)");
  const command_line::Parsed parsed = command_line::parse(program, argc, argv);
  if (parsed.outcome == command_line::Parsed::Outcome::kShow) return answer(parsed.text);
  if (parsed.outcome == command_line::Parsed::Outcome::kRefused) return failed(parsed.text);
  if (o.interfaces) return list();
  if (!o.link_types && !o.config && !o.capture && o.filter.empty()) {
    return failed("this program is run by Wireshark; see --help, and --extcap-interfaces");
  }
  if (!is_interface(o.interface)) {
    return failed(fmt::format("--extcap-interface {}: no such interface",
                              o.interface.empty() ? "is missing" : o.interface));
  }
  if (o.link_types) return answer(list_link_types(o.interface));
  if (o.config) return answer(o.reload.empty() ? list_options(o.interface) : std::string());
  if (o.capture) return capture(o, !events.given());
  // Wireshark validates a capture filter: any output means that it is invalid.
  return answer("Endpoints have no capture filters.\n");
}

}  // namespace
}  // namespace rpcrdma::extcap

int main(int argc, char** argv) {
  try {
    return rpcrdma::extcap::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpcrdma-extcap: %s\n", error.what());
    return 1;
  }
}
