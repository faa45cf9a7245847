// Errors of a provider.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace rpcrdma::fabric {

enum class Errc : std::uint8_t {
  kBadArgument,   // can never succeed: a span outside its memory, a request too long
  kNoRoom,        // a queue is full or a limit reached; may succeed later
  kNotConnected,  // the connection is not established, or not any more
  kSystem,        // the operating system refused
};

struct Error {
  Errc code = Errc::kBadArgument;
  std::string message;  // one clause for the user, without a full stop; may be empty for kNoRoom
                        // and kNotConnected, which occur on hot paths
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string message = {}) {
  return tl::unexpected(Error{code, std::move(message)});
}

}  // namespace rpcrdma::fabric
