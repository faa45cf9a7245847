// Why a peer does not take a connection, for a person.
#pragma once

#include <string>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::service {

// Of an EventType::kRejected: "reason 28 (consumer reject): too many connections".
[[nodiscard]] std::string rejection(const fabric::Event& event);

}  // namespace rpcrdma::service
