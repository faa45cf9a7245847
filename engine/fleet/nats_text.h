// Errors of libnats in the words of this program.
#pragma once

#include <string>

#include <nats/nats.h>

namespace rpcrdma::fleet {

// Returns what a status means for the user, in one clause, with the library's detail if it has one
// of this thread.
[[nodiscard]] std::string status_text(natsStatus status);

// Returns the list of URLs without user names and passwords.
[[nodiscard]] std::string public_urls(const std::string& urls);

}  // namespace rpcrdma::fleet
