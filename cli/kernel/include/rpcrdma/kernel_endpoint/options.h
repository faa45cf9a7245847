// Options of the kernel endpoint: of the program rpcrdma-kernel, of `rpcrdma kernel`, which runs
// it, and of the commands that start it themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/command_line/command.h>
#include <rpcrdma/kernel/source.h>
#include <rpcrdma/program/metrics_address.h>
#include <rpcrdma/program/ring_options.h>

namespace rpcrdma::kernel_endpoint {

// The name of the endpoint that the other commands start on demand.
inline constexpr const char* kName = "kernel";

// What to trace, as typed.
struct FilterText {
  std::string peer = {}, qpn = {}, program = {}, procedure = {}, slower = {};
  bool errors = false;
  bool client = false, server = false;
  bool tracefs = false;

  [[nodiscard]] bool any() const;
};
// --peer, --qpn, --program, --procedure, --slower, --errors, --client, --server, --tracefs.
// `where`: precedes the help of each, such as "When this starts the kernel endpoint: "; may be
// empty.
void add_filter_options(command_line::Command& command, FilterText& text,
                        const std::string& where = {});

struct OptionText {
  FilterText filter = {};
  bool sums = false;
  std::string name = kName;
  std::string record = {};
  cli::RingText ring = {};
  std::string metrics = {};
  std::string metrics_config = {};
  std::string user = {};
  std::string kernel_ring = {};
  bool verbose = false;
  bool until_input_ends = false;
};
// Adds all of them, help text and examples.
void add_options(command_line::Command& command, OptionText& text);

// Returns the words of a command line of rpcrdma-kernel with these options.
[[nodiscard]] std::vector<std::string> words(const FilterText& text);
[[nodiscard]] std::vector<std::string> words(const OptionText& text);

// The parsed options.
struct Plan {
  kernel::Options source;
  bool tracefs = false;  // do not try BPF
  std::string filter;    // the conditions of the filter, for people; empty: none
  std::string name;
  std::string record;  // empty: no recording
  base::RingOptions ring;
  std::optional<cli::MetricsAddress> metrics;
  std::string user;
  bool verbose = false;
  bool until_input_ends = false;
};
// Error: which option is wrong, and why, in one line.
[[nodiscard]] base::Expected<Plan> parse(const OptionText& text);

}  // namespace rpcrdma::kernel_endpoint
