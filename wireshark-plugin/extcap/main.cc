// rpcrdma-extcap: running endpoints of RPC-over-RDMA as interfaces that Wireshark can capture from
// (docs/extcap.md). Wireshark starts it with the options that its extcap interface names; an error
// is one line on standard error, which Wireshark shows.
#include "interfaces.h"
#include "kinds.h"
#include "pump.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <fmt/core.h>

#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::extcap {
namespace {

constexpr int kPatienceMs = 30'000;  // until Wireshark reads the pipe that it has made
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
  fmt::print(stderr, "rpcrdma-extcap: {}\n", why);
  return kFailed;
}

int answer(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : failed("standard output cannot be written");
}

int list() {
  const auto endpoints = trace::list_endpoints();
  // It is no fault of Wireshark's user that endpoints cannot be looked for: the others stay.
  if (!endpoints) failed(endpoints.error().message);
  return answer(list_interfaces(endpoints.value_or(std::vector<trace::RunningEndpoint>{})));
}

int capture(const Options& options, bool all_events) {
  if (options.fifo.empty()) return failed("--capture: give --fifo FILE, too");
  if (!options.filter.empty()) {
    return failed(fmt::format(
        "{}: there are no capture filters for endpoints; choose kinds of events instead, or use a "
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
  const auto done = pump(*from, *fifo, signals->get(), StreamEdit(edit));
  if (!done) return failed(fmt::format("{}: {}", options.interface, done.error()));
  return 0;
}

int run(int argc, char** argv) {
  command_line::Command program("rpcrdma-extcap",
                                "Running endpoints of RPC-over-RDMA, as interfaces for Wireshark");
  program.version(fmt::format("rpcrdma-extcap {}", version::text()));
  Options o;
  program.flag("--extcap-interfaces", o.interfaces, "List the interfaces");
  program.option("--extcap-version", o.version, "Wireshark's own");
  program.option("--extcap-interface", o.interface, "The interface that is meant");
  program.flag("--extcap-dlts", o.link_types, "Print its link types");
  program.flag("--extcap-config", o.config, "Print its options");
  program.option("--extcap-reload-option", o.reload, "None can be: they do not change");
  program.flag("--capture", o.capture, "Capture from it");
  program.option("--extcap-capture-filter", o.filter, "None is known");
  program.option("--fifo", o.fifo, "The pipe to write to");
  program
      .option("--snaplen", o.snaplen, "Bytes of each message, or packet, that are kept; 0: all (0)")
      .range(0, kLongestSnaplen);
  const command_line::Option& events =
      program.option("--events", o.events, "Kinds of events, with commas between them (all)");
  const command_line::Parsed parsed = command_line::parse(program, argc, argv);
  if (parsed.outcome == command_line::Parsed::Outcome::kShow) return answer(parsed.text);
  if (parsed.outcome == command_line::Parsed::Outcome::kRefused) return failed(parsed.text);
  if (o.interfaces) return list();
  if (!o.link_types && !o.config && !o.capture && o.filter.empty()) {
    return failed("it is for Wireshark to start; see --help, and --extcap-interfaces");
  }
  if (!is_interface(o.interface)) {
    return failed(fmt::format("--extcap-interface {}: no interface of this program",
                              o.interface.empty() ? "is missing" : o.interface));
  }
  if (o.link_types) return answer(list_link_types(o.interface));
  if (o.config) return answer(o.reload.empty() ? list_options(o.interface) : std::string());
  if (o.capture) return capture(o, !events.given());
  // Wireshark asks whether it is a filter: what is printed says that it is not.
  return answer("There are no capture filters for endpoints.\n");
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
