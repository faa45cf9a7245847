// Keeps a file that lists the endpoints of this machine as targets for Prometheus (file_sd_configs).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::service_discovery {

struct Options {
  std::string file;  // must end in .json, or Prometheus does not read it
  // This machine's name; label `host` of all targets.
  std::string machine;
  // Name or address at which a Prometheus on another machine reaches this one: it takes the place
  // of wildcard addresses, and endpoints at loopback addresses are left out. Empty: `machine` takes
  // the place of wildcard addresses, and none is left out.
  std::string reached_as;
};

// Error: the options are not valid, in one sentence.
[[nodiscard]] base::Expected<void> check(const Options& options);

// The name of this machine, as the kernel has it; "localhost" if it has none.
[[nodiscard]] std::string machine_name();

struct Target {
  std::string address;  // host and port
  std::map<std::string, std::string> labels;
};

// The text of the file: valid JSON whatever is in the labels, one target per line.
[[nodiscard]] std::string to_json(std::span<const Target> targets);

// Whether this machine has an address: of an interface, without brackets and zone.
[[nodiscard]] bool is_local(const std::string& address);

class File {
 public:
  // `options` are valid.
  explicit File(Options options) : options_(std::move(options)) {}

  struct Update {
    bool written = false;  // the file has changed
    std::size_t targets = 0;
    // Endpoints with metrics that are left out, one line each; text from others is escaped. Each is
    // reported once.
    std::vector<std::string> left_out;
  };
  // Writes the targets among `endpoints`, if the file does not hold just that. Others see the old
  // file or the new one, never a part: it is renamed into place. An endpoint that does not answer
  // at the moment keeps the labels that it had. Error: the file cannot be written, and is as it
  // was.
  [[nodiscard]] base::Expected<Update> update(std::span<const trace::RunningEndpoint> endpoints);

 private:
  struct Identity {
    std::string name, role;
  };
  // Returns why the endpoint is left out; empty: `target` is filled in.
  std::string choose(const trace::RunningEndpoint& endpoint, Target& target) const;
  Identity identify(const trace::RunningEndpoint& endpoint);

  Options options_;
  std::map<std::string, Identity>
      known_;  // by path of the socket; of the endpoints of the last call
  std::map<std::string, std::string> reported_;  // why endpoints were left out, the same
};

}  // namespace rpcrdma::service_discovery
