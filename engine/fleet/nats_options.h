// The options of a connection, as libnats takes them.
#pragma once

#include <memory>
#include <string>

#include <nats/nats.h>

#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::fleet {

// Signs for the library; must outlive the connection.
struct NkeySeed {
  std::string seed;
};

struct OptionsDeleter {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptions = std::unique_ptr<natsOptions, OptionsDeleter>;

// Errors: a URL is not valid; a file cannot be read.
[[nodiscard]] base::Expected<NatsOptions> nats_options(const BusOptions& options, NkeySeed& seed);

}  // namespace rpcrdma::fleet
